package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

// TestUnderPath checks which addresses of a response get the path of the board.
func TestUnderPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, location, body     string
		wantLocation, wantedBody string
	}{
		"a redirect":             {location: "/threads/1?page=2#post-30", wantLocation: "/forum/threads/1?page=2#post-30"},
		"a redirect elsewhere":   {location: "//example.com/", wantLocation: "//example.com/"},
		"a sign-in elsewhere":    {location: "https://id.example.com/authorize", wantLocation: "https://id.example.com/authorize"},
		"links, forms, pictures": {kind: "text/html; charset=utf-8", body: `<a href="/posts/1">/posts/1</a><form action="/read"><img src="/attachments/7">`, wantedBody: `<a href="/forum/posts/1">/posts/1</a><form action="/forum/read"><img src="/forum/attachments/7">`},
		"other addresses":        {kind: "text/html", body: `<a href="//example.com/a"><a href="https://example.com/b"><a href="#c"><a href="?d">`, wantedBody: `<a href="//example.com/a"><a href="https://example.com/b"><a href="#c"><a href="?d">`},
		"text that shows HTML":   {kind: "text/html", body: `<p>&lt;a href=&#34;/x&#34;&gt;</p>`, wantedBody: `<p>&lt;a href=&#34;/x&#34;&gt;</p>`},
		"a file":                 {kind: "text/plain", body: `<a href="/posts/1">`, wantedBody: `<a href="/posts/1">`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUnder("/forum", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.location != "" {
					w.Header().Set("Location", c.location)
					w.WriteHeader(http.StatusSeeOther)
					return
				}
				w.Header().Set("Content-Type", c.kind)
				for _, part := range strings.SplitAfter(c.body, " ") { // an address may come in parts
					_, _ = io.WriteString(w, part)
				}
			}))
			w := httptest.NewRecorder()
			u.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if got := w.Header().Get("Location"); got != c.wantLocation {
				t.Errorf("Location %q, want %q", got, c.wantLocation)
			}
			if got := w.Body.String(); got != c.wantedBody {
				t.Errorf("body %q, want %q", got, c.wantedBody)
			}
		})
	}
}

// TestUnderPathRequest checks what the pages see of a request: a Referer without the path of the board, and the URLs of
// the other services with the host.
func TestUnderPathRequest(t *testing.T) {
	t.Parallel()
	for referer, want := range map[string]string{
		"https://example.com/forum/threads/1?page=2": "https://example.com/threads/1?page=2",
		"https://example.com/forumless/threads/1":    "https://example.com/forumless/threads/1",
		"": "",
	} {
		u := newUnder("/forum", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := r.Referer(); got != want {
				t.Errorf("%q: %q, want %q", referer, got, want)
			}
		}))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", nil)
		r.Header.Set("Referer", referer)
		u.ServeHTTP(httptest.NewRecorder(), r)
		if r.Referer() != referer {
			t.Errorf("the request of the caller has changed to %q", r.Referer())
		}
	}
	services := []look.Service{{URL: "/console/"}, {URL: "https://id.example.com/"}}
	bar := newUnder("/forum", nil).bar(func(*http.Request) look.Bar { return look.Bar{Services: services} })
	got := bar(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", nil)).Services
	if got[0].URL != "//example.com/console/" || got[1].URL != "https://id.example.com/" {
		t.Errorf("%+v", got)
	}
}
