package api

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// postReport serves POST /posts/{postId}/report.
func (s *service) postReport(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	reason, id := in.Object.Text("reason"), in.id("postId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	report, err := s.Posts.Report(c.R.Context(), a, id, reason)
	return envelope{map[string]int64{"id": report, "postId": id}}, err
}

// HeldInfo is a post that waits for approval.
type HeldInfo struct {
	Reason      string           `json:"reason"`
	ThreadTitle string           `json:"threadTitle"`
	ForumID     int64            `json:"forumId"`
	Post        content.PostInfo `json:"post"`
}

// viewHeld returns the view of a held post for clients.
func viewHeld(h posts.Held) HeldInfo {
	return HeldInfo{h.Reason, h.Thread.Title, h.Thread.Forum, content.ViewPost(h.Post)}
}

// getQueue serves GET /moderation/queue.
func (s *service) getQueue(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	cursor, limit := in.page()
	forum := in.number("forum", 1)
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.Posts.Queue(c.R.Context(), a, forum, cursor, limit)
	return page{each(list, viewHeld), kernel.NilIfZero(next)}, err
}

// approve serves POST /moderation/queue/{postId}/approve.
func (s *service) approve(c *rest.Call, a *rights.Actor) (any, error) {
	return s.decide(c, a, s.Posts.Approve)
}

// reject serves POST /moderation/queue/{postId}/reject.
func (s *service) reject(c *rest.Call, a *rights.Actor) (any, error) {
	return s.decide(c, a, s.Posts.Reject)
}

// decision applies a moderator's decision to a held post.
type decision = func(ctx context.Context, a *rights.Actor, id int64, d posts.Decision) (posts.Settled, error)

// decide reads a moderator's decision about a held post from a request and applies it.
func (s *service) decide(c *rest.Call, a *rights.Actor, decision decision) (any, error) {
	in := bodyIfAny(c)
	reason, id, match := in.OptionalText("reason"), in.id("postId"), in.match()
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := decision(c.R.Context(), a, id, posts.Decision{Reason: orZero(reason), Match: match})
	if err == nil {
		c.Tell(done.Tag)
	}
	return viewSettled(done), err
}

// viewSettled returns the response to a moderator's decision about a post.
func viewSettled(s posts.Settled) envelope {
	return envelope{Replied{s.Post, s.Thread, rights.VisibilityNames[s.Visibility]}}
}

// restore serves POST /posts/{postId}/restore.
func (s *service) restore(c *rest.Call, a *rights.Actor, id int64) (any, error) {
	done, err := s.Posts.Restore(c.R.Context(), a, id)
	return viewSettled(done), err
}
