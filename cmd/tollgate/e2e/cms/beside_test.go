package cms

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestSharedSite checks that the shipped example serves two versions of an API, files, and another server on a single
// site.
func TestSharedSite(t *testing.T) {
	t.Parallel()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "the shop at %s", r.URL.Path) }))
	t.Cleanup(shop.Close)
	port := e2e.FreePort(t)
	config := e2e.Shipped(t, "cms-beside", "skip_install_trust", "skip_install_trust\n\tauto_https disable_redirects")
	n := e2e.NewNode(t, config, "TOLLGATE_DOMAIN=localhost:"+port, "TOLLGATE_SHOP="+strings.TrimPrefix(shop.URL, "http://"))
	s := &site{Node: n, base: "https://localhost:" + port}
	for _, folder := range []string{"site/api", "public"} {
		if err := os.CopyFS(n.Path(folder), os.DirFS(e2e.Repo("caddyfiles/cms-beside", filepath.FromSlash(folder)))); err != nil {
			t.Fatal(err)
		}
	}
	s.Tool("cms", "install", "--admin", "ann")
	s.begin()
	s.answers("/api/v1/posts", 200, `{"posts":["Home","Root"]}`)
	s.answers("/api/v2/posts", 200, `{"posts":[{"id":2,"title":"Home","path":"/home"},{"id":1,"title":"Root","path":"/"}],"next":""}`)
	s.answers("/api/v2/posts/2", 200, `{"id":2,"title":"Home","path":"/home"}`)
	s.answers("/api/v2/posts/99", 404, "post not found")
	s.answers("/api/v1/posts/2", 404, "endpoint not found")
	s.answers("/", 200, "The site that is there already.")
	s.answers("/shop/cart", 200, "the shop at /shop/cart")
	s.Stop()
}
