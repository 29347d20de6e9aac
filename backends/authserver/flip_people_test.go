package authserver_test

import (
	"crypto/sha1" //nolint:gosec // the lists have it
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// signsIn signs Ann in, and returns the cookie of the session.
func (l *lab) signsIn() *http.Cookie {
	l.t.Helper()
	_, text := l.page("/login")
	fields := url.Values{"email": {"ann@example.com"}, "password": {"correct horse"}}
	for _, match := range field.FindAllStringSubmatch(text, -1) {
		fields.Add(match[1], match[2])
	}
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.url+"/login", strings.NewReader(fields.Encode()))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := l.people.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	_ = response.Body.Close()
	for _, c := range response.Cookies() {
		if c.MaxAge > 1 && c.HttpOnly && !strings.HasSuffix(c.Name, "_form") { // not the form cookie
			return c
		}
	}
	l.t.Fatalf("signing in is %s, with %v", response.Status, response.Cookies())
	return nil
}

// guesses returns the response to a wrong password of a user.
func (l *lab) guesses(email string) *httptest.ResponseRecorder {
	l.t.Helper()
	form := l.ask(http.MethodGet, "/login", "")
	fields := url.Values{"email": {email}, "password": {"wrong horse"}}
	for _, match := range field.FindAllStringSubmatch(form.Body.String(), -1) {
		fields.Add(match[1], match[2])
	}
	cookies := make([]string, 0, 1)
	for _, c := range form.Result().Cookies() {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	return l.ask(http.MethodPost, "/login", fields.Encode(), "Cookie", strings.Join(cookies, "; "))
}

// knows reports whether a browser with a cookie is signed in.
func (l *lab) knows(c *http.Cookie) string {
	l.t.Helper()
	w := l.ask(http.MethodGet, "/", "", "Cookie", c.Name+"="+c.Value)
	return strconv.FormatBool(strings.Contains(w.Body.String(), "You are signed in"))
}

// flipsOfPeople are the tests of the configuration keys for the sign-in of users at this server.
var flipsOfPeople = map[string]flip{
	"session.cookie_name": {Other: "own", Want: [2]string{"authserver_session", "own"}, See: func(t *testing.T, s settings) string { return newLab(t, s).signsIn().Name }},
	"session.max_age": {Other: "1h", Want: [2]string{"86400", "3600"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(newLab(t, s).signsIn().MaxAge)
	}},
	"session.same_site": {Other: "strict", Want: [2]string{"lax", "strict"}, See: func(t *testing.T, s settings) string {
		return map[http.SameSite]string{http.SameSiteLaxMode: "lax", http.SameSiteStrictMode: "strict"}[newLab(t, s).signsIn().SameSite]
	}},
	"session.secure": {Other: "true", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		w := newLab(t, s).ask(http.MethodGet, "/login", "")
		return strconv.FormatBool(strings.Contains(w.Header().Get("Set-Cookie"), "; Secure"))
	}},
	"session.fail_closed": {Other: "false", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		cookie := l.signsIn()
		if err := l.db.Close(); err != nil {
			t.Fatal(err)
		}
		return l.knows(cookie)
	}},
	"session.secret": {Other: "a secret that two servers share", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		one := newLab(t, s)
		cookie := one.signsIn()
		return newLabOn(t, one.db, settings{"session.secret": "a secret that two servers share"}).knows(cookie)
	}},
	"session.passkey_login": {
		Other: "false", With: settings{"server.issuer": "http://localhost:9000"}, Want: [2]string{"true", "false"},
		See: func(t *testing.T, s settings) string {
			page := newLab(t, s).ask(http.MethodGet, "/login", "").Body.String()
			return strconv.FormatBool(strings.Contains(page, "/login/passkey"))
		},
	},
	"session.second_factor": {Other: "required", Want: [2]string{"/consent", "/security"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		app := l.app()
		l.signsIn()
		to := app.AuthCodeURL("s", oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))
		for range 2 {
			next, _ := l.page(strings.TrimPrefix(to, l.url))
			if next == "200" {
				break
			}
			to = next
		}
		path, _, _ := strings.Cut(to, "?")
		return path
	}},

	"rate_limit.auth_fail_max": {Other: "2", Want: [2]string{"10", "2"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return until(100, http.StatusUnprocessableEntity, func() int { return l.guesses("ann@example.com").Code })
	}},
	"rate_limit.auth_fail_window": {Other: "1m", With: settings{"rate_limit.auth_fail_max": "2"}, Want: [2]string{"429", "422"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.guesses("ann@example.com")
		l.clock.Pass(5 * time.Minute)
		l.guesses("ann@example.com")
		return strconv.Itoa(l.guesses("ann@example.com").Code)
	}},
	"rate_limit.auth_lockout": {Other: "1m", With: settings{"rate_limit.auth_fail_max": "1"}, Want: [2]string{"900", "60"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.guesses("ann@example.com")
		return l.guesses("ann@example.com").Header().Get("Retry-After")
	}},
	"rate_limit.auth_spray_factor": {Other: "0", With: settings{"rate_limit.auth_fail_max": "2"}, Want: [2]string{"21", "all"}, See: func(t *testing.T, s settings) string {
		l, tried := newLab(t, s), 0
		return until(100, http.StatusUnprocessableEntity, func() int {
			tried++
			return l.guesses(fmt.Sprintf("somebody%d@example.com", tried)).Code
		})
	}},
	"rate_limit.max_tracked_identities": {Other: "1", Want: [2]string{"0", "1"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.guesses("ann@example.com")
		l.guesses("bob@example.com")
		return strconv.Itoa(l.logs.FilterMessageSnippet("the lockout tracks the maximum number").Len())
	}},
	"rate_limit.enabled": {Other: "false", With: settings{"rate_limit.burst": "1"}, Want: [2]string{"429", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.ask(http.MethodGet, "/login", "")
		return l.status(http.MethodGet, "/login", "")
	}},
	"rate_limit.burst": {Other: "5", With: settings{"rate_limit.enabled": "true"}, Want: [2]string{"200", "5"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return until(1000, http.StatusOK, func() int { return l.ask(http.MethodGet, "/login", "").Code })
	}},
	"rate_limit.requests_per_second": {Other: "2", With: settings{"rate_limit.enabled": "true"}, Want: [2]string{"100", "2"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		drain := func() string {
			return until(1000, http.StatusOK, func() int { return l.ask(http.MethodGet, "/login", "").Code })
		}
		drain()
		l.clock.Pass(time.Second)
		return drain()
	}},

	"mail.url": {Other: "smtp://127.0.0.1:9", With: settings{"mail.from": "a@example.com"}, Want: [2]string{"404", "200"}, See: func(t *testing.T, s settings) string {
		if s["mail.url"] == "" {
			s["mail.from"] = ""
		}
		return newLab(t, s).status(http.MethodGet, "/forgot", "")
	}},
	"mail.from": {First: "a@example.com", Other: "b@example.com", Want: [2]string{"a@example.com", "b@example.com"}, See: func(t *testing.T, s settings) string {
		return mailed(t, s).From
	}},
	"mail.user":     {Other: "desk", With: settings{"mail.password": "a secret"}, Want: [2]string{"refused", ""}, See: mailSignsIn},
	"mail.password": {Other: "a secret", With: settings{"mail.user": "desk"}, Want: [2]string{"refused", ""}, See: mailSignsIn},
	"accounts.registration": {Other: "open", With: settings{"mail.url": "smtp://127.0.0.1:9", "mail.from": "a@example.com"}, Want: [2]string{"404", "200"}, See: func(t *testing.T, s settings) string {
		return newLab(t, s).status(http.MethodGet, "/register", "")
	}},
	"accounts.registration_domains": {
		Other: `["example.org"]`, With: settings{"mail.url": "smtp://127.0.0.1:9", "mail.from": "a@example.com", "accounts.registration": "open"},
		Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
			l := newLab(t, s)
			return strconv.FormatBool(strings.Contains(l.sends("/register", url.Values{"email": {"new@example.com"}}), "A mail is on its way"))
		},
	},
	"accounts.deletion_grace": {Other: "336h", Want: [2]string{"404", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.signsIn()
		status, _ := l.page("/account/delete")
		return status
	}},
	"accounts.password_length": {Other: "12", Want: [2]string{"8", "12"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.signsIn()
		_, text := l.page("/account/password")
		return regexp.MustCompile(`minlength="(\d+)"`).FindStringSubmatch(text)[1]
	}},
	"accounts.leaked_passwords": {Other: "$DIR/leaked", Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		if s["accounts.leaked_passwords"] != "" {
			s["accounts.leaked_passwords"] = filepath.Join(t.TempDir(), "leaked")
			if err := os.WriteFile(s["accounts.leaked_passwords"], fmt.Appendf(nil, "%X:2\n", sha1.Sum([]byte("a leaked one"))), 0o600); err != nil { //nolint:gosec // see above
				t.Fatal(err)
			}
		}
		l := newLab(t, s)
		w := l.ask(http.MethodPost, "/admin/users", `{"email":"new@example.com","password":"a leaked one"}`)
		return strconv.FormatBool(w.Code == http.StatusCreated)
	}},

	"pages.folder": {Other: "$DIR", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		if s["pages.folder"] != "" {
			s["pages.folder"] = brandFolder(t)
		}
		return strconv.FormatBool(strings.Contains(newLab(t, s).ask(http.MethodGet, "/", "").Body.String(), "Our house"))
	}},
	"pages.language": {Other: "de", Want: [2]string{"en", "de"}, See: func(t *testing.T, s settings) string {
		return languageOf(newLab(t, s), "fr")
	}},
	"pages.languages": {Other: `["en"]`, Want: [2]string{"de", "en"}, See: func(t *testing.T, s settings) string {
		return languageOf(newLab(t, s), "de")
	}},
	"pages.texts": {Other: "$DIR", Want: [2]string{"en", "fr"}, See: func(t *testing.T, s settings) string {
		if s["pages.texts"] != "" {
			s["pages.texts"] = t.TempDir()
			if err := os.WriteFile(filepath.Join(s["pages.texts"], "fr.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return languageOf(newLab(t, s), "fr")
	}},
}

// languageOf returns the language of a page for a browser with the given Accept-Language.
func languageOf(l *lab, accept string) string {
	page := l.ask(http.MethodGet, "/login", "", "Accept-Language", accept).Body.String()
	_, tag, _ := strings.Cut(page, `<html lang="`)
	tag, _, _ = strings.Cut(tag, `"`)
	return tag
}

// mailed returns the mail that is sent to a user who has forgotten their password.
func mailed(t *testing.T, s settings) testenv.Mail {
	t.Helper()
	server := testenv.SMTP(t)
	s["mail.url"] = "smtp://" + server.Address
	l := newLab(t, s)
	l.sends("/forgot", url.Values{"email": {"ann@example.com"}})
	<-server.Arrived()
	return server.Take()[0]
}

// mailSignsIn returns "refused" if a server cannot be created with only one of the user and the password of the mail
// server.
func mailSignsIn(t *testing.T, s settings) string {
	t.Helper()
	s["mail.url"], s["mail.from"] = "smtp://127.0.0.1:9", "a@example.com"
	text := s.Text(t)
	cfg, err := config.Parse([]byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if authserver.Try(cfg) != nil { // only one of the two is set
		return "refused"
	}
	return ""
}

// sends fills in the form of a page and returns the answer.
func (l *lab) sends(path string, fields url.Values) string {
	l.t.Helper()
	_, text := l.page(path)
	fields.Set("csrf_token", regexp.MustCompile(`name="csrf_token" value="([^"]+)"`).FindStringSubmatch(text)[1])
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.url+path, strings.NewReader(fields.Encode()))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := l.people.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(raw)
}

// brandFolder returns a folder with a template.
func brandFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "templates", "home.html"), []byte(`{{define "main"}}<h1>Our house</h1>{{end}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}
