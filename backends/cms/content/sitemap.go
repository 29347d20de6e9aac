package content

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/sitemap"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SitemapPart is the number of consecutive page IDs that one part of the sitemap covers. This is the maximum number of
// addresses in a sitemap file.
const SitemapPart = sitemap.MaxURLs

// SitemapParts returns the number of parts that the sitemap has, which is at least 1.
func (p *Content) SitemapParts(ctx context.Context) (parts int, err error) {
	var last int64
	err = p.Read(ctx, func(c kernel.Conn) error {
		return c.Row("SELECT COALESCE(MAX(id), 0) FROM cms_pages").Scan(&last)
	})
	return int(last/SitemapPart) + 1, err
}

// Sitemap writes one part of the sitemap to w: the addresses of published pages that everybody may see. The first part
// has the number 0. base is the address of the site, such as https://example.com.
func (p *Content) Sitemap(ctx context.Context, base string, part int, w io.Writer) error {
	s, err := p.schema(ctx)
	if err != nil {
		return err
	}
	out := sitemap.Pages(w)
	public := s.templatesFor(&kernel.User{Roles: []string{kernel.RoleGuest}}, viewing)
	start := int64(part) * SitemapPart
	for lastID, end := start-1, start+SitemapPart; lastID < end; {
		type row struct {
			id       int64
			template int64
			path     string
			modified kernel.Moment
		}
		var rows []row
		err := p.Read(ctx, func(c kernel.Conn) (err error) {
			rows, err = store.List(c, func(r store.Row) (page row, err error) {
				err = r.Scan(&page.id, &page.template, &page.path, &page.modified)
				return page, err
				// Status 0 is published.
			}, "SELECT id, template_id, path, modified FROM cms_pages WHERE status = 0 AND id > ? AND id < ? ORDER BY id LIMIT 1000", lastID, end)
			return err
		})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for _, r := range rows {
			lastID = r.id
			if public.All || slices.Contains(public.IDs, r.template) {
				out.Add(strings.TrimSuffix(base, "/")+r.path, r.modified.Time())
			}
		}
	}
	return out.Close()
}

// SitemapIndex writes a sitemap index with the given number of parts to w. address returns the address of a part.
func SitemapIndex(parts int, address func(part int) string, w io.Writer) error {
	out := sitemap.Parts(w)
	for part := range parts {
		out.Add(address(part), time.Time{})
	}
	return out.Close()
}
