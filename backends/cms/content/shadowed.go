package content

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// warnIfShadowed sets the page's warning if the page cannot be reached because its path belongs to the API.
func (p *Content) warnIfShadowed(page *Page) {
	if p.Endpoint == nil {
		return
	}
	if endpoint := p.Endpoint(); page.Path == endpoint || strings.HasPrefix(page.Path, endpoint+"/") {
		page.Warning = fmt.Sprintf("the API is at %s: no page is served there", endpoint)
		p.Logger().Warn("a page is not served, because its path belongs to the API",
			zap.String("path", page.Path), zap.String("endpoint", endpoint))
	}
}

// Shadowed returns the paths of at most limit pages that cannot be reached because they are at or below the API's
// endpoint, such as /api.
func (p *Content) Shadowed(ctx context.Context, endpoint string, limit int) (paths []string, err error) {
	err = p.Read(ctx, func(c kernel.Conn) error {
		paths, err = store.List(c, func(r store.Row) (path string, err error) { return path, r.Scan(&path) },
			// '0' is the character after '/', and the status 3 is trash.
			"SELECT path FROM cms_pages WHERE (path = ? OR path >= ? AND path < ?) AND status <> 3 ORDER BY path LIMIT ?",
			endpoint, endpoint+"/", endpoint+"0", limit)
		return err
	})
	return paths, err
}
