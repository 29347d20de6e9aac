package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/internal/rest/openapitest"
)

// served returns the OpenAPI document as a client without a key gets it.
var served = sync.OnceValue(func() *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	new(api.API).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/openapi.json", nil))
	return w
})

// checkDocumented compares a response with the OpenAPI document. Responses to unknown paths and methods are not in it,
// and it knows no ids with a slash, as sources may have.
func checkDocumented(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code == http.StatusMethodNotAllowed || w.Code == http.StatusNotFound || r.Method == http.MethodHead ||
		w.Header().Get("Content-Type") == "" || strings.HasPrefix(r.URL.Path, "/v1/sources/") {
		return
	}
	openapitest.New(t, served().Body.Bytes()).Response(t, r, w.Result())
}

// TestOpenAPI checks that the document is valid, that it needs no key, and that the check of responses finds faults.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	w := served()
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	document := openapitest.New(t, w.Body.Bytes())
	document.Valid(t)
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
	if document.Accepts(httptest.NewRequest(http.MethodGet, "/v1/quota", nil), resp) {
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
