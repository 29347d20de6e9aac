package authserver_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
	"github.com/tollgate-gateway/tollgate/internal/people/peopletest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// several is a server at which users of two further providers sign in. The first provider creates accounts for users of
// example.com and maps groups. The second is only for users of corp.example who have an account.
type several struct {
	*lab
	first, second *oidclogintest.Provider
}

func newSeveral(t *testing.T, db *store.DB, more settings) *several {
	t.Helper()
	s := &several{first: oidclogintest.New(t), second: oidclogintest.New(t)}
	entry := func(slug string, p *oidclogintest.Provider, more map[string]any) map[string]any {
		fields := map[string]any{
			"slug": slug, "issuer": p.URL, "client_id": oidclogintest.ClientID,
			"client_secret_env": "RIGHT",
		}
		maps.Copy(fields, more)
		return fields
	}
	list, err := json.Marshal([]any{
		entry("first", s.first, map[string]any{
			"display_name": "First & Co", "registration": "open", "registration_domains": []string{"example.com"},
			"parameters": map[string]string{"hd": "example.com"},
			"claims":     map[string]string{"username": "login", "name": "profile.full", "groups": "realm.roles"},
			"groups":     map[string]any{"admins": []string{"ops", "staff"}, "people": "staff"},
		}),
		entry("second", s.second, map[string]any{
			"display_name": "Second", "domains": []string{"corp.example"},
			"hidden": true, "scopes": []string{"openid", "groups"},
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	all := settings{
		"upstreams": string(list), "data_encryption.driver": "aes_master",
		"data_encryption.aes_master.key_env": "MASTER",
	}
	maps.Copy(all, more)
	s.lab = newLabOn(t, db, all)
	return s
}

// visit starts a sign-in at a provider, with a query, and returns the parameters of the response.
func (s *several) visit(slug string, p *oidclogintest.Provider, more string) url.Values {
	s.t.Helper()
	loc, text := s.page("/oidc/" + slug + "/start?" + more)
	if !strings.HasPrefix(loc, "http") {
		s.t.Fatalf("%s leads to %s: %s", slug, loc, text)
	}
	return p.Visit(loc)
}

// back sends a provider's response to its callback and returns the address of the redirect, or the status.
func (s *several) back(slug string, q url.Values) string {
	s.t.Helper()
	loc, _ := s.page("/oidc/" + slug + "/callback?" + q.Encode())
	return loc
}

var forms = regexp.MustCompile(`(?s)<form.*?</form>`)

// sends fills in and sends a form: the one in page that has the given action and contains substr. It returns the
// address of the redirect, or the status, and the new page.
func (s *several) sends(page, action, substr string, fields url.Values) (loc, text string) {
	s.t.Helper()
	for _, form := range forms.FindAllString(page, -1) {
		if !strings.Contains(form, `action="`+action+`"`) || !strings.Contains(form, substr) {
			continue
		}
		all := maps.Clone(fields)
		if all == nil {
			all = url.Values{}
		}
		for _, match := range field.FindAllStringSubmatch(form, -1) {
			all.Add(match[1], html.UnescapeString(match[2]))
		}
		return s.posts(action, all)
	}
	s.t.Fatalf("there is no form to %s with %q in\n%s", action, substr, page)
	return "", ""
}

func (s *several) posts(path string, fields url.Values) (loc, text string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(fields.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.people.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if loc = response.Header.Get("Location"); loc == "" {
		loc = strconv.Itoa(response.StatusCode)
	}
	return loc, string(raw)
}

// asAnn signs Ann in with her password, starting at a page.
func (s *several) asAnn(path string) string {
	s.t.Helper()
	_, page := s.page(path)
	loc, _ := s.sends(page, "/login", `name="password"`,
		url.Values{"email": {"ann@example.com"}, "password": {"correct horse"}})
	return loc
}

// who returns the mail address of the signed-in user. It is empty if nobody is signed in.
func (s *several) who() string {
	s.t.Helper()
	_, page := s.page("/")
	if found := regexp.MustCompile(`class="who" href="/account">([^<]*)<`).FindStringSubmatch(page); found != nil {
		return found[1]
	}
	return ""
}

// TestProviders checks that people choose a provider by its button or by their mail address, and get an account by
// the rules of each.
func TestProviders(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSeveral(t, db, nil)
		_, page := s.page("/login?redirect=%2Fdevice")
		if !strings.Contains(page, `href="/oidc/first/start?redirect=%2Fdevice">Sign in with First &amp; Co<`) ||
			strings.Contains(page, "Second") || !strings.Contains(page, `name="password"`) {
			t.Errorf("%s", page)
		}
		loc, _ := s.page("/oidc/first/start?redirect=%2Fdevice&again=1")
		authURL, err := url.Parse(loc)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"redirect_uri": s.url + "/oidc/first/callback", "code_challenge_method": "S256", "scope": "openid email profile",
			"hd": "example.com", "max_age": "0", "login_hint": "",
		} {
			if got := authURL.Query().Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		s.first.Claims = map[string]any{
			"email": "bob@example.com", "email_verified": true, "login": "bobby", "profile": map[string]any{"full": "Bob Stone"},
			"realm": map[string]any{"roles": []string{"people", "others"}},
		}
		if loc := s.back("first", s.visit("first", s.first, "redirect=%2Fdevice")); loc != "/device" ||
			s.who() != "bob@example.com" {
			t.Errorf("leads to %q, %q is signed in", loc, s.who())
		}
		bob, err := s.users.FindByEmail(t.Context(), "bob@example.com")
		if err != nil || bob.Name != "Bob Stone" || bob.Provider != users.Upstream || !bob.EmailVerified ||
			fmt.Sprint(bob.Groups) != "[staff]" {
			t.Fatalf("%+v, error %v", bob, err)
		}
		if _, page := s.page("/account"); !strings.Contains(page, "<strong>First &amp; Co</strong> bobby") ||
			strings.Contains(page, "Connect First") || strings.Contains(page, "Second") {
			t.Errorf("%s", page)
		}

		// The mail address leads to the second provider, whose form then contains it.
		s.browser()
		_, page = s.page("/login?redirect=%2Fdevice")
		fields := url.Values{"email": {"Carol@Corp.example"}}
		if loc, _ := s.posts("/login/provider", fields); loc != "403" {
			t.Errorf("without the token of the form: %s", loc)
		}
		loc, _ = s.sends(strings.ReplaceAll(page, `action="/login"`, `action="/login/provider"`), "/login/provider",
			"my organization", fields)
		if loc != "/oidc/second/start?hint=Carol%40Corp.example&redirect=%2Fdevice" {
			t.Errorf("leads to %q", loc)
		}
		loc, _ = s.page(loc)
		if !strings.HasPrefix(loc, s.second.URL) || !strings.Contains(loc, "login_hint=Carol%40Corp.example") ||
			!strings.Contains(loc, "scope=openid+groups") {
			t.Errorf("leads to %q", loc)
		}
		for _, email := range []string{"carol@other.example", "carol", ""} {
			loc, text := s.sends(strings.ReplaceAll(page, `action="/login"`, `action="/login/provider"`), "/login/provider",
				"my organization", url.Values{"email": {email}})
			if loc != "422" || !strings.Contains(text, "No organization is known") {
				t.Errorf("%q: %s %s", email, loc, text)
			}
		}

		// A user who gets no account is asked to sign in to an existing account, whether or not there is one.
		for name, test := range map[string]struct {
			slug   string
			claims map[string]any
			reason string
		}{
			"not confirmed": {"first", map[string]any{"sub": "x", "email": "new@example.com"}, "address_not_confirmed"},
			"another domain": {
				"first",
				map[string]any{"sub": "x", "email": "new@other.example", "email_verified": true},
				"address_of_another_domain",
			},
			"an address of ours": {
				"first",
				map[string]any{"sub": "x", "email": "ann@example.com", "email_verified": true},
				"address_taken",
			},
			"no address": {"first", map[string]any{"sub": "x"}, "no_address"},
			"no accounts there": {
				"second",
				map[string]any{"sub": "x", "email": "new@corp.example", "email_verified": true},
				"registration_off",
			},
		} {
			s.browser()
			p := map[string]*oidclogintest.Provider{"first": s.first, "second": s.second}[test.slug]
			p.Claims = test.claims
			if loc := s.back(test.slug, s.visit(test.slug, p, "redirect=%2Fdevice")); loc != "/account/join?redirect=%2Fdevice" ||
				s.who() != "" {
				t.Errorf("%s: leads to %q, %q is signed in", name, loc, s.who())
			}
			events := s.ask(http.MethodGet, "/admin/audit?action=user.oidc_login_failed", "").Body.String()
			if !strings.Contains(events, test.reason) || !strings.Contains(events, test.slug) {
				t.Errorf("%s: the audit has %s", name, events)
			}
		}
	})
}

// TestProviderAttacks checks that each attack is refused, and that a provider's response is never accepted at another
// provider's callback.
func TestProviderAttacks(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, databases.SQLite(t), nil)
	base := map[string]any{"email": "bob@example.com", "email_verified": true}
	for name, test := range map[string]struct {
		claims map[string]any
		change func(q url.Values)
		at     string // the callback
		want   string
	}{
		"good":                    {want: "/"},
		"callback of another":     {at: "second", want: "400"},
		"names another":           {change: func(q url.Values) { q.Set("iss", s.second.URL) }, want: "400"},
		"names another there":     {change: func(q url.Values) { q.Set("iss", s.second.URL) }, at: "second", want: "400"},
		"names nobody":            {change: func(q url.Values) { q.Del("iss") }, want: "400"},
		"names two":               {change: func(q url.Values) { q.Add("iss", s.second.URL) }, want: "400"},
		"token of another":        {claims: map[string]any{"iss": s.second.URL}, want: "400"},
		"token for another":       {claims: map[string]any{"aud": "other"}, want: "400"},
		"token for another party": {claims: map[string]any{"azp": "other"}, want: "400"},
		"another nonce":           {claims: map[string]any{"nonce": "x"}, want: "400"},
		"no nonce":                {claims: map[string]any{"nonce": nil}, want: "400"},
		"expired":                 {claims: map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, want: "400"},
		"no subject":              {claims: map[string]any{"sub": ""}, want: "400"},
		"another state":           {change: func(q url.Values) { q.Set("state", q.Get("state")+"x") }, want: "400"},
		"no state":                {change: func(q url.Values) { q.Del("state") }, want: "400"},
		"another code":            {change: func(q url.Values) { q.Set("code", "x") }, want: "400"},
		"an error": {
			change: func(q url.Values) { q.Set("error", "<script>alert(1)</script>") },
			want:   "400",
		},
		"a provider that there not": {at: "third", want: "404"},
	} {
		s.browser()
		s.first.Claims = maps.Clone(base)
		maps.Copy(s.first.Claims, test.claims)
		q := s.visit("first", s.first, "redirect=/")
		if test.change != nil {
			test.change(q)
		}
		loc, text := s.page("/oidc/" + map[string]string{"": "first"}[test.at] + test.at + "/callback?" + q.Encode())
		if loc != test.want || strings.Contains(text, "script>alert") || strings.Contains(text, s.second.URL) {
			t.Errorf("%s: leads to %q, want %q: %s", name, loc, test.want, text)
		}
	}
	s.first.Claims = base

	// A sign-in that was started can be completed only in its browser, once, and for a limited time.
	s.browser()
	q := s.visit("first", s.first, "redirect=/")
	mine := s.people
	s.browser()
	if loc := s.back("first", q); loc != "400" {
		t.Errorf("another browser: %q", loc)
	}
	s.people = mine
	if loc := s.back("first", q); loc != "/" {
		t.Errorf("its own: %q", loc)
	}
	if loc := s.back("first", q); loc != "400" {
		t.Errorf("again: %q", loc)
	}
	for _, redirect := range []string{"//evil.example", "https://evil.example", "/\\evil.example"} {
		s.browser()
		if loc := s.back("first", s.visit("first", s.first, "redirect="+url.QueryEscape(redirect))); strings.Contains(loc,
			"evil") {
			t.Errorf("%s leads to %q", redirect, loc)
		}
	}

	// A disabled user cannot sign in.
	bob, err := s.users.FindByEmail(t.Context(), "bob@example.com")
	if err == nil {
		_, err = s.users.Disable(t.Context(), bob.ID, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.browser()
	if loc := s.back("first", s.visit("first", s.first, "")); loc != "403" || s.who() != "" {
		t.Errorf("disabled: %q", loc)
	}

	// The reason is in the log and in the audit feed, with the provider's name.
	s.browser()
	q = s.visit("first", s.first, "")
	q.Set("error", "unauthorized_client")
	s.back("first", q)
	s.first.Lost = "/token"
	if loc := s.back("first", s.visit("first", s.first, "")); loc != "503" {
		t.Errorf("the token endpoint is lost: %q", loc)
	}
	events := s.ask(http.MethodGet, "/admin/audit?action=user.oidc_login_failed", "").Body.String()
	for _, want := range []string{"unauthorized_client", "upstream=first", "502 Bad Gateway"} {
		if !strings.Contains(events, want) {
			t.Errorf("the audit has no %s: %s", want, events)
		}
	}
	logged := s.logs.FilterMessage("a sign-in at an upstream provider failed").All()
	if !slices.ContainsFunc(logged, func(e observer.LoggedEntry) bool {
		return e.ContextMap()["upstream"] == "first" && strings.Contains(fmt.Sprint(e.ContextMap()["error"]),
			"unauthorized_client")
	}) {
		t.Errorf("the log has %v", logged)
	}
	s.first.Lost = ""

	// A provider that does not answer stops neither the server nor the other providers.
	s.second.Down = true
	if loc, _ := s.page("/oidc/second/start"); loc != "503" {
		t.Errorf("down: %q", loc)
	}
	if loc := s.asAnn("/login"); loc != "/" {
		t.Errorf("by password: %q", loc)
	}
}

// TestJoin checks that accounts are connected only by a user who has signed in to both, whatever their mail addresses
// are.
func TestJoin(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSeveral(t, db, nil)
		s.second.Claims = map[string]any{
			"sub": "s-ann", "email": "ann@example.com", "email_verified": true,
			"preferred_username": "ann.stone",
		}

		// A user who comes from the provider signs in here, and confirms the connection.
		if loc := s.back("second", s.visit("second",
			s.second, "redirect=%2Fdevice")); loc != "/account/join?redirect=%2Fdevice" {
			t.Fatalf("leads to %q", loc)
		}
		loc, _ := s.page("/account/join?redirect=%2Fdevice")
		if !strings.HasPrefix(loc, "/login?redirect=%2Faccount%2Fjoin") {
			t.Fatalf("leads to %q", loc)
		}
		if _, page := s.page(loc); !strings.Contains(page, "Your account at <strong>Second</strong> is not connected") {
			t.Errorf("%s", page)
		}
		joinPath := s.asAnn(loc)
		_, page := s.page(joinPath)
		if !strings.Contains(page, "<strong>Second</strong> as <strong>ann.stone</strong>") || !strings.Contains(page,
			"<strong>ann@example.com</strong>") {
			t.Fatalf("%s", page)
		}
		if loc, text := s.posts("/account/join", url.Values{}); loc == "/account" || strings.Contains(text, "from now on</p>") {
			t.Errorf("connected without the form: %q", loc)
		}
		if loc, _ := s.sends(page, "/account/join", "Connect", nil); loc != "/device" {
			t.Errorf("leads to %q", loc)
		}
		s.browser()
		if loc := s.back("second", s.visit("second", s.second, "redirect=%2F")); loc != "/" || s.who() != "ann@example.com" {
			t.Errorf("leads to %q, %q is signed in", loc, s.who())
		}

		// Removing the connection ends the session that it has begun.
		other := s.people
		s.browser()
		s.asAnn("/login")
		_, page = s.page("/account")
		if loc, _ := s.sends(page, "/account/providers/remove", "Second", nil); !strings.HasPrefix(loc, "/account") {
			t.Errorf("leads to %q", loc)
		}
		mine := s.people
		if s.people = other; s.who() != "" {
			t.Errorf("%q is still signed in", s.who())
		}

		// A sign-in at the provider that was started on the account page signs nobody in here.
		s.people = mine
		s.second.Claims["sub"] = "s-other"
		if loc := s.back("second", s.visit("second", s.second, "join=1")); loc != "/account/join" {
			t.Fatalf("leads to %q", loc)
		}
		cookie := s.joinCookie()
		_, page = s.page("/account/join")
		if loc, _ := s.sends(page, "/account/join", "Connect", nil); !strings.HasPrefix(loc, "/account") ||
			s.joinCookie() != "" {
			t.Errorf("leads to %q", loc)
		}
		if _, page := s.page("/account"); strings.Count(page, "Disconnect Second") != 1 {
			t.Errorf("%s", page)
		}
		// Nor does it sign anybody in if the account is connected already.
		s.browser()
		if loc := s.back("second", s.visit("second", s.second, "join=1")); loc != "/account/join" || s.who() != "" {
			t.Errorf("leads to %q, %q is signed in", loc, s.who())
		}

		// A pending connection cannot be completed in another browser, and expires.
		s.browser()
		s.asAnn("/login")
		s.page("/login")
		baseURL, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		s.people.Jar.SetCookies(baseURL, []*http.Cookie{{Name: "authserver_join", Value: cookie, Path: "/"}}) //nolint:gosec // G124: of a test
		if loc, _ := s.page("/account/join"); loc != "400" {
			t.Errorf("another browser: %q", loc)
		}
		s.second.Claims["sub"] = "s-third"
		s.back("second", s.visit("second", s.second, "join=1"))
		_, page = s.page("/account/join")
		s.clock.Pass(16 * time.Minute)
		if loc, _ := s.sends(page, "/account/join", "Connect", nil); loc != "400" {
			t.Errorf("late: %q", loc)
		}
		// A user who signed in long ago has to sign in again.
		s.back("second", s.visit("second", s.second, "join=1"))
		if loc, _ := s.page("/account/join"); loc != "/login?again=1&redirect=%2Faccount%2Fjoin" {
			t.Errorf("leads to %q", loc)
		}
		s.asAnn("/login?again=1&redirect=%2Faccount%2Fjoin")

		// A user whose mail address leads to a provider without a button may connect an account at that provider.
		carol, err := s.users.Create(t.Context(), users.New{Email: "carol@corp.example", Password: "battery staple"}, "")
		if err != nil {
			t.Fatal(err)
		}
		s.browser()
		_, page = s.page("/login")
		s.sends(page, "/login", `name="password"`, url.Values{"email": {carol.Email}, "password": {"battery staple"}})
		if _, page := s.page("/account"); !strings.Contains(page,
			`href="/oidc/second/start?join=1&amp;redirect=%2F">Connect Second<`) {
			t.Errorf("%s", page)
		}

		// An account at a provider that is connected to another user cannot be connected again.
		bob, err := s.users.Create(t.Context(), users.New{Email: "bob@example.com", Password: "battery staple"}, "")
		if err != nil {
			t.Fatal(err)
		}
		s.browser()
		_, page = s.page("/login")
		s.sends(page, "/login", `name="password"`, url.Values{"email": {bob.Email}, "password": {"battery staple"}})
		s.second.Claims["sub"] = "s-other"
		s.back("second", s.visit("second", s.second, "join=1"))
		_, page = s.page("/account/join")
		if loc, text := s.sends(page, "/account/join", "Connect", nil); loc != "409" || strings.Contains(text, "ann@") {
			t.Errorf("%s %s", loc, text)
		}
	})
}

// joinCookie returns the cookie of a sign-in that waits to be connected, or "".
func (s *several) joinCookie() string {
	s.t.Helper()
	baseURL, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range s.people.Jar.Cookies(baseURL) {
		if c.Name == "authserver_join" {
			return c.Value
		}
	}
	return ""
}

// TestProviderAlone checks that the only way to sign in cannot be removed, and that the login page works without
// passwords.
func TestProviderAlone(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, databases.SQLite(t), settings{"oidc.show_local_login": "false"})
	_, page := s.page("/login")
	if strings.Contains(page, `name="password"`) || !strings.Contains(page, "Sign in with First") {
		t.Errorf("%s", page)
	}
	if loc, _ := s.sends(page, "/login/provider",
		`name="email"`, url.Values{"email": {"x@corp.example"}}); !strings.HasPrefix(loc, "/oidc/second/start?") {
		t.Errorf("leads to %q", loc)
	}
	s.first.Claims = map[string]any{"email": "bob@example.com", "email_verified": true}
	s.back("first", s.visit("first", s.first, ""))
	_, page = s.page("/account")
	loc, text := s.sends(page, "/account/providers/remove", "First", nil)
	if loc != "409" || !strings.Contains(text, "the only way that you have") || !strings.Contains(text,
		"Disconnect First") {
		t.Errorf("%s %s", loc, text)
	}
}

// TestProviderSecond checks that a user with a second factor here is asked for it, also after a sign-in at a provider.
func TestProviderSecond(t *testing.T) {
	t.Parallel()
	for _, alone := range []string{"true", "false"} {
		db := databases.SQLite(t)
		s := newSeveral(t, db, nil)
		s.asAnn("/login")
		_, page := s.page("/security/app")
		secret := strings.ReplaceAll(regexp.MustCompile(`<code class="secret">([A-Z2-7 ]+)</code>`).FindStringSubmatch(page)[1], " ", "")
		code := func() string {
			s.clock.Pass(time.Minute)
			text, err := totp.GenerateCode(secret, s.clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		s.sends(page, "/security/app", `name="code"`, url.Values{"code": {code()}, "name": {"Telephone"}})
		s.second.Claims = map[string]any{"sub": "s-ann"}
		s.back("second", s.visit("second", s.second, "join=1"))
		_, page = s.page("/account/join")
		if loc, text := s.sends(page, "/account/join", "Connect", nil); !strings.HasPrefix(loc, "/account") {
			t.Fatalf("%s %s", loc, text)
		}

		other := newSeveral(t, db, settings{"oidc.show_local_login": alone})
		s = other
		s.clock.Pass(5 * time.Minute) // each code is valid only once
		s.second.Claims = map[string]any{"sub": "s-ann"}
		if err := db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("UPDATE authserver_identities SET issuer = ?", s.second.URL)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		loc, page := s.page("/oidc/second/callback?" + s.visit("second", s.second, "redirect=%2Fdevice").Encode())
		if loc != "200" || !strings.Contains(page, "Two-step verification") || s.who() != "" {
			t.Fatalf("%s %s", loc, page)
		}
		if loc, _ := s.sends(page, "/login/second", `name="code"`, url.Values{"code": {"000000"}}); loc != "422" ||
			s.who() != "" {
			t.Errorf("a wrong code: %s", loc)
		}
		if loc, text := s.sends(page, "/login/second", `name="code"`, url.Values{"code": {code()}}); loc != "/device" ||
			s.who() != "ann@example.com" {
			t.Errorf("%s %s", loc, text)
		}
		if methods := s.row("SELECT methods FROM authserver_sessions WHERE methods NOT LIKE 'pwd%'" +
			" ORDER BY id DESC LIMIT 1"); methods != "otp mfa" {
			t.Errorf("signed in by %q", methods)
		}
	}
}

// TestUpstreamsForOperator checks that the administration API lists the providers, and whether their discovery
// succeeds.
func TestUpstreamsForOperator(t *testing.T) {
	t.Parallel()
	first := newProvider(t)
	s := newSeveral(t, databases.SQLite(t),
		elsewhere.And(settings{"oidc.issuer": first.URL, "oidc.display_name": "Contract"}))
	s.first.Claims = map[string]any{"email": "bob@example.com", "email_verified": true}
	s.back("first", s.visit("first", s.first, ""))
	s.browser()
	var response struct {
		Upstreams []struct {
			Slug, Issuer, Discovery, Error string
			Redirect                       string `json:"redirect_uri"`
			Users, Keys                    int
			TellsIssuer                    bool                         `json:"tells_issuer"`
			LastSignIn                     string                       `json:"last_sign_in_at"`
			LastFailure                    *struct{ At, Reason string } `json:"last_failure"`
		}
	}
	s.second.Claims = map[string]any{"sub": "nobody"}
	s.back("second", s.visit("second", s.second, "")) // the person has no account here
	s.second.Down = true
	text := s.ask(http.MethodGet, "/admin/upstreams", "").Body.Bytes()
	if err := json.Unmarshal(text, &response); err != nil || len(response.Upstreams) != 3 {
		t.Fatalf("%v: %s", err, text)
	}
	if strings.Contains(string(text), oidclogintest.Secret) {
		t.Errorf("the response contains a secret: %s", text)
	}
	contract, up, down := response.Upstreams[0], response.Upstreams[1], response.Upstreams[2]
	// The provider answers everything with the same document.
	if contract.Slug != "" || contract.Issuer != first.URL || contract.Discovery != "failed" ||
		!strings.Contains(contract.Error, "keys") {
		t.Errorf("%+v", contract)
	}
	if up.Slug != "first" || up.Discovery != "ok" || up.Users != 1 || up.Keys != 1 || !up.TellsIssuer ||
		up.Redirect != s.url+"/oidc/first/callback" {
		t.Errorf("%+v", up)
	}
	if up.LastSignIn == "" || up.LastFailure != nil || down.LastSignIn != "" || contract.LastFailure != nil {
		t.Errorf("%+v", response.Upstreams)
	}
	if down.LastFailure == nil || down.LastFailure.Reason != "registration_off" || down.LastFailure.At == "" {
		t.Errorf("%+v", down.LastFailure)
	}
	if down.Discovery != "failed" || down.Error == "" || down.Keys != 0 {
		t.Errorf("%+v", down)
	}
	s.second.Down = false
	if text := s.ask(http.MethodGet, "/admin/upstreams", "").Body.String(); strings.Count(text, `"discovery":"ok"`) != 2 {
		t.Errorf("%s", text)
	}
	// The discovered metadata are then used for sign-ins.
	s.second.Lost = oidclogintest.Discovery
	s.browser()
	s.second.Claims = map[string]any{"sub": "x"}
	if loc := s.back("second", s.visit("second", s.second, "")); loc != "/account/join" {
		t.Errorf("leads to %q", loc)
	}

	// The API also lists a user's accounts at providers. The operator may remove even the only way to sign in.
	bob, err := s.users.FindByEmail(t.Context(), "bob@example.com")
	if err != nil {
		t.Fatal(err)
	}
	s.browser()
	s.back("first", s.visit("first", s.first, ""))
	path := "/admin/users/" + bob.ID + "/identities"
	var u struct {
		Identities []struct {
			ID, Upstream, Issuer string
			UsedAt               *string `json:"used_at"`
		}
	}
	text = s.ask(http.MethodGet, path, "").Body.Bytes()
	if err := json.Unmarshal(text, &u); err != nil || len(u.Identities) != 1 || u.Identities[0].Upstream != "first" ||
		u.Identities[0].Issuer != s.first.URL || u.Identities[0].UsedAt == nil {
		t.Fatalf("%v: %s", err, text)
	}
	for target, want := range map[string]string{
		path + "/x": "404", path + "/0": "404", "/admin/users/" + s.ann.ID + "/identities/" + u.Identities[0].ID: "404",
		"/admin/users/x/identities/1": "404",
	} {
		if got := s.status(http.MethodDelete, target, ""); got != want {
			t.Errorf("DELETE %s: %s, want %s", target, got, want)
		}
	}
	if got := s.status(http.MethodGet, "/admin/users/x/identities", ""); got != "404" {
		t.Errorf("of an unknown user: %s", got)
	}
	if got := s.status(http.MethodDelete, path+"/"+u.Identities[0].ID, ""); got != "204" || s.who() != "" {
		t.Errorf("%s, %q is still signed in", got, s.who())
	}
	if loc := s.back("first", s.visit("first", s.first, "")); loc != "/account/join" {
		t.Errorf("leads to %q", loc)
	}

	bare := newLab(t, settings{})
	if w := bare.ask(http.MethodGet, "/admin/upstreams", ""); w.Code != http.StatusOK ||
		strings.TrimSpace(w.Body.String()) != `{"upstreams":[]}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest(http.MethodGet, "/admin/upstreams", nil)
	w := httptest.NewRecorder()
	if s.server.Admin().ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("without the key: %d", w.Code)
	}
}

// TestProviderAttacked attacks the sign-in at a further provider with several browsers.
func TestProviderAttacked(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSeveral(t, db, nil)
		peopletest.AttackSite(t, &peopletest.Site{
			URL: s.url, Provider: s.first, Start: "/oidc/first/start", Callback: "/oidc/first/callback", Inside: "/account",
		})
	})
}
