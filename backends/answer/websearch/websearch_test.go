package websearch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/websearch"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	var asked, fetched string
	status := http.StatusOK
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			asked = r.URL.Query().Get("q") + " " + r.URL.Query().Get("count") + " " + r.Header.Get("Authorization")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"results":[{"title":"A","url":"https://a.example/","text":"Gold rose.","published":"2026-01-02T00:00:00Z"},
				{"title":"B","url":"%[1]s/page"},{"title":"C","url":"http://localhost:1/other"},{"title":"D","url":"javascript:x","text":"y"},{"title":"E","url":"%[1]s/away"},{"title":"F","url":"%[1]s/huge"}]}`, server.URL)
		case "/page":
			fetched = r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, "<h1>Rates</h1><p>They fell.</p><script>x</script>")
		case "/away":
			http.Redirect(w, r, "http://localhost:1/", http.StatusFound)
		case "/huge":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprint(w, strings.Repeat("x", 5<<20))
		}
	}))
	t.Cleanup(server.Close)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	p, err := websearch.New(websearch.Options{Endpoint: server.URL + "/search", Key: "secret", Hosts: []string{"127.0.0.1"}, Allow: loopback, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := p.Search(t.Context(), "gold price", 6)
	if err != nil || len(pages) != 2 || pages[0].Text != "Gold rose." || pages[0].Published.IsZero() || pages[1].Text != "# Rates\n\nThey fell." {
		t.Errorf("%+v, %v", pages, err)
	}
	if asked != "gold price 6 Bearer secret" || fetched != "" {
		t.Errorf("asked %q, fetched with %q", asked, fetched)
	}
	status = http.StatusBadGateway
	if _, err := p.Search(t.Context(), "gold", 5); err == nil {
		t.Error("an answer of status 502 is taken")
	}
	if p, err = websearch.New(websearch.Options{Endpoint: server.URL + "/search"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Search(t.Context(), "gold", 5); err == nil {
		t.Error("a private address is connected to")
	}
	if _, err := websearch.New(websearch.Options{Endpoint: "file:///etc"}); err == nil {
		t.Error("a file is a provider")
	}
}
