package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/web"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// cookie returns the value of a cookie of the browser, or "".
func (b *browser) cookie(name string) string {
	b.t.Helper()
	baseURL, err := url.Parse(b.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.Client.Jar.Cookies(baseURL) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// setCookie sets a cookie in the browser.
func (b *browser) setCookie(name, value string) {
	b.t.Helper()
	baseURL, err := url.Parse(b.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Client.Jar.SetCookies(baseURL, []*http.Cookie{{Name: name, Value: value, Path: "/"}}) //nolint:gosec // of a test
}

const sessionName = "authserver_session"

// in reports whether a user is signed in.
func (b *browser) in() bool {
	b.t.Helper()
	return strings.Contains(b.get("/").is(b.t, http.StatusOK).Text, "You are signed in")
}

// tries sends the login form.
func (b *browser) tries(email, pass string) page {
	b.t.Helper()
	return b.post("/login", with(b.get("/login").Fields(), "email", email, "password", pass))
}

func TestLogin(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		b := s.browser()
		form := b.get("/login").is(t, http.StatusOK, "Sign in")
		if b.cookie("authserver_form") == "" || b.cookie(sessionName) != "" || b.in() {
			t.Error("a guest has other cookies")
		}
		done := b.post("/login", with(form.Fields(), "email", " ANN@example.com", "password", annPass))
		if done.leads(t, "/"); done.StatusCode != http.StatusSeeOther || !b.in() {
			t.Error("nobody is signed in")
		}
		for _, c := range done.Cookies() {
			if c.Name != sessionName {
				continue
			}
			raw, ok := signed.Signer{Key: s.Key, Label: "session", MACSize: 32}.Open(c.Value)
			if !ok || len(raw) < 43 || !c.HttpOnly || c.Path != "/" || c.SameSite != http.SameSiteLaxMode || c.Secure || c.MaxAge != 24*3600 || c.Domain != "" {
				t.Errorf("the cookie is %+v", c)
			}
		}
		if loc := b.get("/login?redirect=/consent").leads(t, "/"); loc != "/consent" {
			t.Errorf("a signed-in user is redirected to %s", loc)
		}
		first := b.cookie(sessionName)
		b.post("/login", with(b.get("/login?again=1").Fields(), "email", annMail, "password", annPass)).leads(t, "/")
		if b.cookie(sessionName) == first {
			t.Error("the session has not changed")
		}
		old := s.browser()
		if old.setCookie(sessionName, first); old.in() {
			t.Error("the former session has not ended")
		}

		second := b.cookie(sessionName)
		out := b.post("/logout", b.get("/").Fields())
		out.leads(t, "/login")
		b.get("/login").is(t, http.StatusOK, "You are signed out.")
		if out.StatusCode != http.StatusSeeOther || b.cookie(sessionName) != "" || b.in() {
			t.Error("somebody is still signed in")
		}
		if old.setCookie(sessionName, second); old.in() {
			t.Error("the session has not ended")
		}
		for action, n := range map[string]int{"user.login": 2, "user.logout": 1, "user.login_failed": 0} {
			if s.Events.Count(action) != n {
				t.Errorf("%s was recorded %d times", action, s.Events.Count(action))
			}
		}

		late := s.signedIn()
		s.Clock.Pass(24*time.Hour - time.Second)
		if !late.in() {
			t.Error("the session ends too early")
		}
		s.Clock.Pass(time.Second)
		if late.in() {
			t.Error("the session does not end")
		}
	})
}

// TestRefusedLogin checks that the response is the same for an unknown user, a wrong password and a disabled user.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.browser()
	answer := func(email, pass string) string {
		t.Helper()
		p := b.tries(email, pass).is(t, http.StatusUnprocessableEntity, "The mail address or the password is wrong", `name="password"`)
		if strings.Contains(p.Text, pass) && pass != "" {
			t.Error("the password is in the page")
		}
		text := strings.ReplaceAll(p.Text, email, "")
		_, text, _ = strings.Cut(text, "</header>")
		before, behind, _ := strings.Cut(text, `name="csrf_token"`)
		_, behind, _ = strings.Cut(behind, ">")
		return before + behind
	}
	wrong, unknown := answer(annMail, "wrong horse"), answer("nobody@example.com", "wrong horse")
	in := s.signedIn()
	if _, err := s.users.Disable(t.Context(), s.ann.ID, "admin"); err != nil {
		t.Fatal(err)
	}
	if in.in() {
		t.Error("a disabled user is signed in")
	}
	if disabled := answer(annMail, annPass); wrong != unknown || disabled != wrong {
		t.Errorf("the answers differ:\n%s\n%s\n%s", wrong, unknown, disabled)
	}
	if _, err := s.users.Enable(t.Context(), s.ann.ID, "admin"); err != nil {
		t.Fatal(err)
	}
	if in.in() {
		t.Error("the session is back")
	}
	s.signedIn()
}

func TestLockedOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.browser()
	for range 3 {
		b.tries(annMail, "wrong horse").is(t, http.StatusUnprocessableEntity)
	}
	s.Clock.Pass(1500 * time.Millisecond)
	for _, email := range []string{annMail, " ANN@EXAMPLE.COM "} {
		p := b.tries(email, annPass).is(t, http.StatusTooManyRequests, "Too many logins failed", `name="password"`, "15 minutes")
		if p.Header.Get("Retry-After") != "899" || !strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
			t.Errorf("the answer has %v", p.Header)
		}
	}
	if s.Events.Count("auth.locked_out") != 1 || s.Events.Count("user.login_failed") != 3 {
		t.Errorf("recorded %+v", s.Events.All())
	}
	s.Clock.Pass(15*time.Minute - 1500*time.Millisecond)
	b.tries(annMail, annPass).leads(t, "/")
	long := strings.Repeat("x", 255)
	other := s.browser()
	for i := range 3 {
		other.tries(long+strconv.Itoa(i), annPass).is(t, http.StatusUnprocessableEntity)
	}
	other.tries(long, annPass).is(t, http.StatusTooManyRequests)
	other.tries(long[:254], annPass).is(t, http.StatusTooManyRequests)
}

// TestSprayed checks that an address that tries a password with many names is locked for all names, and that this is
// recorded once and without the name that happened to be the last.
func TestSprayed(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{login: login.Options{MaxAge: time.Hour, FailClosed: true, Failures: 3, Spray: 4, Window: 10 * time.Minute, Lock: 15 * time.Minute, Identities: 1000}})
	b := s.browser()
	for i := range 5 {
		b.tries(fmt.Sprintf("somebody%d@example.com", i), "wrong horse").is(t, http.StatusUnprocessableEntity)
	}
	for range 2 {
		if p := b.tries(annMail, annPass).is(t, http.StatusTooManyRequests, "Too many logins failed"); p.Header.Get("Retry-After") != "900" {
			t.Errorf("the answer has %v", p.Header)
		}
	}
	all := s.Events.All()
	last := all[len(all)-1]
	if s.Events.Count("auth.locked_out") != 1 || last.Action != "auth.locked_out" || !slices.Equal(last.Detail, []string{"reason", "spraying"}) || last.Address == "" {
		t.Errorf("recorded %+v", last)
	}
	s.Clock.Pass(15 * time.Minute)
	b.tries(annMail, annPass).leads(t, "/")
}

// TestRedirects checks that a login only redirects to a path of this site.
func TestRedirects(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	for redirect, want := range map[string]string{
		"/consent?session_id=x": "/consent?session_id=x", "/": "/", "": "/", "//evil.example": "/", "/\\evil.example": "/", "https://evil.example": "/", "evil": "/", "\\/evil.example": "/",
		"/\tevil": "/", "javascript:alert(1)": "/", "/%0d%0aX: y": "/%0d%0aX: y", "///evil.example": "/", "/" + strings.Repeat("x", 64<<10): "/",
	} {
		b := s.browser()
		form := b.get("/login?redirect=" + url.QueryEscape(redirect)).Fields()
		if form.Get("redirect") != want {
			t.Errorf("%q: the form leads to %q", redirect, form.Get("redirect"))
		}
		if got := b.post("/login", with(form, "email", annMail, "password", annPass, "redirect", redirect)).leads(t, "/"); got != want {
			t.Errorf("%q: leads to %q", redirect, got)
		}
		if got := b.get("/login?redirect="+url.QueryEscape(redirect)).leads(t, "/"); got != want {
			t.Errorf("%q: a signed-in user is redirected to %q", redirect, got)
		}
	}
}

// TestForged checks that forms are accepted only from the browser for which they were made, and from this site.
func TestForged(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	victim, attacker := s.signedIn(), s.signedIn()
	theirs := attacker.get("/").Fields()
	for _, path := range []string{"/login", "/logout", "/consent"} {
		for label, fields := range map[string]url.Values{"no token": {}, "another's": theirs, "empty": {"csrf_token": {""}}} {
			if p := victim.post(path, with(fields, "email", annMail, "password", annPass, "action", "allow")); p.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %s: %d", path, label, p.StatusCode)
			}
		}
	}
	// The form token of a guest is not valid in another browser (login CSRF, session fixation).
	guest := s.browser()
	form := guest.get("/login").Fields()
	other := s.browser()
	other.get("/login")
	other.post("/login", with(form, "email", annMail, "password", annPass)).is(t, http.StatusForbidden)
	// A forged session cookie belongs to nobody, and is replaced.
	for _, fixed := range []string{strings.Repeat("A", 43), attacker.cookie(sessionName)[:60], attacker.cookie(sessionName) + "A"} {
		b := s.browser()
		b.setCookie(sessionName, fixed)
		if b.in() {
			t.Errorf("%q signs in", fixed)
		}
		if b.signIn(b.get("/login")); b.cookie(sessionName) == fixed || !b.in() {
			t.Error("the cookie stays")
		}
	}
	// Without https a browser may send "null" as the origin of a form of this site.
	for name, want := range map[string]int{"null": http.StatusSeeOther, "https://evil.example": http.StatusForbidden} {
		b := s.browser()
		fields := with(b.get("/login").Fields(), "email", annMail, "password", annPass)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/login", strings.NewReader(fields.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", name)
		page{b.Ask(r)}.is(t, want)
		fields.Del("csrf_token")
		r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/login", strings.NewReader(fields.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", name)
		page{b.Ask(r)}.is(t, http.StatusForbidden)
	}
	// The form comes from another site.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/logout", strings.NewReader(victim.get("/").Fields().Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if p := (page{victim.Ask(r)}); p.StatusCode != http.StatusForbidden || !victim.in() {
		t.Errorf("a form of another site: %d", p.StatusCode)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.browser()
	loc := b.get("/oauth/authorize?"+s.request().Encode()).leads(t, "/login?")
	for _, path := range []string{"/oauth/authorize?" + s.request().Encode(), "/oauth/authorize", "/login", loc, "/consent", "/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "https://app.example")
		p := page{b.Ask(r)}
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Access-Control-Allow-Origin": "", "X-Content-Type-Options": "nosniff"} {
			if got := p.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		policy := p.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "script-src 'self';") || strings.Count(p.Text, "<script") != strings.Count(p.Text, `<script type="module" src="/assets/look.js?v=`) {
			t.Errorf("%s: %s", path, policy)
		}
	}
	if policy := b.get(loc).Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' https://app.example https:;") {
		t.Errorf("the login keeps the browser from the client: %s", policy)
	}
	if policy := b.get("/login").Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self';") {
		t.Errorf("the policy of another page than the login: %s", policy)
	}
}

// TestFailClosed checks whether sessions are valid without the database, as configured.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{true, false} {
		k := authtest.SQLite(t)
		s := newSite(t, k, settings{login: login.Options{MaxAge: time.Hour, FailClosed: closed, Failures: 3, Window: time.Minute, Lock: time.Minute, Identities: 10}})
		b := s.signedIn()
		if err := k.DB.Close(); err != nil {
			t.Fatal(err)
		}
		cookie := b.cookie(sessionName)
		if in := s.login.Resume(t.Context(), cookie); (in == nil) != closed || in != nil && (in.User.ID != s.ann.ID || !in.AuthTime.Equal(k.Now())) {
			t.Errorf("closed %v: %+v", closed, in)
		}
		if in := s.login.Resume(t.Context(), cookie[1:]); in != nil {
			t.Error("a forged cookie is accepted")
		}
		k.Clock.Pass(time.Hour)
		if in := s.login.Resume(t.Context(), cookie); in != nil {
			t.Error("an old cookie is accepted")
		}
		b.tries(annMail, annPass).is(t, http.StatusServiceUnavailable, "not available right now")
		b.get("/oauth/authorize?"+s.request().Encode()).is(t, http.StatusServiceUnavailable)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{web: web.Options{NoPassword: true, Name: "Example ID", SameSite: http.SameSiteNoneMode, Mount: "/id"}})
	b := s.browser()
	p := b.get("/id/login").is(t, http.StatusOK, "cannot sign in with a password", "Example ID", `href="/id/`)
	if strings.Contains(p.Text, "<form") {
		t.Error("there is a form")
	}
	b.get("/id/login?redirect=/consent").is(t, http.StatusOK)
	b.get("/login").is(t, http.StatusNotFound)
	p = b.get("/id/")
	form := with(p.Fields(), "email", annMail, "password", annPass)
	b.post("/id/login", form).is(t, http.StatusNotFound) // rather than 403 for the form without a token
}

// TestDocumentedBrand checks the folder that the documentation shows.
func TestDocumentedBrand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/how-to/sign-in-pages.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(html|css)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	brand := fstest.MapFS{"static/logo.svg": {Data: []byte("<svg/>")}}
	for i, name := range []string{"static/authserver.css", "templates/parts.html", "templates/login.html"} {
		brand[name] = &fstest.MapFile{Data: []byte(blocks[i][2])}
	}
	s := newSite(t, authtest.SQLite(t), settings{web: web.Options{Brand: brand}})
	b := s.browser()
	form := b.get("/login").is(t, http.StatusOK, "Welcome back", `src="/assets/logo.svg?v=`, "Privacy")
	b.post("/login", with(form.Fields(), "email", annMail, "password", "wrong horse")).is(t, http.StatusUnprocessableEntity, "Welcome back", "is wrong")
	b.post("/login", with(b.get("/login").Fields(), "email", annMail, "password", annPass)).leads(t, "/")
	for page := range strings.SplitSeq("login second security app passkey recovery consent device deviceconsent devicedone logout signedout home error", " ") {
		if !strings.Contains(string(text), "| `"+page+"` |") {
			t.Errorf("the page %s is not documented", page)
		}
	}
}

// TestBrand checks that the operator's folder changes the pages, and that its templates are tested at the start.
func TestBrand(t *testing.T) {
	t.Parallel()
	brand := fstest.MapFS{"templates/home.html": {Data: []byte(`{{define "main"}}<h1>Our house</h1>{{end}}`)}}
	s := newSite(t, authtest.SQLite(t), settings{web: web.Options{Brand: brand}})
	s.browser().get("/").is(t, http.StatusOK, "Our house")
	s.browser().get("/login").is(t, http.StatusOK, "Mail address")
	for name, text := range map[string]string{"login.html": "\n{{define \"main\"}}{{.Data.Nothing}}{{end}}", "consent.html": `{{define "main"}}{{range .Data.Parts}}{{.Nothing}}{{end}}{{end}}`, "other.html": "x"} {
		_, err := web.New(s.Server, web.Options{Login: s.login, Brand: fstest.MapFS{"templates/" + name: {Data: []byte(text)}}})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParallelGuesses checks that of many concurrent guesses only as many are checked as failures are permitted.
func TestParallelGuesses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		var refused, locked atomic.Int64
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				_, _, err := s.login.SignIn(t.Context(), login.Attempt{Email: annMail, Password: "guess " + strconv.Itoa(i), Address: "192.0.2.1"})
				switch e, _ := apierror.From(err); {
				case e == nil:
					t.Errorf("guess %d: %v", i, err)
				case e.Status == http.StatusUnprocessableEntity:
					refused.Add(1)
				case e.Status == http.StatusTooManyRequests && e.RetryAfter > 0:
					locked.Add(1)
				default:
					t.Errorf("guess %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if refused.Load() != 3 || locked.Load() != 9 || s.Events.Count("auth.locked_out") != 1 {
			t.Errorf("%d are refused, %d wait, %d locks", refused.Load(), locked.Load(), s.Events.Count("auth.locked_out"))
		}
		for address, want := range map[string]int{"192.0.2.1": http.StatusTooManyRequests, "192.0.2.2": 0} {
			cookie, _, err := s.login.SignIn(t.Context(), login.Attempt{Email: annMail, Password: annPass, Address: address})
			if e, _ := apierror.From(err); (e == nil) != (want == 0) || (cookie == "") != (want != 0) {
				t.Errorf("from %s: %v", address, err)
			}
		}
	})
}

// TestGuessesFromNetwork checks that an attacker with changing addresses of one IPv6 network is locked out with all of
// them.
func TestGuessesFromNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	signIn := func(address, pass string) int {
		_, _, err := s.login.SignIn(t.Context(), login.Attempt{Email: annMail, Password: pass, Address: address})
		e, ok := apierror.From(err)
		if !ok {
			return http.StatusOK
		}
		return e.Status
	}
	for i := range 3 {
		signIn("2001:db8:1:2::"+strconv.Itoa(i), "a guess")
	}
	for address, want := range map[string]int{"2001:db8:1:2:ffff::1": http.StatusTooManyRequests, "2001:db8:1:3::1": http.StatusOK} {
		if got := signIn(address, annPass); got != want {
			t.Errorf("from %s: %d, want %d", address, got, want)
		}
	}
}

// TestGuessesInSpellings checks that guesses for differently written forms of one mail address are counted together.
func TestGuessesInSpellings(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	if _, err := s.users.Create(t.Context(), users.New{Email: "zo\u00eb\u00fc@example.com", Password: annPass}, "admin"); err != nil {
		t.Fatal(err)
	}
	for i, email := range []string{"zo\u00eb\u00fc@example.com", "zoe\u0308\u00fc@example.com", "ZO\u00ebu\u0308@example.com", "zoe\u0308u\u0308@example.com"} {
		pass, want := "a guess", http.StatusUnprocessableEntity
		if i == 3 {
			pass, want = annPass, http.StatusTooManyRequests
		}
		_, _, err := s.login.SignIn(t.Context(), login.Attempt{Email: email, Password: pass, Address: "192.0.2.1"})
		if e, ok := apierror.From(err); !ok || e.Status != want {
			t.Errorf("%d: error %v, want %d", i, err, want)
		}
	}
}
