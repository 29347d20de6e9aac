package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/rest/openapitest"
)

// documented calls an API and checks every exchange against the OpenAPI document that the API serves.
type documented struct {
	t        *testing.T
	base     string
	Token    string
	document *openapitest.Document
}

// NewDocumented returns the client of the API at the URL base. It fails the test if the document is invalid.
func NewDocumented(t *testing.T, base string) *documented {
	t.Helper()
	text := Get(t, http.DefaultClient, base+"/openapi.json", "").Body
	document := openapitest.New(t, []byte(text))
	document.Valid(t)
	return &documented{t: t, base: base, document: document}
}

// As returns a client that sends a bearer token.
func (d *documented) As(token string) *documented {
	other := *d
	other.Token = token
	return &other
}

// Call sends a request, expects a status, and checks the response against the document. If the status is below 400, the
// request must match the document too.
func (d *documented) Call(method, path, body string, status int) *Answer {
	d.t.Helper()
	build := func() *http.Request {
		r, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, strings.NewReader(body))
		if err != nil {
			d.t.Fatal(err)
		}
		if body == "" {
			r.Body, r.ContentLength = http.NoBody, 0
		} else {
			r.Header.Set("Content-Type", "application/json")
		}
		if d.Token != "" {
			r.Header.Set("Authorization", "Bearer "+d.Token)
		}
		return r
	}
	resp, err := http.DefaultClient.Do(build()) //nolint:bodyclose // read does
	a := Read(resp, err)
	if a.Err != nil {
		d.t.Fatal(a.Err)
	}
	if a.Status != status {
		d.t.Errorf("%s %s %s: status %d, want %d: %.500s", method, path, body, a.Status, status, a.Body)
		return a
	}
	resp.Body = io.NopCloser(strings.NewReader(a.Body))
	d.document.Response(d.t, build(), resp)
	if status < 400 {
		d.document.Request(d.t, build())
	}
	return a
}

// Value decodes the JSON body of a response into target.
func (d *documented) Value(a *Answer, target any) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(a.Body), target); err != nil {
		d.t.Fatalf("%v: %s", err, a.Body)
	}
}
