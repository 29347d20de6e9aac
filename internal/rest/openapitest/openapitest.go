// Package openapitest compares HTTP requests and responses of tests with an OpenAPI document.
package openapitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	faults "github.com/pb33f/libopenapi-validator/errors"
)

// Document is an OpenAPI document. It is safe for concurrent use.
type Document struct {
	mu        sync.Mutex // held while validator is used
	validator validator.Validator
}

// documents caches the documents by their text, because New takes long.
var documents struct {
	sync.Mutex
	byText map[string]*Document
}

// New returns the OpenAPI document that a text contains. The test ends if the text is not such a document.
func New(tb testing.TB, text []byte) *Document {
	tb.Helper()
	documents.Lock()
	defer documents.Unlock()
	if d := documents.byText[string(text)]; d != nil {
		return d
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		tb.Fatal(err)
	}
	check, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		tb.Fatal(errors.Join(errs...))
	}
	if documents.byText == nil {
		documents.byText = make(map[string]*Document)
	}
	d := &Document{validator: check}
	documents.byText[string(text)] = d
	return d
}

// Valid checks the document itself, and reports as test errors where it breaks the rules of OpenAPI.
func (d *Document) Valid(tb testing.TB) {
	tb.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.validator.ValidateDocument()
	report(tb, "the document", found)
}

// Request reports as test errors where a request differs from the document.
func (d *Document) Request(tb testing.TB, r *http.Request) {
	tb.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.validator.ValidateHttpRequest(r)
	report(tb, fmt.Sprintf("%s %s", r.Method, r.URL), found)
}

// Response reports as test errors where the response to a request differs from the document. It leaves out faults
// for which one of the exceptions returns true. It reads and closes the body.
func (d *Document) Response(
	tb testing.TB, r *http.Request, resp *http.Response, exceptions ...func(*faults.ValidationError) bool,
) {
	tb.Helper()
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		tb.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	found := d.faults(r, resp)
	for _, ignored := range exceptions {
		found = slices.DeleteFunc(found, ignored)
	}
	report(tb, fmt.Sprintf("%s %s: status %d: %.600s", r.Method, r.URL, resp.StatusCode, body), found)
}

// UnknownPath reports whether a fault is a path that the document does not have, such as a path with an invalid id. It
// is an argument for Response.
func UnknownPath(fault *faults.ValidationError) bool { return fault.IsPathMissingError() }

// Accepts reports whether the response to a request agrees with the document.
func (d *Document) Accepts(r *http.Request, resp *http.Response) bool {
	return len(d.faults(r, resp)) == 0
}

// faults returns where the response to a request differs from the document.
func (d *Document) faults(r *http.Request, resp *http.Response) []*faults.ValidationError {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.validator.ValidateHttpResponse(r, resp)
	return found
}

// report reports faults of the subject as test errors.
func report(tb testing.TB, subject string, found []*faults.ValidationError) {
	tb.Helper()
	for _, fault := range found {
		tb.Errorf("%s\ndiffers from the OpenAPI document: %v", subject, fault)
	}
}
