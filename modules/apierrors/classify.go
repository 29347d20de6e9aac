package apierrors

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// statusClientClosed is the status that Caddy, like other proxies, logs for a client that left before its response.
const statusClientClosed = 499

// statusOverloaded is the status 529, which the API of the format messages uses instead of 503.
const statusOverloaded = messages.StatusOverloaded

// internalError is the only message that a client gets for an internal fault.
const internalError = "internal error"

// Limits for the message and the parameter of an error that is sent to a client, in bytes. They are large because a
// message may list many model ids, and both texts may quote the request.
const (
	maxMessage = 16 << 10
	maxParam   = 1 << 10
)

// clientGone reports whether err means that the client closed the request. A cancelled context counts only if it is the
// request's context, because other work may be cancelled while the client still waits.
func clientGone(ctx context.Context, err error) bool {
	if e, ok := apierror.From(err); ok {
		return e.Status == statusClientClosed
	}
	if he, ok := errors.AsType[caddyhttp.HandlerError](err); ok && he.StatusCode == statusClientClosed {
		return true
	}
	return errors.Is(err, context.Canceled) && ctx.Err() != nil
}

// begunError wraps the error of a response that has already begun. Caddy logs the wrapped error with its status and the
// request id.
func begunError(ctx context.Context, id string, err error) error {
	if he, ok := errors.AsType[caddyhttp.HandlerError](err); ok && he.ID == id {
		return err // an inner api_errors has wrapped it
	}
	status := statusClientClosed
	if !clientGone(ctx, err) {
		status = classify(err).Status
	}
	return caddyhttp.HandlerError{StatusCode: status, ID: id, Err: err}
}

// classify turns any error into an error that may be shown to the client. If err wraps an error that a handler made for
// the client, classify uses that. Otherwise it keeps only the status. The result has a status from 400 to 599 and a
// message.
func classify(err error) *apierror.Error {
	if e, ok := apierror.From(err); ok {
		return complete(e)
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return apierror.New(http.StatusRequestEntityTooLarge, "request_too_large",
			"the request body is larger than %d bytes", large.Limit)
	}
	if he, ok := errors.AsType[caddyhttp.HandlerError](err); ok {
		return complete(&apierror.Error{Status: he.StatusCode})
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return complete(&apierror.Error{Status: http.StatusGatewayTimeout})
	}
	return complete(&apierror.Error{Status: http.StatusInternalServerError})
}

// complete returns a copy of e in which missing fields are filled in and texts that are too long are cut.
func complete(e *apierror.Error) *apierror.Error {
	c := *e
	c.Status = errorStatus(e.Status)
	if c.Message == "" {
		c.Message = defaultMessage(c.Status)
	}
	c.Message = truncate(c.Message, maxMessage)
	c.Param = truncate(c.Param, maxParam)
	return &c
}

// errorStatus returns status if it is an error status, otherwise 500. It maps 529 (overloaded) to 503; the messages
// format maps 503 back to 529.
func errorStatus(status int) int {
	switch {
	case status == statusOverloaded:
		return http.StatusServiceUnavailable
	case status < 400 || status > 599:
		return http.StatusInternalServerError
	}
	return status
}

// defaultMessage returns the message for an error without a message.
func defaultMessage(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "the request is not valid"
	case http.StatusUnauthorized:
		return "the request has no valid credentials"
	case http.StatusPaymentRequired:
		return "the budget of this key is spent"
	case http.StatusForbidden:
		return "these credentials do not allow this request"
	case http.StatusNotFound:
		return "there is nothing at this address"
	case http.StatusMethodNotAllowed:
		return "this address does not answer this method"
	case http.StatusRequestTimeout:
		return "the request took too long to arrive"
	case http.StatusConflict:
		return "the request conflicts with the current state"
	case http.StatusRequestEntityTooLarge:
		return "the request body is too large"
	case http.StatusUnsupportedMediaType:
		return "the type or encoding of the request body is not supported"
	case http.StatusTooManyRequests:
		return "too many requests, try again later"
	case http.StatusInternalServerError:
		return internalError
	case http.StatusBadGateway:
		return "the upstream did not answer"
	case http.StatusServiceUnavailable:
		return "the service is not available right now, try again shortly"
	case http.StatusGatewayTimeout:
		return "the upstream did not answer in time"
	}
	if text := http.StatusText(status); text != "" {
		return strings.ToLower(text)
	}
	if status >= 500 {
		return internalError
	}
	return "the request was refused"
}

// truncate cuts s to at most n bytes without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
