package cms

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// site is a node with the shipped Caddyfile.
type site struct {
	*e2e.Node
	base     string
	client   *http.Client
	password string
}

func newSite(t *testing.T) *site {
	t.Helper()
	port := e2e.FreePort(t)
	config := e2e.Shipped(t, "cms", "skip_install_trust", "skip_install_trust\n\tauto_https disable_redirects")
	n := e2e.NewNode(t, config, "TOLLGATE_DOMAIN=localhost:"+port)
	s := &site{Node: n, base: "https://localhost:" + port}
	if err := os.MkdirAll(n.Path("public"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.write("public/index.html", "the page of the site")
	return s
}

func (s *site) write(file, text string) {
	s.T.Helper()
	if err := os.WriteFile(s.Path(file), []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
}

// edit changes a file of the site.
func (s *site) edit(file, old, replacement string) {
	s.T.Helper()
	text, err := os.ReadFile(s.Path(file))
	if err != nil {
		s.T.Fatal(err)
	}
	s.write(file, e2e.Swap(s.T, string(text), old, replacement))
}

func (s *site) do(method, path, body string, header ...string) *e2e.Answer {
	s.T.Helper()
	return e2e.Do(s.T, s.client, method, s.base+path, "", body, header...)
}

// answers waits until a GET has the given answer.
func (s *site) answers(path string, status int, body string, header ...string) {
	s.T.Helper()
	e2e.Eventually(s.T, e2e.WaitLimit, path, func() error {
		if a := s.do("GET", path, "", header...); a.Status != status || !strings.Contains(a.Body, body) {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
}

// begin starts the node and waits until it has its certificate.
func (s *site) begin() {
	s.T.Helper()
	s.Start()
	s.client = s.Trusting()
	e2e.Eventually(s.T, e2e.WaitLimit, "the site answers", func() error {
		r, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.base+"/livez", nil)
		if err != nil {
			return err
		}
		a := e2e.Read(s.client.Do(r)) //nolint:bodyclose // Read does
		return a.Err
	})
}

// TestCMS checks that a fresh installation answers at once, that each mode works as documented, that edited files take
// effect and broken files do not, and that nothing is lost by a kill -9.
func TestCMS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.password = strings.TrimSpace(s.Tool("cms", "install", "--admin", "ann"))
	if second := strings.TrimSpace(s.Tool("cms", "install", "--admin", "ann")); second != "" {
		t.Errorf("installed again: %q", second)
	}
	s.begin()
	s.answers("/api/users", 200, `{"users":[{"id":2,"name":"ann"}]}`)
	s.answers("/", 200, "the page of the site")
	s.answers("/apix", 404, "")
	s.answers("/readyz", 200, "ok")
	s.answers("/api/test", 200, "test successful")

	// Each mode of authentication protects the API.
	login := `{"username":"ann","password":"` + s.password + `"}`
	s.write("site/config.json", `{"auth":"session"}`)
	s.answers("/api/test", 401, "authorization required")
	a := s.do("POST", "/api/auth", login)
	cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	if a.Status != 200 || !strings.Contains(a.Header.Get("Set-Cookie"), "; Secure") {
		t.Fatalf("login: %d %s %v", a.Status, a.Body, a.Header)
	}
	s.answers("/api/test", 200, "test successful", "Cookie", cookie)
	s.write("site/config.json", `{"auth":"jwt","jwtSecret":"`+strings.Repeat("secret", 8)+`"}`)
	s.answers("/api/test", 401, "authorization required", "Cookie", cookie)
	var token struct{ JWT string }
	if a = s.do("POST", "/api/auth", login); a.Status != 200 || json.Unmarshal([]byte(a.Body), &token) != nil {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	bearer := []string{"Authorization", "Bearer " + token.JWT}
	s.answers("/api/test", 200, "test successful", bearer...)
	s.answers("/api/content/path/home", 200, `"path":"/home"`, bearer...)

	// An edited class takes effect, and two versions of the API exist side by side.
	s.edit("site/api/Example.js", "test successful", "test of another day")
	s.edit("site/api/Routes.php", "  'users' =>", "  'v1' => [ ['GET', 'x', Example::class, 'test', ['auth' => false]] ],\n"+
		"  'v2' => [ ['GET', 'x', RestApiHelper::class, 'noEndPoint', ['auth' => false]] ],\n  'users' =>")
	s.answers("/api/v1/x", 200, "test of another day")
	s.answers("/api/v2/x", 200, "no endpoint defined")

	// An error in an edited file is logged with its position, and the previous routes stay in use.
	s.edit("site/api/Routes.php", "  'users' =>", "  ['GET', 'y'],\n  'users' =>")
	s.AwaitLog("the changed files are not in use", "api/Routes.php:14:3", "four or five positions")
	s.answers("/api/v1/x", 200, "test of another day")
	s.edit("site/api/Routes.php", "  ['GET', 'y'],\n", "")
	s.edit("site/api/Example.js", "static test() {", "static test() { for (;;);")
	s.answers("/api/v1/x", 504, "took too long")
	s.edit("site/api/Example.js", "for (;;);", "")
	s.answers("/api/v1/x", 200, "test of another day")

	// Tokens and revocations survive a kill.
	revoked := token.JWT
	if a = s.do("DELETE", "/api/auth", "", bearer...); a.Status != 200 || !strings.Contains(a.Body, "logged out: ann") {
		t.Errorf("logout: %d %s", a.Status, a.Body)
	}
	if a = s.do("POST", "/api/auth", login); a.Status != 200 || json.Unmarshal([]byte(a.Body), &token) != nil {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	s.Kill()
	s.begin()
	s.answers("/api/test", 200, "test of another day", "Authorization", "Bearer "+token.JWT)
	s.answers("/api/test", 401, "invalid token", "Authorization", "Bearer "+revoked)
	s.Stop()

	// With errors in the files, the server does not start.
	s.edit("site/api/Routes.php", "getAllUsers", "getNoUsers")
	if message := s.RefusesToStart(); !strings.Contains(message, "has no method getNoUsers") {
		t.Errorf("the server starts, or prints %s", message)
	}
}
