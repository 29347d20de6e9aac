package moving

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

// keycloakOwn are the built-in clients of a realm.
var keycloakOwn = []string{
	"account", "account-console", "admin-cli", "broker", "realm-management",
	"security-admin-console",
}

// Keycloak reads the export of a realm (kc.sh export, or the realm's partial export with secrets): the arrays
// "clients", "groups" and "users" of one object. Other files of an export, such as realm-users-0.json, contain only the
// array "users".
//
// Composite roles and the issuers of identity providers may be anywhere in the file. If the file is an io.Seeker,
// Keycloak reads them first. Otherwise they only apply to the users that follow them.
func Keycloak(file io.Reader, each func(Record) error) error {
	realm := newKeycloakRealm()
	if seeker, ok := file.(io.Seeker); ok {
		if start, err := seeker.Seek(0, io.SeekCurrent); err == nil { // not a pipe
			_ = members(file, realm.parts()) // an error is found again below, after the records before it
			if _, err := seeker.Seek(start, io.SeekStart); err != nil {
				return err
			}
		}
	}
	parts := realm.parts()
	parts["clients"] = func(d *json.Decoder) error {
		return elements(d, func(i int, raw json.RawMessage) error {
			var c keycloakClient
			if err := json.Unmarshal(raw, &c); err != nil {
				return each(Record{Where: fmt.Sprintf("clients[%d]", i), Refused: err.Error()})
			}
			r := c.record()
			r.Where = fmt.Sprintf("clients[%d] %s", i, c.ID)
			return each(r)
		})
	}
	parts["groups"] = func(d *json.Decoder) error {
		return elements(d, func(_ int, raw json.RawMessage) error { return realm.groups(raw, each) })
	}
	parts["users"] = func(d *json.Decoder) error {
		return elements(d, func(i int, raw json.RawMessage) error {
			var u keycloakUser
			if err := json.Unmarshal(raw, &u); err != nil {
				return each(Record{Where: fmt.Sprintf("users[%d]", i), Refused: err.Error()})
			}
			r := u.record(realm)
			r.Where = fmt.Sprintf("users[%d] %s", i, u.Username)
			return each(r)
		})
	}
	return members(file, parts)
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

func (c *keycloakClient) record() (r Record) {
	switch {
	case slices.Contains(keycloakOwn, c.ID) || strings.HasSuffix(c.ID, "-realm"):
		r.Skip = "it came with Keycloak"
	case c.Protocol != "" && c.Protocol != "openid-connect":
		r.Skip = "its protocol is " + c.Protocol
	case c.BearerOnly:
		r.Skip = "it is a resource server, which needs no client here"
	case c.Enabled != nil && !*c.Enabled:
		r.Skip = "it is disabled"
	case c.ID == "":
		r.Refused = "it has no clientId"
	case c.Secret == "" && !c.Public && c.Authenticator != "client-jwt":
		r.Refused = "its secret is not in the file: export the realm by kc.sh export, which has it"
	case strings.HasPrefix(c.Secret, "**"):
		r.Refused = "its secret is masked: export the realm by kc.sh export, which has it"
	case c.Authenticator != "" && c.Authenticator != "client-secret" && c.Authenticator != "client-jwt" && !c.Public:
		r.Refused = "it authenticates by " + c.Authenticator + ", which there is not here"
	}
	if r.Skip+r.Refused != "" {
		return r
	}
	one := &Client{Given: clients.Given{ID: c.ID, Secret: c.Secret}}
	one.Name = c.Name
	one.AuthMethod = clients.MethodBasic
	switch {
	case c.Public:
		one.AuthMethod, one.Secret = clients.MethodNone, ""
	case c.Authenticator == "client-jwt":
		one.AuthMethod, one.Secret = clients.MethodKey, ""
		if one.Metadata.JWKSURI = c.Attributes["jwks.url"]; one.Metadata.JWKSURI == "" {
			one.Metadata.JWKS = clients.RawJSON(c.Attributes["jwks.string"])
		}
	}
	if c.Standard == nil || *c.Standard {
		one.Grants, one.Responses = []string{clients.GrantCode, clients.GrantRefresh}, []string{"code"}
	}
	if c.Service && !c.Public {
		one.Grants = append(one.Grants, clients.GrantClient)
	}
	if c.Attributes["oauth2.device.authorization.grant.enabled"] == "true" {
		one.Grants = append(one.Grants, clients.GrantDevice)
	}
	r.Notes = c.notes()
	for _, uri := range c.Redirects {
		if strings.HasPrefix(uri, "/") {
			uri = strings.TrimSuffix(c.RootURL, "/") + uri
		}
		if strings.Contains(uri, "*") {
			r.Notes = append(r.Notes, "left out the redirect URI "+strconv.Quote(uri)+
				": patterns are not taken here, name each address")
			continue
		}
		one.Redirects = append(one.Redirects, uri)
	}
	for uri := range strings.SplitSeq(c.Attributes["post.logout.redirect.uris"], "##") {
		if uri != "" && uri != "+" && uri != "-" && !strings.Contains(uri, "*") {
			one.Metadata.Logout = append(one.Metadata.Logout, uri)
		}
	}
	one.Metadata.BackchannelLogout = c.Attributes["backchannel.logout.url"]
	var notes []string
	one.Metadata.Claims, notes = c.claims()
	r.Notes = append(r.Notes, notes...)
	r.Client = one
	return r
}

// notes returns the features of the client in Keycloak that this server does not have.
func (c *keycloakClient) notes() (notes []string) {
	if c.Direct {
		notes = append(notes, "left out the password grant, which OAuth 2.1 has no more")
	}
	if c.Implicit {
		notes = append(notes, "left out the implicit grant, which OAuth 2.1 has no more")
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

// keycloakKey is the type of a security key that is used after the password. Such a key is bound to the host and cannot
// be imported.
const keycloakKey = "webauthn"

// keycloakCredential is Keycloak's CredentialRepresentation. The fields SecretData and CredentialData contain JSON.
type keycloakCredential struct {
	Type   string `json:"type"`
	Secret string `json:"secretData"`
	Data   string `json:"credentialData"`
}

func (u *keycloakUser) record(realm *keycloakRealm) (r Record) {
	email := u.Email
	if email == "" && strings.Contains(u.Username, "@") {
		email = u.Username
	}
	switch {
	case u.Service != "":
		return Record{Skip: "it is the service account of " + u.Service}
	case email == "":
		return Record{Refused: "the user has no mail address, by which people sign in here"}
	}
	one := new(User)
	one.New = users.New{
		Disabled: u.Enabled != nil && !*u.Enabled, ID: u.ID, Email: email, EmailVerified: u.Verified,
		Name: strings.TrimSpace(u.First + " " + u.Last),
	}
	for _, group := range u.Groups {
		one.Groups = append(one.Groups, strings.TrimPrefix(group, "/"))
	}
	var incomplete bool
	if one.Given.Roles, incomplete = realm.rolesOf(u.Roles, u.ClientRoles); incomplete {
		r.Notes = append(r.Notes, "took the roles as they are: which roles they consist of is not before them in the file")
	}
	for _, name := range slices.Sorted(maps.Keys(u.Attributes)) {
		if fault := claims.AttributeFault(name, u.Attributes[name]); fault != "" {
			r.Notes = append(r.Notes, "left out an attribute: "+fault)
			continue
		}
		if one.Given.Attributes == nil {
			one.Given.Attributes = make(map[string][]string)
		}
		one.Given.Attributes[name] = u.Attributes[name]
	}
	for _, link := range u.Links {
		issuer := realm.issuers[link.Provider]
		if issuer == "" || link.Subject == "" {
			r.Notes = append(r.Notes, "left out the link to "+link.Provider+": the user signs in there once more")
			continue
		}
		one.Links = append(one.Links, upstreams.Link{Issuer: issuer, Subject: link.Subject, Username: link.Username})
	}
	key := false
	for _, c := range u.Credentials {
		key = key || c.Type == keycloakKey
		switch c.Type {
		case "password":
			hash, err := c.password()
			if err != nil {
				return Record{Refused: "the password: " + err.Error()}
			}
			one.Hash = hash
		case "otp":
			secret, err := c.otp()
			if err != nil {
				return Record{Refused: "the authenticator app: " + err.Error()}
			}
			one.Apps = append(one.Apps, secret)
		default:
			r.Notes = append(r.Notes, "left out a credential of the type "+c.Type)
		}
	}
	if key && len(one.Apps) == 0 && one.Hash != "" {
		one.Hash = ""
		r.Notes = append(r.Notes, "left out the password, which would sign in without the security key: the user chooses another one by mail")
	}
	r.User = one
	return r
}

// password returns the stored form of a password credential.
func (c *keycloakCredential) password() (string, error) {
	var secret struct {
		Value string `json:"value"`
		Salt  string `json:"salt"`
	}
	var data struct {
		Iterations int                 `json:"hashIterations"`
		Algorithm  string              `json:"algorithm"`
		More       map[string][]string `json:"additionalParameters"`
	}
	if err := unmarshalBoth(c, &secret, &data); err != nil {
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
		number := func(name string) int {
			if len(data.More[name]) != 1 {
				return -1
			}
			n, err := strconv.Atoi(data.More[name][0])
			if err != nil || n < 1 || n > 1<<24 {
				return -1
			}
			return n
		}
		memory, lanes := number("memory"), number("parallelism")
		if !slices.Equal(data.More["type"], []string{"id"}) || memory < 0 || lanes < 0 || lanes > 255 ||
			data.Iterations < 1 || data.Iterations > 1<<10 {
			return "", fmt.Errorf("its parameters %v are not those of argon2id", data.More)
		}
		hash = password.Argon2id(password.Params{Memory: uint32(memory), Passes: uint32(data.Iterations), Lanes: uint8(lanes)}, salt, sum) //nolint:gosec // bounded above
	default:
		return "", fmt.Errorf("it is hashed by %s, which is not known here", strconv.Quote(data.Algorithm))
	}
	if !password.Known(hash) {
		return "", fmt.Errorf("%d iterations of %s, with %d bytes of salt and %d of hash, are weaker or cost more than is taken here", data.Iterations, data.Algorithm, len(salt), len(sum))
	}
	return hash, nil
}

// otp returns the secret of an authenticator app in base32.
func (c *keycloakCredential) otp() (string, error) {
	var secret struct {
		Value string `json:"value"`
	}
	data := struct {
		Type      string `json:"subType"`
		Digits    int    `json:"digits"`
		Period    int    `json:"period"`
		Algorithm string `json:"algorithm"`
		Encoding  string `json:"secretEncoding"`
	}{"totp", 6, 30, "HmacSHA1", ""}
	if err := unmarshalBoth(c, &secret, &data); err != nil {
		return "", err
	}
	if data.Type != "totp" || data.Digits != 6 || data.Period != 30 || data.Algorithm != "HmacSHA1" {
		return "", fmt.Errorf("%d digits of %s by %s every %d seconds are not taken here, but six of HmacSHA1 every 30",
			data.Digits, data.Type, data.Algorithm, data.Period)
	}
	if data.Encoding == "BASE32" {
		return secret.Value, nil
	}
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(secret.Value)), nil
}

func unmarshalBoth(c *keycloakCredential, secret, data any) error {
	if err := json.Unmarshal([]byte(c.Secret), secret); err != nil {
		return fmt.Errorf("secretData: %w", err)
	}
	if err := json.Unmarshal([]byte(c.Data), data); err != nil {
		return fmt.Errorf("credentialData: %w", err)
	}
	return nil
}
