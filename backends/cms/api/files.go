package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
)

// file answers with a file of a page that the user may see.
func (c Content) file(_ context.Context, call *handler.Call) (any, error) {
	of, user := id(call), call.User
	return handler.Served(func(w http.ResponseWriter, r *http.Request) error { return c.Files.Serve(w, r, &user, of) }), nil
}

// attach puts a file into a field of a page: the body as it is, with its name in the query, or the first file of a form
// with parts.
func (c Content) attach(ctx context.Context, call *handler.Call) (any, error) {
	name, from, err := sent(call)
	if err != nil {
		return nil, err
	}
	page, err := c.Files.Receive(ctx, &call.User, content.Place{Page: id(call), Field: call.Params["field"]}, name, from)
	if body, ok := call.Stream.(*inbound.Body); ok && err == nil {
		body.Done()
	}
	if err == nil {
		err = call.SetStatus(http.StatusCreated)
	}
	return tagged(call, page, err)
}

// sent is the name and the content of the file of a request.
func sent(call *handler.Call) (name string, from io.Reader, err error) {
	kind, options, _ := mime.ParseMediaType(call.Header.Get("Content-Type")) // what cannot be read is a file as any
	if kind != "multipart/form-data" {
		name, _ = call.Query["name"].(string)
		if name == "" {
			return "", nil, handler.Errorf(http.StatusBadRequest, "Required parameter 'name' is missing")
		}
		return name, call.Stream, nil
	}
	form := multipart.NewReader(call.Stream, options["boundary"])
	for range maxValues {
		part, err := form.NextPart()
		switch {
		case inbound.TooSlow(err):
			return "", nil, handler.Errorf(http.StatusRequestTimeout, "the body came too slowly")
		case errors.Is(err, io.EOF):
			return "", nil, handler.Errorf(http.StatusBadRequest, "the form has no file")
		case err != nil:
			return "", nil, handler.Errorf(http.StatusBadRequest, "the form cannot be read")
		}
		if part.FileName() != "" {
			return part.FileName(), part, nil
		}
	}
	return "", nil, handler.Errorf(http.StatusBadRequest, "the form has more than %d members", maxValues)
}
