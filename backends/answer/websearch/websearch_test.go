package websearch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/websearch"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	var query, fetched, other string // other is the server by a name whose pages may not be fetched
	rounds := 0
	status := http.StatusOK
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			query = r.URL.Query().Get("q") + " " + r.URL.Query().Get("count") + " " + r.Header.Get("Authorization")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"results":[{"title":"A","url":"https://a.example/","text":"Gold rose.","published":"2026-01-02T00:00:00Z"},
				{"title":"B","url":"%[1]s/page"},{"title":"C","url":"%[2]s/page?c"},{"title":"D","url":"javascript:x","text":"y"},{"title":"E","url":"%[1]s/away"},{"title":"F","url":"%[1]s/huge"},
				{"title":"G","url":"%[1]s/round?0"},{"title":"H","url":"%[3]s/page?h"},{"title":"I","url":"%[1]s/page?i"}]}`,
				server.URL, other, strings.Replace(server.URL, "http://", "http://user:word@", 1))
		case "/page":
			fetched += r.Header.Get("Authorization") + r.Host + "?" + r.URL.RawQuery
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, "<h1>Rates</h1><p>They fell.</p><script>x</script>")
		case "/away":
			http.Redirect(w, r, other+"/page?away", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/search", http.StatusFound)
		case "/round":
			rounds++
			http.Redirect(w, r, "/round?"+strconv.Itoa(rounds), http.StatusFound)
		case "/huge":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprint(w, strings.Repeat("x", 5<<20))
		}
	}))
	t.Cleanup(server.Close)
	other = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	p, err := websearch.New(websearch.Options{Endpoint: server.URL + "/search", Key: "secret", Hosts: []string{"127.0.0.1", "*.ocalhost"}, Allow: loopback, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := p.Search(t.Context(), "gold price", 8)
	if err != nil || len(pages) != 2 || pages[0].Text != "Gold rose." || pages[0].Published.IsZero() || pages[1].Text != "# Rates\n\nThey fell." {
		t.Errorf("Search returned %+v, %v, want the pages with the texts \"Gold rose.\" and \"# Rates\"", pages, err)
	}
	if query != "gold price 8 Bearer secret" || fetched != strings.TrimPrefix(server.URL, "http://")+"?" || rounds != 4 {
		t.Errorf("the provider was asked %q, the page was fetched from %q, %d redirects were followed, want 4", query, fetched, rounds)
	}
	status = http.StatusBadGateway
	if _, err := p.Search(t.Context(), "gold", 5); err == nil {
		t.Error("Search accepted a response with the status 502")
	}
	status = http.StatusOK
	if p, err = websearch.New(websearch.Options{Endpoint: server.URL + "/moved", Key: "secret", Allow: loopback}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Search(t.Context(), "gold", 5); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("Search returned %v for a redirect of the provider, want an error with the status 302", err)
	}
	if p, err = websearch.New(websearch.Options{Endpoint: server.URL + "/search"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Search(t.Context(), "gold", 5); err == nil || strings.Contains(err.Error(), "status") {
		t.Errorf("Search returned %v for a provider at a private address, want a refused connection", err)
	}
	if _, err := websearch.New(websearch.Options{Endpoint: "file:///etc"}); err == nil {
		t.Error("New accepted a file URL as the endpoint")
	}
}
