package runevents

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestRoot: the root of a site leads to the dashboard, unless another handler answers there.
func TestRoot(t *testing.T) {
	t.Parallel()
	h := &Handler{}
	for name, c := range map[string]struct {
		next   caddyhttp.HandlerFunc
		status int
		to     string
	}{
		"nobody": {func(_ http.ResponseWriter, r *http.Request) error {
			caddyhttp.SetVar(r.Context(), "unhandled", true) // as the last of Caddy's handlers does
			return nil
		}, http.StatusTemporaryRedirect, "store/"},
		"a page":    {func(w http.ResponseWriter, _ *http.Request) error { _, err := io.WriteString(w, "page"); return err }, http.StatusOK, ""},
		"a status":  {func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(http.StatusNotFound); return nil }, http.StatusNotFound, ""},
		"a refusal": {func(http.ResponseWriter, *http.Request) error { return caddyhttp.Error(http.StatusForbidden, nil) }, http.StatusOK, ""}, // others write it
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, make(map[string]any)))
		err := h.root(w, r, c.next)
		if w.Code != c.status || w.Header().Get("Location") != c.to || (err != nil) != (name == "a refusal") {
			t.Errorf("%s: %d %q, %v", name, w.Code, w.Header().Get("Location"), err)
		}
	}
}
