package content

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Marks holds the threads and forums that a member has read, and the threads that the member follows.
type Marks struct {
	Read       map[int64]int64         // the id of the last post that was read, by thread
	Subscribed map[int64]int64         // not 0 for a followed thread
	ForumRead  map[int64]kernel.Moment // when the forum was marked as read, by forum
}

// MarksOf returns the actor's Marks, limited to a page of threads. The maps are empty for a guest.
func MarksOf(c store.Conn, a *rights.Actor, page []*Thread) (m Marks, err error) {
	m = Marks{make(map[int64]int64), make(map[int64]int64), make(map[int64]kernel.Moment)}
	if a.User == nil || len(page) == 0 {
		return m, nil
	}
	args := make([]any, 0, len(page)+1)
	args = append(args, a.ID())
	for _, t := range page {
		args = append(args, t.ID)
	}
	threads := "(" + kernel.Marks(len(page)) + ")"
	if err := c.All("SELECT thread_id, last_read_post_id FROM board_thread_reads WHERE user_id = ? AND thread_id IN "+
		threads, args, CollectInto(m.Read)); err != nil {
		return m, err
	}
	if err := c.All("SELECT target_id, 1 FROM board_subscriptions WHERE user_id = ? AND target = 'thread'"+
		" AND mode <> 'none' AND target_id IN "+threads, args, CollectInto(m.Subscribed)); err != nil {
		return m, err
	}
	m.ForumRead, err = ForumReads(c, a)
	return m, err
}

// CollectInto returns a function that scans a row of two columns, a key and a value, and stores the value in result.
func CollectInto[V ~int64](result map[int64]V) func(r store.Row) error {
	return func(r store.Row) error {
		var key int64
		var value V
		err := r.Scan(&key, &value)
		result[key] = value
		return err
	}
}

// KeepUnread is how long a thread can count as unread after its last post.
const KeepUnread = 90 * 24 * time.Hour

// Unread reports whether a thread has posts that the member has not read.
func (m Marks) Unread(t *Thread, now kernel.Moment) bool {
	return t.Last > m.Read[t.ID] && t.LastAt > m.Since(t.Forum, now)
}

// Since returns the time up to which all posts in a forum count as read by the member.
func (m Marks) Since(forum int64, now kernel.Moment) kernel.Moment {
	return max(m.ForumRead[forum], now.Add(-KeepUnread))
}

// ForumReads returns the times at which the actor has marked forums as read, by forum id.
func ForumReads(c store.Conn, a *rights.Actor) (map[int64]kernel.Moment, error) {
	read := make(map[int64]kernel.Moment)
	if a.User == nil {
		return read, nil
	}
	return read, c.All("SELECT forum_id, read_at FROM board_forum_reads WHERE user_id = ?", []any{a.ID()}, CollectInto(read))
}
