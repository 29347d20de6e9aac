package management

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	redoc "github.com/mvrilo/go-redoc"
	swagger "github.com/swaggest/swgui/v5/static"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// The pages that show the OpenAPI document. Their links are relative, so the gateway may be mounted below a path.
var (
	//go:embed web/reference.html
	referenceText string
	//go:embed web/reference.css
	referenceSheet []byte
	//go:embed web/docs.js
	docsScript []byte
	//go:embed web/redoc-page.js
	redocScript []byte
)

// Content security policies of the pages. Swagger UI and Redoc set styles, and Redoc builds its index in a worker.
const (
	docsPolicy  = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	redocPolicy = docsPolicy + "; worker-src blob:; child-src blob:"
)

const htmlType = "text/html; charset=utf-8"

var referencePage = template.Must(template.Must(template.New("").Parse(look.Templates)).Parse(referenceText))

func (s *Service) docs(c *rest.Call) (any, error) { return s.reference(c, docsPolicy, true) }

func (s *Service) redoc(c *rest.Call) (any, error) { return s.reference(c, redocPolicy, false) }

// reference returns a page of the API reference: the page with forms to send requests if try is set, and otherwise the
// page that is only for reading. policy is the page's Content-Security-Policy.
func (s *Service) reference(c *rest.Call, policy string, try bool) (any, error) {
	bar := look.Always(s.Bar)(c.R)
	address := func(name string) string { return "docs/" + name }
	view := struct {
		look.Top
		Style string
		Try   bool
	}{Top: look.Top{Bar: bar, Part: "API reference", Home: "console/", At: address}, Try: try}
	if sheet, _ := bar.Brand.Names(); sheet != "" {
		view.Style = address(sheet)
	}
	var text bytes.Buffer
	if err := referencePage.Execute(&text, view); err != nil {
		return nil, err
	}
	c.W.Header().Set("Content-Security-Policy", policy)
	c.W.Header().Set("Cache-Control", "no-cache")
	c.W.Header().Set("Vary", "Cookie") // the bar shows what the visitor may see
	c.W.Header().Set("Referrer-Policy", "no-referrer")
	return rest.Raw{Type: htmlType, Data: text.Bytes()}, nil
}

// docsAsset returns a file of Swagger UI, of Redoc or of the page that embeds these.
func (s *Service) docsAsset(c *rest.Call) (any, error) {
	const (
		script = "text/javascript; charset=utf-8"
		style  = "text/css; charset=utf-8"
	)
	name := c.Path("file")
	if file := look.Always(s.Bar)(c.R).Brand.File(name); file.Text != nil {
		c.W.Header().Set("Content-Security-Policy", look.FilePolicy)
		return staticFile(c, file.Type, file.Text)
	}
	switch name {
	case look.Frame, "reference.css":
		text := look.Files()[look.Frame]
		if name == "reference.css" {
			text = referenceSheet
		}
		return staticFile(c, style, text)
	case look.Logo, look.Icons:
		return staticFile(c, "image/svg+xml", look.Files()[name])
	case "docs.js":
		return staticFile(c, script, docsScript)
	case "redoc-page.js":
		return staticFile(c, script, redocScript)
	case "redoc.js":
		return staticFile(c, script, []byte(redoc.JavaScript))
	case "swagger-ui-bundle.js":
		return gzippedFile(c, script, name)
	case "swagger-ui.css":
		return gzippedFile(c, style, name)
	default:
		return nil, apierror.New(http.StatusNotFound, "not_found", "there is no file %s here", rest.Quote(path.Base(name)))
	}
}

// staticFile returns a file that changes only with the binary, so that browsers may cache it.
func staticFile(c *rest.Call, mediaType string, data []byte) (any, error) {
	h := c.W.Header()
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Referrer-Policy", "no-referrer")
	return rest.Raw{Type: mediaType, Data: data}, nil
}

// gzippedFile returns a file of Swagger UI, which is stored compressed in the binary. It decompresses the file for
// clients that do not accept gzip.
func gzippedFile(c *rest.Call, mediaType, name string) (any, error) {
	data, err := fs.ReadFile(swagger.FS, name+".gz")
	if err != nil {
		return nil, err
	}
	c.W.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(c.R.Header.Get("Accept-Encoding"), "gzip") {
		c.W.Header().Set("Content-Encoding", "gzip")
		return staticFile(c, mediaType, data)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(unpacked)
	if err = errors.Join(err, unpacked.Close()); err != nil {
		return nil, err
	}
	return staticFile(c, mediaType, data)
}
