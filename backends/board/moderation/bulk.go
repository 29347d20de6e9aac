package moderation

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The actions of Apply. Delete and Approve apply to posts, the others to the threads of the posts.
const (
	Delete  = "delete"
	Approve = "approve"
	Lock    = "lock"
	Unlock  = "unlock"
	Move    = "move" // to another forum
)

// Bulk is a decision about many posts.
type Bulk struct {
	Posts []int64 // ids, at most AtOnce
	Do    string  // an action of Apply
	Forum int64   // for Move: the forum to which the threads move
	// Seen holds, by post id, the Tag of each post as the moderator saw it. A post that has changed since is not
	// approved.
	Seen map[int64]string
}

// Outcome is the result of Apply.
type Outcome struct {
	Done    int // how many posts or threads were changed
	Refused []Refused
}

// Refused is a post or thread to which an action could not be applied.
type Refused struct {
	Title string // of the thread
	Post  int64  // the id of the chosen post
	Why   string // the message of the error
}

// Apply applies an action to posts or, for an action on threads, to the threads of the posts. Each post or thread gets
// its own transaction, with the same checks and log entry as a single action. If a post or thread is refused, Apply
// continues with the others. Any other error ends Apply; what was changed before stays changed.
func (s *Service) Apply(ctx context.Context, a *rights.Actor, bulk Bulk) (out Outcome, err error) {
	chosen, err := s.Chosen(ctx, a, bulk.Posts)
	if err != nil {
		return out, err
	}
	onThreads := bulk.Do != Delete && bulk.Do != Approve
	visited := make(map[int64]bool) // the threads to which the action was applied
	for _, item := range chosen {
		if onThreads && visited[item.Thread.ID] {
			continue // another of its posts was chosen too
		}
		visited[item.Thread.ID] = true
		err := s.apply(ctx, a, item, bulk)
		refusal, refused := apierror.From(err)
		switch {
		case err == nil:
			out.Done++
		case refused && refusal.Status < 500:
			out.Refused = append(out.Refused, Refused{item.Thread.Title, item.Post.ID, refusal.Message})
		default:
			return out, err
		}
	}
	return out, nil
}

// apply applies the action bulk.Do to a post or to its thread.
func (s *Service) apply(ctx context.Context, a *rights.Actor, item Item, bulk Bulk) error {
	switch bulk.Do {
	case Delete:
		changed, err := s.posts.Delete(ctx, a, item.Thread.ID, item.Post.ID, nil)
		if err == nil && !changed {
			err = kernel.Conflict("this post is already deleted")
		}
		return err
	case Approve:
		var decision posts.Decision
		if seenTag := bulk.Seen[item.Post.ID]; seenTag != "" {
			decision.Match = func(tag string) bool { return tag == seenTag }
		}
		_, err := s.posts.Approve(ctx, a, item.Post.ID, decision)
		return err
	case Lock:
		return s.posts.Change(ctx, a, item.Thread.ID, posts.ThreadChange{Locked: new(true)})
	case Unlock:
		return s.posts.Change(ctx, a, item.Thread.ID, posts.ThreadChange{Locked: new(false)})
	case Move:
		return s.posts.Change(ctx, a, item.Thread.ID, posts.ThreadChange{Forum: &bulk.Forum})
	}
	return kernel.BadRequest("do", "do must be one of delete, approve, lock, unlock and move")
}

// Item is a post that a moderator can choose, and its thread.
type Item struct {
	Post   *content.Post
	Thread *content.Thread
}

// Chosen returns the posts with the given ids, in the order of the ids, except those that the actor does not see. It
// returns an error if ids is empty or has more than AtOnce ids.
func (s *Service) Chosen(ctx context.Context, a *rights.Actor, ids []int64) (list []Item, err error) {
	if ids, err = sorted(ids); err != nil {
		return nil, err
	}
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []Item, err error) {
		for _, id := range ids {
			t, p, err := content.PostByID(c, a, id, "")
			if kernel.IsNotFound(err) {
				continue
			}
			if err != nil {
				return list, err
			}
			list = append(list, Item{p, t})
		}
		return list, nil
	})
}
