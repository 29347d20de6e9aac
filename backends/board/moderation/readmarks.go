package moderation

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxRead is the maximum number of members whose reading position a merge or split keeps. For other members the posts
// become unread again.
const maxRead = 10_000

// reader is a member and the last post of a thread that the member has read.
type reader struct{ user, post int64 }

// readBoth lists the members who have read both threads completely. Each member is listed with the later of the last
// posts that the member has read in the two threads.
func (s *Service) readBoth(ctx context.Context, first, second int64) ([]reader, error) {
	return s.readers(ctx, "SELECT x.user_id, CASE WHEN x.last_read_post_id > y.last_read_post_id THEN x.last_read_post_id"+
		" ELSE y.last_read_post_id END"+
		" FROM board_threads t JOIN board_thread_reads x ON x.thread_id = t.id AND x.last_read_post_id >= t.last_post_id"+
		" JOIN board_thread_reads y ON y.user_id = x.user_id JOIN board_threads o ON o.id = y.thread_id"+
		" AND y.last_read_post_id >= o.last_post_id WHERE t.id = ? AND o.id = ? LIMIT ?", first, second, maxRead)
}

// readFrom lists the members who have read a thread at least up to a post, each with the last post read.
func (s *Service) readFrom(ctx context.Context, thread, post int64) ([]reader, error) {
	return s.readers(ctx, "SELECT user_id, last_read_post_id FROM board_thread_reads WHERE thread_id = ?"+
		" AND last_read_post_id >= ? LIMIT ?", thread, post, maxRead)
}

// readers runs a query whose columns are the ids of a member and of a post.
func (s *Service) readers(ctx context.Context, query string, args ...any) ([]reader, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) ([]reader, error) {
		return store.List(c, func(r store.Row) (m reader, err error) {
			return m, r.Scan(&m.user, &m.post)
		}, query, args...)
	})
}

// markRead records up to which post each of the members has read the thread.
func (s *Service) markRead(ctx context.Context, thread int64, members []reader) error {
	kernel.SortBy(members, func(m reader) int64 { return m.user })
	for len(members) > 0 {
		part := members[:min(len(members), batch)]
		members = members[len(part):]
		err := s.Write(ctx, func(c store.Conn) error {
			for _, m := range part {
				if _, err := c.Exec("INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at)"+
					" VALUES (?, ?, ?, ?) ON CONFLICT (user_id, thread_id) DO UPDATE SET last_read_post_id ="+
					" excluded.last_read_post_id WHERE excluded.last_read_post_id > board_thread_reads.last_read_post_id",
					m.user, thread, m.post, s.Moment()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
