// Package handler defines the handler classes of the CMS, for classes written in JavaScript and in Go alike: a
// class has a name and methods, each of which takes a Call and returns the value to be answered.
//
// A string is answered as {"message": string}, nil as 204 without a body, a Response as it is, and a Served writes
// its answer itself. Every other value is answered as JSON; an encoding/json.RawMessage is written unchanged. An
// Error is answered with its code, an exceeded deadline with 504, and every other error with a 500 that does not
// tell the cause.
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

// Func is a method of a class. ctx ends when the request ends or its time is over; a method must heed it.
type Func func(ctx context.Context, c *Call) (any, error)

// Class is a handler class, to which the third position of a route refers.
type Class struct {
	// Name is the name in the routes file, without a namespace.
	Name string
	// Methods holds the methods by name, which is the fourth position of a route. They may be called concurrently.
	Methods map[string]Func
}

// User is the calling user: the guest if nobody has signed in.
type User = kernel.User

// Session stores values of a caller between requests. Values are of the types that encoding/json decodes into any.
// They are saved after the method has returned without an error.
type Session interface {
	Get(name string) (value any, ok bool)
	// Set fails if all values together would be too large.
	Set(name string, value any) error
	Remove(name string)
}

// Call is one call of a method. It must not be used after the method has returned.
type Call struct {
	// Data merges the query, the body, the URL parameters and userId; later ones take precedence. Values are of the
	// types that encoding/json decodes into any. Those of the URL and of forms are strings, or lists of strings if a
	// name occurs more than once.
	Data map[string]any
	// Query, Body and Params are the parts of Data. They are never nil.
	Query, Body map[string]any
	Params      map[string]string

	Method    string      // of the request, upper case; HEAD if a route for GET answers it
	Path      string      // below the endpoint, such as users/7
	RequestID string      // the ID in logs and error answers
	Header    http.Header // of the request, read-only
	Address   string      // of the client
	BaseURL   string      // of the endpoint, without a trailing slash: https://example.com/api
	User      User
	// Session is nil unless the authorization mode is session.
	Session Session
	// Files holds the files of a multipart form by the name of their part. Of several files with one name, the last
	// one counts.
	Files map[string]Upload
	// Stream is the body, for a route that reads it itself (routes.Options.Stream). Otherwise it is nil.
	Stream io.Reader

	status  int
	headers http.Header
}

// Upload is a file of a form. Name is the name that the client has sent.
type Upload struct {
	Name    string
	Content []byte
}

// Served is an answer that writes itself, for content that is not held in memory. If it returns an error, it must
// not have written anything.
type Served func(w http.ResponseWriter, r *http.Request) error

// SetStatus sets the status of the answer, from 200 to 599. The default is 200.
func (c *Call) SetStatus(status int) error {
	if status < 200 || status > 599 {
		return fmt.Errorf("%d is not a status of an answer", status)
	}
	c.status = status
	return nil
}

// SetHeader sets a header of the answer; an empty value removes it. It returns an error for headers of the
// connection, and for names and values that HTTP does not allow.
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

// Answered returns the status that SetStatus has set, or 0, and the headers that SetHeader has set.
func (c *Call) Answered() (int, http.Header) { return c.status, c.headers }

// Response is a complete answer. It replaces status and headers that were set before.
type Response struct {
	Status int // 200 to 599; 0 means 200
	// Body is the body of the answer. A nil Body means none. A string or []byte is written unchanged, as text/plain
	// or application/octet-stream unless Header has a Content-Type. Every other value is written as JSON.
	Body   any
	Header http.Header
}

// Error is an error that is answered with {"error": Message}.
type Error struct {
	Code    int // 400 to 599; any other code is answered with an unspecific 500
	Message string
	Header  http.Header // such as Retry-After
}

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

// Of returns the Error in err's chain, if it has a code that may be answered.
func Of(err error) (*Error, bool) {
	var e *Error
	if errors.As(err, &e) && e.Code >= 400 && e.Code <= 599 {
		return e, true
	}
	return nil, false
}
