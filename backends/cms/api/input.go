package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

const (
	// maxValues limits the number of query parameters or form members.
	maxValues = 1000
	// maxDepth limits the nesting of a JSON body.
	maxDepth = 64
)

// tooLarge returns the error for a body that is larger than limit bytes.
func tooLarge(limit int64) error {
	return handler.Errorf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", limit)
}

// input fills in the input of the call: the path parameters params, the query and the body, of at most limit bytes.
// Data merges the query parameters, the members of the body, the path parameters, and userId, which clients cannot set.
// A later source overrides an earlier one.
func (q *request) input(params map[string]string, limit int64) (err error) {
	c := &q.call
	c.Method, c.Header, c.Params = q.r.Method, q.r.Header, params
	c.User, c.Address = *q.id.User, q.Kernel.Address(q.r)
	c.BaseURL = q.Kernel.Origin(q.r) + "/" + q.current.Mount()
	if q.id.Session != nil {
		c.Session = q.id.Session
	}
	if c.Query, err = query(q.r.URL.RawQuery); err != nil {
		return err
	}
	if q.route.Options.Stream {
		c.Stream, c.Body = inbound.Default.Body(q.w, q.r), map[string]any{}
	} else if c.Body, err = q.body(limit); err != nil {
		return err
	}
	c.Data = make(map[string]any, len(c.Query)+len(c.Body)+len(params)+1)
	maps.Copy(c.Data, c.Query)
	maps.Copy(c.Data, c.Body)
	for name, value := range params {
		c.Data[name] = value
	}
	c.Data["userId"] = q.id.User.ID
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	return nil
}

// query parses a query string. The value of a repeated name is a list.
func query(raw string) (map[string]any, error) {
	if raw == "" {
		return map[string]any{}, nil
	}
	if strings.Count(raw, "&") >= maxValues {
		return nil, handler.Errorf(http.StatusBadRequest, "the request has more than %d query parameters", maxValues)
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, handler.Errorf(http.StatusBadRequest, "the query string is malformed")
	}
	return single(values), nil
}

// single converts the values of a query or a form: one value becomes a string, several become a list.
func single(values map[string][]string) map[string]any {
	result := make(map[string]any, len(values))
	for name, list := range values {
		if len(list) == 1 {
			result[name] = list[0]
			continue
		}
		several := make([]any, len(list))
		for i, value := range list {
			several[i] = value
		}
		result[name] = several
	}
	return result
}

// body returns the members of the JSON object or of the form in the body, which has at most limit bytes. It stores the
// files of a multipart form in q.call.Files. A body without a Content-Type is parsed as JSON. The body of GET and HEAD
// has no meaning (RFC 9110, 9.3.1) and is not read.
func (q *request) body(limit int64) (map[string]any, error) {
	r := q.r
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.ContentLength == 0 || r.Body == nil ||
		r.Body == http.NoBody {
		return map[string]any{}, nil
	}
	kind, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.Header.Get("Content-Type") != "" {
		return nil, handler.Errorf(http.StatusUnsupportedMediaType, "the header Content-Type is malformed")
	}
	in := inbound.Default.Body(q.w, r)
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case inbound.TooSlow(err):
		return nil, handler.Errorf(http.StatusRequestTimeout, "the body came too slowly")
	case err != nil:
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, tooLarge(limit)
		}
		return nil, handler.Errorf(http.StatusBadRequest, "the body was not received completely")
	case int64(len(text)) > limit:
		return nil, tooLarge(limit)
	}
	in.Done()
	switch {
	case len(text) == 0:
		return map[string]any{}, nil
	case kind == "" || kind == "application/json" || strings.HasPrefix(kind, "application/") &&
		strings.HasSuffix(kind, "+json"):
		return object(text)
	case kind == "application/x-www-form-urlencoded":
		members, err := query(string(text))
		if err != nil {
			return nil, handler.Errorf(http.StatusBadRequest, "the form is malformed or has more than %d members", maxValues)
		}
		return members, nil
	case kind == "multipart/form-data":
		members, files, err := parts(text, options["boundary"])
		q.call.Files = files
		return members, err
	}
	return nil, handler.Errorf(http.StatusUnsupportedMediaType, "the body is neither JSON nor a form")
}

// object parses a JSON object. Numbers become float64. If a member occurs more than once, its last value is used.
func object(text []byte) (map[string]any, error) {
	if !utf8.Valid(text) { // RFC 8259, 8.1; encoding/json would replace the invalid bytes
		return nil, handler.Errorf(http.StatusBadRequest, "the body is not JSON: it is not UTF-8")
	}
	scan := jsontext.NewScanner(text)
	scan.Limit(maxDepth)
	kind := scan.Kind()
	err := scan.Skip()
	if err == nil {
		err = scan.End()
	}
	if err != nil {
		return nil, handler.Errorf(http.StatusBadRequest, "the body is not JSON: %s", err)
	}
	if kind != jsontext.Object {
		return nil, handler.Errorf(http.StatusBadRequest, "the body is not a JSON object")
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, handler.Errorf(http.StatusBadRequest, "the body is not JSON: %s", err)
	}
	return members, nil
}

// parts returns the values and the files in a multipart form, both by the names of their inputs. If several files have
// the same name, only the last one is returned.
func parts(text []byte, boundary string) (formValues map[string]any, files map[string]handler.Upload, err error) {
	if boundary == "" {
		return nil, nil, handler.Errorf(http.StatusBadRequest, "the form has no boundary")
	}
	reader := multipart.NewReader(bytes.NewReader(text), boundary)
	values := make(map[string][]string)
	files = make(map[string]handler.Upload)
	for n := 0; ; n++ {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return single(values), files, nil
		}
		if err != nil || n == maxValues {
			return nil, nil, handler.Errorf(http.StatusBadRequest, "the form is malformed or has more than %d members",
				maxValues)
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, nil, handler.Errorf(http.StatusBadRequest, "the form is malformed")
		}
		if part.FileName() != "" {
			files[part.FormName()] = handler.Upload{Name: part.FileName(), Content: value}
			continue
		}
		values[part.FormName()] = append(values[part.FormName()], string(value))
	}
}
