package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/header"
)

const (
	// maxOutput limits the length of an answer, in bytes.
	maxOutput = 8 << 20
	jsonType  = "application/json; charset=utf-8"
)

var errLarge = fmt.Errorf("the answer is longer than %d bytes", maxOutput)

// answer writes the return value of a method as the answer.
func (q *request) answer(value any) {
	if serve, ok := value.(handler.Served); ok {
		_, header := q.call.Answered()
		merge(q.w.Header(), header)
		if err := serve(q.w, q.original); err != nil {
			q.fail(err)
		}
		return
	}
	out, err := q.encode(value)
	if err != nil {
		q.fail(err)
		return
	}
	answerHeader := q.w.Header()
	merge(answerHeader, out.header)
	if out.body == nil {
		q.w.WriteHeader(cmp.Or(out.status, http.StatusNoContent))
		return
	}
	if answerHeader.Get("Content-Type") == "" {
		answerHeader.Set("Content-Type", out.kind)
	}
	answerHeader.Set("X-Content-Type-Options", "nosniff")
	if out.status == http.StatusNoContent || out.status == http.StatusNotModified { // these have no body
		answerHeader.Del("Content-Type")
		q.w.WriteHeader(out.status)
		return
	}
	answerHeader.Set("Content-Length", strconv.Itoa(len(out.body)))
	q.w.WriteHeader(cmp.Or(out.status, http.StatusOK))
	_, _ = q.w.Write(out.body) // an error means that the client has gone
}

// merge copies header to dst. Values of Vary are added to the existing values, because every answer already varies with
// Origin.
func merge(dst, header http.Header) {
	vary := dst.Values("Vary")
	maps.Copy(dst, header)
	if values := header.Values("Vary"); len(values) > 0 {
		dst["Vary"] = append(slices.Clone(vary), values...)
	}
}

// output is an answer that has not been written yet.
type output struct {
	status int // 0 for the default: 204 without a body, and otherwise 200
	header http.Header
	body   []byte // nil if the answer has no body
	kind   string // the Content-Type, unless header has one
}

// encode returns the answer for the return value of a method. The status and the header are those of the value if it is
// a handler.Response, and otherwise those that the method has set in the call.
func (q *request) encode(value any) (out output, err error) {
	if response, ok := responseOf(value); ok {
		if response.Status != 0 && (response.Status < 200 || response.Status > 599) {
			return out, fmt.Errorf("the handler returned the status %d, which is not from 200 to 599", response.Status)
		}
		for name, values := range response.Header {
			for _, v := range values {
				if err := header.Check(name, v); err != nil {
					return out, err
				}
			}
		}
		// The status 0 stands for 200.
		out.status, out.header = max(response.Status, http.StatusOK), canonical(response.Header)
		switch content := response.Body.(type) {
		case string:
			out.body, out.kind = []byte(content), "text/plain; charset=utf-8"
		case []byte:
			out.body, out.kind = content, "application/octet-stream"
		case nil:
		default:
			out.body, err = marshal(content)
			out.kind = jsonType
		}
	} else {
		out.status, out.header = q.call.Answered()
		out.kind = jsonType
		switch content := value.(type) {
		case nil:
		case string:
			out.body, err = marshal(map[string]string{"message": content})
		default:
			out.body, err = marshal(content)
		}
	}
	if err == nil && len(out.body) > maxOutput {
		err = errLarge
	}
	return out, err
}

// responseOf returns a value that is a handler.Response or a pointer to one.
func responseOf(value any) (response handler.Response, ok bool) {
	if pointer, isPointer := value.(*handler.Response); isPointer && pointer != nil {
		return *pointer, true
	}
	response, ok = value.(handler.Response)
	return response, ok
}

// canonical returns header with canonical names. It returns header itself if all names are canonical.
func canonical(header http.Header) http.Header {
	for name := range header {
		if http.CanonicalHeaderKey(name) == name {
			continue
		}
		fixed := make(http.Header, len(header))
		for name, values := range header {
			fixed[http.CanonicalHeaderKey(name)] = append(fixed[http.CanonicalHeaderKey(name)], values...)
		}
		return fixed
	}
	return header
}

// marshal encodes a value as JSON without a final line break and without escaping HTML characters.
func marshal(value any) ([]byte, error) {
	if raw, ok := value.(json.RawMessage); ok {
		return raw, nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("the answer cannot be encoded as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// status returns the status of the answer for the result of a method.
func (q *request) status(value any, err error) int {
	if err != nil {
		e, _ := refusal(err)
		return e.Code
	}
	if response, ok := responseOf(value); ok {
		return cmp.Or(response.Status, http.StatusOK)
	}
	status, _ := q.call.Answered()
	if value == nil {
		return cmp.Or(status, http.StatusNoContent)
	}
	return cmp.Or(status, http.StatusOK)
}

// stacked is an error with a stack trace of the site's code.
type stacked interface {
	error
	Stack() string
}

// fail answers with an error. It logs the error if the answer does not contain all of it, or if the status is 500 or
// above.
func (q *request) fail(err error) {
	e, complete := refusal(err)
	if !complete || e.Code >= 500 {
		if q.r.Context().Err() != nil && errors.Is(err, context.Canceled) {
			return // the client has gone
		}
		path := q.call.Path
		if Secret(path) {
			path = previews + "…"
		}
		fields := []zap.Field{
			zap.String("request", q.call.RequestID), zap.String("path", path), zap.Int("status", e.Code),
			zap.Error(err),
		}
		if q.route != nil {
			fields = append(fields, zap.String("class", q.route.Class), zap.String("method", q.route.Func))
		}
		if traced, ok := errors.AsType[stacked](err); ok {
			fields = append(fields, zap.String("stack", traced.Stack()))
		}
		q.Kernel.Logger().Error("call failed", fields...)
	}
	body := struct {
		Error     string `json:"error"`
		RequestID string `json:"requestId,omitempty"`
	}{Error: e.Message}
	if !complete {
		body.RequestID = q.call.RequestID
		if q.current.Debug {
			body.Error = err.Error()
		}
	}
	answerHeader := q.w.Header()
	for name, values := range e.Header {
		answerHeader[http.CanonicalHeaderKey(name)] = values
	}
	answerHeader.Set("Content-Type", jsonType)
	answerHeader.Set("X-Content-Type-Options", "nosniff")
	answerHeader.Set("Cache-Control", "no-store")
	text, err := marshal(body)
	if err != nil {
		return // cannot happen: the body has only strings
	}
	answerHeader.Set("Content-Length", strconv.Itoa(len(text)))
	q.w.WriteHeader(e.Code)
	_, _ = q.w.Write(text) // an error means that the client has gone
}
