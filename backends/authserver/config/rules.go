package config

import (
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// check is the rule of a key. It takes the whole configuration and a pointer to the value of the key. It returns the
// fault of the value, or "" if the value is valid. A fault must not contain a secret.
type check func(c *Config, value any) string

// condition decides whether a key is required. Its text completes the error message "required when ...".
type condition struct {
	text  string
	holds func(c *Config) bool
}

// The conditions under which keys are required.
var (
	postgresDriver = condition{"storage.driver is postgres", func(c *Config) bool { return c.Storage.Driver == Postgres }}
	sqliteDriver   = condition{"storage.driver is sqlite", func(c *Config) bool { return c.Storage.Driver == SQLite }}
	keysInFiles    = condition{
		"signing.key_store is keyfile",
		func(c *Config) bool { return c.Signing.KeyStore == KeyFile },
	}
	keysInKMS = condition{
		"signing.key_store is kms_transit",
		func(c *Config) bool { return c.Signing.KeyStore == KMSTransit },
	}
	appRole = condition{
		"signing.kms_transit.approle.role_id is set",
		func(c *Config) bool { return c.Signing.KMSTransit.AppRole.RoleID != "" },
	}

	public = condition{
		"server.issuer is not localhost",
		func(c *Config) bool { return c.issuer != nil && !c.Localhost() },
	}
	publicAdmin = condition{
		"admin is enabled and server.issuer is not localhost",
		func(c *Config) bool { return c.Admin.Enabled && public.holds(c) },
	}
	oidcEnabled = condition{"oidc is enabled", func(c *Config) bool { return c.OIDC.Enabled }}

	mailEnabled = condition{"mail.url is set", func(c *Config) bool { return c.Mail.URL != "" }}

	otelLogs = condition{
		"observability.logging.outputs.otel is on",
		func(c *Config) bool { return c.Observability.Logging.Outputs.OTel },
	}
	otelMetrics = condition{"observability.metrics.provider is otel or both", func(c *Config) bool {
		return c.Observability.Metrics.Provider == "otel" || c.Observability.Metrics.Provider == "both"
	}}
	tracingEnabled = condition{
		"observability.tracing.enabled is true",
		func(c *Config) bool { return c.Observability.Tracing.Enabled },
	}

	aesMasterDriver = condition{
		"data_encryption.driver is aes_master",
		func(c *Config) bool { return c.DataEncryption.Driver == AESMaster },
	}
	kmsDriver = condition{
		"data_encryption.driver is kms_transit_encrypt",
		func(c *Config) bool { return c.DataEncryption.Driver == KMSTransitEncrypt },
	}
	// A server whose driver is aes_master still uses a configured key management server to decrypt.
	kmsUsed = condition{"data_encryption.driver is kms_transit_encrypt or its address is set", func(c *Config) bool {
		return kmsDriver.holds(c) || c.DataEncryption.KMSTransitEncrypt.Address != ""
	}}
	kmsByAppRole = condition{"auth_method is approle", func(c *Config) bool {
		return kmsUsed.holds(c) && c.DataEncryption.KMSTransitEncrypt.AuthMethod == "approle"
	}}
	kmsByToken = condition{"auth_method is token", func(c *Config) bool {
		return kmsUsed.holds(c) && c.DataEncryption.KMSTransitEncrypt.AuthMethod == "token"
	}}
)

// required returns a check that refuses an empty value if the condition holds. If the value is not empty, it applies
// the further checks.
func required(cond condition, further ...check) check {
	return func(c *Config, value any) string {
		empty := false
		switch v := value.(type) {
		case *string:
			empty = *v == ""
		case *Ref:
			empty = v.Name == ""
		}
		switch {
		case !empty:
			return all(further...)(c, value)
		case cond.holds(c):
			return "required when " + cond.text
		}
		return ""
	}
}

// all returns a check that applies several checks and returns the first fault.
func all(checks ...check) check {
	return func(c *Config, value any) string {
		for _, check := range checks {
			if fault := check(c, value); fault != "" {
				return fault
			}
		}
		return ""
	}
}

// oneOf returns a check for a text, which must be one of the values. The value "" is not named in the fault.
func oneOf(values ...string) check {
	return func(_ *Config, value any) string {
		if v := *value.(*string); !slices.Contains(values, v) {
			return fmt.Sprintf("%q is not one of: %s", v, strings.TrimPrefix(strings.Join(values, ", "), ", "))
		}
		return ""
	}
}

// number returns the value of an int, a float or a duration (in nanoseconds).
func number(value any) float64 {
	switch v := value.(type) {
	case *int:
		return float64(*v)
	case *float64:
		return *v
	case *time.Duration:
		return float64(*v)
	}
	return math.NaN()
}

// positive checks that a number is greater than zero.
func positive(_ *Config, value any) string {
	if !(number(value) > 0) {
		return "must be greater than zero"
	}
	return ""
}

// notNegative checks that a number is zero or greater.
func notNegative(_ *Config, value any) string {
	if !(number(value) >= 0) {
		return "must not be negative"
	}
	return ""
}

// between returns a check for a number, which must be from low to high.
func between(low, high int) check {
	return func(_ *Config, value any) string {
		if n := number(value); !(n >= float64(low) && n <= float64(high)) {
			return fmt.Sprintf("must be from %d to %d", low, high)
		}
		return ""
	}
}

// atMost returns a check for a duration, which must be greater than zero and at most high.
func atMost(high time.Duration) check {
	return func(c *Config, value any) string {
		if number(value) > float64(high) {
			return fmt.Sprintf("must be at most %s", spell(high))
		}
		return positive(c, value)
	}
}

// limited requires a positive value while rate_limit.enabled is set.
func limited(c *Config, value any) string {
	if !c.RateLimit.Enabled {
		return ""
	}
	if fault := positive(c, value); fault != "" {
		return fault + "; to switch the limit off set rate_limit.enabled to false"
	}
	return ""
}

// exchanged returns a check that applies rule only while token exchange is enabled.
func exchanged(rule check) check {
	return func(c *Config, value any) string {
		if !c.TokenExchange.Enabled {
			return ""
		}
		return rule(c, value)
	}
}

// keptConns checks that the minimum number of connections does not exceed the maximum.
func keptConns(c *Config, value any) string {
	if *value.(*int) > c.Storage.Postgres.MaxConns {
		return "must be at most storage.postgres.max_conns"
	}
	return notNegative(c, value)
}

// lookback checks that a duration is greater than zero and at most admin.audit_max_lookback.
func lookback(c *Config, value any) string {
	if *value.(*time.Duration) > c.Admin.AuditMaxLookback {
		return "must be at most admin.audit_max_lookback"
	}
	return positive(c, value)
}

// listenAddress checks that a text is a port with an optional host.
func listenAddress(_ *Config, value any) string {
	_, port, err := net.SplitHostPort(*value.(*string))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Sprintf("%q is not an address to listen at, such as :9000 or 127.0.0.1:9000", *value.(*string))
	}
	return ""
}

// ownAddress checks the address of the admin listener, which must differ from that of the public listener.
func ownAddress(c *Config, value any) string {
	if c.Admin.Enabled && c.Admin.Address == c.Server.Address {
		return "must differ from server.address"
	}
	return listenAddress(c, value)
}

// absolute parses an http or https URL without user information and fragment. It returns false for any other text.
func absolute(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, false
	}
	return u, true
}

// address checks that a text is an http or https URL, or empty.
func address(_ *Config, value any) string {
	text := *value.(*string)
	if _, ok := absolute(text); text != "" && !ok {
		return fmt.Sprintf("%q is not an http or https URL", text)
	}
	return ""
}

// mailServer checks the URL of the mail server, which must not contain a password, since the URL is logged.
func mailServer(c *Config, value any) string {
	text := *value.(*string)
	if text == "" {
		if c.Mail.From+c.Mail.User+c.Mail.Password != "" {
			return "required when another key of the section mail is set"
		}
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "must be smtp://host:port or smtps://host:port; set the user and the password with mail.user and mail.password"
	}
	return ""
}

// sender checks that a text is a mail address, with or without a display name, or empty.
func sender(_ *Config, value any) string {
	if text := *value.(*string); text != "" {
		if _, err := mail.ParseAddress(text); err != nil {
			return fmt.Sprintf("%q is not an address such as Accounts <accounts@example.com>", text)
		}
	}
	return ""
}

// registration checks that a mail server is configured if registration is open.
func registration(c *Config, value any) string {
	if *value.(*string) == RegistrationOpen && c.Mail.URL == "" {
		return "requires mail.url, since users who register must confirm their mail address"
	}
	return ""
}

// mailDomains checks that all values are domains in lower case.
func mailDomains(_ *Config, value any) string {
	for _, text := range *value.(*[]string) {
		if text != strings.ToLower(text) || !strings.Contains(text, ".") || strings.ContainsAny(text, "@/: ") {
			return fmt.Sprintf("%q is not a domain in lower case, such as example.com", text)
		}
	}
	return ""
}

// collector checks the address of a telemetry collector.
func collector(_ *Config, value any) string {
	text := *value.(*string)
	_, isURL := absolute(text)
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if text != "" && !isURL && (err != nil || host == "" || strings.Contains(host, "/")) {
		return fmt.Sprintf("%q is neither a host with a port, such as collector:4317, nor an http or https URL", text)
	}
	return ""
}

// issuer checks that a text is an http or https URL to which paths can be appended to make other URLs.
func issuer(c *Config, value any) string {
	text := *value.(*string)
	u, ok := absolute(text)
	if !ok || u.RawQuery != "" || strings.ContainsAny(text, "?#") || strings.HasSuffix(text, "/") {
		return fmt.Sprintf("%q is not an http or https URL without a query, a fragment, or a slash at its end", text)
	}
	return ""
}

func origins(_ *Config, value any) string {
	for _, text := range *value.(*[]string) {
		u, ok := absolute(text)
		if !ok || text != u.Scheme+"://"+u.Host {
			return fmt.Sprintf("%q is not an origin such as https://app.example.com", text)
		}
	}
	return ""
}

func networks(_ *Config, value any) string {
	for _, text := range *value.(*[]string) {
		if _, err := netip.ParsePrefix(text); err != nil {
			return fmt.Sprintf("%q is not a network such as 10.0.0.0/8", text)
		}
	}
	return ""
}

// redirects checks that all values are absolute URIs. The allowed schemes are checked when a client is registered.
func redirects(_ *Config, value any) string {
	for _, text := range *value.(*[]string) {
		if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Fragment != "" {
			return fmt.Sprintf("%q is not an absolute URI without a fragment", text)
		}
	}
	return ""
}

// returnURLs checks that all values are http or https URLs. An asterisk may follow a URL.
func returnURLs(_ *Config, value any) string {
	for _, text := range *value.(*[]string) {
		if _, ok := absolute(strings.TrimSuffix(text, "*")); !ok {
			return fmt.Sprintf("%q is not an http or https URL", text)
		}
	}
	return ""
}

// onlyLocal returns a check for a bool. The bool may equal insecureValue only if the issuer is localhost.
func onlyLocal(insecureValue bool) check {
	return func(c *Config, value any) string {
		if *value.(*bool) == insecureValue && public.holds(c) {
			return fmt.Sprintf("may be %t only when server.issuer is localhost", insecureValue)
		}
		return ""
	}
}

// token matches a token of RFC 9110 section 5.6.2. The name of a cookie must be one.
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$")

func cookieName(_ *Config, value any) string {
	if !token.MatchString(*value.(*string)) {
		return fmt.Sprintf("%q is not a valid name of a cookie", *value.(*string))
	}
	return ""
}

// scopeToken matches a scope token of RFC 6749 section 3.3.
var scopeToken = regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]{1,256}$`)

// languageTag matches a language tag (BCP 47), such as de or pt-BR.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

// languageTags checks a language tag or a list of language tags.
func languageTags(_ *Config, value any) string {
	tags, ok := value.(*[]string)
	if !ok {
		tags = &[]string{*value.(*string)}
	}
	for _, tag := range *tags {
		if !languageTag.MatchString(tag) {
			return fmt.Sprintf("%q is not a language tag such as de or pt-BR", tag)
		}
	}
	return ""
}

// scopeWords checks that a text is a list of scopes separated by spaces.
func scopeWords(_ *Config, value any) string {
	for word := range strings.FieldsSeq(*value.(*string)) {
		if !scopeToken.MatchString(word) {
			return fmt.Sprintf("%q is not a scope", word)
		}
	}
	return ""
}

// upstreamScopes checks that the scopes contain openid if oidc is enabled.
func upstreamScopes(c *Config, value any) string {
	if scopes := *value.(*[]string); c.OIDC.Enabled && !slices.Contains(scopes, "openid") {
		return "must contain openid"
	}
	return ""
}

// scrapePath checks that a path of the admin listener does not collide with the administration API.
func scrapePath(_ *Config, value any) string {
	path := *value.(*string)
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#{} ") || path == "/" || path == "/admin" ||
		strings.HasPrefix(path, "/admin/") {
		return fmt.Sprintf("%q is not a path such as /metrics outside of /admin", path)
	}
	return ""
}

// keyStore checks that an encryption key is configured if signing keys are stored in the database.
func keyStore(c *Config, value any) string {
	if *value.(*string) == PostgresKey && c.DataEncryption.Driver == "" {
		return "postgres_key stores the keys encrypted: set data_encryption.driver"
	}
	return ""
}

// kmsToken checks that a token and an AppRole, the two credentials for the key management server, are not both set. One
// of them is required if the server signs.
func kmsToken(c *Config, value any) string {
	bothSet := *value.(*string) != "" && appRole.holds(c)
	noneSet := *value.(*string) == "" && !appRole.holds(c)
	switch {
	case bothSet:
		return "may not be set together with signing.kms_transit.approle.role_id"
	case noneSet && keysInKMS.holds(c):
		return "this or signing.kms_transit.approle.role_id is required when " + keysInKMS.text
	}
	return ""
}

// masterKey checks that the named variable contains 32 bytes in hex.
func masterKey(_ *Config, value any) string {
	ref := value.(*Ref)
	if raw, err := hex.DecodeString(ref.Secret); ref.Secret != "" && (err != nil || len(raw) != 32) {
		return fmt.Sprintf("the variable %s does not contain 64 hex characters", ref.Name)
	}
	return ""
}

// oldKey checks that a former master key is only set together with a current one. Alone, it would not be used.
func oldKey(c *Config, value any) string {
	if value.(*Ref).Name != "" && c.DataEncryption.AESMaster.KeyEnv.Name == "" {
		return "requires data_encryption.aes_master.key_env; if this is the only master key, set it there instead"
	}
	return ""
}

// oidcSecret checks that the secret is not set both in the file and by the name of a variable.
func oidcSecret(c *Config, value any) string {
	if *value.(*string) != "" && c.OIDC.ClientSecretRef.Name != "" {
		return "may not be set together with oidc.client_secret_ref"
	}
	return ""
}

// sameName checks that a deprecated key and the key that replaces it have the same value if both are set.
func sameName(c *Config, value any) string {
	if old := value.(*Ref); old.Name != "" && old.Name != c.OIDC.ClientSecretRef.Name {
		return "is the deprecated name of oidc.client_secret_ref, which has a different value"
	}
	return ""
}

// stateSecret checks that the secret, which signs the state parameter, has at least minSecret characters, and that it
// is set if there are broker_providers.
func stateSecret(c *Config, value any) string {
	switch text := *value.(*string); {
	case text == "" && len(c.BrokerProviders) > 0:
		return "required when there are broker_providers"
	case text != "" && len(text) < minSecret:
		return "must have at least 32 characters"
	}
	return ""
}
