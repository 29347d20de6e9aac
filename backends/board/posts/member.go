package posts

import (
	"cmp"
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ThreadsBy returns a page of the visible threads of a member in the forums that the actor reads, newest activity
// first. after and next are cursors as in Threads. It asks the index of authors for a page of each forum, since this
// index has the threads by forum, so its cost grows with the number of forums, and not with that of threads.
func (s *Service) ThreadsBy(
	ctx context.Context, a *rights.Actor, member int64, after string, limit int,
) (list []content.ThreadInfo, next string, err error) {
	var from Position
	if after != "" {
		var ok bool
		if from, ok = s.ReadCursor(0, after); !ok {
			return nil, "", kernel.BadRequest("after", "after must be the cursor of a page of a member's threads, unchanged")
		}
	}
	at, id := from.Args()
	err = s.Read(ctx, func(c store.Conn) error {
		list, next = nil, ""
		var page []*content.Thread
		for _, forum := range a.Rights.Access.Order {
			if !a.MayIn(forum, rights.ThreadView) || !a.Has(forum, rights.ThreadViewOthers) && !a.Owns(member) {
				continue
			}
			of, err := store.List(c, content.ScanThread, threadsOfAuthor("= 0").SQL(c.Dialect()), member, forum, at, id, limit+1)
			if err != nil {
				return err
			}
			page = append(page, of...)
			slices.SortFunc(page, func(x, y *content.Thread) int {
				return cmp.Or(cmp.Compare(y.LastAt, x.LastAt), cmp.Compare(y.ID, x.ID))
			})
			page = page[:min(len(page), limit+1)]
		}
		page, more := store.Cut(page, limit)
		if more {
			last := page[len(page)-1]
			next = s.Cursor(0, Position{last.LastAt, last.ID})
		}
		list, err = s.ViewThreads(c, a, page)
		return err
	})
	return list, next, err
}
