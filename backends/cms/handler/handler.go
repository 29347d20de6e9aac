// Package handler defines handler classes, which answer the requests to a site. Classes are written in JavaScript or
// Go. A class has a name and methods; a method takes a Call and returns the value to answer with.
//
// A string is answered as {"message": string}, nil as 204 without a body, and a Response with its status, headers and
// body. A Served writes the answer itself. Any other value is answered as JSON; an encoding/json.RawMessage is written
// unchanged. An Error is answered with its code, and an exceeded deadline with 504. Any other error is answered with
// 500, without the text of the error.
package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/cms/header"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

// Func is a method of a class. ctx is canceled when the request ends or its time limit is exceeded; the method must
// then return.
type Func func(ctx context.Context, c *Call) (any, error)

// Class is a handler class. The third element of a route refers to a class.
type Class struct {
	// Name is the name of the class in the routes file, without a namespace.
	Name string
	// Methods holds the methods by name. The fourth element of a route is the name of a method. Methods may be called
	// concurrently.
	Methods map[string]Func
}

// User is the calling user, or the guest if the caller has not signed in.
type User = kernel.User

// Session stores values of a caller between requests. The values have the types that encoding/json produces when it
// decodes into a variable of type any. Changes are saved after the method has returned without an error.
type Session interface {
	Get(name string) (value any, ok bool)
	// Set stores a value. It returns an error if all values of the session together would be too large.
	Set(name string, value any) error
	Remove(name string)
}

// Call is one call of a method. A Call must not be used after the method has returned.
type Call struct {
	// Data merges the query, the body, the path parameters and userId; a later source overrides an earlier one. The values
	// have the types that encoding/json produces when it decodes into a variable of type any. Values from the path, the
	// query and forms are strings, or lists of strings if a name is repeated.
	Data map[string]any
	// Query, Body and Params are the sources of Data: the query, the body and the path parameters. They are never nil.
	Query, Body map[string]any
	Params      map[string]string

	Method    string      // the request's method in upper case; HEAD even if the route is for GET
	Path      string      // below the endpoint, such as users/7
	RequestID string      // the ID in logs and error answers
	Header    http.Header // of the request, read-only
	Address   string      // of the client
	BaseURL   string      // of the endpoint, without a trailing slash: https://example.com/api
	User      User
	// Session is nil unless the authorization mode is session.
	Session Session
	// Files holds the files of a multipart form by the name of their part. If several files have the same name, only
	// the last one is in the map.
	Files map[string]Upload
	// Stream is the unread body, if the route has the option routes.Options.Stream. Otherwise it is nil.
	Stream io.Reader

	status  int
	headers http.Header
}

// Upload is a file in a form. Name is the file name that the client has sent.
type Upload struct {
	Name    string
	Content []byte
}

// Served is an answer that writes itself to w, for content that is not held in memory. If it returns an error, it must
// not have written anything.
type Served func(w http.ResponseWriter, r *http.Request) error

// SetStatus sets the status of the answer. It returns an error unless the status is between 200 and 599. The default is
// 200.
func (c *Call) SetStatus(status int) error {
	if status < 200 || status > 599 {
		return fmt.Errorf("%d is not a status from 200 to 599", status)
	}
	c.status = status
	return nil
}

// SetHeader sets a header of the answer. An empty value removes the header. SetHeader returns an error for headers that
// concern the connection, and for names and values that HTTP does not allow.
func (c *Call) SetHeader(name, value string) error {
	if err := header.Check(name, value); err != nil {
		return err
	}
	if c.headers == nil {
		c.headers = http.Header{}
	}
	c.headers.Set(name, value)
	return nil
}

// Answered returns the status set by SetStatus, or 0, and the headers set by SetHeader.
func (c *Call) Answered() (int, http.Header) { return c.status, c.headers }

// Response is a complete answer. It overrides the status and headers that were set before.
type Response struct {
	Status int // 200 to 599; 0 means 200
	// Body is the body of the answer, or nil for no body. A string or []byte is written unchanged, as text/plain or
	// application/octet-stream unless Header has a Content-Type. Any other value is written as JSON.
	Body   any
	Header http.Header
}

// Error is an error that is answered with {"error": Message}.
type Error struct {
	Code    int // 400 to 599; any other code is answered with an unspecific 500
	Message string
	Header  http.Header // such as Retry-After
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an Error without headers.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Busy returns the error for a call that cannot begin in time: 503 with Retry-After.
func Busy() *Error {
	return &Error{
		Code: http.StatusServiceUnavailable, Message: "busy, try again",
		Header: http.Header{"Retry-After": {"1"}},
	}
}

// Of returns the first Error in err's chain and true. If there is none, or if its status is not from 400 to 599, Of
// returns nil and false.
func Of(err error) (*Error, bool) {
	var e *Error
	if errors.As(err, &e) && e.Code >= 400 && e.Code <= 599 {
		return e, true
	}
	return nil, false
}
