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
var errResult = errors.New("a worker process sent a malformed result")

// answer decodes the Result frame of a call. It applies the status and the headers that the script has set, logs
// rejected promises that the script has not handled, and returns the result of the method as handler.Func does.
func (h *host) answer(result []byte) (any, error) {
	r := wire.NewReader(result)
	if status := int(r.Uint()); status != 0 { //nolint:gosec // G115: SetStatus refuses other numbers
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
		failure := h.readError(r)
		h.engine.Logger().Warn("a promise was rejected, and the script does not handle it",
			zap.String("request", h.call.RequestID), zap.String("handler", h.method.class+"."+h.method.name),
			zap.Error(failure), zap.String("stack", Stack(failure)))
	}
	value, err := h.readResult(r)
	if r.Err() != nil {
		return nil, errResult
	}
	return value, err
}

// readResult reads the result of a call: an error, a file or an image to serve, a response, or a value.
func (h *host) readResult(r *wire.Reader) (any, error) {
	switch kind := r.Byte(); kind {
	case wire.Failed:
		return nil, h.readError(r)
	case wire.Served:
		n := r.Uint()
		if n < 1 || n > uint64(len(h.served)) {
			return nil, errResult
		}
		return h.served[n-1], nil
	case wire.Responded:
		response := handler.Response{Status: int(r.Uint()), Header: http.Header{}} //nolint:gosec // G115: the API refuses other numbers
		for range r.Len() {
			response.Header.Set(r.Text(), r.Text())
		}
		var err error
		response.Body, err = readBody(r.Byte(), r)
		return response, err
	default:
		return readBody(kind, r)
	}
}

// readBody decodes the body of a response, or a value that a method has returned. kind is one of the kinds of answers
// of package wire.
func readBody(kind byte, r *wire.Reader) (any, error) {
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

// readError decodes the error with which a call has ended, or the reason for which a promise was rejected.
func (h *host) readError(r *wire.Reader) error {
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

// endedError is the error of a call whose process ended before it sent a result. detail has the value of
// process.detail.
type endedError struct{ detail string }

func (e *endedError) Error() string {
	return fmt.Sprintf("the worker process of the handler has ended: %s", e.detail)
}
