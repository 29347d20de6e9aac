package authserver_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
	"github.com/tollgate-gateway/tollgate/internal/people/peopletest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// federated is a server at which users sign in at another provider, which names them by claims.
type federated struct {
	*live
	at *oidclogintest.Provider
	db *store.DB
}

func newFederated(t *testing.T, db *store.DB, more string) *federated {
	t.Helper()
	f := &federated{at: oidclogintest.New(t), db: db}
	f.live = newLive(t, db, "oidc: {enabled: true, issuer: '"+f.at.URL+"', client_id: "+oidclogintest.ClientID+", client_secret: "+oidclogintest.Secret+", redirect_uri: 'https://as.example/oidc/callback', display_name: The Company"+more+"}")
	return f
}

// browser replaces the browser with a new browser.
func (f *federated) browser() {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	f.people = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// page returns the response to the browser.
func (f *federated) page(path string) (status int, location string, cookies []*http.Cookie) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.url+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := f.people.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("Location"), response.Cookies()
}

// visit starts a sign-in at the provider and returns the query with which the provider redirects to the callback.
func (f *federated) visit(redirect string) url.Values {
	f.t.Helper()
	status, loc, _ := f.page("/oidc/start?redirect=" + url.QueryEscape(redirect))
	if status != http.StatusFound {
		f.t.Fatalf("%d %q", status, loc)
	}
	return f.at.Visit(loc)
}

// back returns the status of the callback, and the address to which it redirects.
func (f *federated) back(query url.Values) (int, string) {
	f.t.Helper()
	status, loc, _ := f.page("/oidc/callback?" + query.Encode())
	return status, loc
}

// TestUpstream checks that users of another provider can sign in, and are recognized when they return.
func TestUpstream(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		f := newFederated(t, db, ", connector_id: corp")
		if _, page := f.send(http.MethodGet, "/login?redirect=%2Fdevice", nil); !strings.Contains(page, `href="/oidc/start?redirect=%2Fdevice"`) || !strings.Contains(page, "Sign in with The Company") || !strings.Contains(page, `name="password"`) {
			t.Errorf("%s", page)
		}
		f.at.Claims = map[string]any{"email": "bob@example.com", "email_verified": true, "name": "Bob Stone", "groups": []string{"staff", "ops", "staff"}}
		status, loc, cookies := f.page("/oidc/start?redirect=%2Fdevice%3Fuser_code%3DX")
		authURL, err := url.Parse(loc)
		if err != nil || status != http.StatusFound || authURL.Query().Get("connector_id") != "corp" || authURL.Query().Get("code_challenge_method") != "S256" || authURL.Query().Get("nonce") == "" || authURL.Query().Get("scope") != "openid email profile" || authURL.Query().Get("redirect_uri") != "https://as.example/oidc/callback" {
			t.Errorf("%d %q %v", status, loc, err)
		}
		if len(cookies) != 1 || cookies[0].Name != "authserver_oidc_state" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].MaxAge != 600 || cookies[0].Path != "/oidc" {
			t.Errorf("%v", cookies)
		}
		if status, loc := f.back(f.at.Visit(loc)); status != http.StatusFound || loc != "/device?user_code=X" {
			t.Errorf("%d %q", status, loc)
		}
		bob, err := f.users.FindByEmail(t.Context(), "bob@example.com")
		if err != nil || bob.Name != "Bob Stone" || bob.Provider != users.Upstream || !bob.EmailVerified || fmt.Sprint(bob.Groups) != "[staff ops]" {
			t.Fatalf("%+v, error %v", bob, err)
		}

		// A person is recognized although the mail address has changed. The groups are updated.
		f.browser()
		f.at.Claims = map[string]any{"email": "robert@example.com", "email_verified": true, "groups": []string{}}
		if status, loc := f.back(f.visit("/")); status != http.StatusFound || loc != "/" {
			t.Errorf("%d %q", status, loc)
		}
		if found, err := f.users.Find(t.Context(), bob.ID); err != nil || len(found.Groups) != 0 || found.Email != "bob@example.com" {
			t.Errorf("%+v, error %v", found, err)
		}

		// If a provider omits groups that it has sent before, they are removed. If it has never sent any, the
		// operator's groups stay.
		for i, groups := range []any{[]string{"staff"}, nil, nil} {
			f.browser()
			f.at.Claims = map[string]any{"email": "bob@example.com", "groups": groups}
			f.back(f.visit("/"))
			want := map[int]string{0: "[staff]", 1: "[]", 2: "[]"}[i]
			if found, err := f.users.Find(t.Context(), bob.ID); err != nil || fmt.Sprint(found.Groups) != want {
				t.Errorf("%d: %+v, error %v", i, found, err)
			}
		}
		own, err := f.users.Create(t.Context(), users.New{Email: "eve@example.com", Groups: []string{"mine"}}, "")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f.browser()
			f.at.Claims = map[string]any{"sub": "s-eve", "email": "eve@example.com", "email_verified": true}
			f.back(f.visit("/"))
		}
		if own, err = f.users.Find(t.Context(), own.ID); err != nil || own.Provider != users.Upstream || fmt.Sprint(own.Groups) != "[mine]" {
			t.Errorf("%+v, error %v", own, err)
		}

		// An account without a password is linked by a confirmed mail address, other accounts are not.
		carol, err := f.users.Create(t.Context(), users.New{Email: "carol@example.com", Name: "Carol"}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name   string
			claims map[string]any
			status int
		}{
			{"with a password", map[string]any{"sub": "s-ann", "email": "ann@example.com", "email_verified": true}, 409},
			{"not confirmed", map[string]any{"sub": "s-carol", "email": "carol@example.com", "email_verified": false}, 409},
			{"confirmed", map[string]any{"sub": "s-carol", "email": "Carol@Example.com", "email_verified": true}, 302},
			{"of another person", map[string]any{"sub": "s-other", "email": "carol@example.com", "email_verified": true}, 409},
			{"no address", map[string]any{"sub": "s-none"}, 400},
			{"not confirmed, but new", map[string]any{"sub": "s-dan", "email": "dan@example.com"}, 302},
		} {
			f.browser()
			f.at.Claims = test.claims
			if status, _ := f.back(f.visit("/")); status != test.status {
				t.Errorf("%s: %d, want %d", test.name, status, test.status)
			}
		}
		if linked, err := f.users.Find(t.Context(), carol.ID); err != nil || linked.Provider != users.Upstream || linked.Name != "Carol" {
			t.Errorf("%+v, error %v", linked, err)
		}

		// A disabled user cannot sign in.
		if _, err := f.users.Disable(t.Context(), carol.ID, ""); err != nil {
			t.Fatal(err)
		}
		f.browser()
		f.at.Claims = map[string]any{"sub": "s-carol", "email": "carol@example.com", "email_verified": true}
		if status, _ := f.back(f.visit("/")); status != 403 {
			t.Errorf("disabled: %d", status)
		}
		refused := fmt.Sprint(f.do("GET", "/admin/audit?action=user.oidc_login_failed", "", 200))
		events := fmt.Sprint(f.do("GET", "/admin/audit?action=user.oidc_login", "", 200), refused)
		if strings.Count(events, "action:user.oidc_login ") != 9 || strings.Count(events, "action:user.oidc_login_failed") != 5 {
			t.Errorf("%s", events)
		}
		if !strings.Contains(refused, "actor_id:"+carol.ID) {
			t.Errorf("the disabled user is not recorded: %s", refused)
		}
		// The sign-in does not redirect to another site.
		f.browser()
		f.at.Claims = map[string]any{"email": "robert@example.com"}
		if status, loc := f.back(f.visit("/login?redirect=//evil.example")); status != http.StatusFound || strings.Contains(loc, "//evil") && !strings.HasPrefix(loc, "/login") {
			t.Errorf("%d %q", status, loc)
		}
	})
}

// TestUpstreamAttacks checks that invalid responses are refused, and that the page does not reveal their contents.
func TestUpstreamAttacks(t *testing.T) {
	t.Parallel()
	f := newFederated(t, databases.SQLite(t), "")
	base := map[string]any{"email": "bob@example.com", "email_verified": true}
	for name, test := range map[string]struct {
		claims map[string]any
		change func(q url.Values)
		status int
	}{
		"good":               {nil, nil, 302},
		"another audience":   {map[string]any{"aud": "other"}, nil, 400},
		"two audiences":      {map[string]any{"aud": []string{oidclogintest.ClientID, "other"}}, nil, 400},
		"another party":      {map[string]any{"azp": "other"}, nil, 400},
		"another issuer":     {map[string]any{"iss": "https://evil.example"}, nil, 400},
		"another nonce":      {map[string]any{"nonce": "x"}, nil, 400},
		"no nonce":           {map[string]any{"nonce": nil}, nil, 400},
		"expired":            {map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, nil, 400},
		"of tomorrow":        {map[string]any{"iat": time.Now().Add(24 * time.Hour).Unix()}, nil, 400},
		"of no time":         {map[string]any{"iat": nil}, nil, 400},
		"no subject":         {map[string]any{"sub": ""}, nil, 400},
		"iss of another":     {nil, func(q url.Values) { q.Set("iss", "https://evil.example") }, 400},
		"no iss":             {nil, func(q url.Values) { q.Del("iss") }, 400},
		"an error":           {nil, func(q url.Values) { q.Set("error", "<script>alert(1)</script>") }, 400},
		"another state":      {nil, func(q url.Values) { q.Set("state", q.Get("state")+"x") }, 400},
		"no state":           {nil, func(q url.Values) { q.Del("state") }, 400},
		"two states":         {nil, func(q url.Values) { q.Add("state", q.Get("state")) }, 400},
		"another code":       {nil, func(q url.Values) { q.Set("code", "x") }, 400},
		"a code that is big": {nil, func(q url.Values) { q.Set("code", strings.Repeat("x", 5000)) }, 400},
	} {
		f.browser()
		f.at.Claims = make(map[string]any)
		for _, claims := range []map[string]any{base, test.claims} {
			maps.Copy(f.at.Claims, claims)
		}
		q := f.visit("/")
		if test.change != nil {
			test.change(q)
		}
		if status, _ := f.back(q); status != test.status {
			t.Errorf("%s: %d, want %d", name, status, test.status)
		}
	}
	f.at.Claims = base
	for _, long := range []int{3000, 6000} { // such as a request with a state of 2,048 characters
		f.browser()
		redirect := "/consent?session_id=" + strings.Repeat("x", long)
		if status, loc := f.back(f.visit(redirect)); status != 302 || loc != redirect {
			t.Errorf("%d characters: %d %.40q", long, status, loc)
		}
	}
	if status, _, _ := f.page("/oidc/start?redirect=" + url.QueryEscape("/consent?session_id="+strings.Repeat("x", 20000))); status != 400 {
		t.Errorf("more than can be stored: %d", status)
	}
	f.browser()
	q := f.visit("/")
	mine := f.people
	f.browser() // another browser
	if status, _ := f.back(q); status != 400 {
		t.Errorf("another browser: %d", status)
	}
	f.people = mine
	if status, _ := f.back(q); status != 302 {
		t.Errorf("its own: %d", status)
	}
	if status, _ := f.back(q); status != 400 {
		t.Errorf("again: %d", status)
	}
	for _, path := range []string{"/token", "/keys", "/userinfo"} {
		lost := newFederated(t, databases.SQLite(t), "")
		lost.at.UserInfo = map[string]any{"sub": "s-1"}
		q, lost.at.Lost = lost.visit("/"), path
		if status, _ := lost.back(q); status != 503 {
			t.Errorf("%s is lost: %d", path, status)
		}
	}
	f.browser()
	f.at.Down = true
	offline := newFederated(t, databases.SQLite(t), "")
	offline.at.Down = true // the server starts nevertheless, and users with passwords can sign in
	if status, _, _ := offline.page("/oidc/start"); status != 503 {
		t.Errorf("down: %d", status)
	}
	if _, page := offline.send(http.MethodGet, "/login", nil); !strings.Contains(page, `name="password"`) {
		t.Errorf("%s", page)
	}
	none := newLive(t, databases.SQLite(t))
	alone := &federated{live: none}
	for _, path := range []string{"/oidc/start", "/oidc/callback?state=x"} {
		if status, _, _ := alone.page(path); status != 404 {
			t.Errorf("%s without a provider: %d", path, status)
		}
	}
	only := newFederated(t, databases.SQLite(t), ", show_local_login: false")
	if _, page := only.send(http.MethodGet, "/login", nil); strings.Contains(page, `name="password"`) || !strings.Contains(page, "Sign in with The Company") {
		t.Errorf("%s", page)
	}
}

// TestUpstreamTabs checks concurrent sign-ins in several tabs of one browser. They can end in any order, and each
// continues at the page on which it began.
func TestUpstreamTabs(t *testing.T) {
	t.Parallel()
	f := newFederated(t, databases.SQLite(t), "")
	f.at.Claims = map[string]any{"email": "bob@example.com", "email_verified": true}
	long := "/consent?session_id=" + strings.Repeat("x", 6000)
	first, second, third := f.visit("/device?user_code=A"), f.visit(long), f.visit("/security")
	if status, loc := f.back(second); status != http.StatusFound || loc != long {
		t.Errorf("the second leads to %d %.40q", status, loc)
	}
	if status, _ := f.back(second); status != http.StatusBadRequest {
		t.Errorf("the second is accepted again: %d", status)
	}
	if status, _ := f.back(url.Values{"state": {"x"}, "code": {"x"}}); status != http.StatusBadRequest {
		t.Errorf("an unknown state is accepted: %d", status)
	}
	if status, loc := f.back(first); status != http.StatusFound || loc != "/device?user_code=A" {
		t.Errorf("the first leads to %d %q", status, loc)
	}
	if status, loc := f.back(third); status != http.StatusFound || loc != "/security" {
		t.Errorf("the third leads to %d %q", status, loc)
	}
	startURL, err := url.Parse(f.url + "/oidc/start")
	if err != nil {
		t.Fatal(err)
	}
	countCookies := func() (n int) {
		for _, c := range f.people.Jar.Cookies(startURL) {
			if strings.HasPrefix(c.Name, "authserver_oidc_state") {
				n++
			}
		}
		return n
	}
	if n := countCookies(); n != 0 {
		t.Errorf("%d cookies are left", n)
	}
	started := make([]url.Values, 0, 30) // sign-ins that are not completed
	for range 30 {
		started = append(started, f.visit("/security"))
	}
	if n := countCookies(); n > 9 {
		t.Errorf("%d sign-ins are under way", n)
	}
	for i, flow := range started[23:] { // the newest sign-ins are kept
		if status, loc := f.back(flow); status != http.StatusFound || loc != "/security" {
			t.Errorf("sign-in %d leads to %d %q", 23+i, status, loc)
		}
	}
}

// TestUpstreamAuthTime checks that an old sign-in at the provider does not satisfy a request for a new sign-in (OpenID
// Connect Core section 3.1.2.1). Applications learn the time of the sign-in.
func TestUpstreamAuthTime(t *testing.T) {
	t.Parallel()
	f := newFederated(t, databases.SQLite(t), "")
	app := f.do("POST", "/admin/clients", `{"client_name":"App","redirect_uris":["https://app.example/cb"],"token_endpoint_auth_method":"none"}`, 201)
	ask := func(prompt string) string {
		t.Helper()
		_, loc, _ := f.page("/oauth/authorize?" + url.Values{
			"response_type": {"code"}, "client_id": {app["client_id"].(string)}, "scope": {"openid"}, "prompt": {prompt}, "code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"},
		}.Encode())
		if !strings.HasPrefix(loc, "/login?") {
			t.Fatalf("%q", loc)
		}
		return loc
	}
	before := time.Now().Add(-time.Hour)
	f.at.Claims = map[string]any{"email": "bob@example.com", "auth_time": before.Unix()}

	// The login page asks the provider for a new sign-in.
	loc := ask("login")
	if _, page := f.send(http.MethodGet, loc, nil); !strings.Contains(page, `href="/oidc/start?again=1&amp;redirect=`) {
		t.Errorf("the provider is not to ask anew:\n%s", page)
	}
	// A sign-in at the provider without again=1 is not new, so that the user has to sign in once more.
	loginURL, err := url.Parse(loc)
	if err != nil {
		t.Fatal(err)
	}
	status, consentPath := f.back(f.visit(loginURL.Query().Get("redirect")))
	if status != http.StatusFound || !strings.HasPrefix(consentPath, "/consent?") {
		t.Fatalf("%d %q", status, consentPath)
	}
	if _, loc, _ := f.page(consentPath); !strings.HasPrefix(loc, "/login?") {
		t.Errorf("leads to %q", loc)
	}
	var confirmed int64
	if err := f.db.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT confirmed_at FROM authserver_sessions").Scan(&confirmed)
	}); err != nil || confirmed != before.Truncate(time.Second).UnixMicro() {
		t.Errorf("signed in at %s, error %v", time.UnixMicro(confirmed), err)
	}
	// After a new sign-in at the provider the user can go on.
	f.at.Claims["auth_time"] = time.Now().Unix()
	_, start, _ := f.page("/oidc/start?again=1&redirect=" + url.QueryEscape(consentPath))
	if status, loc := f.back(f.at.Visit(start)); status != http.StatusFound || loc != consentPath {
		t.Fatalf("%d %q", status, loc)
	}
	if status, loc, _ := f.page(consentPath); status != http.StatusOK {
		t.Errorf("%d %q", status, loc)
	}
	// If the provider's clock is ahead, the time of the sign-in is not in the future.
	f.browser()
	f.at.Claims["auth_time"] = time.Now().Add(24 * time.Hour).Unix()
	f.back(f.visit("/"))
	if err := f.db.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT max(confirmed_at) FROM authserver_sessions").Scan(&confirmed)
	}); err != nil || confirmed > time.Now().UnixMicro() {
		t.Errorf("signed in at %s, error %v", time.UnixMicro(confirmed), err)
	}
}

// TestUpstreamAttacked attacks the sign-in at the provider with several browsers.
func TestUpstreamAttacked(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		f := newFederated(t, db, "")
		peopletest.AttackSite(t, &peopletest.Site{
			URL: f.url, Provider: f.at, Start: "/oidc/start", Callback: "/oidc/callback", Inside: "/account",
			JoinsUnconfirmed: true,
		})
	})
}
