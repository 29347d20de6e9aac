package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
)

// documented is made once from the document of the first server, since all have the same.
var documented struct {
	sync.Once
	check      validator.Validator
	sync.Mutex // held while check is used, which is not for several goroutines
}

// document returns the OpenAPI document as a client without a key gets it.
func document(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/admin/openapi.json", nil))
	return w
}

// checker returns the validator of the document.
func (a *api) checker() validator.Validator {
	a.t.Helper()
	documented.Do(func() {
		text, err := libopenapi.NewDocument(document(a.Admin()).Body.Bytes())
		if err != nil {
			a.t.Error(err)
			return
		}
		check, errs := validator.NewValidator(text)
		if len(errs) > 0 {
			a.t.Error(errs)
			return
		}
		documented.check = check
	})
	if documented.check == nil {
		a.t.Fatal("the document is not valid")
	}
	return documented.check
}

// checkDocumented compares a response with the OpenAPI document. Responses to unknown paths and methods are not in it.
func (a *api) checkDocumented(r *http.Request, w *httptest.ResponseRecorder) {
	a.t.Helper()
	if !strings.HasPrefix(r.URL.Path, "/admin/") || w.Code == http.StatusMethodNotAllowed || r.URL.Path == "/admin/nothing" ||
		strings.Contains(r.URL.RawPath, "%2F") { // the validator does not find the path
		return
	}
	check := a.checker()
	resp := w.Result()
	defer func() { _ = resp.Body.Close() }()
	documented.Lock()
	defer documented.Unlock()
	if ok, faults := check.ValidateHttpResponse(r, resp); !ok {
		for _, f := range faults {
			a.t.Errorf("%s %s: %d %.500s is not as documented: %s: %s %v", r.Method, r.URL, w.Code, w.Body, f.Message, f.Reason,
				f.SchemaValidationErrors)
		}
	}
}

// checkRequest compares a request that was accepted with the OpenAPI document.
func (a *api) checkRequest(r *http.Request) {
	a.t.Helper()
	if strings.Contains(r.URL.RawPath, "%2F") { // the validator does not find the path
		return
	}
	check := a.checker()
	documented.Lock()
	defer documented.Unlock()
	if ok, faults := check.ValidateHttpRequest(r); !ok {
		for _, f := range faults {
			a.t.Errorf("%s %s is accepted against the document: %s: %s %v", r.Method, r.URL, f.Message, f.Reason,
				f.SchemaValidationErrors)
		}
	}
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
	check := a.checker()
	documented.Lock()
	defer documented.Unlock()
	if ok, faults := check.ValidateDocument(); !ok {
		for _, f := range faults {
			t.Errorf("%s: %s %v", f.Message, f.Reason, f.SchemaValidationErrors)
		}
	}
	paths := gjson.GetBytes(w.Body.Bytes(), "paths")
	schemas := gjson.GetBytes(w.Body.Bytes(), "components.schemas").Map()
	for path, item := range paths.Map() {
		for method, operation := range item.Map() {
			if operation.Get("summary").Str == "" || operation.Get("security.0.key").Exists() == (path == "/openapi.json") {
				t.Errorf("%s %s: %s", method, path, operation)
			}
		}
	}
	for name := range schemas {
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
	resp := broken.Result()
	defer func() { _ = resp.Body.Close() }()
	if ok, _ := check.ValidateHttpResponse(httptest.NewRequest(http.MethodPost, "/admin/auth/verify", nil), resp); ok {
		t.Error("a wrong response passes")
	}
}
