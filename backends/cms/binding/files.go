package binding

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/files"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/script"
)

// Files returns access to the files of a site's pages with the rights of the request's user.
func Files(f *files.Files) script.Files { return siteFiles{f} }

// siteFiles implements script.Files.
type siteFiles struct{ files *files.Files }

// Attach implements script.Files.
func (s siteFiles) Attach(
	ctx context.Context, u handler.User, page int64, field, name string, data []byte,
) (script.Object, error) {
	changed, err := s.files.Receive(ctx, &u, content.Place{Page: page, Field: field}, name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return object(changed), nil
}

// Answer implements script.Files. requested is {width, height, fit} or nil.
func (s siteFiles) Answer(u handler.User, id int64, requested script.Object) (handler.Served, error) {
	var size content.Size // the zero Size means the original size
	if requested != nil {
		var err error
		if size, err = parseSize(requested); err != nil {
			return nil, err
		}
	}
	return func(w http.ResponseWriter, r *http.Request) error { return s.files.Image(w, r, &u, id, size) }, nil
}

// Link implements script.Files. requested is {width, height, fit}.
func (s siteFiles) Link(id int64, requested script.Object) (string, error) {
	size, err := parseSize(requested)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("content/files/%d?%s", id, s.files.Query(id, size)), nil
}

// parseSize converts an object {width, height, fit} to a size.
func parseSize(requested script.Object) (size content.Size, err error) {
	side := func(name string) int {
		switch n := requested[name].(type) {
		case nil:
			return 0
		case int64:
			return int(n)
		case float64:
			if n == float64(int(n)) {
				return int(n)
			}
		}
		return -1 // invalid
	}
	size = content.Size{Width: side("width"), Height: side("height"), Cover: requested["fit"] == "cover"}
	if fit := requested["fit"]; !size.Valid() || fit != nil && fit != "cover" && fit != "contain" {
		return size, kernel.BadRequest("a size must have width, height or both, from 1 to %d; fit is 'contain', or 'cover' "+
			"with both", content.MaxSide)
	}
	return size, nil
}
