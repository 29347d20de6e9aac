package brokers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// ConfigError is a fault in the configuration of a provider.
type ConfigError struct{ Slug, Fault string }

// Error implements error.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("provider %s: config_data: %s", e.Slug, e.Fault)
}

// fault returns a *ConfigError for the provider.
func (p *Provider) fault(format string, args ...any) error {
	return &ConfigError{p.Slug, fmt.Sprintf(format, args...)}
}

// OAuthConfig is the config_data of the protocol oauth.
type OAuthConfig struct {
	ClientID     string `json:"client_id"`
	SecretRef    string `json:"client_secret_ref"` // the name of a variable
	AuthorizeURL string `json:"authorize_url"`
	TokenURL     string `json:"token_url"`
	RevokeURL    string `json:"revoke_url"`
	// ResponseFormat is the format of token responses: standard (JSON, the default), form, or slack, which is JSON with
	// the token in authed_user.
	ResponseFormat string `json:"response_format"`
	// ExtraAuthParams are added to the authorization request.
	ExtraAuthParams map[string]string `json:"extra_auth_params"`
	// TokenAuthMethod is client_secret_post (the default) or client_secret_basic.
	TokenAuthMethod string `json:"token_auth_method"`
	// ScopeSeparator separates the scopes of a request. Default: a space.
	ScopeSeparator string `json:"scope_separator"`

	slug   string // of the provider
	secret string // the client secret in clear
}

// APIKeyConfig is the config_data of the protocol api_key.
type APIKeyConfig struct {
	// HeaderName and HeaderPrefix describe how the key is sent. This server does not use them.
	HeaderName   string `json:"header_name"`
	HeaderPrefix string `json:"header_prefix"`
	// IssuanceInstructionsURL is a page that explains to users how to get a key.
	IssuanceInstructionsURL string `json:"issuance_instructions_url"`
}

// ServiceAccountConfig is the config_data of the protocol service_account.
type ServiceAccountConfig struct {
	TokenURL  string `json:"token_url"`
	Email     string `json:"sa_email"`
	KeyRef    string `json:"sa_key_ref"`        // the name of a variable with a PEM key
	Algorithm string `json:"algorithm"`         // RS256 or ES256
	TTL       int    `json:"token_ttl_seconds"` // the life of an assertion; default: 3600

	slug string // of the provider
	key  any    // the private key for Algorithm
}

// reserved are the parameters of an authorization request that only this server may set, not the configuration of a
// provider.
var reserved = []string{
	"client_id", "redirect_uri", "response_type", "state", "scope", "code_challenge",
	"code_challenge_method",
}

// decode decodes the configuration of a provider into target. The provider must have the given protocol. An unknown
// member is an error.
func (p *Provider) decode(protocol string, target any) error {
	if p.Protocol != protocol {
		return p.fault("the provider has the protocol %s, not %s", p.Protocol, protocol)
	}
	decoder := json.NewDecoder(bytes.NewReader(p.Config))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return p.fault("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// OAuth returns the configuration of a provider with the protocol oauth, including its secret. The error is a
// *ConfigError if the configuration cannot be used.
func (b *Brokers) OAuth(ctx context.Context, p *Provider) (*OAuthConfig, error) {
	c, err := b.oauth(p)
	if err == nil && c.SecretRef == "" {
		var text []byte
		text, err = b.options.Encryptor.Open(ctx, p.secret, place(p.ID))
		c.secret = string(text)
	}
	return c, err
}

// oauth returns the configuration like OAuth, but without a secret that is stored encrypted.
func (b *Brokers) oauth(p *Provider) (c *OAuthConfig, err error) {
	c = &OAuthConfig{slug: p.Slug}
	if err := p.decode(OAuth, c); err != nil {
		return nil, err
	}
	for _, field := range [...]struct {
		member, address string
		check           func(address string) (fault string)
	}{
		{"authorize_url", c.AuthorizeURL, b.checkURL},
		{"token_url", c.TokenURL, b.checkServerURL},
		{"revoke_url", c.RevokeURL, b.checkServerURL},
	} {
		if field.address == "" && field.member == "revoke_url" {
			continue
		}
		if fault := field.check(field.address); fault != "" {
			return nil, p.fault("%s %s", field.member, fault)
		}
	}
	c.ResponseFormat = cmp.Or(c.ResponseFormat, "standard")
	c.TokenAuthMethod = cmp.Or(c.TokenAuthMethod, "client_secret_post")
	c.ScopeSeparator = cmp.Or(c.ScopeSeparator, " ")
	switch {
	case c.ClientID == "":
		return nil, p.fault("client_id is missing")
	case !slices.Contains([]string{"standard", "form", "slack"}, c.ResponseFormat):
		return nil, p.fault("response_format must be standard, form or slack")
	case c.TokenAuthMethod != "client_secret_post" && c.TokenAuthMethod != "client_secret_basic":
		return nil, p.fault("token_auth_method must be client_secret_post or client_secret_basic")
	case len(c.ScopeSeparator) > 8:
		return nil, p.fault("scope_separator must have at most 8 bytes")
	case c.SecretRef != "" && p.secret != "":
		return nil, p.fault("client_secret and client_secret_ref must not both be set")
	}
	for name := range maps.Keys(c.ExtraAuthParams) {
		if slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), "code_challenge") {
			return nil, p.fault("extra_auth_params must not set %s", name)
		}
	}
	switch {
	case c.SecretRef != "":
		c.secret, err = b.variable(p, "client_secret_ref", c.SecretRef)
	case p.secret == "":
		err = p.fault("client_secret or client_secret_ref is missing")
	case b.options.Encryptor == nil:
		err = p.fault("client_secret: %s", encryption.ErrNone)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// envPrefix is the required prefix of environment variables to which a provider refers. It prevents sending other
// secrets of the process to a provider.
const envPrefix = "CONNECTOR_"

// variable returns the value of the environment variable called name. The parameter member is the member of the
// configuration that contains this name; errors mention the member.
func (b *Brokers) variable(p *Provider, member, name string) (string, error) {
	if !strings.HasPrefix(name, envPrefix) {
		return "", p.fault("%s must name a variable that begins with %s", member, envPrefix)
	}
	value, _ := b.options.Env(name)
	if value == "" {
		return "", p.fault("%s: the variable %s is not set", member, name)
	}
	return value, nil
}

// APIKey returns the configuration of a provider with the protocol api_key.
func (b *Brokers) APIKey(p *Provider) (*APIKeyConfig, error) {
	c := new(APIKeyConfig)
	if err := p.decode(APIKey, c); err != nil {
		return nil, err
	}
	if c.IssuanceInstructionsURL != "" {
		if fault := b.checkURL(c.IssuanceInstructionsURL); fault != "" {
			return nil, p.fault("issuance_instructions_url %s", fault)
		}
	}
	return c, nil
}

// ServiceAccount returns the configuration of a provider with the protocol service_account, including its key.
func (b *Brokers) ServiceAccount(p *Provider) (*ServiceAccountConfig, error) {
	c := &ServiceAccountConfig{slug: p.Slug}
	if err := p.decode(ServiceAccount, c); err != nil {
		return nil, err
	}
	if c.TTL == 0 {
		c.TTL = 3600
	}
	switch fault := b.checkServerURL(c.TokenURL); {
	case fault != "":
		return nil, p.fault("token_url %s", fault)
	case c.Email == "":
		return nil, p.fault("sa_email is missing")
	case c.TTL < 30 || c.TTL > 3600:
		return nil, p.fault("token_ttl_seconds must be from 30 to 3600")
	}
	text, err := b.variable(p, "sa_key_ref", c.KeyRef)
	if err != nil {
		return nil, err
	}
	switch c.Algorithm {
	case "RS256":
		c.key, err = jwt.ParseRSAPrivateKeyFromPEM([]byte(text))
	case "ES256":
		c.key, err = jwt.ParseECPrivateKeyFromPEM([]byte(text))
	default:
		return nil, p.fault("algorithm must be RS256 or ES256")
	}
	if err != nil { // not wrapped, since it may contain parts of the key
		return nil, p.fault("sa_key_ref: the variable %s does not contain a PEM private key for %s", c.KeyRef, c.Algorithm)
	}
	return c, nil
}

// Usable returns a *ConfigError if the configuration of a provider cannot be used. It does not decrypt the secret,
// since a failure to do so is not a fault of the configuration.
func (b *Brokers) Usable(p *Provider) (err error) {
	switch p.Protocol {
	case OAuth:
		_, err = b.oauth(p)
	case APIKey:
		_, err = b.APIKey(p)
	case ServiceAccount:
		_, err = b.ServiceAccount(p)
	}
	return err
}

// maxURL is the maximum length of a URL in a configuration, in bytes.
const maxURL = 2048

// checkURL returns the fault of a URL to which a browser is redirected, or "". Without TLS, the host must be this
// machine or in a network that the operator has allowed.
func (b *Brokers) checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "is missing"
	case err != nil || len(text) > maxURL || u.Host == "" || u.User != nil || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http":
		return "must be an https URL without a user name and a fragment"
	case u.Scheme == "https":
		return ""
	}
	for _, addr := range literalAddrs(u.Hostname()) {
		if addr.IsLoopback() || b.isAllowed(addr) {
			return ""
		}
	}
	return "must begin with https://"
}

// checkServerURL returns the fault of a URL to which this server itself sends requests, or "". Besides the checks of
// checkURL, it checks that an IP address is public or in a network that the operator has allowed, because the server
// connects to no other address.
func (b *Brokers) checkServerURL(text string) string {
	if fault := b.checkURL(text); fault != "" {
		return fault
	}
	u, err := url.Parse(text)
	if err != nil {
		return "must be a URL"
	}
	addrs := literalAddrs(u.Hostname())
	if len(addrs) > 0 &&
		!slices.ContainsFunc(addrs, func(addr netip.Addr) bool { return outbound.Allowed(addr, b.options.Networks) }) {
		return "leads to " + u.Hostname() +
			", which is not a public address: add its network to server.allow_networks, or to allow_networks of the Caddyfile"
	}
	return ""
}

// literalAddrs returns the addresses of a host that is an IP address or localhost, and nil for any other name.
func literalAddrs(host string) []netip.Addr {
	if host == "localhost" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}
	}
	return nil
}

// isAllowed reports whether an address is in a network that the operator has allowed.
func (b *Brokers) isAllowed(addr netip.Addr) bool {
	return slices.ContainsFunc(b.options.Networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}
