package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/js"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// errResult is the error for a malformed Result frame of a worker.
var errResult = errors.New("a process for handlers gave an answer that is none")

// answer decodes the Result frame of a call.
func (h *host) answer(result []byte) (any, error) {
	r := wire.NewReader(result)
	if status := int(r.Uint()); status != 0 { //nolint:gosec // G115: SetStatus refuses what is none
		if err := h.call.SetStatus(status); err != nil {
			return nil, err
		}
	}
	for range r.Len() {
		if err := h.call.SetHeader(r.Text(), r.Text()); err != nil {
			return nil, err
		}
	}
	for range r.Len() {
		failure := h.failed(r)
		h.engine.Logger().Warn("a promise was rejected and nobody waits for it", zap.String("request", h.call.RequestID),
			zap.String("handler", h.method.class+"."+h.method.name), zap.Error(failure), zap.String("stack", Stack(failure)))
	}
	value, err := h.result(r)
	if r.Err() != nil {
		return nil, errResult
	}
	return value, err
}

// result reads the result of a call: an error, a file or an image to serve, a response, or a value.
func (h *host) result(r *wire.Reader) (any, error) {
	switch kind := r.Byte(); kind {
	case wire.Failed:
		return nil, h.failed(r)
	case wire.Served:
		n := r.Uint()
		if n < 1 || n > uint64(len(h.served)) {
			return nil, errResult
		}
		return h.served[n-1], nil
	case wire.Responded:
		response := handler.Response{Status: int(r.Uint()), Header: http.Header{}} //nolint:gosec // G115: the API refuses what is none
		for range r.Len() {
			response.Header.Set(r.Text(), r.Text())
		}
		var err error
		response.Body, err = body(r.Byte(), r)
		return response, err
	default:
		return body(kind, r)
	}
}

// body decodes a value that a method has returned. kind is one of the kinds of answers of package wire.
func body(kind byte, r *wire.Reader) (any, error) {
	switch kind {
	case wire.Nothing:
		return nil, nil
	case wire.Text:
		return r.Text(), nil
	case wire.Raw:
		return []byte(r.Text()), nil
	case wire.Whole:
		return json.RawMessage(r.Text()), nil
	}
	return nil, errResult
}

// failed decodes the error with which a call has ended.
func (h *host) failed(r *wire.Reader) error {
	kind, code, message, stack, cause := r.Byte(), r.Uint(), r.Text(), r.Text(), r.Uint()
	failure := &scriptError{errors.New(message), stack}
	switch {
	case kind == wire.TookTime:
		failure.error = errTime
	case kind == wire.TookMemory:
		failure.error = js.ErrMemory
	case kind == wire.Coded && code >= 400 && code <= 599:
		failure.error = handler.Errorf(int(code), "%s", message)
	case cause > 0 && cause <= uint64(len(h.causes)):
		failure.error = h.causes[cause-1]
	}
	return failure
}

// errTime is the error for a call that exceeded its time limit.
var errTime = handler.Errorf(http.StatusGatewayTimeout, "%s", js.ErrTime)

// scriptError is an error with a stack trace of the site's code.
type scriptError struct {
	error
	stack string
}

func (e *scriptError) Unwrap() error { return e.error }

// Stack returns the calls that led to the error, one on each line, innermost first. It is empty if the calls are not
// known.
func (e *scriptError) Stack() string { return e.stack }

// Stack returns the stack trace of the script error in err's chain, or an empty string.
func Stack(err error) string {
	if e, ok := errors.AsType[*scriptError](err); ok {
		return e.stack
	}
	return ""
}

// endedError is the error of a call whose process ended before the answer.
type endedError struct{ detail string }

func (e *endedError) Error() string {
	return fmt.Sprintf("the process of the handler has ended: %s", e.detail)
}
