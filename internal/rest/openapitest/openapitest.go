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

// documents holds the documents by their text, since New takes long.
var documents struct {
	sync.Mutex
	byText map[string]*Document
}

// New returns the document with a text. It ends the test if the text is no OpenAPI document.
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

// Valid reports as errors of the test where the document itself breaks the rules of OpenAPI.
func (d *Document) Valid(tb testing.TB) {
	tb.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.validator.ValidateDocument()
	report(tb, "the document", found)
}

// Request reports as errors of the test where a request differs from the document.
func (d *Document) Request(tb testing.TB, r *http.Request) {
	tb.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.validator.ValidateHttpRequest(r)
	report(tb, fmt.Sprintf("%s %s", r.Method, r.URL), found)
}

// Response reports as errors of the test where the response to a request differs from the document, except the faults
// for which one of except returns true. It reads and closes the body.
func (d *Document) Response(
	tb testing.TB, r *http.Request, resp *http.Response, except ...func(*faults.ValidationError) bool,
) {
	tb.Helper()
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		tb.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	found := d.faults(r, resp)
	for _, ignored := range except {
		found = slices.DeleteFunc(found, ignored)
	}
	report(tb, fmt.Sprintf("%s %s: status %d: %.600s", r.Method, r.URL, resp.StatusCode, body), found)
}

// UnknownPath excepts, as an argument of Response, requests whose path the document does not have, such as a path with
// an invalid id.
func UnknownPath(fault *faults.ValidationError) bool { return fault.IsPathMissingError() }

// Accepts reports whether the response to a request is as the document says.
func (d *Document) Accepts(r *http.Request, resp *http.Response) bool {
	return len(d.faults(r, resp)) == 0
}

func (d *Document) faults(r *http.Request, resp *http.Response) []*faults.ValidationError {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.validator.ValidateHttpResponse(r, resp)
	return found
}

func report(tb testing.TB, what string, found []*faults.ValidationError) {
	tb.Helper()
	for _, fault := range found {
		tb.Errorf("%s\nis not as documented: %v", what, fault)
	}
}
