package clients

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The modes of dynamic registration.
const (
	Open              = "open"
	ApprovedRedirects = "approved_redirects"
	AdminOnly         = "admin_only"
)

// The errors of registration (RFC 7591 section 3.2.2).
const (
	InvalidRedirect = "invalid_redirect_uri"
	InvalidMetadata = "invalid_client_metadata"
)

// Registration is the metadata that a client registers (RFC 7591 section 2).
type Registration struct {
	Redirects  []string `json:"redirect_uris"`
	Name       string   `json:"client_name"`
	Grants     []string `json:"grant_types"`
	Responses  []string `json:"response_types"`
	AuthMethod string   `json:"token_endpoint_auth_method"`
	Agent      bool     `json:"agent"`
	AgentText  string   `json:"agent_description"`
	Metadata
}

const (
	maxRedirects = 50
	maxText      = 255 // characters of a name or description
	maxContacts  = 10
)

// ParseRegistration parses a registration. Members that RFC 7591 does not define are ignored.
func ParseRegistration(document []byte) (*Registration, error) {
	r := new(Registration)
	if err := json.Unmarshal(document, r); err != nil {
		return nil, kernel.Refuse(InvalidMetadata,
			"the body must be a JSON object whose members have the types that RFC 7591 defines")
	}
	return r, nil
}

// Client checks a registration and returns the client that it describes. The source is Admin, DCR or Document. The
// client is not stored.
func (cs *Clients) Client(r *Registration, source string) (*Client, error) {
	c := &Client{
		Name: r.Name, AuthMethod: r.AuthMethod, Redirects: r.Redirects, Grants: r.Grants, Responses: r.Responses,
		Agent: r.Agent, AgentText: r.AgentText, Metadata: r.Metadata, Source: source,
	}
	if c.SelfDeclared() {
		c.Metadata.FirstParty, c.Metadata.Claims = false, nil
	}
	if c.Grants == nil {
		c.Grants = []string{GrantCode}
	}
	if c.AuthMethod == "" {
		c.AuthMethod = MethodBasic
	}
	if c.Metadata.ApplicationType == "" {
		c.Metadata.ApplicationType = "web"
	}
	if c.Responses == nil && c.May(GrantCode) {
		c.Responses = []string{"code"}
	}
	if source != Admin && c.alwaysWithUser() {
		c.Scope = cs.options.DefaultScope
	}
	return c, cs.Check(c)
}

// alwaysWithUser reports whether a user takes part in all grant types of a client.
func (c *Client) alwaysWithUser() bool {
	return !slices.ContainsFunc(c.Grants, func(g string) bool { return !withUser(g) })
}

// withUser reports whether a user takes part in a grant type.
func withUser(grant string) bool {
	return grant == GrantCode || grant == GrantRefresh || grant == GrantDevice
}

// Ceiling returns the maximum scope that a client may request from users. An empty result permits all scopes that the
// resources declare. The maximum scope of a self-declared client (see Client.SelfDeclared) is the default scope,
// whatever the client's grant types, unless an administrator has set another scope.
func (cs *Clients) Ceiling(c *Client) []string {
	if len(c.Scope) == 0 && c.Source != Admin {
		return cs.options.DefaultScope
	}
	return c.Scope
}

// Check returns an error if a client must not be stored.
func (cs *Clients) Check(c *Client) error {
	for i, grant := range c.Grants {
		if !slices.Contains(cs.options.Grants, grant) {
			return refuse("grant_types", "contains a grant type that is unknown or disabled: "+strconv.Quote(cut(grant)))
		}
		if slices.Contains(c.Grants[:i], grant) {
			return refuse("grant_types", "contains a grant type twice")
		}
	}
	if !slices.Contains([]string{MethodBasic, MethodPost, MethodNone, MethodKey}, c.AuthMethod) {
		return refuse("token_endpoint_auth_method",
			"must be none, client_secret_basic, client_secret_post or private_key_jwt")
	}
	if c.Public() && (c.May(GrantClient) || c.May(GrantExchange) || c.May(GrantJWT)) {
		return refuse("token_endpoint_auth_method", "must not be none for these grant_types")
	}
	if c.May(GrantRefresh) && !c.May(GrantCode) && !c.May(GrantDevice) {
		return refuse("grant_types", "contains refresh_token without a grant type that issues refresh tokens")
	}
	if isCode := len(c.Responses) == 1 && c.Responses[0] == "code"; isCode != c.May(GrantCode) {
		return refuse("response_types", "must be code with the grant authorization_code, and empty without it")
	}
	if c.May(GrantCode) && len(c.Redirects) == 0 {
		return refuse("redirect_uris", "is required with the grant authorization_code")
	}
	if err := checkRedirects("redirect_uris", c.Redirects); err != nil {
		return err
	}
	return errors.Join(c.Metadata.check(c), checkTexts(c), claims.Check(c.Metadata.Claims, false))
}

// checkRedirects returns an error if a URI cannot be registered as a redirect URI. uris are the value of the given
// member of a registration.
func checkRedirects(member string, uris []string) error {
	if len(uris) > maxRedirects {
		return refuse(member, "has more than 50 URIs")
	}
	for _, uri := range uris {
		if fault := redirectFault(uri); fault != "" {
			return kernel.Refuse(InvalidRedirect, "%s: %s %s", member, strconv.Quote(cut(uri)), fault)
		}
	}
	return nil
}

// checkTexts returns an error for names and descriptions that are too long or contain misleading characters.
func checkTexts(c *Client) error {
	for member, value := range map[string]string{
		"client_name": c.Name, "agent_description": c.AgentText, "software_id": c.Metadata.SoftwareID,
		"software_version": c.Metadata.SoftwareVersion,
	} {
		if len([]rune(value)) > maxText || strings.ContainsFunc(value, misleads) {
			return refuse(member, "must have at most 255 characters, without control and format characters")
		}
	}
	return nil
}

// misleads reports whether a character must not occur in a name that users see, because it is invisible or changes the
// direction of the text. The zero-width joiner of emoji is allowed.
func misleads(r rune) bool {
	const joiner = 0x200d
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != joiner
}

// check returns an error for metadata that the client c must not have.
func (m *Metadata) check(c *Client) error {
	if m.ApplicationType != "" && m.ApplicationType != "web" && m.ApplicationType != "native" {
		return refuse("application_type", "must be web or native")
	}
	for member, uri := range map[string]string{
		"client_uri": m.ClientURI, "logo_uri": m.LogoURI, "tos_uri": m.TermsURI,
		"policy_uri": m.PolicyURI, "jwks_uri": m.JWKSURI,
	} {
		if uri == "" {
			continue
		}
		if u, err := url.Parse(uri); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
			len(uri) > maxURI || u.User != nil {
			return refuse(member, "must be an https or http URL of at most 2048 characters")
		}
	}
	if len(m.Contacts) > maxContacts || slices.ContainsFunc(m.Contacts, func(s string) bool { return len(s) > maxText }) {
		return refuse("contacts", "must be at most 10 texts of at most 255 characters")
	}
	if err := checkRedirects("post_logout_redirect_uris", m.Logout); err != nil {
		return err
	}
	// Address.Check accepts the URLs that are permitted here too: https, or http on this machine.
	if m.BackchannelLogout != "" && (len(m.BackchannelLogout) > maxURI ||
		(jwks.Address{JWKS: m.BackchannelLogout}).Check() != nil) {
		return refuse("backchannel_logout_uri",
			"must begin with https://, or with http:// on this machine, and have at most 2048 characters")
	}
	if string(m.JWKS) == "null" {
		m.JWKS = nil
	}
	switch {
	case m.JWKSURI != "" && len(m.JWKS) > 0:
		return refuse("jwks", "must not be set together with jwks_uri")
	case len(m.JWKS) > 0:
		if _, err := jwks.ParseSet(m.JWKS); err != nil {
			return refuse("jwks", "must be a JWK set with a public key that verifies signatures")
		}
		if holdsPrivate(m.JWKS) {
			return refuse("jwks", "must contain only public keys")
		}
	case m.JWKSURI != "" && (jwks.Address{JWKS: m.JWKSURI}).Check() != nil:
		return refuse("jwks_uri", "must begin with https://")
	case c.AuthMethod == MethodKey && m.JWKSURI == "":
		return refuse("jwks", "or jwks_uri is required for private_key_jwt")
	}
	return nil
}

// holdsPrivate reports whether a JWK set contains a private or symmetric key, or does not parse.
func holdsPrivate(set []byte) bool {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(set, &document) != nil {
		return true
	}
	return slices.ContainsFunc(document.Keys, func(key json.RawMessage) bool {
		var members map[string]json.RawMessage
		if json.Unmarshal(key, &members) != nil {
			return true
		}
		_, private := members["d"]
		_, symmetric := members["k"]
		return private || symmetric
	})
}

// refuse returns an invalid_client_metadata error for a member of a registration. The message follows the member's
// name.
func refuse(member, message string) error {
	return kernel.Refuse(InvalidMetadata, "%s %s", member, message).With(member)
}

// cut shortens a text for an error message.
func cut(text string) string {
	if len(text) > 100 {
		return text[:100]
	}
	return text
}

// Register stores a client that registers itself, if the mode allows that. It returns the client's secret (clear) and
// its registration access token; only digests of them are stored.
func (cs *Clients) Register(ctx context.Context, document []byte) (c *Client, clear, token string, err error) {
	mode, err := cs.Mode(ctx)
	if err != nil {
		return nil, "", "", err
	}
	if mode == AdminOnly {
		return nil, "", "", kernel.Refuse(kernel.AccessDenied, "only administrators can register clients on this server")
	}
	c, err = cs.fromRegistration(mode, document)
	if err != nil {
		return nil, "", "", err
	}
	token = secret.New()
	c.Registration = secret.Hash(token)
	clear, err = cs.Create(ctx, c)
	return c, clear, token, err
}

// fromRegistration parses a registration document from a client and returns the client that it describes, if the mode
// allows that client to register itself.
func (cs *Clients) fromRegistration(mode string, document []byte) (*Client, error) {
	r, err := ParseRegistration(document)
	if err != nil {
		return nil, err
	}
	c, err := cs.Client(r, DCR)
	if err != nil {
		return nil, err
	}
	if mode == ApprovedRedirects {
		for _, uri := range c.Redirects {
			if !matchAny(cs.options.Approved, uri) {
				return nil, kernel.Refuse(InvalidRedirect, "redirect_uris: %s is not an approved redirect URI of this server",
					strconv.Quote(cut(uri)))
			}
		}
	}
	return c, nil
}

// Manages returns the client with an id if the registration access token belongs to it (RFC 7592). Otherwise the error
// has status 401.
func (cs *Clients) Manages(ctx context.Context, id, token string) (*Client, error) {
	c, err := cs.Find(ctx, id)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	sum := secret.Hash(token) // "" if the token cannot be one of this server
	if c == nil || !c.Active() || sum == "" || c.Registration == "" || !hmac.Equal([]byte(sum), []byte(c.Registration)) {
		return nil, apierror.New(http.StatusUnauthorized, "invalid_token",
			"the registration access token does not belong to this client")
	}
	cs.recordUse(c)
	return c, nil
}

// Replace replaces the metadata of a client with a new registration (RFC 7592 section 2.2). If the client now needs a
// secret and has none, Replace creates one and returns it in clear.
func (cs *Clients) Replace(ctx context.Context, id string, document []byte) (c *Client, clear string, err error) {
	mode, err := cs.Mode(ctx)
	if err != nil {
		return nil, "", err
	}
	if mode == AdminOnly { // the mode forbids new clients, but not changes of registered clients
		mode = Open
		if len(cs.options.Approved) > 0 {
			mode = ApprovedRedirects
		}
	}
	next, err := cs.fromRegistration(mode, document)
	if err != nil {
		return nil, "", err
	}
	newSecret, hash, err := cs.newSecret(ctx)
	if err != nil {
		return nil, "", err
	}
	c, err = cs.Edit(ctx, id, func(c *Client) error {
		clear = "" // a former attempt may have set it
		if next.Agent != c.Agent {
			return refuse("agent", "cannot be changed")
		}
		limitedUsers := c.alwaysWithUser() // the scope was a limit for what users can grant
		switch {
		case !usesSecret(next.AuthMethod):
			c.Secret = ""
		case c.Secret == "":
			c.Secret, clear = hash, newSecret
		}
		c.Name, c.AuthMethod, c.Redirects, c.Grants, c.Responses = next.Name, next.AuthMethod, next.Redirects,
			next.Grants, next.Responses
		c.AgentText, c.Metadata = next.AgentText, next.Metadata
		if limitedUsers && !c.alwaysWithUser() {
			c.Scope = nil // without users it would be what the client itself may do
		}
		return nil
	})
	return c, clear, err
}

// Document returns the client information response (RFC 7591 section 3.2.1). The parameters are the client secret in
// clear, the registration access token and the client configuration URI; members for empty parameters are omitted.
func (c *Client) Document(clear, token, manage string) map[string]any {
	var d map[string]any
	if err := json.Unmarshal([]byte(kernel.JSON(c.Metadata)), &d); err != nil {
		panic(err) // Metadata is a JSON object
	}
	d["client_id"], d["client_id_issued_at"] = c.ID, c.IssuedAt.Unix()
	d["client_name"], d["token_endpoint_auth_method"] = c.Name, c.AuthMethod
	d["redirect_uris"], d["grant_types"], d["response_types"] = list(c.Redirects), list(c.Grants), list(c.Responses)
	if c.Name == "" {
		delete(d, "client_name")
	}
	if c.Agent {
		d["agent"] = true
		if c.AgentText != "" {
			d["agent_description"] = c.AgentText
		}
	}
	if len(c.Scope) > 0 {
		d["scope"] = strings.Join(c.Scope, " ")
	}
	if clear != "" {
		d["client_secret"], d["client_secret_expires_at"] = clear, 0
	}
	if token != "" {
		d["registration_access_token"] = token
	}
	if manage != "" {
		d["registration_client_uri"] = manage
	}
	return d
}

// list returns words, or an empty list in place of nil, which would be null in JSON.
func list(words []string) []string {
	if words == nil {
		return []string{}
	}
	return words
}

// modeSetting is the name of the setting in authserver_settings that overrides Options.Mode.
const modeSetting = "dcr.mode"

// Mode returns the mode of dynamic registration: the mode that an administrator has set, or Options.Mode.
func (cs *Clients) Mode(ctx context.Context) (string, error) { return cs.modes.Get(ctx, "") }

// readMode loads the mode for the cache.
func (cs *Clients) readMode(ctx context.Context, _ string) (string, error) {
	return kernel.Read(ctx, cs.Server, func(c store.Conn) (string, error) {
		return cs.modeIn(c)
	})
}

// modeIn returns the mode that is stored, or Options.Mode.
func (cs *Clients) modeIn(c store.Conn) (mode string, err error) {
	err = c.Row("SELECT value FROM authserver_settings WHERE name = ?", modeSetting).Scan(&mode)
	if errors.Is(err, sql.ErrNoRows) {
		mode, err = cs.options.Mode, nil
	}
	if mode == "" {
		mode = AdminOnly
	}
	return mode, err
}

// SetMode sets the mode of dynamic registration. An empty mode restores Options.Mode. SetMode first calls each function
// of checks with the current mode. If one returns an error, the mode is not changed.
func (cs *Clients) SetMode(ctx context.Context, mode string, checks ...func(current string) error) error {
	if !slices.Contains([]string{Open, ApprovedRedirects, AdminOnly, ""}, mode) {
		return apierror.New(http.StatusBadRequest, "invalid_value",
			"mode must be open, approved_redirects or admin_only").With("mode")
	}
	return cs.Change(ctx, "settings", modeSetting, func(c store.Conn) error {
		current, err := cs.modeIn(c)
		if err != nil {
			return err
		}
		if err := kernel.Allow(checks, current); err != nil {
			return err
		}
		if mode == "" {
			_, err := c.Exec("DELETE FROM authserver_settings WHERE name = ?", modeSetting)
			return err
		}
		_, err = c.Exec("INSERT INTO authserver_settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", modeSetting, mode)
		return err
	})
}

// digest returns one hash for several texts. It hashes the length of each text before the text. Different lists of
// texts therefore have different hashes, even if their texts would be equal when joined.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write([]byte(strconv.Itoa(len(text)) + " " + text))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Agents returns the active clients that are agents, up to limit.
func (cs *Clients) Agents(ctx context.Context, limit int) ([]*Client, error) {
	return kernel.Read(ctx, cs.Server, func(c store.Conn) ([]*Client, error) {
		return store.List(c, scan, "SELECT "+
			columns+" FROM authserver_clients WHERE agent = 1 AND status = ? ORDER BY issued_at, id LIMIT ?", Active, limit)
	})
}
