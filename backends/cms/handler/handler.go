// Package handler says what a handler class of the CMS is, for classes of JavaScript and of Go alike: a name
// and methods, each of which takes a Call and gives what is answered.
//
// What a method gives (specification, section 4): a string is answered as {"message": string}; nil as 204
// without a body; a Response as it says, as does a Served; everything else as JSON, an encoding/json.RawMessage as it stands. An
// Error is answered with its code, a context's deadline with 504, every other error with 500 that tells
// nothing.
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

// Func is a method of a class. ctx ends when the request does or its time is over; a method minds it.
type Func func(ctx context.Context, c *Call) (any, error)

// Class is a handler class: what the third position of a route names.
type Class struct {
	// Name is as the routes file spells it, without a namespace.
	Name string
	// Methods are by the name of the fourth position. They may be called from many requests at once.
	Methods map[string]Func
}

// User is who calls: the guest where nobody has signed in.
type User = kernel.User

// Session is what a caller's session remembers between requests. A value is what encoding/json makes of JSON;
// what is set is stored when the method has returned without an error.
type Session interface {
	Get(name string) (value any, ok bool)
	// Set fails where all values together would be too large.
	Set(name string, value any) error
	Remove(name string)
}

// Call is one request to a method. It belongs to the method until that returns.
type Call struct {
	// Data is query, body, URL parameters and userId in one, later ones first. Values are of encoding/json's
	// kinds; those of the URL and of forms are strings, or lists of them where a name stands more than once.
	Data map[string]any
	// Query, Body and Params are the parts of Data, never nil.
	Query, Body map[string]any
	Params      map[string]string

	Method    string      // of the request, upper case: HEAD where GET answers for it
	Path      string      // below the endpoint, such as users/7
	RequestID string      // as logs and errors tell it
	Header    http.Header // of the request, not to be changed
	Address   string      // of the client
	BaseURL   string      // of the endpoint, without a slash at the end: https://example.com/api
	User      User
	// Session is nil where the mode is not session.
	Session Session
	// Files are those of a form with parts, by the name of their part; of several with one name the last.
	Files map[string]Upload
	// Stream is the body, for a route that reads it itself (routes.Options.Stream); else nil.
	Stream io.Reader

	status  int
	headers http.Header
}

// Upload is a file of a form. Its name is as the client gave it.
type Upload struct {
	Name    string
	Content []byte
}

// Served is an answer that writes itself, for what is not held in memory. It writes nothing where it returns an error.
type Served func(w http.ResponseWriter, r *http.Request) error

// SetStatus sets the status of the answer, 200 to 599. Default: 200.
func (c *Call) SetStatus(status int) error {
	if status < 200 || status > 599 {
		return fmt.Errorf("%d is no status of an answer", status)
	}
	c.status = status
	return nil
}

// SetHeader sets a header of the answer; an empty value takes it away. Those of the connection are refused, as are
// names and values that HTTP has not.
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

// Answered is the status that SetStatus left, 0 for none, and the headers of SetHeader.
func (c *Call) Answered() (int, http.Header) { return c.status, c.headers }

// Response is an answer as it says, whatever the method set before.
type Response struct {
	Status int // 200 to 599; 0 is 200
	// Body: nil is none; string and []byte are written as they are, as text/plain and application/octet-stream
	// where Header has no Content-Type; everything else is JSON.
	Body   any
	Header http.Header
}

// Error is an answer {"error": Message}.
type Error struct {
	Code    int // 400 to 599; another one is answered as 500 that tells nothing
	Message string
	Header  http.Header // such as Retry-After
}

func (e *Error) Error() string { return e.Message }

// Errorf is an Error without headers.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Busy is what a method gives when it cannot begin in time: 503 with Retry-After.
func Busy() *Error {
	return &Error{Code: http.StatusServiceUnavailable, Message: "busy, try again", Header: http.Header{"Retry-After": {"1"}}}
}

// Of is the Error that err is, with a code that may be answered.
func Of(err error) (*Error, bool) {
	var e *Error
	if errors.As(err, &e) && e.Code >= 400 && e.Code <= 599 {
		return e, true
	}
	return nil, false
}
