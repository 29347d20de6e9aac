package edge_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// These handlers may follow a service or a home page.
var (
	nobody = caddyhttp.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) error {
		caddyhttp.SetVar(r.Context(), "unhandled", true) // as the last of Caddy's handlers does
		return nil
	})
	page = caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		_, err := io.WriteString(w, "page")
		return err
	})
	status  = caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(http.StatusNotFound); return nil })
	refusal = caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return caddyhttp.Error(http.StatusForbidden, nil) })
	service = caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return edge.ServeRoot(w, r, nobody, "store/") })
)

func request() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	return r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, make(map[string]any)))
}

// TestServeRoot checks that the root of a site redirects to the service, unless another handler answers there.
func TestServeRoot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next   caddyhttp.Handler
		status int
		to     string
	}{
		"nobody":    {nobody, http.StatusTemporaryRedirect, "store/"},
		"a page":    {page, http.StatusOK, ""},
		"a status":  {status, http.StatusNotFound, ""},
		"a refusal": {refusal, http.StatusOK, ""}, // the error is written by Caddy
	} {
		w := httptest.NewRecorder()
		err := edge.ServeRoot(w, request(), c.next, "store/")
		if w.Code != c.status || w.Header().Get("Location") != c.to || (err != nil) != (name == "a refusal") {
			t.Errorf("%s: %d %q, %v", name, w.Code, w.Header().Get("Location"), err)
		}
	}
}

// TestServeHome checks that the home page is served if no other handler has a page, and instead of the redirect to a
// service.
func TestServeHome(t *testing.T) {
	t.Parallel()
	home := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "home") })
	for name, c := range map[string]struct {
		next   caddyhttp.Handler
		status int
		body   string
	}{
		"nobody":    {nobody, http.StatusOK, "home"},
		"a service": {service, http.StatusOK, "home"},
		"a page":    {page, http.StatusOK, "page"},
		"a status":  {status, http.StatusNotFound, ""},
		"a refusal": {refusal, http.StatusOK, ""},
	} {
		w, r := httptest.NewRecorder(), request()
		err := edge.ServeHome(w, r, c.next, home)
		if w.Code != c.status || w.Body.String() != c.body || (err != nil) != (name == "a refusal") {
			t.Errorf("%s: %d %q, %v", name, w.Code, w.Body, err)
		}
		if edge.Unhandled(r.Context()) {
			t.Errorf("%s: the request counts as unanswered", name)
		}
	}
}
