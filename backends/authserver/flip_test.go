package authserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

type (
	flip = authtest.Flip
	// settings are the values of configuration keys. In a value, $URL is the address of the server and $DIR a folder.
	settings = authtest.Settings
)

// TestKeys checks for every key of the configuration that another value changes the behaviour of the server. Keys with
// an effect outside of these packages are tested where they have it.
func TestKeys(t *testing.T) {
	t.Parallel()
	authtest.Flips(t, false, flipsOfClients, flipsOfPeople, flipsOfUpstream, flipsOfKeys, flipsOfTokens, flipsOfAdmin)
}

// flipSecrets are the secrets that keys may name.
var flipSecrets = map[string]string{
	"MASTER": strings.Repeat("0a", 32), "OTHER": strings.Repeat("0b", 32), "RIGHT": "not-a-guess", "WRONG": "a guess",
	"ROOT": transittest.Root, "ROLE": transittest.RoleID, "SECRET": transittest.SecretID,
}

// lab is a server with given settings.
type lab struct {
	*live
	db     *store.DB
	clock  *authtest.Clock
	logs   *observer.ObservedLogs
	folder string // the folder that $DIR stands for
	failed error  // the error of the start
}

// newLab returns a lab with a new database.
func newLab(t *testing.T, s settings) *lab {
	t.Helper()
	return newLabOn(t, databases.SQLite(t), s)
}

// newLabOn returns a lab on an existing database.
func newLabOn(t *testing.T, db *store.DB, s settings) *lab {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	l := &lab{live: &live{t: t}, db: db, clock: authtest.NewClock(), logs: logs, folder: t.TempDir()}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.server.Public().ServeHTTP(w, r) }))
	t.Cleanup(listener.Close)
	l.url = listener.URL
	all := settings{
		"server.issuer": "$URL", "signing.key_path": "$DIR", "rate_limit.enabled": "false", "admin.api_key": "0123456789abcdef0123456789abcdef",
		"resources": `[{"slug":"files","uri":"https://files.example","backend_kind":"mint","display_name":"Files","scopes":[{"name":"read"},{"name":"write"}]}]`,
	}
	maps.Copy(all, s)
	text := strings.NewReplacer("$URL", l.url, "$DIR", l.folder).Replace(all.Text(t))
	cfg, err := config.Parse([]byte(text), func(name string) (string, bool) { v, ok := flipSecrets[name]; return v, ok })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	shared := counters.NewMemory(l.clock.Now)
	logger := zap.New(core)
	l.server, err = authserver.New(authserver.Options{
		Passwords: authtest.Quick, Config: cfg, DB: db, Counters: shared, Key: make([]byte, 32), Now: l.clock.Now, Logger: func() *zap.Logger { return logger },
	})
	if err != nil {
		t.Fatal(err)
	}
	k := authserver.Offline(db, l.clock.Now)
	t.Cleanup(func() {
		l.server.Close()
		k.Close()
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	if l.failed = l.server.Start(); l.failed != nil {
		return l
	}
	for all["signing.key_store"] != config.KMSTransit && l.server.Ready(t.Context()) != nil { // until the resources are stored
		runtime.Gosched()
	}
	l.users = authserver.OfflineUsers(k)
	l.users.Passwords = authtest.Quick
	if l.ann, err = l.users.FindByEmail(t.Context(), "ann@example.com"); users.IsNone(err) {
		l.ann, err = l.users.Create(t.Context(), users.New{Email: "ann@example.com", Name: "Ann", Password: "correct horse"}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	l.browser()
	return l
}

// browser replaces the browser with a new browser.
func (l *lab) browser() {
	l.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.people = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ask sends a request to a site and returns the response; header are names and values. A body is a form, or JSON for
// the administration API.
func (l *lab) ask(method, path, body string, header ...string) *httptest.ResponseRecorder {
	l.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:1234", "localhost"
	h := l.server.Public()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if strings.HasPrefix(path, "/admin/") {
		h = l.server.Admin()
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// status returns the status of a response.
func (l *lab) status(method, path, body string, header ...string) string {
	l.t.Helper()
	return strconv.Itoa(l.ask(method, path, body, header...).Code)
}

// member returns a member of a JSON response.
func member(t *testing.T, w *httptest.ResponseRecorder, name string) string {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return fmt.Sprint(body[name])
}

// page gets a page with the browser. It returns the address of the redirect, or the status if there is none, and the
// body.
func (l *lab) page(path string) (location, text string) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.url+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	response, err := l.people.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	if location = response.Header.Get("Location"); location == "" {
		location = strconv.Itoa(response.StatusCode)
	}
	return location, string(raw)
}

// row returns the text that a query selects.
func (l *lab) row(query string) (text string) {
	l.t.Helper()
	if err := l.db.Read(l.t.Context(), func(c store.Conn) error { return c.Row(query).Scan(&text) }); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return text
}
