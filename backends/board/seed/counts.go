package seed

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// seedCounts collects what a batch of threads adds to the counts of forums and members.
type seedCounts struct {
	forums  map[int64]forumCount
	users   map[int64]userCount
	members map[memberForum]int64 // visible posts of a member in a forum
}

type memberForum struct{ forum, member int64 }

type forumCount struct{ threads, posts int64 }

type userCount struct {
	posts  int64
	lastAt kernel.Moment
}

// user counts a post of an author.
func (s seedCounts) user(a author, p *readyPost) {
	n := s.users[a.id]
	n.posts += int64(kernel.Bool(p.visibility == rights.Visible))
	n.lastAt = max(n.lastAt, p.at)
	s.users[a.id] = n
}

// forum counts a thread with its replies, if it is visible.
func (s seedCounts) forum(t *content.Thread) {
	if t.Visibility != rights.Visible {
		return
	}
	n := s.forums[t.Forum]
	n.threads++
	n.posts += 1 + t.Replies
	s.forums[t.Forum] = n
}

// write adds the counts to the rows of the database, in ascending order, so that two nodes cannot deadlock.
func (s seedCounts) write(c store.Conn) error {
	for _, id := range slices.Sorted(maps.Keys(s.forums)) {
		n := s.forums[id]
		if _, err := c.Exec("UPDATE board_forums SET thread_count = thread_count + ?, post_count = post_count + ?"+
			" WHERE id = ?", n.threads, n.posts, id); err != nil {
			return err
		}
	}
	byForum := func(x, y memberForum) int {
		return cmp.Or(cmp.Compare(x.forum, y.forum), cmp.Compare(x.member, y.member))
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.members), byForum) {
		if err := content.CountPosts(c, key.member, key.forum, s.members[key]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		n := s.users[id]
		if _, err := c.Exec("UPDATE board_users SET post_count = post_count + ? WHERE id = ?", n.posts, id); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE board_users SET last_post_at = ? WHERE id = ? AND COALESCE(last_post_at, 0) < ?",
			n.lastAt, id, n.lastAt); err != nil {
			return err
		}
	}
	return nil
}
