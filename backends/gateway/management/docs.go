package management

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	redoc "github.com/mvrilo/go-redoc"
	swagger "github.com/swaggest/swgui/v5/static"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// The pages that show the OpenAPI document. Their addresses are relative, so
// that the gateway may be mounted below a path.
var (
	//go:embed web/docs.html
	docsPage []byte
	//go:embed web/docs.js
	docsScript []byte
	//go:embed web/redoc.html
	redocPage []byte
	//go:embed web/redoc-page.js
	redocScript []byte
)

// What the pages may load: they style themselves, Redoc indexes in a worker.
const (
	docsPolicy  = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	redocPolicy = docsPolicy + "; worker-src blob:; child-src blob:"
)

const html = "text/html; charset=utf-8"

func (s *Service) docs(c *rest.Call) (any, error) {
	c.W.Header().Set("Content-Security-Policy", docsPolicy)
	return page(c, html, docsPage)
}

func (s *Service) redoc(c *rest.Call) (any, error) {
	c.W.Header().Set("Content-Security-Policy", redocPolicy)
	return page(c, html, redocPage)
}

// docsAsset is a file of Swagger UI or Redoc.
func (s *Service) docsAsset(c *rest.Call) (any, error) {
	const script = "text/javascript; charset=utf-8"
	switch name := c.Path("file"); name {
	case "docs.js":
		return page(c, script, docsScript)
	case "redoc-page.js":
		return page(c, script, redocScript)
	case "redoc.js":
		return page(c, script, []byte(redoc.JavaScript))
	case "swagger-ui-bundle.js":
		return packed(c, script, name)
	case "swagger-ui.css":
		return packed(c, "text/css; charset=utf-8", name)
	case "favicon-32x32.png":
		icon, err := fs.ReadFile(swagger.FS, name)
		if err != nil {
			return nil, err
		}
		return page(c, "image/png", icon)
	default:
		return nil, apierror.New(http.StatusNotFound, "not_found", "there is no file %s here", rest.Quote(path.Base(name)))
	}
}

// page answers with what changes with the binary only.
func page(c *rest.Call, kind string, data []byte) (any, error) {
	h := c.W.Header()
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Referrer-Policy", "no-referrer")
	return rest.Raw{Type: kind, Data: data}, nil
}

// packed answers with a file that the binary holds compressed.
func packed(c *rest.Call, kind, name string) (any, error) {
	data, err := fs.ReadFile(swagger.FS, name+".gz")
	if err != nil {
		return nil, err
	}
	c.W.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(c.R.Header.Get("Accept-Encoding"), "gzip") {
		c.W.Header().Set("Content-Encoding", "gzip")
		return page(c, kind, data)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(unpacked)
	if err = errors.Join(err, unpacked.Close()); err != nil {
		return nil, err
	}
	return page(c, kind, data)
}
