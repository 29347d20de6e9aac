package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/internal/rest/openapitest"
)

// document returns the OpenAPI document as a client without a key gets it.
func document(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/admin/openapi.json", nil))
	return w
}

// documented returns the document of the server.
func (a *api) documented() *openapitest.Document {
	a.t.Helper()
	return openapitest.New(a.t, document(a.Admin()).Body.Bytes())
}

// checkDocumented compares a response with the OpenAPI document. Responses to unknown paths and methods are not
// documented.
func (a *api) checkDocumented(r *http.Request, w *httptest.ResponseRecorder) {
	a.t.Helper()
	if strings.HasPrefix(r.URL.Path, "/admin/") && w.Code != http.StatusMethodNotAllowed && inDocument(r) {
		a.documented().Response(a.t, r, w.Result())
	}
}

// checkRequest compares a request that was accepted with the OpenAPI document.
func (a *api) checkRequest(r *http.Request) {
	a.t.Helper()
	if inDocument(r) {
		a.documented().Request(a.t, r)
	}
}

// inDocument reports whether the validator finds the path of a request, which must not have an escaped slash.
func inDocument(r *http.Request) bool {
	return r.URL.Path != "/admin/nothing" && !strings.Contains(r.URL.RawPath, "%2F")
}

// TestOpenAPI checks that the document is valid, that it needs no key and has all routes, and that the check of
// responses finds faults.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	a := newAPI(t, authtest.SQLite(t), "", nil)
	w := document(a.Admin())
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("ETag") == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	d := a.documented()
	d.Valid(t)
	paths := gjson.GetBytes(w.Body.Bytes(), "paths")
	for path, item := range paths.Map() {
		for method, operation := range item.Map() {
			if operation.Get("summary").Str == "" || operation.Get("security.0.key").Exists() == (path == "/openapi.json") {
				t.Errorf("%s %s: %s", method, path, operation)
			}
		}
	}
	for name := range gjson.GetBytes(w.Body.Bytes(), "components.schemas").Map() {
		if !strings.Contains(w.Body.String(), `"#/components/schemas/`+name+`"`) {
			t.Errorf("no route uses the schema %s", name)
		}
	}
	if len(paths.Map()) < 50 || !strings.Contains(paths.Get(gjson.Escape("/users/{id}")).Raw, `"If-Match"`) {
		t.Errorf("%d paths", len(paths.Map()))
	}
	broken := httptest.NewRecorder()
	broken.Header().Set("Content-Type", "application/json")
	_, _ = broken.WriteString(`{"valid":true,"version":1}`)
	if d.Accepts(httptest.NewRequest(http.MethodPost, "/admin/auth/verify", nil), broken.Result()) {
		t.Error("a wrong response passes")
	}
}
