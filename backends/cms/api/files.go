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

// file answers with a file of a page, if the user may see it.
func (c Content) file(_ context.Context, call *handler.Call) (any, error) {
	fileID, user := id(call), call.User
	return handler.Served(func(w http.ResponseWriter, r *http.Request) error {
		return c.Files.Serve(w, r, &user, fileID)
	}), nil
}

// attach adds a file to a field of a page. The file is the whole body, with its name in the query, or the first
// file of a multipart form.
func (c Content) attach(ctx context.Context, call *handler.Call) (any, error) {
	name, file, err := upload(call)
	if err != nil {
		return nil, err
	}
	page, err := c.Files.Receive(ctx, &call.User, content.Place{Page: id(call), Field: call.Params["field"]}, name, file)
	if body, ok := call.Stream.(*inbound.Body); ok && err == nil {
		body.Done() // the minimum speed no longer applies
	}
	if err == nil {
		err = call.SetStatus(http.StatusCreated)
	}
	return withETag(call, page, err)
}

// upload returns the name and the content of the uploaded file.
func upload(call *handler.Call) (name string, file io.Reader, err error) {
	// If the Content-Type is malformed, the body is the file.
	kind, options, _ := mime.ParseMediaType(call.Header.Get("Content-Type"))
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
			return "", nil, handler.Errorf(http.StatusBadRequest, "the form is malformed")
		}
		if part.FileName() != "" {
			return part.FileName(), part, nil
		}
	}
	return "", nil, handler.Errorf(http.StatusBadRequest, "the form has more than %d members", maxValues)
}
