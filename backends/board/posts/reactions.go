package posts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// addReactions adds to the posts of a page their reactions, whether the actor has bookmarked them, and whether it
// ignores their authors.
func addReactions(
	c store.Conn, a *rights.Actor, t *content.Thread, list []*content.Post, views []PostView, now kernel.Moment,
) error {
	if len(list) == 0 {
		return nil
	}
	ids, authors := make([]any, len(list)), make([]any, len(list))
	for i, p := range list {
		ids[i], authors[i] = p.ID, p.Author
	}
	counts, err := reactions.Of(c, a, ids...)
	if err != nil {
		return err
	}
	marked, err := reactions.Bookmarked(c, a, ids...)
	if err != nil {
		return err
	}
	ignored, err := following.Ignores(c, a, authors...)
	for i, p := range list {
		views[i].Reactions, views[i].React = counts[p.ID], reactions.May(a, t, p, now) == nil
		views[i].Ignored, views[i].Bookmarked = ignored[p.Author] != 0, marked[p.ID] != 0
	}
	return err
}
