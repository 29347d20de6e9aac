package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/api"
)

// served returns the OpenAPI document as a client without a key gets it.
func served() *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	new(api.API).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/openapi.json", nil))
	return w
}

// documented returns a validator for the OpenAPI document.
var documented = sync.OnceValues(func() (validator.Validator, []error) {
	document, err := libopenapi.NewDocument(served().Body.Bytes())
	if err != nil {
		return nil, []error{err}
	}
	return validator.NewValidator(document)
})

// checking is held while the validator is used, which is not for several goroutines.
var checking sync.Mutex

// checkDocumented compares a response with the OpenAPI document. Responses to unknown paths and methods are not in it,
// and it knows no ids with a slash, as sources may have.
func checkDocumented(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	check, errs := documented()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if w.Code == http.StatusMethodNotAllowed || w.Code == http.StatusNotFound || r.Method == http.MethodHead ||
		w.Header().Get("Content-Type") == "" || strings.HasPrefix(r.URL.Path, "/v1/sources/") {
		return
	}
	resp := w.Result()
	defer func() { _ = resp.Body.Close() }()
	checking.Lock()
	defer checking.Unlock()
	if ok, faults := check.ValidateHttpResponse(r, resp); !ok {
		for _, f := range faults {
			t.Errorf("%s %s: %d is not as documented: %s: %s %v", r.Method, r.URL, w.Code, f.Message, f.Reason,
				f.SchemaValidationErrors)
		}
	}
}

// TestOpenAPI checks that the document is valid, that it needs no key, and that the check of responses finds faults.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	w := served()
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	check, errs := documented()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	checking.Lock()
	defer checking.Unlock()
	if ok, faults := check.ValidateDocument(); !ok {
		for _, f := range faults {
			t.Errorf("%s: %s %v", f.Message, f.Reason, f.SchemaValidationErrors)
		}
	}
	for path, method := range map[string]string{
		"/v1/answer": "post", "/v1/quota": "get", "/v1/answers/{id}": "get", "/v1/answers/{id}/evidence": "get",
		"/v1/sources/{id}": "get", "/v1/companies": "get", "/v1/companies/{id}": "get",
	} {
		operation := gjson.Get(w.Body.String(), "paths."+gjson.Escape(path)+"."+method)
		if operation.Get("summary").Str == "" || !operation.Get("security.0.apiKey").Exists() {
			t.Errorf("%s %s: %s", method, path, operation)
		}
	}
	broken := httptest.NewRecorder()
	broken.Header().Set("Content-Type", "application/json")
	_, _ = broken.WriteString(`{"success":true,"error":null,"result":{"used":"many"}}`)
	resp := broken.Result()
	defer func() { _ = resp.Body.Close() }()
	if ok, _ := check.ValidateHttpResponse(httptest.NewRequest(http.MethodGet, "/v1/quota", nil), resp); ok {
		t.Error("a wrong response passes")
	}
}

// TestRoutePaths checks which paths are routes: an id is never empty.
func TestRoutePaths(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	for path, status := range map[string]int{
		"/v1/answers/": 404, "/v1/answers": 404, "/v1/sources/": 404, "/v1/companies/": 404, "/v1/quota/": 404, "/": 404,
		"/v1/sources/notes/7": 200, "/v1/answers/none/evidence": 404,
	} {
		if w := r.do(http.MethodGet, path, ""); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
