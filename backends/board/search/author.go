package search

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// PostsOfAuthor returns the query for the posts of an author. Its arguments are author, id and limit.
func PostsOfAuthor() content.Listing {
	return content.Listing{
		Columns: "i.id", From: "board_post_ids i", Index: "board_post_ids_author",
		Where: "i.author_id = ? AND i.id < ?", Order: "i.id DESC",
	}
}

// By returns a page of the posts of a member in the forums that the actor reads, newest first. after and next are as in
// Find, whose bounds hold here, too.
func (s *Service) By(
	ctx context.Context, a *rights.Actor, member, after int64, limit int,
) (list []Found, next int64, err error) {
	filter := searchFilter(a, Query{}, rights.ThreadView)
	if filter.where == "" {
		return nil, 0, nil
	}
	err = s.Read(ctx, func(c store.Conn) error {
		var ids []any
		if ids, next, err = searchIDs(c, &wordWalk{c: c, author: member, after: after}, filter, limit); err != nil {
			return err
		}
		list, err = postsByID(c, a, ids)
		return err
	})
	return list, next, err
}
