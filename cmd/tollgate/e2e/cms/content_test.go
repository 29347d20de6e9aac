package cms

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestContent checks that pages can be changed with the API, that webhooks with sealed secrets report the change, and
// that the sitemap and moved pages are served beside the endpoint.
func TestContent(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		heard <- fmt.Sprintf("%s %s %v", r.Header.Get("X-CMS-Topic"), body, err)
	}))
	t.Cleanup(receiver.Close)
	s := newSite(t)
	s.Configure(e2e.Swap(t, e2e.Shipped(t, "cms", "skip_install_trust", "skip_install_trust\n\tauto_https disable_redirects"), "counters memory", "counters memory\n\t\tallow_networks 127.0.0.0/8"))
	s.password = strings.TrimSpace(s.Tool("cms", "install", "--admin", "ann"))
	s.write("site/config.json", `{"auth":"jwt","content":"write","siteUrl":"https://www.example.com","redirects":true,"jwtSecret":"`+strings.Repeat("secret", 8)+`"}`)
	s.begin()
	var token struct{ JWT string }
	if a := s.do("POST", "/api/auth", `{"username":"ann","password":"`+s.password+`"}`); a.Status != 200 || json.Unmarshal([]byte(a.Body), &token) != nil {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	call := func(method, path, body string, status int, target any) {
		t.Helper()
		a := s.do(method, "/api/content/"+path, body, "Authorization", "Bearer "+token.JWT, "Content-Type", "application/json")
		if a.Status != status || target != nil && json.Unmarshal([]byte(a.Body), target) != nil {
			t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
		}
	}
	var hook struct {
		ID     int64
		Secret string
	}
	call("POST", "webhooks", fmt.Sprintf(`{"url":%q,"topics":["page.changed"]}`, receiver.URL), 201, &hook)
	if !strings.HasPrefix(hook.Secret, "whsec_") {
		t.Errorf("secret %q", hook.Secret)
	}
	if out := s.Tool("keyring", "re-encrypt", "--json"); !strings.Contains(out, `"unreadable": 0`) {
		t.Errorf("re-encrypt: %s", out)
	}
	var home struct{ ID int64 }
	call("GET", "path/home", "", 200, &home)
	call("PATCH", fmt.Sprintf("pages/%d", home.ID), `{"title":"House"}`, 200, nil)
	if got := await(t, heard); !strings.HasPrefix(got, "page.changed {") || !strings.Contains(got, `"title":"House"`) {
		t.Errorf("heard %s", got)
	}
	var link struct{ URL string }
	call("POST", fmt.Sprintf("pages/%d/preview", home.ID), "", 200, &link)
	s.answers(strings.TrimPrefix(link.URL, s.base), 200, `"title":"House"`)
	s.AwaitLog(`"uri":"/api/content/path/home"`)
	if s.Logged("/api/content/preview/") {
		t.Error("the link to a preview is in the log")
	}
	s.answers("/sitemap.xml", 200, "<loc>https://www.example.com/home</loc>")
	s.answers("/home", 404, "") // /home is a page of the API, not a file

	// The export contains the changed page, and the sealed secrets survive a kill.
	if out := s.Tool("cms", "export", "-"); !strings.Contains(out, `"title":"House"`) {
		t.Errorf("export: %s", out)
	}
	s.Kill()
	s.begin()
	call("POST", fmt.Sprintf("webhooks/%d/test", hook.ID), "", 204, nil)
	if got := await(t, heard); !strings.HasPrefix(got, "webhook.test {") {
		t.Errorf("heard %s", got)
	}
	s.Stop()
}

func await(t *testing.T, messages <-chan string) string {
	t.Helper()
	select {
	case got := <-messages:
		return got
	case <-time.After(e2e.WaitLimit):
		t.Fatal("nothing is heard")
		return ""
	}
}
