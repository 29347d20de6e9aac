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
	Posts []int64 // ids, at most AtOnce
	Title string  // of the new thread
	Forum int64   // of the new thread
}

// Split moves posts of a thread to a new thread, and returns the id of the new thread. The post with the lowest id
// becomes the first post of the new thread, and the author of that post becomes the author of the new thread. The
// first post of the old thread cannot be moved.
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
	readers, err := s.readFrom(ctx, thread, ids[0])
	if err != nil {
		return 0, err
	}
	err = s.Write(ctx, func(c store.Conn) error {
		source, err := content.ThreadFor(c, a, thread, c.Lock())
		if err != nil {
			return err
		}
		forum, err := content.ForumFor(c, a, split.Forum)
		if kernel.IsNotFound(err) || err == nil && forum.Kind != "forum" {
			return kernel.Invalid("forumId", "unknown", "there is no forum with this id that you can see and that can contain"+
				" threads")
		}
		if err != nil {
			return err
		}
		posts, err := s.postsToMove(c, a, source, forum.ID, ids)
		if err != nil {
			return err
		}
		target, err := addThread(c, a, source, forum, title, posts[0])
		if err != nil {
			return err
		}
		newThread = target.ID
		detail := postCount(len(ids)) + " of thread " + kernel.Itoa(source.ID) + " to thread " + kernel.Itoa(target.ID)
		if err := s.logMove(c, a, "thread.split", target, source.Forum, 0, detail); err != nil {
			return err
		}
		move := &transfer{c: c, from: source, to: target}
		if err := move.moveAll(ids); err != nil {
			return err
		}
		target.Replies-- // moveAll has counted all posts, but the first is no reply
		if err := reindex(c, target, target.First, true); err != nil {
			return err
		}
		if err := content.TakeTags(c, source, target); err != nil {
			return err
		}
		if err := move.save(); err != nil {
			return err
		}
		return move.updateForumCounts(1, 0) // 1 for the new thread
	})
	if err != nil {
		return 0, err
	}
	return newThread, s.markRead(ctx, newThread, readers)
}

// addThread adds a thread without posts that is split off from the thread source. first is the post that will begin
// the new thread. The new thread keeps the prefix of source if its own forum offers that prefix.
func addThread(
	c store.Conn, a *rights.Actor, source *content.Thread, forum *content.Forum, title string, first *content.Post,
) (*content.Thread, error) {
	if first.Visibility != rights.Visible {
		return nil, kernel.Invalid("post", "not_visible", "the earliest of the posts would begin the new thread, but it is "+
			rights.VisibilityNames[first.Visibility])
	}
	t := &content.Thread{
		Forum: forum.ID, Title: title, Author: first.Author, AuthorName: first.AuthorName, First: first.ID, Next: 1,
		Created: first.Created, LastAt: first.Created, Prefix: source.Prefix,
	}
	offered := a.Rights.Access.Offered[forum.ID]
	if !slices.ContainsFunc(offered, func(p rights.Prefix) bool { return p.ID == source.Prefix }) {
		if forum.RequiresPrefix {
			return nil, kernel.Invalid("forumId", "required", "threads in that forum need a prefix that this thread does not"+
				" have; split it off in this forum and move the new thread then")
		}
		t.Prefix = 0
	}
	err := c.Row("INSERT INTO board_threads (forum_id, title, slug, author_id, author_name, prefix_id, visibility,"+
		" last_poster_name, created_at, last_post_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		t.Forum, t.Title, kernel.Slug(t.Title), kernel.Null(t.Author), t.AuthorName, kernel.Null(t.Prefix),
		t.Visibility, t.AuthorName, t.Created, t.LastAt).Scan(&t.ID)
	return t, err
}

// MovePosts moves posts from a thread to the thread with the id target. That thread must begin before the earliest of
// the posts. The actor needs the right to move threads in both forums.
func (s *Service) MovePosts(ctx context.Context, a *rights.Actor, thread, target int64, posts []int64) error {
	ids, err := sorted(posts)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		src, dst, err := lockBoth(c, a, thread, target, "other")
		if err != nil {
			return err
		}
		if err := checkVisible(dst, "other"); err != nil {
			return err
		}
		if _, err := s.postsToMove(c, a, src, dst.Forum, ids); err != nil {
			return err
		}
		if ids[0] < dst.First {
			return kernel.Invalid("other", "later", "that thread begins after the earliest of the posts;"+
				" split the posts off into a new thread, and merge it with that thread")
		}
		detail := "thread " + kernel.Itoa(src.ID) + " to thread " + kernel.Itoa(dst.ID)
		for _, id := range ids {
			if err := s.logMove(c, a, "post.move", dst, src.Forum, id, detail); err != nil {
				return err
			}
		}
		move := &transfer{c: c, from: src, to: dst}
		if err := move.moveAll(ids); err != nil {
			return err
		}
		if err := move.save(); err != nil {
			return err
		}
		return move.updateForumCounts(0, 0)
	})
}

// logMove logs an action that moves posts to the thread target. It logs the action in the forum that the posts leave.
// If target is in another forum, it logs the action there, too. post is the id of the moved post, or 0 for several
// posts.
func (s *Service) logMove(
	c store.Conn, a *rights.Actor, action string, target *content.Thread, fromForum, post int64, detail string,
) error {
	if err := s.rights.Logged(c, a, action, rights.ThreadMove, fromForum, target.ID, post, detail); err != nil {
		return err
	}
	if fromForum == target.Forum {
		return nil
	}
	return s.rights.Logged(c, a, action, rights.ThreadMove, target.Forum, target.ID, post, detail)
}

// moveAll moves the posts with these ids. They get the next numbers of the new thread, and their old numbers are
// recorded.
func (t *transfer) moveAll(ids []int64) error {
	values := kernel.Args(ids)
	if _, err := t.c.Exec("INSERT INTO board_moved_posts (thread_id, number, post_id) SELECT thread_id, number, id"+
		" FROM board_posts WHERE thread_id = ? AND id IN ("+kernel.Marks(len(values))+")",
		append([]any{t.from.ID}, values...)...); err != nil {
		return err
	}
	number := t.to.Next
	t.to.Next += int64(len(ids))
	return t.movePosts(values, number)
}

// postsToMove returns the posts of the source thread that have the given ids. It returns an error unless the actor may
// move all of them to a thread of toForum.
func (s *Service) postsToMove(
	c store.Conn, a *rights.Actor, source *content.Thread, toForum int64, ids []int64,
) (list []*content.Post, err error) {
	if err := s.checkMayMove(a, source.Forum, "post"); err != nil {
		return nil, err
	}
	if err := s.checkMayMove(a, toForum, "forumId"); err != nil {
		return nil, err
	}
	if err := checkVisible(source, "post"); err != nil {
		return nil, err
	}
	for _, id := range ids {
		p, err := content.PostFor(c, a, source, id)
		if err != nil {
			return nil, err
		}
		if id == source.First {
			return nil, kernel.Invalid("post", "first", "the first post stays with its thread; move or merge the thread instead")
		}
		list = append(list, p)
	}
	return list, nil
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
		return nil, kernel.Invalid("post", "required", "choose at least one post")
	case len(ids) > AtOnce:
		return nil, kernel.Invalid("post", "too_many", "choose at most "+kernel.Itoa(AtOnce)+" posts at once")
	}
	return ids, nil
}

// postCount returns n with the word "post" or "posts".
func postCount(n int) string {
	if n == 1 {
		return "1 post"
	}
	return kernel.Itoa(int64(n)) + " posts"
}
