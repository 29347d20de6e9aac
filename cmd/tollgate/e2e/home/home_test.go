package home

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// visit requests a page, either as a program on this machine or through a proxy on behalf of a visitor elsewhere.
func visit(t *testing.T, elsewhere bool, address string) (status int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if elsewhere {
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
	}
	direct := &http.Client{Transport: e2e.Client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := direct.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

func has(t *testing.T, name, body string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("%s does not have %q:\n%s", name, text, body)
		}
	}
}

func lacks(t *testing.T, name, body string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(body, text) {
			t.Errorf("%s has %q:\n%s", name, text, body)
		}
	}
}

// TestHome checks the home pages of a process with several services. They show a visitor the public services, and an
// administrator the state of all services. A site with two services has a home page without configuration.
func TestHome(t *testing.T) {
	t.Parallel()
	gateway, forum, combined, admin := e2e.FreePort(t), e2e.FreePort(t), e2e.FreePort(t), e2e.FreePort(t)
	n := e2e.NewNode(t, strings.NewReplacer("GATEWAY", "http://127.0.0.1:"+gateway, "FORUM", "http://forum.example.com:"+forum, "BOTH", "http://127.0.0.1:"+combined, "ADMIN", "http://localhost:"+admin).Replace(`{
	admin unix/data/admin.sock
	persist_config off
	tollgate {
		database sqlite data/tollgate.db
		brand {
			name "Example & Co"
		}
	}
}
GATEWAY {
	tollgate gateway
	tollgate home {
		docs public
	}
}
FORUM {
	tollgate board
}
BOTH {
	tollgate events
	tollgate /answers/* answer
}
ADMIN {
	bind 127.0.0.1
	tollgate authserver {
		config keys.yaml
		listener admin
	}
}
`))
	if err := os.WriteFile(n.Path("keys.yaml"), []byte("server: {issuer: \"http://localhost:1\"}\nadmin: {enabled: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Start()
	home := "http://127.0.0.1:" + gateway
	state := []string{"State", "Running since", "tollgate.db", "Last backup", "http://forum.example.com:" + forum + "</p>"}

	status, body, _ := visit(t, true, home+"/")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	has(t, "the page of a visitor", body, "Example &amp; Co", `<a href="/console/">Model gateway</a>`, `<a href="/docs">API reference</a>`, `<a href="http://forum.example.com:`+forum+`/">Forum</a>`)
	lacks(t, "the page of a visitor", body, append(state, "Run events", "Accounts administration")...)

	_, body, _ = visit(t, false, home+"/")
	has(t, "the page of an administrator", body, append(state, "none", `<a href="http://127.0.0.1:`+combined+`/store/">Run events</a>`, `<a href="http://localhost:`+admin+`/admin/ui/">Accounts administration</a>`)...)
	n.Tool("backup", n.Path("copy"))
	_, body, _ = visit(t, false, home+"/_tollgate/")
	has(t, "the page after a backup", body, n.Path("copy"))
	_, body, _ = visit(t, true, home+"/_tollgate/")
	lacks(t, "the page of a visitor after a backup", body, n.Path("copy"))

	// A client that is not a browser still gets the name of the service as text.
	if a := e2e.Get(t, e2e.Client, home+"/", ""); !strings.Contains(a.Body, "Tollgate model gateway") {
		t.Errorf("a program gets %s", a.Body)
	}

	// The documents and their search are built into the program.
	_, body, _ = visit(t, true, home+"/_tollgate/docs")
	has(t, "the first document", body, `href="/_tollgate/docs/how-to/back-up"`, "Ten first tasks")
	_, body, _ = visit(t, true, home+"/_tollgate/docs/search?q=restore+a+backup")
	has(t, "the search", body, `href="/_tollgate/docs/how-to/back-up`, "<mark>restore</mark>")
	if status, _, header := visit(t, true, home+"/_tollgate/docs/images/console-light.svg"); status != http.StatusOK || header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("a picture: %d %v", status, header)
	}

	// The site with two services has a separate home page, which shows the documents only to administrators.
	combined = "http://127.0.0.1:" + combined
	_, body, _ = visit(t, true, combined+"/")
	has(t, "the page that comes by itself", body, ">Forum</a>")
	lacks(t, "the page that comes by itself", body, "/store/")
	_, body, _ = visit(t, false, combined+"/")
	has(t, "the page that comes by itself", body, `<a href="/store/">Run events</a>`)
	if status, body, _ := visit(t, true, combined+"/_tollgate/docs"); status != http.StatusNotFound {
		t.Errorf("the documents are shown to a visitor: %d %s", status, body)
	}
	if status, _, _ := visit(t, false, combined+"/_tollgate/docs"); status != http.StatusOK {
		t.Errorf("the documents are not shown to an administrator: %d", status)
	}
	n.Stop()
}
