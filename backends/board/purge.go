package board

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/drafts"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
)

// How long the board keeps rows that are no longer needed.
const (
	keepReads = 90 * 24 * time.Hour
	keepMails = 7 * 24 * time.Hour // for mails that could not be sent, from the time at which they were due
)

// purges lists the statements that delete old rows. keep is the age at which a row is deleted. The arguments of each
// statement are the time before which rows are old, and the maximum number of rows to delete.
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
	{drafts.Keep, "DELETE FROM board_drafts WHERE id IN (SELECT id FROM board_drafts WHERE saved_at <= ? LIMIT ?)"},
	{following.KeepNotifications, "DELETE FROM board_notifications WHERE id IN (SELECT id FROM board_notifications" +
		" WHERE created_at <= ? LIMIT ?)"},
	{0, "DELETE FROM board_links WHERE id IN (SELECT id FROM board_links WHERE expires_at <= ? LIMIT ?)"},
	{keepMails, "DELETE FROM board_mails WHERE id IN (SELECT id FROM board_mails WHERE due_at <= ? LIMIT ?)"},
}

// Purge deletes old rows: keys of repeated requests, reading positions, idle sessions, counts of attempts,
// flood-control states that no longer limit anybody, drafts, notifications, expired links, mails that could not be
// sent, and deliveries to webhooks. It also deletes members who never confirmed their mail address. It returns the
// number of deleted rows and members, even if it also returns an error.
func (s *Server) Purge(ctx context.Context) (n int64, err error) {
	if n, err = posts.Requests.Purge(ctx, s.kernel.DB, s.kernel.Now(), kernel.PurgeBatch); err != nil {
		return n, kernel.Unavailable(err)
	}
	for _, p := range purges {
		deleted, err := s.kernel.DB.Purge(ctx, kernel.PurgeBatch, p.sql, s.kernel.Now().Add(-p.keep).UnixMicro())
		n += deleted
		if err != nil {
			return n, kernel.Unavailable(err)
		}
	}
	deliveries, err := s.kernel.Hooks.Purge(ctx)
	n += deliveries
	if err != nil {
		return n, kernel.Unavailable(err)
	}
	members, err := s.Accounts.PurgeUnconfirmed(ctx)
	return n + members, err
}
