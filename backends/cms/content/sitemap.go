package content

import (
	"bufio"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SitemapMost is how many ids a part of a sitemap is of: it has no more addresses than
// the protocol allows in a file (sitemaps.org: 50,000).
const SitemapMost = 50_000

// SitemapParts is how many parts the sitemap has, at least one.
func (p *Content) SitemapParts(ctx context.Context) (parts int, err error) {
	var last int64
	err = p.Read(ctx, func(c kernel.Conn) error {
		return c.Row("SELECT COALESCE(MAX(id), 0) FROM cms_pages").Scan(&last)
	})
	return int(last/SitemapMost) + 1, err
}

// Sitemap writes a part of the sitemap, from 0 on: the published pages that everybody may
// see. base is the address of the site, such as https://example.com.
func (p *Content) Sitemap(ctx context.Context, base string, part int, to io.Writer) error {
	s, err := p.schema(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(to)
	_, _ = out.WriteString(xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n") // Flush tells of errors
	set := s.set(&kernel.User{Roles: []string{kernel.RoleGuest}}, viewing)
	from := int64(part) * SitemapMost
	for after, end := from-1, from+SitemapMost; after < end; {
		type row struct {
			id       int64
			template int64
			path     string
			modified kernel.Moment
		}
		var rows []row
		err := p.Read(ctx, func(c kernel.Conn) (err error) {
			rows, err = store.List(c, func(r store.Row) (one row, err error) {
				err = r.Scan(&one.id, &one.template, &one.path, &one.modified)
				return one, err
			}, "SELECT id, template_id, path, modified FROM cms_pages WHERE status = 0 AND id > ? AND id < ? ORDER BY id LIMIT 1000", after, end)
			return err
		})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for _, r := range rows {
			if after = r.id; !set.All && !slices.Contains(set.IDs, r.template) {
				continue
			}
			_, _ = out.WriteString("<url><loc>")
			_ = xml.EscapeText(out, []byte(strings.TrimSuffix(base, "/")+r.path))
			_, _ = fmt.Fprintf(out, "</loc><lastmod>%s</lastmod></url>\n", r.modified.Time().UTC().Format(time.RFC3339))
		}
	}
	_, _ = out.WriteString("</urlset>\n")
	return out.Flush()
}

// SitemapIndex writes the list of the parts, whose addresses are made by at.
func SitemapIndex(parts int, at func(part int) string, to io.Writer) error {
	out := bufio.NewWriter(to)
	_, _ = out.WriteString(xml.Header + `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n") // Flush tells of errors
	for part := range parts {
		_, _ = out.WriteString("<sitemap><loc>")
		_ = xml.EscapeText(out, []byte(at(part)))
		_, _ = out.WriteString("</loc></sitemap>\n")
	}
	_, _ = out.WriteString("</sitemapindex>\n")
	return out.Flush()
}
