package content

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxTrash limits how many pages Trashed returns.
const maxTrash = 500

// Trashed returns pages in the trash that u may change, in descending order of their IDs. Pages that were put into the
// trash together with a page above them are left out. If beforeID is not 0, only pages with smaller IDs are returned.
// There are at most limit pages, or fewer if they are large, as in a List. next is the value of beforeID for the next
// part of the list, or 0 at the end.
func (p *Content) Trashed(
	ctx context.Context, u *kernel.User, beforeID int64, limit int,
) (list []*Page, next int64, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, 0, err
	}
	limit = min(max(limit, 1), maxTrash)
	filter, args := "p.trash_root = p.id", []any{}
	if beforeID > 0 {
		filter, args = filter+" AND p.id < ?", append(args, beforeID)
	}
	if set := s.templatesFor(u, editing); !set.All {
		filter += " AND p.template_id IN (0" // no template has this ID, but SQL needs at least one
		for _, id := range set.IDs {
			filter, args = filter+", ?", append(args, id)
		}
		filter += ")"
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		more, err := readPart(c, limit, func(r store.Row) (size int, err error) {
			page, err := s.scan(r)
			if err != nil {
				return 0, err
			}
			list = append(list, page)
			return page.size, nil
		}, "SELECT "+columns+" FROM cms_pages p WHERE "+filter+" ORDER BY p.id DESC LIMIT ?", append(args, limit+1)...)
		if more {
			next = list[len(list)-1].ID
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return list, next, nil
}
