package content

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// trashMost is how many pages Trashed gives at most.
const trashMost = 500

// Trashed are the pages that went into the trash themselves, and that u may change: those of the largest ids below
// before, where it is not 0.
func (p *Content) Trashed(ctx context.Context, u *kernel.User, before int64, limit int) (list []*Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	where, args := "p.trash_root = p.id", []any{}
	if before > 0 {
		where, args = where+" AND p.id < ?", append(args, before)
	}
	if set := s.set(u, editing); !set.All {
		where += " AND p.template_id IN (0"
		for _, id := range set.IDs {
			where, args = where+", ?", append(args, id)
		}
		where += ")"
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		list, err = store.List(c, func(r store.Row) (*Page, error) { return s.scan(r) },
			"SELECT "+columns+" FROM cms_pages p WHERE "+where+" ORDER BY p.id DESC LIMIT ?", append(args, min(max(limit, 1), trashMost))...)
		return err
	})
	return list, err
}
