package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
)

// Upstream is an entry of the list upstreams: an OpenID provider at which people may sign in, in addition to the
// provider of the section oidc.
type Upstream struct {
	Slug            string   `json:"slug"`                   // part of the redirect URI
	DisplayName     string   `json:"display_name,omitempty"` // default: the host of the issuer
	Issuer          string   `json:"issuer"`
	ClientID        string   `json:"client_id"`
	ClientSecretEnv string   `json:"client_secret_env,omitempty"` // the name of a variable; empty for a public client
	Scopes          []string `json:"scopes,omitempty"`            // default: openid, email, profile
	// Parameters are added to the authorization request.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Domains are mail domains. A person with an address in one of them is sent to this provider to sign in.
	Domains []string `json:"domains,omitempty"`
	// Hidden omits the provider's button on the sign-in page.
	Hidden bool `json:"hidden,omitempty"`
	// Claims are the names of the claims that are read from the provider.
	Claims UpstreamClaims `json:"claims,omitzero"`
	// TrustEmail treats every mail address of the provider as confirmed.
	TrustEmail bool `json:"trust_email,omitempty"`
	// Groups maps the provider's groups to groups of this server.
	Groups map[string]resources.Words `json:"groups,omitempty"`
	// Registration is RegistrationOff (default) or RegistrationOpen. RegistrationOpen creates a user for an unknown
	// person whose mail address is in one of RegistrationDomains. If RegistrationDomains is empty, any address will do.
	Registration        string   `json:"registration,omitempty"`
	RegistrationDomains []string `json:"registration_domains,omitempty"`

	secret string // the value of the variable ClientSecretEnv
}

// UpstreamClaims are names of claims. A dot in a name leads into a nested object.
type UpstreamClaims struct {
	Username string `json:"username,omitempty"` // default: preferred_username
	Email    string `json:"email,omitempty"`    // default: email
	Name     string `json:"name,omitempty"`     // default: name
	Groups   string `json:"groups,omitempty"`   // default: groups
}

// Secret returns the client secret, or "" for a public client.
func (u *Upstream) Secret() string { return u.secret }

// Limits of the list upstreams and of its entries.
const (
	maxUpstreams = 50   // entries
	maxWords     = 1000 // texts in a list of an entry
	maxWord      = 255  // bytes in a text of an entry
)

// upstreams reads the list of upstream providers. A slug, issuer or domain that occurs twice is a fault. The issuer of
// the section oidc counts as used if that section is enabled.
func (l *loader) upstreams() {
	usedBy := make(map[string]string) // the slug of the entry that uses a value, by the member and the value
	// use records that an entry uses a value. It returns an error if another entry uses it.
	use := func(member, value, slug string) error {
		if other, ok := usedBy[member+" "+value]; ok {
			return fmt.Errorf("%s: %q is already used by %s", member, value, other)
		}
		usedBy[member+" "+value] = slug
		return nil
	}
	if l.OIDC.Enabled {
		usedBy["issuer "+l.OIDC.Issuer] = "oidc"
	}
	l.Upstreams = entries(l, "upstreams", l.lists.upstreams, func(u *Upstream) error {
		err := u.check()
		if err == nil {
			err = cmp.Or(use("slug", u.Slug, u.Slug), use("issuer", u.Issuer, u.Slug))
		}
		for _, domain := range u.Domains {
			if err == nil {
				err = use("domains", domain, u.Slug)
			}
		}
		if err != nil || u.ClientSecretEnv == "" {
			return err
		}
		if u.secret = l.env(u.ClientSecretEnv); u.secret == "" {
			return errors.New("client_secret_env: " + unset(u.ClientSecretEnv))
		}
		return nil
	})
	if n := len(l.Upstreams); n > maxUpstreams {
		l.faultAt("upstreams", l.lists.upstreams, "has %d entries; at most %d are allowed", n, maxUpstreams)
	}
}

// unset returns the fault of a key that names an unset environment variable. It quotes the name only if it can be the
// name of a variable. Any other text may be the secret itself.
func unset(name string) string {
	if nameOfVariable.MatchString(name) {
		return fmt.Sprintf("names the variable %s, which is not set", name)
	}
	return "names a variable that is not set; the value must be the name of an environment variable, not the secret itself"
}

// reserved lists the parameters of an authorization request that only the server may set, not the configuration.
var reserved = []string{
	"client_id", "client_secret", "code_challenge", "code_challenge_method", "login_hint", "max_age", "nonce",
	"redirect_uri", "request",
	"request_uri", "response_mode", "response_type", "scope", "state",
}

// upstreamSlug matches the slug of a provider, which is part of a redirect URI.
var upstreamSlug = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,49}$`)

// check sets the defaults of an entry and returns its first fault.
func (u *Upstream) check() error {
	issuer, ok := absolute(u.Issuer)
	switch {
	case !upstreamSlug.MatchString(u.Slug):
		return fmt.Errorf("slug: %q is not 1 to 50 lower-case letters, digits and hyphens", u.Slug)
	case !ok || issuer.RawQuery != "" || issuer.Scheme == "http" && !localhost(issuer.Hostname()):
		return fmt.Errorf("issuer: %q is not an https URL without a query", u.Issuer)
	case u.ClientID == "":
		return errors.New("client_id: required")
	}
	if u.DisplayName == "" {
		u.DisplayName = issuer.Host
	}
	if len(u.Scopes) == 0 {
		u.Scopes = []string{"openid", "email", "profile"}
	}
	if !slices.Contains(u.Scopes, "openid") {
		return errors.New("scopes: must contain openid")
	}
	c := &u.Claims
	c.Username, c.Email = cmp.Or(c.Username, "preferred_username"), cmp.Or(c.Email, "email")
	c.Name, c.Groups = cmp.Or(c.Name, "name"), cmp.Or(c.Groups, "groups")
	for name := range u.Parameters {
		if slices.Contains(reserved, name) {
			return fmt.Errorf("parameters: the server itself sets %s", name)
		}
	}
	for upstream, groups := range u.Groups {
		if upstream == "" || len(groups) == 0 || slices.Contains(groups, "") {
			return fmt.Errorf("groups: %q must map to a group or a list of groups of this server", upstream)
		}
	}
	return cmp.Or(u.checkRegistration(), u.bounded())
}

// checkRegistration checks Registration and RegistrationDomains.
func (u *Upstream) checkRegistration() error {
	u.Registration = cmp.Or(u.Registration, RegistrationOff)
	if fault := oneOf(RegistrationOff, RegistrationOpen)(nil, &u.Registration); fault != "" {
		return errors.New("registration: " + fault)
	}
	if u.Registration == RegistrationOff && len(u.RegistrationDomains) > 0 {
		return errors.New("registration_domains: allowed only when registration is open")
	}
	if fault := mailDomains(nil, &u.Domains); fault != "" {
		return errors.New("domains: " + fault)
	}
	if fault := mailDomains(nil, &u.RegistrationDomains); fault != "" {
		return errors.New("registration_domains: " + fault)
	}
	return nil
}

// bounded returns an error if a list or a text of the entry is too long, or if a text contains a control character.
func (u *Upstream) bounded() error {
	lists := map[string][]string{
		"domains": u.Domains, "registration_domains": u.RegistrationDomains, "scopes": u.Scopes,
		"display_name": {u.DisplayName}, "client_id": {u.ClientID},
		"claims": {u.Claims.Username, u.Claims.Email, u.Claims.Name, u.Claims.Groups},
	}
	for name, value := range u.Parameters {
		lists["parameters"] = append(lists["parameters"], name, value)
	}
	for upstream, groups := range u.Groups {
		lists["groups"] = append(append(lists["groups"], upstream), groups...)
	}
	for name, words := range lists {
		invalid := slices.ContainsFunc(words, func(word string) bool {
			return len(word) > maxWord || strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7F })
		})
		if invalid || len(words) > maxWords {
			return fmt.Errorf("%s: must be at most %d values, each of at most %d bytes without control characters",
				name, maxWords, maxWord)
		}
	}
	return nil
}

// UpstreamRedirect returns the redirect URI to register at the provider with a slug.
func (c *Config) UpstreamRedirect(slug string) string {
	return c.Server.Issuer + UpstreamPath(slug) + "/callback"
}

// UpstreamPath returns the path on the public listener below which the sign-in at a provider is served.
func UpstreamPath(slug string) string { return "/oidc/" + url.PathEscape(slug) }
