package moderation

import (
	"context"
	"math"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Query selects posts for moderators. Empty fields select all.
type Query struct {
	Words    string // only visible posts that contain these words
	Member   string // the name of the author
	Forum    int64
	From, To kernel.Moment // when the posts were written: from From on, and before To
	Starts   bool          // only posts that start a thread
	After    int64         // only posts with lower ids; 0 begins with the newest
	Limit    int
}

// maxExamined limits how many posts Find examines for a page if no index can select the matching posts.
const maxExamined = 5000

// moderatorRights lists the rights that let a member choose posts in a forum; one of them is sufficient.
var moderatorRights = []rights.Mask{
	rights.PostDeleteOthers, rights.ContentApprove, rights.ThreadLock, rights.ThreadMove,
}

// Forums lists the forums that the actor moderates. It returns Forbidden if the actor moderates no forum.
func (s *Service) Forums(ctx context.Context, a *rights.Actor) (forums []int64, err error) {
	for _, id := range a.Rights.Access.Order {
		hasRight := func(right rights.Mask) bool { return a.Has(id, right) }
		if a.ReadsAll(id) && slices.ContainsFunc(moderatorRights, hasRight) {
			forums = append(forums, id)
		}
	}
	if len(forums) == 0 {
		return nil, kernel.Forbidden("forum", "no_permission", "you do not moderate any forum")
	}
	return forums, nil
}

// Find lists posts of the forums that the actor moderates, newest first. It lists visible and held posts, but a query
// with words finds only visible posts. A page may be short or empty although there is a next page. next is the After of
// the next page, or 0 on the last page.
func (s *Service) Find(ctx context.Context, a *rights.Actor, q Query) (items []Item, next int64, err error) {
	all, err := s.Forums(ctx, a)
	if err != nil {
		return nil, 0, err
	}
	var forums []any
	for _, id := range all {
		if q.Forum == 0 || q.Forum == id {
			forums = append(forums, id)
		}
	}
	if len(forums) == 0 {
		return nil, 0, kernel.NotFound()
	}
	if q.Words != "" {
		return s.findWords(ctx, a, q, forums)
	}
	err = s.Read(ctx, func(c store.Conn) error {
		items, next, err = find(c, a, q, forums)
		return err
	})
	return items, next, err
}

// findWords returns a page of those posts in forums that contain the words of the query and match the rest of the
// query. next is the After of the next page, or 0 on the last page.
func (s *Service) findWords(
	ctx context.Context, a *rights.Actor, q Query, forums []any,
) (items []Item, next int64, err error) {
	found, next, err := s.search.Find(ctx, a, search.Query{
		Text: q.Words, Forum: q.Forum, Author: q.Member, After: q.After, Limit: q.Limit,
	})
	if err != nil {
		return nil, 0, err
	}
	for _, f := range found {
		item := Item{f.Post, f.Thread}
		if slices.Contains(forums, any(f.Thread.Forum)) && q.matches(item) {
			items = append(items, item)
		}
	}
	return items, next, nil
}

// matches reports whether a post was written in the period that the query selects and, if q.Starts is set, starts its
// thread.
func (q Query) matches(item Item) bool {
	created := item.Post.Created
	return created >= q.From && (q.To == 0 || created < q.To) && (!q.Starts || item.Post.Number == 1)
}

// find returns a page of the posts in forums that match a query without words. next is the After of the next page, or 0
// on the last page.
func find(c store.Conn, a *rights.Actor, q Query, forums []any) (items []Item, next int64, err error) {
	beforeID := q.After
	if beforeID == 0 {
		beforeID = math.MaxInt64
	}
	table, condition, args := "board_post_ids", "id < ?", []any{beforeID}
	if q.Member != "" {
		if c.Dialect() == store.SQLite {
			table += " INDEXED BY board_post_ids_author"
		}
		condition += " AND author_id = (SELECT id FROM board_users WHERE username_key = ?)"
		args = append(args, text.Fold(q.Member))
	}
	type candidate struct {
		id      int64
		matches bool
	}
	end := q.To
	if end == 0 {
		end = math.MaxInt64
	}
	// The arguments are in the order of their placeholders: the columns of the result come before the conditions.
	args = slices.Concat([]any{q.From, end}, forums, args, []any{maxExamined})
	// The conditions that no index supports are columns of the result, so that the limit bounds how many rows the
	// database reads.
	candidates, err := store.List(c, func(r store.Row) (p candidate, err error) {
		return p, r.Scan(&p.id, &p.matches)
	}, "SELECT id, visibility IN (0, 1) AND created_at >= ? AND created_at < ? AND forum_id IN ("+
		kernel.Marks(len(forums))+") FROM "+table+" WHERE "+condition+" ORDER BY id DESC"+content.Limit(c.Dialect()), args...)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range candidates {
		if !p.matches {
			continue
		}
		if len(items) == q.Limit { // there is a next page
			return items, items[len(items)-1].Post.ID, nil
		}
		thread, post, err := content.PostByID(c, a, p.id, "")
		if kernel.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if item := (Item{post, thread}); q.matches(item) { // only now the number is known, which q.Starts needs
			items = append(items, item)
		}
	}
	if len(candidates) == maxExamined {
		next = candidates[len(candidates)-1].id
	}
	return items, next, nil
}
