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

type siteFiles struct{ files *files.Files }

func (s siteFiles) Attach(
	ctx context.Context, u handler.User, page int64, field, name string, data []byte,
) (script.Object, error) {
	changed, err := s.files.Receive(ctx, &u, content.Place{Page: page, Field: field}, name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return object(changed), nil
}

func (s siteFiles) Answer(u handler.User, id int64, requested script.Object) (handler.Served, error) {
	var to content.Size
	if requested != nil {
		var err error
		if to, err = size(requested); err != nil {
			return nil, err
		}
	}
	return func(w http.ResponseWriter, r *http.Request) error { return s.files.Image(w, r, &u, id, to) }, nil
}

func (s siteFiles) Link(id int64, requested script.Object) (string, error) {
	to, err := size(requested)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("content/files/%d?%s", id, s.files.Query(id, to)), nil
}

// size parses {width, height, fit}.
func size(requested script.Object) (to content.Size, err error) {
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
		return -1
	}
	to = content.Size{Width: side("width"), Height: side("height"), Cover: requested["fit"] == "cover"}
	if fit := requested["fit"]; !to.Valid() || fit != nil && fit != "cover" && fit != "contain" {
		return to, kernel.BadRequest("a size has width or height, from 1 to %d, and with fit: 'cover' both", content.MaxSide)
	}
	return to, nil
}
