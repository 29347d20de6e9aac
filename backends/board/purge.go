package board

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
)

// How long the board keeps what nobody asks for any more.
const (
	keepReads = 90 * 24 * time.Hour
	keepMails = 7 * 24 * time.Hour // that could not be sent

)

// purges are statements that end what is old, a batch at a time.
var purges = []struct {
	keep time.Duration
	sql  string
}{
	{keepReads, "DELETE FROM board_thread_reads WHERE (user_id, thread_id) IN (SELECT user_id, thread_id" +
		" FROM board_thread_reads WHERE read_at <= ? LIMIT ?)"},
	{keepReads, "DELETE FROM board_forum_reads WHERE (user_id, forum_id) IN (SELECT user_id, forum_id" +
		" FROM board_forum_reads WHERE read_at <= ? LIMIT ?)"},
	{accounts.SessionIdle, "DELETE FROM board_sessions WHERE id IN (SELECT id FROM board_sessions" +
		" WHERE seen_at <= ? LIMIT ?)"},
	{0, "DELETE FROM board_attempts WHERE key IN (SELECT key FROM board_attempts WHERE ends_at <= ? LIMIT ?)"},
	{0, "DELETE FROM board_forum_floods WHERE (user_id, forum_id) IN (SELECT user_id, forum_id FROM board_forum_floods" +
		" WHERE full_at <= ? LIMIT ?)"},
	{following.KeepNotifications, "DELETE FROM board_notifications WHERE id IN (SELECT id FROM board_notifications" +
		" WHERE created_at <= ? LIMIT ?)"},
	{0, "DELETE FROM board_links WHERE id IN (SELECT id FROM board_links WHERE expires_at <= ? LIMIT ?)"},
	{keepMails, "DELETE FROM board_mails WHERE id IN (SELECT id FROM board_mails WHERE due_at <= ? LIMIT ?)"},
}

// Purge ends what is old: keys of repeated requests, marks of what was read, flood
// buckets of forums that are full, notifications, deliveries, mails, members who never confirmed. It tells how much.
func (s *Server) Purge(ctx context.Context) (n int64, err error) {
	if n, err = posts.Requests.Purge(ctx, s.kernel.DB, s.kernel.Now(), kernel.PurgeBatch); err != nil {
		return n, kernel.Unavailable(err)
	}
	for _, p := range purges {
		ended, err := s.kernel.DB.Purge(ctx, kernel.PurgeBatch, p.sql, s.kernel.Now().Add(-p.keep).UnixMicro())
		n += ended
		if err != nil {
			return n, kernel.Unavailable(err)
		}
	}
	told, err := s.kernel.Hooks.Purge(ctx)
	n += told
	if err != nil {
		return n, kernel.Unavailable(err)
	}
	gone, err := s.Accounts.PurgeUnconfirmed(ctx)
	return n + gone, err
}
