package tokens

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Audience is the claim aud. In JSON it is a string if it has one element, and otherwise an array.
type Audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *Audience) UnmarshalJSON(text []byte) error {
	return (*resources.Words)(a).UnmarshalJSON(text)
}

// append appends the audience to out as JSON.
func (a Audience) append(out []byte) []byte {
	if len(a) == 1 {
		return jsontext.AppendQuoted(out, a[0])
	}
	return appendList(out, a)
}

// appendList appends a list to out as a JSON array of strings.
func appendList(out []byte, list []string) []byte {
	out = append(out, '[')
	for i, text := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsontext.AppendQuoted(out, text)
	}
	return append(out, ']')
}

// Claims are the claims of an access token (RFC 9068 section 2.2) and the private claims of this server.
type Claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience Audience `json:"aud"`
	Expires  int64    `json:"exp"`
	IssuedAt int64    `json:"iat"`
	ID       string   `json:"jti"`
	Client   string   `json:"client_id"`
	Scope    string   `json:"scope"`
	AuthTime int64    `json:"auth_time"` // zero if no user signed in
	ACR      string   `json:"acr"`       // see ClassOf; empty if unknown
	Confirm  struct {
		JKT string `json:"jkt"` // the thumbprint of the key that the token is bound to (RFC 9449); empty for a bearer token
	} `json:"cnf"`
	Act json.RawMessage `json:"act"` // the client that acts for the subject (RFC 8693 section 4.1)
	// RestsOn lists the ids on which the token depends: if one of them is revoked, the token ends too. They are the jtis
	// of the tokens from which this token was exchanged, and the ids of the consents for that exchange.
	RestsOn []string `json:"rests_on"`
	// Consented is the client at which the user signed in. It is empty unless another client obtained the token by
	// token exchange.
	Consented string `json:"consent_client_id"`
	// Machine is set if the subject is a client and another client obtained the token by exchange.
	Machine bool     `json:"sub_client"`
	Agent   string   `json:"agent_id"`    // the client_id, if the client is registered as an agent
	Chain   []string `json:"agent_chain"` // the clients that took part in the token exchanges, oldest first

	custom []byte // the claims that claim rules added, as JSON members, each with a comma before it
}

// Family returns the id of the token family, or "" for a token without a family. See newJTI.
func (c *Claims) Family() string {
	family, _, found := strings.Cut(c.ID, ".")
	if !found {
		return ""
	}
	return family
}

// Root returns the client at which the user signed in and to which the user gave consent.
func (c *Claims) Root() string { return cmp.Or(c.Consented, c.Client) }

// User returns the id of the user who is the token's subject. It returns "" if the subject is a client or is foreign;
// see Foreign.
func (c *Claims) User() string {
	if c.Subject == c.Client || c.Machine || c.Foreign() {
		return ""
	}
	return c.Subject
}

// Foreign reports whether the subject is a user of an identity provider who has no account here. Such a subject begins
// with the provider's URL. The ids of this server never begin with a URL.
func (c *Claims) Foreign() bool {
	return c.Subject != c.Client && (strings.HasPrefix(c.Subject, "https://") || strings.HasPrefix(c.Subject, "http://"))
}

// append appends the claims to out as a JSON object.
func (c *Claims) append(out []byte) []byte {
	out = jsontext.AppendQuoted(append(out, `{"iss":`...), c.Issuer)
	out = jsontext.AppendQuoted(append(out, `,"sub":`...), c.Subject)
	out = c.Audience.append(append(out, `,"aud":`...))
	out = strconv.AppendInt(append(out, `,"exp":`...), c.Expires, 10)
	out = strconv.AppendInt(append(out, `,"iat":`...), c.IssuedAt, 10)
	out = jsontext.AppendQuoted(append(out, `,"jti":`...), c.ID)
	out = jsontext.AppendQuoted(append(out, `,"client_id":`...), c.Client)
	if c.Scope != "" {
		out = jsontext.AppendQuoted(append(out, `,"scope":`...), c.Scope)
	}
	if c.AuthTime != 0 {
		out = strconv.AppendInt(append(out, `,"auth_time":`...), c.AuthTime, 10)
	}
	if c.ACR != "" {
		out = jsontext.AppendQuoted(append(out, `,"acr":`...), c.ACR)
	}
	if len(c.RestsOn) > 0 {
		out = appendList(append(out, `,"rests_on":`...), c.RestsOn)
	}
	if c.Consented != "" {
		out = jsontext.AppendQuoted(append(out, `,"consent_client_id":`...), c.Consented)
	}
	if c.Machine {
		out = append(out, `,"sub_client":true`...)
	}
	return append(c.appendRareClaims(out), '}')
}

// appendRareClaims appends the claims of bound tokens and of agents, which most tokens do not have.
func (c *Claims) appendRareClaims(out []byte) []byte {
	if c.Confirm.JKT != "" {
		out = append(jsontext.AppendQuoted(append(out, `,"cnf":{"jkt":`...), c.Confirm.JKT), '}')
	}
	if len(c.Act) > 0 {
		out = append(append(out, `,"act":`...), c.Act...)
	}
	if c.Agent != "" {
		out = jsontext.AppendQuoted(append(out, `,"agent_id":`...), c.Agent)
	}
	if len(c.Chain) > 0 {
		out = appendList(append(out, `,"agent_chain":`...), c.Chain)
	}
	return out
}

// Answer is a successful response of the token endpoint. Empty members are left out.
type Answer struct {
	AccessToken string
	JKT         string        // if set, token_type is DPoP, and otherwise Bearer
	ExpiresIn   time.Duration // zero if unknown
	Scope       string
	Refresh     string // refresh_token
	IDToken     string
	IssuedType  string // issued_token_type of a token exchange
}

// AppendJSON appends the response as a JSON object.
func (a *Answer) AppendJSON(out []byte) []byte {
	out = jsontext.AppendQuoted(append(out, `{"access_token":`...), a.AccessToken)
	if a.JKT != "" {
		out = append(out, `,"token_type":"DPoP"`...)
	} else {
		out = append(out, `,"token_type":"Bearer"`...)
	}
	if a.ExpiresIn > 0 {
		out = strconv.AppendInt(append(out, `,"expires_in":`...), int64(a.ExpiresIn/time.Second), 10)
	}
	for _, member := range [...]struct{ name, value string }{
		{"scope", a.Scope}, {"refresh_token", a.Refresh}, {"id_token", a.IDToken}, {"issued_token_type", a.IssuedType},
	} {
		if member.value != "" {
			out = append(append(append(out, `,"`...), member.name...), `":`...)
			out = jsontext.AppendQuoted(out, member.value)
		}
	}
	return append(out, '}')
}

// Order describes an access token to be issued.
type Order struct {
	Client *clients.Client
	// Subject is the id of the user, or the client_id of a client that acts for itself.
	Subject   string
	Scope     []string
	Resources []*resources.Resource // the audience; if it is empty, the audience is the issuer
	Family    string                // empty if the token belongs to no family
	AuthTime  time.Time             // zero if no user signed in
	ACR       string                // the claim acr; may be empty
	JKT       string                // the thumbprint of the key that the token is bound to; empty for a bearer token
	Act       json.RawMessage       // the claim act; may be empty
	Chain     []string              // the claim agent_chain; may be empty
	Life      time.Duration

	// The fields below are set only for a token exchange.
	parent        string   // the jti of the token that was exchanged
	consentClient string   // the client at which the user of that token signed in
	restsOn       []string // the claim rests_on
	machine       bool     // the subject is a client
}

// signAccessToken signs an access token. The caller must pass the returned Issuance, which records the token, to
// queueIssuance.
func (t *Tokens) signAccessToken(ctx context.Context, o Order) (Answer, Issuance, error) {
	now := t.Now()
	c := Claims{
		Issuer: t.Issuer, Subject: o.Subject, Expires: now.Add(o.Life).Unix(), IssuedAt: now.Unix(),
		ID: newJTI(o.Family, now), Client: o.Client.ID, Scope: strings.Join(o.Scope, " "), ACR: o.ACR,
		Act: o.Act, Chain: o.Chain, RestsOn: o.restsOn, Machine: o.machine && o.Subject != o.Client.ID,
	}
	c.Confirm.JKT = o.JKT
	// Consented stays empty if the user signed in at this client, or if the subject is a client.
	if !o.machine && o.consentClient != o.Client.ID {
		c.Consented = o.consentClient
	}
	if !o.AuthTime.IsZero() {
		c.AuthTime = o.AuthTime.Unix()
	}
	if o.Client.Agent {
		c.Agent = o.Client.ID
	}
	resourceIDs := make([]string, 0, len(o.Resources))
	for _, r := range o.Resources {
		resourceIDs = append(resourceIDs, r.ID)
		if r.URI != "" {
			c.Audience = append(c.Audience, r.URI)
		}
	}
	if c.Audience == nil {
		c.Audience = Audience{t.Issuer}
	}
	custom, err := t.customClaims(ctx, &c, o)
	if err != nil {
		return Answer{}, Issuance{}, fmt.Errorf("making the claims of an access token: %w", err)
	}
	payload := custom.Append(c.append(make([]byte, 0, 512)))
	signed, err := t.options.Keys.Sign(ctx, keys.AccessToken, payload)
	if err != nil {
		return Answer{}, Issuance{}, fmt.Errorf("signing an access token: %w", err)
	}
	issued := Issuance{
		JTI: c.ID, Family: o.Family, User: issuanceUser(&c), Client: c.Client,
		Resource: strings.Join(resourceIDs, " "), Scope: c.Scope,
		Kind: resources.Mint, Parent: o.parent, ConsentClient: o.consentClient,
		JKT: o.JKT, Agent: c.Agent, Chain: strings.Join(o.Chain, " "),
		IssuedAt: now, ExpiresAt: time.Unix(c.Expires, 0),
	}
	return Answer{AccessToken: signed, JKT: o.JKT, ExpiresIn: o.Life, Scope: c.Scope}, issued, nil
}

// issuanceUser returns the subject of a token if it is a user, including a foreign one (see Claims.Foreign), and
// otherwise "".
func issuanceUser(c *Claims) string {
	if c.Foreign() {
		return c.Subject
	}
	return c.User()
}

// newJTI returns a new id of an access token. If family is not empty, the id begins with the family and a dot.
func newJTI(family string, now time.Time) string {
	id := kernel.NewIDAt(now)
	if family == "" {
		return id
	}
	return family + "." + id
}

// Machine issues an access token to a client that acts for itself, by the client credentials grant (RFC 6749 section
// 4.4). If jkt is not empty, the token is bound to the key with that thumbprint.
func (t *Tokens) Machine(
	ctx context.Context, c *clients.Client, scope []string, targets []*resources.Resource, jkt string,
) (Answer, error) {
	answer, issued, err := t.signAccessToken(ctx, Order{
		Client: c, Subject: c.ID, Scope: scope, Resources: targets, JKT: jkt,
		Life: t.options.ClientLife,
	})
	if err != nil {
		return answer, err
	}
	t.Count("tokens_issued_total", clients.GrantClient)
	t.queueIssuance(ctx, issued)
	return answer, nil
}

// Assert issues an access token for another server's assertion (RFC 7523 section 2.1). It calls spend to use up the
// assertion, and returns the error of spend instead of a token.
func (t *Tokens) Assert(ctx context.Context, o Order, spend func() error) (Answer, error) {
	answer, issued, err := t.signAccessToken(ctx, o)
	if err != nil {
		return Answer{}, err
	}
	if err := spend(); err != nil {
		return Answer{}, err
	}
	t.Count("tokens_issued_total", clients.GrantJWT)
	t.queueIssuance(ctx, issued)
	return answer, nil
}

// verify checks the signature, the issuer and the expiry of a token. It does not check what can change before the
// expiry, such as whether the token is revoked, since t.verified caches its results. It returns the claims, their
// approximate size in bytes and the expiry.
func (t *Tokens) verify(ctx context.Context, text string) (*Claims, int64, time.Time, error) {
	raw, err := t.options.Keys.Verify(ctx, keys.AccessToken, text)
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	c := new(Claims)
	if err := json.Unmarshal(raw, c); err != nil || c.Issuer != t.Issuer {
		return nil, 0, time.Time{}, keys.ErrToken
	}
	expiry := time.Unix(c.Expires, 0)
	if !t.Now().Before(expiry) {
		return nil, 0, time.Time{}, keys.ErrToken
	}
	c.custom = c.customMembers(raw)
	const structSize = 400 // the approximate size of Claims without the texts
	return c, int64(len(raw)+len(c.custom)) + structSize, expiry, nil
}

// Live returns the claims and the user of a valid access token. A token is valid if this server issued it, it is
// neither expired nor revoked, and its client and its user are active. If the subject is a client or a foreign user,
// u is the zero User. For an invalid token, ok is false. An error means that the database does not answer.
func (t *Tokens) Live(ctx context.Context, text string) (c *Claims, u User, ok bool, err error) {
	c, err = t.verified.Verify(ctx, text)
	if err != nil {
		return nil, u, false, ignoreUnknown(err)
	}
	if revoked, err := t.denied.has(ctx, c.ID, c.Family()); revoked || err != nil {
		return nil, u, false, err
	}
	if len(c.RestsOn) > 0 {
		if revoked, err := t.denied.has(ctx, c.RestsOn...); revoked || err != nil {
			return nil, u, false, err
		}
	}
	if active, err := t.activeClients(ctx, c); err != nil || !active {
		return nil, u, false, err
	}
	if id := c.User(); id != "" {
		if u, err = t.users.Get(ctx, id); err != nil || !u.Active {
			return nil, u, false, err
		}
	}
	return c, u, true, nil
}

// activeClients reports whether the client of a token is active. If the subject is another client, that must be active
// too.
func (t *Tokens) activeClients(ctx context.Context, c *Claims) (bool, error) {
	ids := []string{c.Client}
	if c.Machine {
		ids = append(ids, c.Subject)
	}
	for _, id := range ids {
		if client, err := t.options.Clients.Find(ctx, id); err != nil || !client.Active() {
			return false, ignoreUnknown(err)
		}
	}
	return true, nil
}

// appendIntrospection appends the introspection response of an active token (RFC 7662 section 2.2). The username may be
// empty.
func (c *Claims) appendIntrospection(out []byte, username string) []byte {
	out = append(out, `{"active":true`...)
	if c.Scope != "" {
		out = jsontext.AppendQuoted(append(out, `,"scope":`...), c.Scope)
	}
	out = jsontext.AppendQuoted(append(out, `,"client_id":`...), c.Client)
	out = jsontext.AppendQuoted(append(out, `,"sub":`...), c.Subject)
	out = c.Audience.append(append(out, `,"aud":`...))
	out = jsontext.AppendQuoted(append(out, `,"iss":`...), c.Issuer)
	out = strconv.AppendInt(append(out, `,"exp":`...), c.Expires, 10)
	out = strconv.AppendInt(append(out, `,"iat":`...), c.IssuedAt, 10)
	out = jsontext.AppendQuoted(append(out, `,"jti":`...), c.ID)
	if c.Confirm.JKT != "" {
		out = append(out, `,"token_type":"DPoP"`...)
	} else {
		out = append(out, `,"token_type":"Bearer"`...)
	}
	if c.AuthTime != 0 { // RFC 9470 section 6.2
		out = strconv.AppendInt(append(out, `,"auth_time":`...), c.AuthTime, 10)
	}
	if c.ACR != "" {
		out = jsontext.AppendQuoted(append(out, `,"acr":`...), c.ACR)
	}
	out = c.appendRareClaims(out)
	if username != "" {
		out = jsontext.AppendQuoted(append(out, `,"username":`...), username)
	}
	return append(append(out, c.custom...), '}')
}

// appendRefresh appends the introspection response of an active refresh token. The expiry is in seconds since 1970.
func appendRefresh(out []byte, client, scope string, expires int64) []byte {
	out = jsontext.AppendQuoted(append(out, `{"active":true,"client_id":`...), client)
	if scope != "" {
		out = jsontext.AppendQuoted(append(out, `,"scope":`...), scope)
	}
	out = strconv.AppendInt(append(out, `,"exp":`...), expires, 10)
	return append(out, `,"token_type":"refresh_token"}`...)
}
