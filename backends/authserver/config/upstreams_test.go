package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// withUpstreams returns a file with a list of providers.
func withUpstreams(list string) []byte {
	return []byte("server: {issuer: 'https://auth.example'}\nstorage: {driver: sqlite}\nadmin: {enabled: false}\nconnect:" +
		" {state_secret: '" + strings.Repeat("s", 32) + "'}\nsession: {secret: '" + strings.Repeat("s", 32) +
		"'}\nupstreams: " + list)
}

func upstreamsEnvironment(name string) (string, bool) {
	value, ok := map[string]string{"SECRET": "not-a-guess", "HOST": "id.example"}[name]
	return value, ok
}

func TestUpstreams(t *testing.T) {
	t.Parallel()
	c, err := Parse(withUpstreams(`
  - {slug: company, issuer: 'https://{$HOST}', client_id: a, client_secret_env: SECRET, domains: [example.com]}
  - slug: other
    issuer: http://localhost:9000
    client_id: b
    display_name: Other
    scopes: [openid, groups]
    parameters: {hd: example.com}
    hidden: true
    trust_email: true
    claims: {username: upn, groups: realm_access.roles}
    groups: {admins: [ops, staff], people: staff}
    registration: open
    registration_domains: [example.org]
`), upstreamsEnvironment)
	if err != nil || len(c.Upstreams) != 2 {
		t.Fatalf("%+v, error %v", c, err)
	}
	first, second := &c.Upstreams[0], &c.Upstreams[1]
	if first.DisplayName != "id.example" || first.Secret() != "not-a-guess" ||
		fmt.Sprint(first.Scopes) != "[openid email profile]" || first.Registration != RegistrationOff ||
		first.Claims != (UpstreamClaims{"preferred_username", "email", "name", "groups"}) ||
		c.UpstreamRedirect("company") != "https://auth.example/oidc/company/callback" {
		t.Errorf("%+v", first)
	}
	if !second.Hidden || !second.TrustEmail ||
		second.Claims != (UpstreamClaims{"upn", "email", "name", "realm_access.roles"}) ||
		!slices.Equal(second.Groups["admins"], []string{"ops", "staff"}) ||
		!slices.Equal(second.Groups["people"], []string{"staff"}) || second.Registration != RegistrationOpen ||
		second.Secret() != "" {
		t.Errorf("%+v", second)
	}
	var shown bytes.Buffer
	if err := c.Print(&shown); err != nil || !strings.Contains(shown.String(),
		"upstreams: company (https://id.example), redirect URI https://auth.example/oidc/company/callback") ||
		strings.Contains(shown.String(), "not-a-guess") {
		t.Errorf("%s, error %v", shown.String(), err)
	}
	other := func(name string) (string, bool) {
		if name == "SECRET" {
			return "another", true
		}
		return upstreamsEnvironment(name)
	}
	alone := withUpstreams(`[{slug: company, issuer: 'https://id.example', client_id: a, client_secret_env: SECRET}]`)
	changed, err := Parse(alone, other)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Parse(alone, upstreamsEnvironment)
	if err != nil || changed.Digest() == same.Digest() {
		t.Errorf("configurations with different secrets are equal, error %v", err)
	}
}

// TestUpstreamFaults checks that invalid providers are reported at the start, with their entry and without secrets.
func TestUpstreamFaults(t *testing.T) {
	t.Parallel()
	good := "slug: a, issuer: 'https://a.example', client_id: x"
	for list, want := range map[string]string{
		"{}":                                    "must be a list",
		"[a]":                                   "upstreams[0]: must be a section",
		"[{" + good + ", secret: not-a-guess}]": `unknown field "secret"`,
		"[{" + good + ", client_secret_env: not-a-guess}]": "the value must be the name of an" +
			" environment variable, not the secret itself",
		"[{" + good + ", client_secret_env: MISSING}]": "names the variable MISSING, which is" +
			" not set",
		"[{slug: A, issuer: 'https://a.example', client_id: x}]":   `slug: "A" is not`,
		"[{slug: a/b, issuer: 'https://a.example', client_id: x}]": `slug: "a/b" is not`,
		"[{slug: a, client_id: x}]":                                "issuer: ",
		"[{slug: a, issuer: 'http://a.example', client_id: x}]":    "is not an https URL",
		"[{slug: a, issuer: 'https://a.example?b', client_id: x}]": "is not an https URL",
		"[{slug: a, issuer: 'https://b@a.example', client_id: x}]": "is not an https URL",
		"[{slug: a, issuer: 'https://a.example'}]":                 "client_id: required",
		"[{" + good + "}, {slug: a, issuer: 'https://b.example'," +
			" client_id: x}]": `upstreams[1]: slug: "a" is already used by a`,
		"[{" + good + "}, {slug: b, issuer: 'https://a.example'," +
			" client_id: x}]": `issuer: "https://a.example" is already used by a`,
		"[{" + good + ", domains: [Example.com]}]": "domains: ",
		"[{" + good + ", domains: [example.com," +
			" example.com]}]": `domains: "example.com" is already used by a`,
		"[{" + good + ", scopes: [email]}]": "scopes: must contain openid",
		"[{" + good + ", parameters: {state: x}}]": "parameters: the server itself" +
			" sets state",
		"[{" + good + ", registration: maybe}]": "registration: ",
		"[{" + good + ", registration_domains: [example.com]}]": "registration_domains: allowed" +
			" only when registration is open",
		"[{" + good + ", registration: open, registration_domains: ['a@b.example']}]": "registration_domains: ",
		"[{" + good + ", groups: {ops: []}}]":                                         `groups: "ops" must map to`,
		"[{" + good + ", groups: {ops: ['']}}]":                                       `groups: "ops" must map to`,
		"[{" + good + ", display_name: " + strings.Repeat("x", 300) + "}]":            "display_name: ",
		"[{" + good + ", claims: {name: \"a\\nb\"}}]":                                 "claims: ",
		"[" + strings.Repeat("{"+good+"},", 51) + "]":                                 `slug: "a" is already used by a`,
	} {
		_, err := Parse(withUpstreams(list), upstreamsEnvironment)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "not-a-guess") {
			t.Errorf("%.100s: %v, want %s", list, err, want)
		}
	}
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("{slug: s%d, issuer: 'https://s%d.example', client_id: x}", i, i)
	}
	if _, err := Parse(withUpstreams("["+strings.Join(many, ",")+"]"), upstreamsEnvironment); err == nil ||
		!strings.Contains(err.Error(), "at most 50 are allowed") {
		t.Errorf("error %v", err)
	}
	oidc := "\noidc: {enabled: true, issuer: 'https://a.example', client_id: x, redirect_uri:" +
		" 'https://auth.example/oidc/callback'}"
	if _, err := Parse(append(withUpstreams("[{"+good+"}]"), oidc...), upstreamsEnvironment); err == nil ||
		!strings.Contains(err.Error(), "is already used by oidc") {
		t.Errorf("error %v", err)
	}
}
