package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
)

// posted returns the parameters of the form that posts a response to the client, and checks the page around it.
func (p page) posted(t *testing.T) url.Values {
	t.Helper()
	p.is(t, http.StatusOK, `<form method="post" action="https://app.example/cb?keep=1" data-respond>`, "app.example", "<button>Continue</button>")
	h := p.Header
	policy := h.Get("Content-Security-Policy")
	if !strings.Contains(policy, "form-action 'self' https://app.example ") || strings.Contains(policy, "unsafe") ||
		!strings.Contains(policy, "frame-ancestors 'none'") || h.Get("Cache-Control") != "no-store" || h.Get("Location") != "" ||
		h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Frame-Options") != "DENY" {
		t.Errorf("%v", h)
	}
	v := p.Fields()
	if v.Get("iss") != authtest.Issuer || v.Has("keep") || v.Has("csrf_token") {
		t.Errorf("the form has %v", v)
	}
	return v
}

// TestFormPost checks the responses that the browser posts to the client.
func TestFormPost(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	s.devices.Authorize.FormPost = true
	const state = `a"b<c>&d é +%20`
	form := func(pairs ...string) url.Values {
		return s.request(append([]string{"response_mode", "form_post", "state", state}, pairs...)...)
	}
	b := s.signedIn()
	redirect := b.get("/oauth/authorize?" + form().Encode())
	consent := b.get(redirect.leads(t, "/consent")).is(t, http.StatusOK)
	denied := b.post("/consent", with(consent.Fields(), "action", "deny")).posted(t)
	if denied.Get("error") != "access_denied" || denied.Get("error_description") == "" || denied.Get("state") != state || len(denied) != 4 {
		t.Errorf("%v", denied)
	}
	allowed := b.post("/consent", with(consent.Fields(), "action", "allow")).posted(t)
	if len(allowed.Get("code")) < 43 || allowed.Get("state") != state || len(allowed) != 3 {
		t.Errorf("%v", allowed)
	}
	// The user has already given consent, so that no page is shown.
	for name, p := range map[string]page{
		"GET": b.get("/oauth/authorize?" + form().Encode()), "POST": b.post("/oauth/authorize", form()),
		"silent": b.get("/oauth/authorize?" + form("prompt", "none").Encode()),
	} {
		if v := p.posted(t); len(v.Get("code")) < 43 {
			t.Errorf("%s: %v", name, v)
		}
	}
	b.get("/oauth/authorize?" + s.request("response_mode", "query").Encode()).code(t)

	for want, requests := range map[string][]url.Values{
		"invalid_request": {
			form("response_type", ""), form("code_challenge", ""), form("prompt", "x"),
			with(form(), "nonce", strings.Repeat("x", 2049)),
		},
		"request_not_supported":     {form("request", "e30.e30.")},
		"invalid_scope":             {form("scope", "unknown")},
		"unsupported_response_type": {form("response_type", "token")},
		"login_required":            {form("prompt", "none", "max_age", "0")},
	} {
		for _, v := range requests {
			response := b.get("/oauth/authorize?" + v.Encode()).posted(t)
			if response.Get("error") != want || response.Get("state") != state {
				t.Errorf("%v: %v, want %s", v, response, want)
			}
		}
	}
	// Without a form that can be posted, the refusal is a redirect.
	for _, other := range []string{"line\nbreak", "\xff", "nul\x00"} {
		p := b.get("/oauth/authorize?" + form("state", other).Encode())
		p.refused(t, "invalid_request")
		if p.answered(t).Has("state") {
			t.Errorf("%q is echoed", other)
		}
	}
	b.get("/oauth/authorize?"+form("response_mode", "fragment").Encode()).refused(t, "invalid_request")
	app := s.client(&clients.Client{Name: "App", Redirects: []string{"com.example.app:/cb"}})
	loc := b.get("/oauth/authorize?"+form("client_id", app.ID, "redirect_uri", "com.example.app:/cb").Encode()).leads(t, "com.example.app:/cb?")
	if !strings.Contains(loc, "error=invalid_request") {
		t.Errorf("it leads to %s", loc)
	}

	s.devices.Authorize.FormPost = false
	b.get("/oauth/authorize?"+s.request("response_mode", "form_post").Encode()).refused(t, "invalid_request")
}
