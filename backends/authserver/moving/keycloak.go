package moving

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

// keycloakBuiltInClients are the built-in clients of a realm.
var keycloakBuiltInClients = []string{
	"account", "account-console", "admin-cli", "broker", "realm-management",
	"security-admin-console",
}

// Keycloak implements Reader for the export of a realm (kc.sh export, or the realm's partial export with secrets): the
// arrays "clients", "groups" and "users" of one object. Other files of an export, such as realm-users-0.json, contain
// only the array "users".
//
// Composite roles and the issuers of identity providers may be anywhere in the file. If the file is an io.Seeker,
// Keycloak reads them first. Otherwise they only apply to the users that follow them.
func Keycloak(file io.Reader, fn func(Record) error) error {
	realm := newKeycloakRealm()
	if seeker, ok := file.(io.Seeker); ok {
		if start, err := seeker.Seek(0, io.SeekCurrent); err == nil { // not a pipe
			// An error is ignored here, since the second reading below returns it too, after the records that precede it.
			_ = readTopLevel(file, realm.memberReaders())
			if _, err := seeker.Seek(start, io.SeekStart); err != nil {
				return err
			}
		}
	}
	readers := realm.memberReaders()
	readers["clients"] = func(d *json.Decoder) error {
		return readArray(d, func(i int, raw json.RawMessage) error {
			var c keycloakClient
			if err := json.Unmarshal(raw, &c); err != nil {
				return fn(Record{Where: fmt.Sprintf("clients[%d]", i), Refused: err.Error()})
			}
			r := c.record()
			r.Where = fmt.Sprintf("clients[%d] %s", i, c.ID)
			return fn(r)
		})
	}
	readers["groups"] = func(d *json.Decoder) error {
		return readArray(d, func(_ int, raw json.RawMessage) error { return realm.readGroup(raw, fn) })
	}
	readers["users"] = func(d *json.Decoder) error {
		return readArray(d, func(i int, raw json.RawMessage) error {
			var u keycloakUser
			if err := json.Unmarshal(raw, &u); err != nil {
				return fn(Record{Where: fmt.Sprintf("users[%d]", i), Refused: err.Error()})
			}
			r := u.record(realm)
			r.Where = fmt.Sprintf("users[%d] %s", i, u.Username)
			return fn(r)
		})
	}
	return readTopLevel(file, readers)
}

// keycloakClient is Keycloak's ClientRepresentation.
type keycloakClient struct {
	ID            string            `json:"clientId"`
	Name          string            `json:"name"`
	Secret        string            `json:"secret"`
	Enabled       *bool             `json:"enabled"`
	Protocol      string            `json:"protocol"`
	Public        bool              `json:"publicClient"`
	BearerOnly    bool              `json:"bearerOnly"`
	Authenticator string            `json:"clientAuthenticatorType"`
	RootURL       string            `json:"rootUrl"`
	Redirects     []string          `json:"redirectUris"`
	Standard      *bool             `json:"standardFlowEnabled"`
	Service       bool              `json:"serviceAccountsEnabled"`
	Direct        bool              `json:"directAccessGrantsEnabled"`
	Implicit      bool              `json:"implicitFlowEnabled"`
	Attributes    map[string]string `json:"attributes"`
	Scopes        []string          `json:"defaultClientScopes"`
	Mappers       []keycloakMapper  `json:"protocolMappers"`
}

// record returns the record for the client, without Record.Where.
func (c *keycloakClient) record() (r Record) {
	if r.Skip, r.Refused = c.exclusion(); r.Skip+r.Refused != "" {
		return r
	}
	client := &Client{Given: clients.Given{ID: c.ID, Secret: c.Secret}}
	client.Name = c.Name
	client.AuthMethod = clients.MethodBasic
	switch {
	case c.Public:
		client.AuthMethod, client.Secret = clients.MethodNone, ""
	case c.Authenticator == "client-jwt":
		client.AuthMethod, client.Secret = clients.MethodKey, ""
		if client.Metadata.JWKSURI = c.Attributes["jwks.url"]; client.Metadata.JWKSURI == "" {
			client.Metadata.JWKS = clients.RawJSON(c.Attributes["jwks.string"])
		}
	}
	if c.Standard == nil || *c.Standard {
		client.Grants, client.Responses = []string{clients.GrantCode, clients.GrantRefresh}, []string{"code"}
	}
	if c.Service && !c.Public {
		client.Grants = append(client.Grants, clients.GrantClient)
	}
	if c.Attributes["oauth2.device.authorization.grant.enabled"] == "true" {
		client.Grants = append(client.Grants, clients.GrantDevice)
	}
	uris, redirectNotes := c.redirects()
	client.Redirects = uris
	for uri := range strings.SplitSeq(c.Attributes["post.logout.redirect.uris"], "##") {
		if uri != "" && uri != "+" && uri != "-" && !strings.Contains(uri, "*") { // "+": the redirect URIs; "-": none
			client.Metadata.Logout = append(client.Metadata.Logout, uri)
		}
	}
	client.Metadata.BackchannelLogout = c.Attributes["backchannel.logout.url"]
	rules, claimNotes := c.claims()
	client.Metadata.Claims = rules
	r.Client, r.Notes = client, slices.Concat(c.notes(), redirectNotes, claimNotes)
	return r
}

// exclusion returns the reason why the client is skipped, or else the reason why it cannot be imported. Both are empty
// for a client to be imported.
func (c *keycloakClient) exclusion() (skip, refused string) {
	switch {
	case slices.Contains(keycloakBuiltInClients, c.ID) || strings.HasSuffix(c.ID, "-realm"):
		return "it is a built-in client of Keycloak", ""
	case c.Protocol != "" && c.Protocol != "openid-connect":
		return "its protocol is " + c.Protocol, ""
	case c.BearerOnly:
		return "it is a resource server, which does not need a client", ""
	case c.Enabled != nil && !*c.Enabled:
		return "it is disabled", ""
	case c.ID == "":
		return "", "it has no clientId"
	case c.Secret == "" && !c.Public && c.Authenticator != "client-jwt":
		return "", "its secret is not in the file: export the realm with kc.sh export, which includes secrets"
	case strings.HasPrefix(c.Secret, "**"):
		return "", "its secret is masked in the file: export the realm with kc.sh export, which includes secrets"
	case c.Authenticator != "" && c.Authenticator != "client-secret" && c.Authenticator != "client-jwt" && !c.Public:
		return "", "its client authentication " + c.Authenticator + " is not supported"
	}
	return "", ""
}

// redirects returns the redirect URIs of the client, and notes about those that are left out.
func (c *keycloakClient) redirects() (uris, notes []string) {
	for _, uri := range c.Redirects {
		if strings.HasPrefix(uri, "/") {
			uri = strings.TrimSuffix(c.RootURL, "/") + uri
		}
		if strings.Contains(uri, "*") {
			notes = append(notes, "left out the redirect URI "+strconv.Quote(uri)+
				": patterns are not supported; list each URI")
			continue
		}
		uris = append(uris, uri)
	}
	return uris, notes
}

// notes returns notes about the features of the client in Keycloak that this server does not have.
func (c *keycloakClient) notes() (notes []string) {
	if c.Direct {
		notes = append(notes, "left out the password grant, which OAuth 2.1 has removed")
	}
	if c.Implicit {
		notes = append(notes, "left out the implicit grant, which OAuth 2.1 has removed")
	}
	return notes
}

// keycloakUser is Keycloak's UserRepresentation.
type keycloakUser struct {
	ID          string               `json:"id"`
	Username    string               `json:"username"`
	Email       string               `json:"email"`
	Verified    bool                 `json:"emailVerified"`
	First       string               `json:"firstName"`
	Last        string               `json:"lastName"`
	Enabled     *bool                `json:"enabled"`
	Service     string               `json:"serviceAccountClientId"`
	Groups      []string             `json:"groups"`
	Roles       []string             `json:"realmRoles"`
	ClientRoles map[string][]string  `json:"clientRoles"`
	Attributes  map[string][]string  `json:"attributes"`
	Credentials []keycloakCredential `json:"credentials"`
	Links       []keycloakLink       `json:"federatedIdentities"`
}

// keycloakSecurityKey is the type of a security key that is used after the password. Such a key is bound to the host
// and cannot be imported.
const keycloakSecurityKey = "webauthn"

// keycloakCredential is Keycloak's CredentialRepresentation. The fields SecretData and CredentialData contain JSON.
type keycloakCredential struct {
	Type   string `json:"type"`
	Secret string `json:"secretData"`
	Data   string `json:"credentialData"`
}

// record returns the record for the user, without Record.Where.
func (u *keycloakUser) record(realm *keycloakRealm) (r Record) {
	email := u.Email
	if email == "" && strings.Contains(u.Username, "@") {
		email = u.Username
	}
	switch {
	case u.Service != "":
		return Record{Skip: "it is the service account of " + u.Service}
	case email == "":
		return Record{Refused: "the user has no mail address, which is needed to sign in"}
	}
	user := new(User)
	user.New = users.New{
		Disabled: u.Enabled != nil && !*u.Enabled, ID: u.ID, Email: email, EmailVerified: u.Verified,
		Name: strings.TrimSpace(u.First + " " + u.Last),
	}
	for _, group := range u.Groups {
		user.Groups = append(user.Groups, strings.TrimPrefix(group, "/"))
	}
	var incomplete bool
	if user.Given.Roles, incomplete = realm.rolesOf(u.Roles, u.ClientRoles); incomplete {
		r.Notes = append(r.Notes, noteIncompleteRoles)
	}
	for _, name := range slices.Sorted(maps.Keys(u.Attributes)) {
		if fault := claims.AttributeFault(name, u.Attributes[name]); fault != "" {
			r.Notes = append(r.Notes, "left out an attribute: "+fault)
			continue
		}
		if user.Given.Attributes == nil {
			user.Given.Attributes = make(map[string][]string)
		}
		user.Given.Attributes[name] = u.Attributes[name]
	}
	for _, link := range u.Links {
		issuer := realm.issuers[link.Provider]
		if issuer == "" || link.Subject == "" {
			r.Notes = append(r.Notes, "left out the link to "+link.Provider+
				": its issuer or subject is not in the file; the user must connect the account again")
			continue
		}
		user.Links = append(user.Links, upstreams.Link{Issuer: issuer, Subject: link.Subject, Username: link.Username})
	}
	credentialNotes, err := u.readCredentials(user)
	if err != nil {
		return Record{Refused: err.Error()}
	}
	r.User, r.Notes = user, append(r.Notes, credentialNotes...)
	return r
}

// readCredentials sets the password and the authenticator apps of the imported user, and returns notes about
// credentials that are left out. The error is the reason why the user cannot be imported.
func (u *keycloakUser) readCredentials(user *User) (notes []string, err error) {
	hasSecurityKey := false
	for _, c := range u.Credentials {
		switch c.Type {
		case "password":
			if user.Hash, err = c.password(); err != nil {
				return nil, fmt.Errorf("the password cannot be imported: %w", err)
			}
		case "otp":
			secret, err := c.otp()
			if err != nil {
				return nil, fmt.Errorf("the authenticator app cannot be imported: %w", err)
			}
			user.Apps = append(user.Apps, secret)
		default:
			hasSecurityKey = hasSecurityKey || c.Type == keycloakSecurityKey
			notes = append(notes, "left out a credential of the type "+c.Type)
		}
	}
	if hasSecurityKey && len(user.Apps) == 0 && user.Hash != "" {
		user.Hash = ""
		notes = append(notes, "left out the password, since the user could sign in with it without the security key,"+
			" which cannot be imported; the user must choose a new password by mail")
	}
	return notes, nil
}

// keycloakHash describes how a password was hashed; it is the content of credentialData.
type keycloakHash struct {
	Iterations int                 `json:"hashIterations"`
	Algorithm  string              `json:"algorithm"`
	More       map[string][]string `json:"additionalParameters"`
}

// number returns the additional parameter called name if it is a number from 1 to limit, and otherwise 0.
func (h *keycloakHash) number(name string, limit int) int {
	if len(h.More[name]) != 1 {
		return 0
	}
	n, err := strconv.Atoi(h.More[name][0])
	if err != nil || n < 1 || n > limit {
		return 0
	}
	return n
}

// password returns the hash of a password credential in a form that password.Known accepts.
func (c *keycloakCredential) password() (string, error) {
	var secret struct {
		Value string `json:"value"`
		Salt  string `json:"salt"`
	}
	var data keycloakHash
	if err := c.unmarshal(&secret, &data); err != nil {
		return "", err
	}
	sum, err := base64.StdEncoding.DecodeString(secret.Value)
	if err != nil {
		return "", fmt.Errorf("its value is not base64: %w", err)
	}
	salt, err := base64.StdEncoding.DecodeString(secret.Salt)
	if err != nil {
		return "", fmt.Errorf("its salt is not base64: %w", err)
	}
	var hash string
	switch data.Algorithm {
	case "pbkdf2":
		hash = password.PBKDF2("sha1", data.Iterations, salt, sum)
	case "pbkdf2-sha256", "pbkdf2-sha512":
		hash = password.PBKDF2(strings.TrimPrefix(data.Algorithm, "pbkdf2-"), data.Iterations, salt, sum)
	case "argon2":
		memory, lanes := data.number("memory", 1<<24), data.number("parallelism", math.MaxUint8)
		if !slices.Equal(data.More["type"], []string{"id"}) || memory == 0 || lanes == 0 ||
			data.Iterations < 1 || data.Iterations > 1<<10 {
			return "", fmt.Errorf("its parameters %v are not those of argon2id", data.More)
		}
		//nolint:gosec // bounded above
		params := password.Params{Memory: uint32(memory), Passes: uint32(data.Iterations), Lanes: uint8(lanes)}
		hash = password.Argon2id(params, salt, sum)
	default:
		return "", fmt.Errorf("its hash algorithm %s is not supported", strconv.Quote(data.Algorithm))
	}
	if !password.Known(hash) {
		return "", fmt.Errorf("its hash is too weak or too costly to check: %s with %d iterations, %d bytes of salt and"+
			" %d bytes of hash", data.Algorithm, data.Iterations, len(salt), len(sum))
	}
	return hash, nil
}

// otp returns the secret of an authenticator app in base32.
func (c *keycloakCredential) otp() (string, error) {
	var secret struct {
		Value string `json:"value"`
	}
	data := struct { // with the defaults of Keycloak
		Type      string `json:"subType"`
		Digits    int    `json:"digits"`
		Period    int    `json:"period"`
		Algorithm string `json:"algorithm"`
		Encoding  string `json:"secretEncoding"`
	}{"totp", 6, 30, "HmacSHA1", ""}
	if err := c.unmarshal(&secret, &data); err != nil {
		return "", err
	}
	if data.Type != "totp" || data.Digits != 6 || data.Period != 30 || data.Algorithm != "HmacSHA1" {
		return "", fmt.Errorf("only totp with 6 digits, HmacSHA1 and a period of 30 s is supported, not %s with %d digits,"+
			" %s and a period of %d s", data.Type, data.Digits, data.Algorithm, data.Period)
	}
	if data.Encoding == "BASE32" { // otherwise the value is the secret as text
		return secret.Value, nil
	}
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(secret.Value)), nil
}

// unmarshal parses secretData and credentialData into secret and data.
func (c *keycloakCredential) unmarshal(secret, data any) error {
	if err := json.Unmarshal([]byte(c.Secret), secret); err != nil {
		return fmt.Errorf("secretData: %w", err)
	}
	if err := json.Unmarshal([]byte(c.Data), data); err != nil {
		return fmt.Errorf("credentialData: %w", err)
	}
	return nil
}
