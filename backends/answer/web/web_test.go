package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

func TestServe(t *testing.T) {
	t.Parallel()
	ask := func(method, path string) (*httptest.ResponseRecorder, bool) {
		w := httptest.NewRecorder()
		return w, Serve(w, httptest.NewRequest(method, path, nil), look.Bar{})
	}
	w, ok := ask(http.MethodGet, "/")
	if policy := w.Header().Get("Content-Security-Policy"); !ok || w.Code != http.StatusOK || !strings.Contains(policy, "connect-src 'self';") || !strings.Contains(w.Body.String(), `src="page/app.js"`) {
		t.Errorf("GET /: served %v, status %d, header %v, body %s", ok, w.Code, w.Header(), w.Body)
	}
	for _, name := range []string{"app.js", "api.js", "markdown.js", "app.css", "parts/dom.js", "parts/look.css"} {
		if w, ok := ask(http.MethodGet, "/page/"+name); !ok || w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("GET /page/%s: served %v, status %d, want true, 200 and a body", name, ok, w.Code)
		}
	}
	for _, other := range [][2]string{{"POST", "/"}, {"GET", "/page"}, {"GET", "/page/"}, {"GET", "/page/index.html"}, {"GET", "/page/no.js"}, {"GET", "/page/../web.go"}, {"GET", "/v1/quota"}} {
		if w, ok := ask(other[0], other[1]); ok || w.Body.Len() > 0 {
			t.Errorf("%s %s was served", other[0], other[1])
		}
	}
}
