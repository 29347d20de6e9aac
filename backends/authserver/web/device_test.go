package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// begun returns the authorization of a device that waits for a user.
func (s *site) begun() device.Authorization {
	s.t.Helper()
	a, err := s.devices.Begin(s.t.Context(), s.app, "read write", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// polls checks the error code of a device's poll. The code is empty if the device gets its grant.
func (s *site) polls(a device.Authorization, want string) (scope []string) {
	s.t.Helper()
	g, spend, err := s.devices.Poll(s.t.Context(), s.app, a.DeviceCode)
	code := ""
	if err == nil { // the grant remains until its tokens are stored
		second, _, err := s.devices.Poll(s.t.Context(), s.app, a.DeviceCode)
		if err != nil || second.User != g.User {
			s.t.Errorf("before its tokens are stored, the grant is %+v: %v", second, err)
		}
		if err := s.Write(s.t.Context(), spend); err != nil {
			s.t.Error(err)
		}
		if err := s.Write(s.t.Context(), spend); err == nil {
			s.t.Error("the grant is given twice")
		}
	}
	if err != nil {
		e, ok := apierror.From(err)
		if !ok {
			s.t.Fatal(err)
		}
		code = e.Code
	}
	if code != want || err == nil && (g.User != s.ann.ID || g.Client != s.app.ID || len(g.Consents) != 1) {
		s.t.Errorf("the device gets %v with %+v, want %q", err, g, want)
	}
	return g.Scope
}

// TestDevice checks that a user enters a code and approves the request.
func TestDevice(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		a := s.begun()
		if len(a.UserCode) != 9 || a.URI != authtest.Issuer+"/device" || a.Complete != a.URI+"?user_code="+a.UserCode || a.Interval != 5 || a.ExpiresIn != 600 {
			t.Errorf("the device gets %+v", a)
		}
		s.polls(a, device.Pending)
		s.polls(a, device.SlowDown)
		s.Clock.Pass(9 * time.Second)
		s.polls(a, device.SlowDown) // the interval grows by five seconds
		s.Clock.Pass(15 * time.Second)
		s.polls(a, device.Pending)

		b := s.browser()
		form := b.get(b.get("/device?user_code="+a.UserCode).leads(t, "/login?"))
		p := b.get(b.signIn(form).leads(t, "/device?")).is(t, http.StatusOK, `value="`+a.UserCode+`"`)
		written := " " + strings.ToLower(strings.ReplaceAll(a.UserCode, "-", " ")) + " "
		ask := b.post("/device", with(p.Fields(), "user_code", written)).is(t, http.StatusOK, a.UserCode, "The App", "Read your files", "in front of you")
		fields := with(ask.Fields(), "action", "allow")
		fields["scopes"] = []string{"read"}
		b.post("/device", fields).is(t, http.StatusOK, "The device is connected")
		b.post("/device", fields).is(t, http.StatusUnprocessableEntity) // a device can be approved only once
		if scope := s.polls(a, ""); !slices.Equal(scope, []string{"read"}) {
			t.Errorf("the device has the scope %q", scope)
		}
		s.polls(a, "invalid_grant") // the grant is given only once
		b.post("/device", with(p.Fields(), "user_code", a.UserCode)).is(t, http.StatusUnprocessableEntity, "No device waits")

		// A device gets no grant from a user who was signed out everywhere after approving.
		ended := s.begun()
		fields = with(b.post("/device", with(p.Fields(), "user_code", ended.UserCode)).Fields(), "action", "allow")
		fields["scopes"] = []string{"read"}
		b.post("/device", fields).is(t, http.StatusOK, "The device is connected")
		if err := s.Write(t.Context(), func(c store.Conn) error { return device.EndUser(c, s.ann.ID) }); err != nil {
			t.Fatal(err)
		}
		s.polls(ended, "invalid_grant")

		denied := s.begun()
		ask = b.post("/device", with(p.Fields(), "user_code", denied.UserCode))
		b.post("/device", with(ask.Fields(), "action", "deny")).is(t, http.StatusOK, "not connected")
		s.polls(denied, "access_denied")

		late := s.begun()
		other := *s.app
		other.ID = "other"
		if _, _, err := s.devices.Poll(t.Context(), &other, late.DeviceCode); err == nil {
			t.Error("another client has used the code")
		}
		s.Clock.Pass(10 * time.Minute)
		s.polls(late, device.Expired)
		b.post("/device", with(p.Fields(), "user_code", late.UserCode)).is(t, http.StatusUnprocessableEntity)
		s.Clock.Pass(time.Hour)
		for _, job := range s.devices.Jobs() {
			if n, err := job.Run(t.Context()); n != 1 || err != nil {
				t.Errorf("%d were removed: %v", n, err)
			}
		}
		s.polls(late, "invalid_grant")
	})
}

// TestDeviceGuessed checks that codes cannot be guessed.
func TestDeviceGuessed(t *testing.T) {
	t.Parallel()
	onBoth(t, guessed)
}

func guessed(t *testing.T, s *site) {
	a := s.begun()
	b := s.signedIn()
	fields := b.get("/device").Fields()
	// The form of the decision accepts only a device that the previous page has signed for this browser.
	for _, found := range []string{"", a.UserCode, s.Signer("device").Sign([]byte(a.UserCode), "another browser"), s.Signer("form").Sign([]byte(a.UserCode), b.cookie(sessionName))} {
		b.post("/device", with(fields, "device", found, "action", "allow", "scopes", "read")).is(t, http.StatusBadRequest)
	}
	fields = b.get("/device").Fields()
	for _, wrong := range []string{"", "x", "AEIO-UAEI", "BCDF-GHJ", strings.Repeat("B", 65), "BBBB-BBBB", "BBBB-BBBB", "BBBB-BBBB", "BBBB-BBBB", "BBBB-BBBB"} {
		b.post("/device", with(fields, "user_code", wrong)).is(t, http.StatusUnprocessableEntity)
	}
	p := b.post("/device", with(fields, "user_code", a.UserCode)).is(t, http.StatusTooManyRequests, "too many codes", `name="user_code"`)
	if p.Header.Get("Retry-After") == "" {
		t.Error("there is no Retry-After")
	}
	// The lockout also applies on another node with the same database.
	elsewhere := &device.Devices{Server: authtest.On(t, s.DB).Server, Authorize: s.devices.Authorize}
	elsewhere.Now = s.Now
	_, err := elsewhere.Find(t.Context(), &login.Session{User: s.ann}, a.UserCode)
	if refused, ok := apierror.From(err); !ok || refused.Status != http.StatusTooManyRequests || refused.RetryAfter <= 0 {
		t.Errorf("another node: %v", err)
	}
	s.Clock.Pass(20 * time.Minute)
	a = s.begun()
	for range 12 { // a right code is not counted as a failure
		b.post("/device", with(fields, "user_code", a.UserCode)).is(t, http.StatusOK, "The App")
	}
	s.polls(a, device.Pending)
	s.browser().post("/device", with(fields, "user_code", a.UserCode)).is(t, http.StatusForbidden)
}

// TestEndSession checks logout at the request of a client (RP-Initiated Logout 1.0).
func TestEndSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	const bye, native = "https://app.example/bye", "com.example.app:/bye"
	if _, err := s.clients.Edit(t.Context(), s.app.ID, func(c *clients.Client) error { c.Metadata.Logout = []string{bye, native}; return nil }); err != nil {
		t.Fatal(err)
	}
	b := s.signedIn()
	v := s.request("scope", "openid")
	b.allows(v).code(t)
	hint, err := s.openid.IDToken(t.Context(), s.granted()[0], "access")
	if err != nil {
		t.Fatal(err)
	}
	path := func(pairs ...string) string { return "/oauth/logout?" + with(url.Values{}, pairs...).Encode() }

	// Without an ID token as a hint the user is asked, even a guest, since the client chooses the address to which the
	// page leads.
	guest := s.browser()
	leave := guest.get(path("client_id", s.app.ID, "post_logout_redirect_uri", bye)).is(t, http.StatusOK, "The App", "<strong>app.example</strong>", "Stay here")
	guest.post("/logout", leave.Fields()).leads(t, bye)
	leave = guest.get(path("client_id", s.app.ID, "post_logout_redirect_uri", native)).is(t, http.StatusOK)
	if policy := leave.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "com.example.app:") {
		t.Errorf("the browser may not go there: %s", policy)
	}
	guest.post("/logout", leave.Fields()).leads(t, native)
	guest.get(path("client_id", s.app.ID)).is(t, http.StatusOK, "You are signed out")
	guest.get(path("id_token_hint", hint, "post_logout_redirect_uri", bye)).leads(t, bye)
	ask := b.get(path("client_id", s.app.ID, "post_logout_redirect_uri", bye, "state", "x")).is(t, http.StatusOK, "Sign out?", "The App")
	if !b.in() {
		t.Error("a link has signed out")
	}
	if loc := b.post("/logout", ask.Fields()).leads(t, bye); loc != bye+"?state=x" || b.in() {
		t.Errorf("leads to %s", loc)
	}
	// The form redirects only to an address that a logout request has named.
	b = s.signedIn()
	b.post("/logout", with(b.get("/").Fields(), "then", "https://evil.example/")).leads(t, "/login")
	b = s.signedIn()
	b.post("/logout", with(b.get("/").Fields(), "then", s.Signer("logout").Sign([]byte("https://evil.example/"), "another"))).leads(t, "/login")

	// With an ID token of the signed-in user the logout happens at once.
	b = s.signedIn()
	if loc := b.get(path("id_token_hint", hint, "post_logout_redirect_uri", bye)).leads(t, bye); loc != bye || b.in() {
		t.Errorf("leads to %s", loc)
	}
	b.get(path("id_token_hint", hint)).is(t, http.StatusOK, "You are signed out", "The App")
	b = s.signedIn()
	if p := b.post("/oauth/logout", url.Values{"id_token_hint": {hint}}).is(t, http.StatusOK, "You are signed out"); strings.Contains(p.Text, annMail) || b.in() {
		t.Error("somebody is still signed in")
	}
	b = s.signedIn()
	b.get(path("id_token_hint", hint, "post_logout_redirect_uri", "https://evil.example/")).is(t, http.StatusBadRequest)
	if !b.in() {
		t.Error("a refused request has signed out")
	}
}
