// Package moderation rearranges threads and posts: moderators merge threads, split posts off into a new thread, move
// posts to another thread, and apply an action to many posts and threads at once.
//
// A moved post keeps its id, which orders the posts of a thread and is part of the post's permanent link. It gets a new
// number: the next number of its new thread. The first post of a thread must have the lowest id in the thread and the
// number 1. Therefore a post moves only to a thread that begins before it, and the first post of a thread leaves that
// thread only in a merge.
package moderation

import (
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Service moves posts between threads, and applies decisions to many posts and threads.
type Service struct {
	*kernel.Server
	rights *rights.Service
	search *search.Service
	posts  *posts.Service

	// Pause is called between two transactions of a merge. Tests set it.
	Pause func()
}

// New returns the Service of a board.
func New(board *kernel.Server, actors *rights.Service, finds *search.Service, writing *posts.Service) *Service {
	return &Service{Server: board, rights: actors, search: finds, posts: writing, Pause: func() {}}
}

// AtOnce is the maximum number of posts or threads in one request.
const AtOnce = 200

// lockBoth returns the threads with the ids first and second, in this order. It locks them in the order of their ids,
// so that transactions do not deadlock. If the actor does not see the second thread, or it is the same as the first,
// lockBoth returns an error for the given field.
func lockBoth(c store.Conn, a *rights.Actor, first, second int64, field string) (x, y *content.Thread, err error) {
	if first == second {
		return nil, nil, kernel.Invalid(field, "same", "choose another thread: this is the same thread")
	}
	found := make(map[int64]*content.Thread)
	for _, id := range []int64{min(first, second), max(first, second)} {
		found[id], err = content.ThreadFor(c, a, id, c.Lock())
		if kernel.IsNotFound(err) && id == second {
			err = kernel.Invalid(field, "unknown", "there is no thread with this number that you can see")
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return found[first], found[second], nil
}

// checkMayMove returns an error for the given field unless the actor may move posts out of, or into, threads of a
// forum.
func (s *Service) checkMayMove(a *rights.Actor, forum int64, field string) error {
	if !a.Has(forum, rights.ThreadMove) {
		return kernel.Forbidden(field, "no_permission", "you may not move posts in this forum")
	}
	return a.CheckSuspended(s.Moment())
}

// checkVisible returns an error for the given field if a thread is held or deleted. Other members do not see its posts,
// but would see them in another thread.
func checkVisible(t *content.Thread, field string) error {
	if t.Visibility == rights.Visible {
		return nil
	}
	return kernel.Invalid(field, "not_visible", "thread "+kernel.Itoa(t.ID)+" is "+
		rights.VisibilityNames[t.Visibility]+"; approve or restore it first")
}
