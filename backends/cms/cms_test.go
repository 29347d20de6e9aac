package cms_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) {
	cms.RegisterClass(handler.Class{Name: "GoTest", Methods: map[string]handler.Func{
		"echo": func(_ context.Context, c *handler.Call) (any, error) {
			return map[string]any{"data": c.Data, "method": c.Method, "path": c.Path, "user": c.User.Name, "base": c.BaseURL}, nil
		},
		"fails":  func(context.Context, *handler.Call) (any, error) { return nil, errSecret },
		"panics": func(context.Context, *handler.Call) (any, error) { panic("secret") },
		"waits": func(ctx context.Context, _ *handler.Call) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"large":   func(context.Context, *handler.Call) (any, error) { return strings.Repeat("x", 9<<20), nil },
		"nothing": func(context.Context, *handler.Call) (any, error) { return nil, nil },
		"raw": func(context.Context, *handler.Call) (any, error) {
			return handler.Response{Status: 201, Body: "<b>", Header: http.Header{"content-type": {"text/html"}}}, nil
		},
		"count": func(_ context.Context, c *handler.Call) (any, error) {
			n, _ := c.Session.Get("n")
			seen, _ := n.(float64)
			return map[string]any{"n": seen + 1}, c.Session.Set("n", seen+1)
		},
		"teapot": func(_ context.Context, c *handler.Call) (any, error) {
			if err := c.SetHeader("X-Pot", "tea"); err != nil {
				return nil, err
			}
			return map[string]string{"a": "<b>"}, c.SetStatus(418)
		},
		"refuses": func(context.Context, *handler.Call) (any, error) { return nil, handler.Errorf(409, "not <now>") },
	}})
	storetest.Main(m)
}

type secretError struct{}

func (secretError) Error() string { return "secret text" }

var errSecret secretError

var databases = storetest.Fixture{Schemas: cms.Schemas()}

// site is a CMS under test, with the user ann.
type site struct {
	*testing.T
	server   *cms.Server
	db       *store.DB
	folder   string
	password string
	clock    *atomic.Int64
	cookie   string
	logins   []string
	through  func(*http.Request) *http.Request // what a proxy makes of a request; nil: there is none
}

const testRoutes = `
  'go' => [
    ['*', 'echo[/{id:\d+}[/{name}]]', GoTest::class, 'echo', ['auth' => false]],
    ['GET', 'fails', GoTest::class, 'fails', ['auth' => false]],
    ['GET', 'panics', GoTest::class, 'panics', ['auth' => false]],
    ['GET', 'waits', GoTest::class, 'waits', ['auth' => false, 'timeoutMs' => 20]],
    ['GET', 'large', GoTest::class, 'large', ['auth' => false]],
    ['GET', 'nothing', GoTest::class, 'nothing', ['auth' => false]],
    ['GET', 'raw', GoTest::class, 'raw', ['auth' => false]],
    ['GET', 'teapot', GoTest::class, 'teapot', ['auth' => false]],
    ['GET', 'refuses', GoTest::class, 'refuses', ['auth' => false]],
    ['POST', 'small', GoTest::class, 'echo', ['auth' => false, 'bodyLimit' => 10]],
    ['GET', 'secret', GoTest::class, 'echo', ['roles' => ['editor']]],
    ['POST', 'count', GoTest::class, 'count'],
    ['GET', 'closed', GoTest::class, 'echo', ['auth' => false, 'cors' => false]],
    'deep' => ['er' => [['GET', '', GoTest::class, 'nothing', ['auth' => false]]]],
  ],
  'v1' => [['GET', 'posts', Example::class, 'test', ['auth' => false]]],
  'v2' => [['GET', 'posts', GoTest::class, 'echo', ['auth' => false]]],
];`

func newSite(t *testing.T, db *store.DB, set settings.Settings, changes ...func(o *cms.Options)) *site {
	t.Helper()
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, db: db, folder: t.TempDir(), clock: new(atomic.Int64)}
	s.clock.Store(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC).UnixNano())
	created, err := cms.InstallFiles(s.folder)
	if err != nil || !slices.Equal(created, []string{"api/Example.js", "api/Routes.php", "api/cms.d.ts", "api/jsconfig.json"}) {
		t.Fatalf("installed %v: %v", created, err)
	}
	if created, err = cms.InstallFiles(s.folder); err != nil || created != nil {
		t.Fatalf("installed again %v: %v", created, err)
	}
	s.routes(testRoutes)
	options := cms.Options{
		Site: s.folder, DB: db, Key: func() []byte { return make([]byte, 32) }, Logger: zap.NewNop, Now: func() time.Time { return time.Unix(0, s.clock.Load()) },
		Keyring:   func() (keyring.Keyring, error) { return ring, nil },
		Passwords: password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}},
		Address:   func(r *http.Request) string { return r.Header.Get("X-Test-Address") },
		Admin:     "/admin",
		Meter:     cms.Meter{Logged: func(outcome string) { s.logins = append(s.logins, outcome) }},
	}
	for _, change := range changes {
		change(&options)
	}
	s.server, err = cms.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.server.Close)
	if set.Auth != "" || set.Origins != nil || set.Endpoint != "" || set.Content != "" {
		if err := s.server.Settings().Save(set); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.server.Reload(); err != nil {
		t.Fatal(err)
	}
	begun, err := s.server.Install(t.Context(), "ann")
	if err != nil || begun.Password == "" || len(begun.Pages) != 4 || len(begun.Files) != 0 {
		t.Fatalf("installed %+v: %v", begun, err)
	}
	s.password = begun.Password
	return s
}

// routes adds to the routes that the template has.
func (s *site) routes(more string) {
	s.Helper()
	file := filepath.Join(s.folder, "api", "Routes.php")
	text, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "];\n")
	head = strings.TrimSuffix(strings.TrimSuffix(head, "  "), "];")
	if err := os.WriteFile(file, []byte(head+more), 0o600); err != nil {
		s.Fatal(err)
	}
}

// do sends a request; headers are pairs.
func (s *site) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, path, strings.NewReader(body))
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		r.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	if s.cookie != "" {
		r.Header.Set("Cookie", "cms_session="+s.cookie)
	}
	if s.through != nil {
		r = s.through(r)
	}
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	s.checkDocumented(r, w)
	for _, cookie := range w.Result().Cookies() {
		if cookie.Name == "cms_session" {
			s.cookie = cookie.Value
		}
	}
	return w
}

// expect sends a request, and compares status and body; * is any body.
func (s *site) expect(method, path, payload string, status int, body string, headers ...string) *httptest.ResponseRecorder {
	s.Helper()
	w := s.do(method, path, payload, headers...)
	if w.Code != status || body != "*" && w.Body.String() != body {
		s.Errorf("%s %s: %d %.300s\nwant %d %s", method, path, w.Code, w.Body, status, body)
	}
	return w
}

func (s *site) login() string { return `{"username":"ann","password":"` + s.password + `"}` }

func onBoth(t *testing.T, set settings.Settings, test func(s *site)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { test(newSite(t, db, set)) })
}

// TestChangeBeforeStart checks that a change of the site's files between New and Start is used, too.
func TestChangeBeforeStart(t *testing.T) {
	t.Parallel()
	reloaded := make(chan bool, 10)
	s := newSite(t, databases.SQLite(t), settings.Settings{}, func(o *cms.Options) {
		o.Meter.Reloaded = func(ok bool) { reloaded <- ok }
	})
	for len(reloaded) > 0 {
		<-reloaded
	}
	s.routes(testRoutes + "\n")
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reloaded:
	case <-time.After(time.Minute):
		t.Error("the changed routes are not used")
	}
}

func TestModeNone(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{}, func(s *site) {
		s.expect("GET", "/api/users", "", 200, `{"users":[{"id":2,"name":"ann"}]}`)
		s.expect("GET", "/api/users/2", "", 200, `{"id":2,"name":"ann"}`)
		s.expect("GET", "/api/users/1", "", 404, `{"error":"user not found"}`) // the guest
		s.expect("GET", "/api/users/99", "", 404, `{"error":"user not found"}`)
		s.expect("GET", "/api/users/x", "", 404, `{"error":"endpoint not found"}`)
		s.expect("GET", "/api/test/", "", 200, `{"message":"test successful"}`)
		s.expect("HEAD", "/api/test", "", 200, "*")
		s.expect("BREW", "/api", "", 200, `{"message":"no endpoint defined"}`)
		s.expect("GET", "/api/", "", 200, `{"message":"no endpoint defined"}`)
		s.expect("OPTIONS", "/api/auth", "", 204, "")
		s.expect("OPTIONS", "/api/test", "", 204, "")
		s.expect("GET", "/api/v1/posts", "", 200, `{"message":"test successful"}`)
		s.expect("GET", "/api/v2/posts", "", 200, "*")
		s.expect("GET", "/api/go/deep/er", "", 204, "")
		if w := s.expect("PUT", "/api/test", "", 405, `{"error":"method not allowed"}`); w.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("Allow: %s", w.Header().Get("Allow"))
		}
		s.expect("POST", "/api/auth", s.login(), 200, `{"message":"authorization is disabled"}`)
		s.expect("POST", "/api/auth", `{"username":"ann","password":"x"}`, 401, `{"error":"Login not successful"}`)
		s.expect("DELETE", "/api/auth", "", 200, `{"message":"logged out: guest"}`)
		s.expect("POST", "/api/auth/access", `{"refresh":"x"}`, 404, "*")
		s.expect("GET", "/api/go/secret", "", 403, `{"error":"forbidden"}`) // nobody has a role
		for path, owned := range map[string]bool{"/api": true, "/api/": true, "/api/x": true, "/apix": false, "/": false, "/x/api": false} {
			if s.server.Owns(httptest.NewRequestWithContext(t.Context(), "GET", path, nil)) != owned {
				t.Errorf("owns %s: %v", path, !owned)
			}
		}
	})
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Endpoint: "rest/v9"}, endpoint)
}

func endpoint(s *site) {
	s.expect("GET", "/rest/v9/users", "", 200, "*")
	if s.server.Owns(httptest.NewRequestWithContext(s.Context(), "GET", "/api/users", nil)) {
		s.Error("the old endpoint is still served")
	}
	s.expect("GET", "/rest/v9/go/echo", "", 200, `{"base":"http://example.com/rest/v9","data":{"userId":1},"method":"GET","path":"go/echo","user":"guest"}`)
	now := *s.server.Settings().Current()
	now.Endpoint = ""
	if err := s.server.Settings().Save(now); err != nil {
		s.Fatal(err)
	}
	s.expect("GET", "/api/users", "", 200, "*")
}

func TestInput(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{}, testInput)
}

func testInput(s *site) {
	data := func(method, path, payload string, headers ...string) string {
		w := s.do(method, path, payload, headers...)
		var answer struct{ Data json.RawMessage }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
			s.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return string(answer.Data)
	}
	for _, c := range []struct{ got, want string }{
		{data("GET", "/api/go/echo?a=1&b=x&b=y&userId=7", ""), `{"a":"1","b":["x","y"],"userId":1}`},
		{data("POST", "/api/go/echo?a=1&c=2", `{"a":{"x":[1,null,true]},"userId":9}`), `{"a":{"x":[1,null,true]},"c":"2","userId":1}`},
		{data("POST", "/api/go/echo/7/b?id=8", `{"id":9,"name":"c"}`), `{"id":"7","name":"b","userId":1}`},
		{data("PUT", "/api/go/echo", "a=1&b=%C3%A4&b=2"), `{"a":"1","b":["ä","2"],"userId":1}`},
		{data("POST", "/api/go/echo", "{\"a\":1}", "Content-Type", ""), `{"a":1,"userId":1}`},
		{data("POST", "/api/go/echo", `{"a":1}`, "Content-Type", "application/vnd.x+json; charset=utf-8"), `{"a":1,"userId":1}`},
		{data("POST", "/api/go/echo", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n", "Content-Type", "multipart/form-data; boundary=x"), `{"a":"b","userId":1}`},
		{data("GET", "/api/go/echo/5/a%20b", ""), `{"id":"5","name":"a b","userId":1}`},
	} {
		if c.got != c.want {
			s.Errorf("data %s, want %s", c.got, c.want)
		}
	}
	for _, c := range []struct {
		body, kind string
		status     int
	}{
		{"[1]", "application/json", 400},
		{"{", "application/json", 400},
		{"{} {}", "application/json", 400},
		{strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), "application/json", 400},
		{"a=%zz", "application/x-www-form-urlencoded", 400},
		{strings.Repeat("a&", 1000), "application/x-www-form-urlencoded", 400},
		{"x", "text/plain", 415},
		{"x", "multipart/form-data", 400},
		{"--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\nb", "multipart/form-data; boundary=x", 400},
		{strings.Repeat(" ", 1<<20+1), "application/json", 413},
	} {
		s.expect("POST", "/api/go/echo", c.body, c.status, "*", "Content-Type", c.kind)
	}
	s.expect("GET", "/api/go/echo?a=%zz", "", 400, "*")
	s.expect("POST", "/api/go/small", `{"a":12345}`, 413, `{"error":"the body is larger than 10 bytes"}`)
	s.expect("POST", "/api/go/small", `{"a":1}`, 200, "*")
	r := httptest.NewRequestWithContext(s.Context(), "POST", "/api/go/small", strings.NewReader(`{"a":12345}`))
	r.ContentLength = -1 // not announced
	w := httptest.NewRecorder()
	if s.server.ServeHTTP(w, r); w.Code != 413 {
		s.Errorf("a body of unknown length: %d", w.Code)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{}, testOutput)
}

func testOutput(s *site) {
	s.expect("GET", "/api/go/nothing", "", 204, "")
	w := s.expect("GET", "/api/go/teapot", "", 418, `{"a":"<b>"}`)
	if w.Header().Get("X-Pot") != "tea" || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
		s.Errorf("headers %v", w.Header())
	}
	if w := s.expect("GET", "/api/go/raw", "", 201, "<b>"); w.Header().Get("Content-Type") != "text/html" {
		s.Errorf("headers %v", w.Header())
	}
	s.expect("GET", "/api/go/refuses", "", 409, `{"error":"not <now>"}`)
	s.expect("GET", "/api/go/waits", "", 504, `{"error":"the handler took too long"}`)
	for _, path := range []string{"fails", "panics", "large"} {
		w := s.expect("GET", "/api/go/"+path, "", 500, "*")
		var answer struct{ Error, RequestID string }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Error != "internal error" || answer.RequestID == "" {
			s.Errorf("%s: %s", path, w.Body)
		}
	}
	now := *s.server.Settings().Current()
	now.Debug = true
	if err := s.server.Settings().Save(now); err != nil {
		s.Fatal(err)
	}
	if w := s.expect("GET", "/api/go/fails", "", 500, "*"); !strings.Contains(w.Body.String(), "secret text") {
		s.Errorf("debug: %s", w.Body)
	}
}
