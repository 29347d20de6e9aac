package moderation

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Split is a request to make a new thread from some posts of a thread.
type Split struct {
	Posts []int64 // at most AtOnce
	Title string
	Forum int64
}

// Split moves posts of a thread to a new thread, and returns its id. The post with the lowest id becomes the first post
// of the new thread, and its author the thread's author. The first post of the old thread cannot be moved.
//
// The actor needs the right to move threads in both forums.
func (s *Service) Split(ctx context.Context, a *rights.Actor, thread int64, split Split) (newThread int64, err error) {
	title, err := checkTitle(a, split.Title)
	if err != nil {
		return 0, err
	}
	ids, err := sorted(split.Posts)
	if err != nil {
		return 0, err
	}
	read, err := s.readFrom(ctx, thread, ids[0])
	if err != nil {
		return 0, err
	}
	err = s.Write(ctx, func(c store.Conn) error {
		from, err := content.ThreadFor(c, a, thread, c.Lock())
		if err != nil {
			return err
		}
		home, err := content.ForumFor(c, a, split.Forum)
		if kernel.IsNotFound(err) || err == nil && home.Kind != "forum" {
			return kernel.Invalid("forumId", "unknown", "there is no forum for threads that you see by that id")
		}
		if err != nil {
			return err
		}
		chosen, err := s.mayMove(c, a, from, home.ID, ids)
		if err != nil {
			return err
		}
		first := chosen[0]
		if first.Visibility != rights.Visible {
			return kernel.Invalid("post", "not_visible", "the earliest of the posts would begin a thread, and is "+
				rights.VisibilityNames[first.Visibility])
		}
		to := &content.Thread{
			Forum: home.ID, Title: title, Author: first.Author, AuthorName: first.AuthorName, First: first.ID, Next: 1,
			Created: first.Created, LastAt: first.Created, Prefix: from.Prefix,
		}
		if !slices.ContainsFunc(a.Rights.Access.Offered[home.ID], func(p rights.Prefix) bool { return p.ID == to.Prefix }) {
			if to.Prefix = 0; home.RequiresPrefix {
				return kernel.Invalid("forumId", "required", "threads in that forum need a prefix that this thread does not have;"+
					" split it here and move it then")
			}
		}
		if err := c.Row("INSERT INTO board_threads (forum_id, title, slug, author_id, author_name, prefix_id, visibility,"+
			" last_poster_name, created_at, last_post_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
			to.Forum, to.Title, kernel.Slug(to.Title), kernel.Null(to.Author), to.AuthorName, kernel.Null(to.Prefix),
			to.Visibility, to.AuthorName, to.Created, to.LastAt).Scan(&to.ID); err != nil {
			return err
		}
		newThread = to.ID
		detail := postCount(len(ids)) + " of thread " + kernel.Itoa(from.ID) + " to thread " + kernel.Itoa(to.ID)
		if err := s.noteMove(c, a, "thread.split", from, to, 0, detail); err != nil {
			return err
		}
		move := &transfer{c: c, from: from, to: to}
		if err := move.moveAll(ids); err != nil {
			return err
		}
		to.Replies-- // replies are all posts except the first
		if err := reindex(c, to, to.First, true); err != nil {
			return err
		}
		if err := content.TakeTags(c, from, to); err != nil {
			return err
		}
		if err := move.save(); err != nil {
			return err
		}
		return move.count(1, 0)
	})
	if err != nil {
		return 0, err
	}
	return newThread, s.markRead(ctx, newThread, read)
}

// MovePosts moves posts from a thread to the thread target, which must begin before the earliest of the posts. The
// actor needs the right to move threads in both forums.
func (s *Service) MovePosts(ctx context.Context, a *rights.Actor, thread, target int64, posts []int64) error {
	ids, err := sorted(posts)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		from, to, err := lockBoth(c, a, thread, target, "other")
		if err != nil {
			return err
		}
		if err := checkVisible(to, "other"); err != nil {
			return err
		}
		if _, err := s.mayMove(c, a, from, to.Forum, ids); err != nil {
			return err
		}
		if ids[0] < to.First {
			return kernel.Invalid("other", "later", "that thread begins after the earliest of the posts;"+
				" split them from this one, and merge the two threads")
		}
		for _, id := range ids {
			if err := s.noteMove(c, a, "post.move", from, to, id, "thread "+kernel.Itoa(from.ID)+" to thread "+
				kernel.Itoa(to.ID)); err != nil {
				return err
			}
		}
		move := &transfer{c: c, from: from, to: to}
		if err := move.moveAll(ids); err != nil {
			return err
		}
		if err := move.save(); err != nil {
			return err
		}
		return move.count(0, 0)
	})
}

// noteMove logs, in the forums of both threads, an action that moved posts. post is the id of the moved post, or 0 for
// several posts.
func (s *Service) noteMove(
	c store.Conn, a *rights.Actor, action string, from, to *content.Thread, post int64, detail string,
) error {
	if err := s.rights.Logged(c, a, action, rights.ThreadMove, from.Forum, to.ID, post, detail); err != nil {
		return err
	}
	if from.Forum == to.Forum {
		return nil
	}
	return s.rights.Logged(c, a, action, rights.ThreadMove, to.Forum, to.ID, post, detail)
}

// moveAll moves the posts with these ids. They get the next numbers of the new thread, and their old numbers are
// recorded.
func (t *transfer) moveAll(ids []int64) error {
	values := make([]any, len(ids))
	for i, id := range ids {
		values[i] = id
	}
	if _, err := t.c.Exec("INSERT INTO board_moved_posts (thread_id, number, post_id) SELECT thread_id, number, id"+
		" FROM board_posts WHERE thread_id = ? AND id IN ("+kernel.Marks(len(values))+")",
		append([]any{t.from.ID}, values...)...); err != nil {
		return err
	}
	number := t.to.Next
	t.to.Next += int64(len(ids))
	return t.movePosts(values, number)
}

// mayMove returns the posts of thread from with the given ids. It returns an error unless the actor may move them to
// the forum to.
func (s *Service) mayMove(
	c store.Conn, a *rights.Actor, from *content.Thread, to int64, ids []int64,
) (chosen []*content.Post, err error) {
	if err := s.mayMovePosts(a, from.Forum, "post"); err != nil {
		return nil, err
	}
	if err := s.mayMovePosts(a, to, "forumId"); err != nil {
		return nil, err
	}
	if err := checkVisible(from, "post"); err != nil {
		return nil, err
	}
	for _, id := range ids {
		p, err := content.PostFor(c, a, from, id)
		if err != nil {
			return nil, err
		}
		if id == from.First {
			return nil, kernel.Invalid("post", "first", "the first post stays with its thread; move or merge the thread instead")
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

// checkTitle applies the word filter to a title and returns it, or an error if the title is not valid.
func checkTitle(a *rights.Actor, title string) (string, error) {
	return a.Rights.Settings.CheckTitle(a.Rights.Access.Words.Replace(title))
}

// sorted returns ids in ascending order and without duplicates. It returns an error if ids is empty or has more than
// AtOnce ids.
func sorted(ids []int64) ([]int64, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	switch {
	case len(ids) == 0:
		return nil, kernel.Invalid("post", "required", "choose at least one")
	case len(ids) > AtOnce:
		return nil, kernel.Invalid("post", "too_many", "choose at most "+kernel.Itoa(AtOnce)+" at once")
	}
	return ids, nil
}

func postCount(n int) string {
	if n == 1 {
		return "1 post"
	}
	return kernel.Itoa(int64(n)) + " posts"
}
