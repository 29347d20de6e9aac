package tokens

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Grant is a user's authorization of a client, with the conditions for redeeming its code.
type Grant struct {
	Client string `json:"-"` // client_id
	User   string `json:"-"` // sub
	// Scope is the granted scope, including scopes such as openid.
	Scope []string `json:"scope,omitempty"`
	// Resources are the ids of the resources that the token is for. If it is empty, the token is for this server.
	Resources []string `json:"resources,omitempty"`
	// Consents are the ids of the consents (authserver_consents) that the grant depends on. If one of them was revoked
	// before the code is redeemed, no tokens are issued.
	Consents []string `json:"consents,omitempty"`
	// RedirectURI is the redirect URI to which the code was sent. RedirectGiven is set if the authorization request
	// contained the URI, so that the token request must contain it too.
	RedirectURI   string `json:"redirect_uri,omitempty"`
	RedirectGiven bool   `json:"redirect_given,omitempty"`
	// Challenge is the PKCE code_challenge, with the method S256.
	Challenge string `json:"challenge,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	// AuthTime is the time at which the user signed in.
	AuthTime time.Time `json:"auth_time"`
	// Methods are the authentication methods of the sign-in (amr, RFC 8176). It is empty if they are unknown.
	Methods []string `json:"amr,omitempty"`
	// JKT is the thumbprint of the key that the code is bound to (dpop_jkt). Later it is the key that a public client's
	// refresh tokens are bound to. If it is empty, there is no binding.
	JKT string `json:"jkt,omitempty"`
	// Session is the id of the login session in which the user authorized the client, or zero.
	Session int64 `json:"session,omitempty"`

	// Key is the key of the MAC in the refresh tokens of the family. It is empty before the code is redeemed.
	Key []byte `json:"key,omitempty"`
}

const (
	// codeMemory is how long a code is stored after its expiry, so that reuse is detected.
	codeMemory = time.Hour
	// codeFailures is the number of wrong code verifiers after which a code is invalid.
	codeFailures = 5
)

// IssueCode stores a grant and returns its authorization code, 43 characters of base64url. The code can be used once,
// within Options.CodeLife.
func (t *Tokens) IssueCode(ctx context.Context, g Grant) (code string, err error) {
	granted, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("storing a grant: %w", err)
	}
	code = secret.New()
	now := t.Now()
	return code, t.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_codes (digest, family, client_id, user_id, granted, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
			digest(code), kernel.NewIDAt(now), g.Client, g.User, string(granted), now.Add(t.options.CodeLife).UnixMicro())
		return err
	})
}

// digest returns the SHA-256 digest under which a code or a token is stored.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Redemption is a token request with an authorization code.
type Redemption struct {
	Client      *clients.Client // the authenticated client
	Code        string
	RedirectURI string   // empty if it was not sent
	Verifier    string   // code_verifier
	Resources   []string // the values of the parameter resource (RFC 8707); may be empty
	// JKT is the thumbprint of the key in the request's DPoP proof (RFC 9449), or "" without a proof.
	JKT     string
	Address string // the IP address of the request, for the audit feed
}

// code is a row of authserver_codes.
type code struct {
	Grant
	digest   string
	family   string // the id of the token family that the code starts
	failures int    // how often a wrong code verifier was sent
	spent    bool   // the code has been redeemed
	expires  time.Time
}

// findCode returns the stored code with a digest. For an unknown code, the error is invalid_grant.
func (t *Tokens) findCode(ctx context.Context, digest string) (*code, error) {
	k := &code{digest: digest}
	var granted string
	var spent, expires int64
	err := t.ReadBriefly(ctx, func(c store.Conn) error {
		return c.Row("SELECT family, client_id, user_id, granted, failures, spent_at, expires_at FROM authserver_codes WHERE digest = ?", digest).
			Scan(&k.family, &k.Client, &k.User, &granted, &k.failures, &spent, &expires)
	})
	if err != nil {
		return nil, kernel.IfNoRows(err, refuseCode("the authorization code is unknown"))
	}
	k.spent, k.expires = spent != 0, time.UnixMicro(expires)
	return k, json.Unmarshal([]byte(granted), &k.Grant)
}

// refuseCode returns the error invalid_grant with a description.
func refuseCode(description string) error {
	return kernel.Refuse(kernel.InvalidGrant, "%s", description)
}

// Redeem exchanges a code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.6). Exactly one of several concurrent
// attempts succeeds. A later attempt with the right code verifier revokes the issued tokens.
func (t *Tokens) Redeem(ctx context.Context, r Redemption) (Answer, error) {
	k, err := t.findCode(ctx, digest(r.Code))
	if err != nil {
		return Answer{}, err
	}
	if err := t.checkCode(ctx, k, r); err != nil {
		return Answer{}, err
	}
	// This comes after checkCode, so that nobody without the code verifier can make the server revoke the tokens.
	if k.spent {
		return Answer{}, t.revokeReusedCode(ctx, k, r)
	}
	if !t.Now().Before(k.expires) {
		return Answer{}, refuseCode("the authorization code has expired")
	}
	if k.JKT != "" && k.JKT != r.JKT {
		return Answer{}, refuseCode("the authorization code is bound to another key")
	}
	targets, err := t.targets(ctx, k.Resources, r.Resources)
	if err != nil {
		return Answer{}, err
	}
	if err := t.requireActiveUser(ctx, k.User); err != nil {
		return Answer{}, err
	}
	return t.spend(ctx, k, r, targets)
}

// checkCode checks that the client, the redirect URI and the code verifier of a redemption match the code. A wrong code
// verifier is counted in the code's failures; see codeFailures.
func (t *Tokens) checkCode(ctx context.Context, k *code, r Redemption) error {
	switch {
	case k.Client != r.Client.ID:
		return refuseCode("the authorization code was issued to another client")
	case k.RedirectGiven && r.RedirectURI == "":
		return refuseCode("redirect_uri is required, since the authorization request contained it")
	case r.RedirectURI != "" && !clients.SameRedirect(r.RedirectURI, k.RedirectURI):
		return refuseCode("redirect_uri differs from the redirect_uri of the authorization request")
	case k.failures >= codeFailures:
		return errTooManyFailures
	case r.Verifier == "":
		return refuseCode("code_verifier is required")
	}
	if verifierFits(r.Verifier, k.Challenge) {
		return nil
	}
	err := t.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		_, err := c.Exec("UPDATE authserver_codes SET failures = failures + 1 WHERE digest = ? AND spent_at = 0", k.digest)
		return err
	})
	if err != nil {
		return err
	}
	return refuseCode("code_verifier does not match the code_challenge of the authorization request")
}

// verifierCharacters are the characters of a code verifier.
const verifierCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"

// verifierFits reports whether a code verifier is well-formed (RFC 7636 section 4.1) and matches an S256 challenge
// (section 4.6).
func verifierFits(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	if strings.ContainsFunc(verifier, func(c rune) bool { return !strings.ContainsRune(verifierCharacters, c) }) {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(digest(verifier)), []byte(challenge)) == 1
}

// revokeReusedCode handles a code that was redeemed before: it revokes the tokens that were issued for it and returns
// the error for the client.
func (t *Tokens) revokeReusedCode(ctx context.Context, k *code, r Redemption) error {
	if _, err := t.revokeFamily(ctx, k.family, "code_reuse"); err != nil {
		return err
	}
	t.Count("auth_code_reuse_total", "")
	t.Audit(ctx, kernel.Event{
		Action: "code.reuse_detected", Actor: k.User, Client: k.Client, Address: r.Address,
		Detail: []string{"family", k.family},
	})
	return refuseCode("the authorization code was redeemed before; the tokens that were issued for it have been revoked")
}

// targets returns the resources that a token is for. The list granted has the ids of the resources of the grant. The
// list requested has the values of the parameter resource (RFC 8707); each of them must name a granted resource. If
// requested is empty, targets returns all granted resources.
func (t *Tokens) targets(ctx context.Context, granted, requested []string) ([]*resources.Resource, error) {
	if len(requested) > 0 {
		targets, err := t.options.Catalog.Resolve(ctx, requested)
		if err != nil {
			return nil, err
		}
		for _, r := range targets {
			if !slices.Contains(granted, r.ID) {
				return nil, kernel.Refuse(kernel.InvalidTarget, "the user did not grant access to the requested resource")
			}
		}
		return targets, nil
	}
	targets := make([]*resources.Resource, 0, len(granted))
	for _, id := range granted {
		r, err := t.options.Catalog.Find(ctx, id)
		if errors.Is(err, resources.ErrUnknown) {
			return nil, kernel.Refuse(kernel.InvalidGrant, "a granted resource has been deleted")
		}
		if err != nil {
			return nil, err
		}
		targets = append(targets, r)
	}
	return targets, nil
}

// requireActiveUser returns an error for the client if the user is not active.
func (t *Tokens) requireActiveUser(ctx context.Context, id string) error {
	u, err := t.users.Get(ctx, id)
	if err != nil {
		return err
	}
	if !u.Active {
		return refuseInactive()
	}
	return nil
}

func refuseInactive() error { return refuseCode("the user is not active") }

var (
	errSpent           = errors.New("the authorization code was redeemed by a concurrent request")
	errTooManyFailures = refuseCode("the authorization code is invalid after too many wrong values of code_verifier")
	errWithdrawn       = kernel.Refuse(kernel.InvalidGrant, "the user has withdrawn the consent")
)

// spend marks a code as spent and stores its token family, in one transaction, and returns the first tokens. If a
// concurrent request has spent the code, it revokes the family; see revokeReusedCode.
func (t *Tokens) spend(ctx context.Context, k *code, r Redemption, targets []*resources.Resource) (Answer, error) {
	answer, f, issued, err := t.startFamily(ctx, r.Client, k.family, k.Grant, targets, r.JKT)
	if err != nil {
		return Answer{}, err
	}
	err = t.storeFamily(ctx, f, issued, clients.GrantCode, r.Address, func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_codes SET spent_at = ? WHERE digest = ? AND spent_at = 0 AND failures < ?",
			t.Micros(), k.digest, codeFailures)
		if err == nil && n == 0 {
			err = spendFailure(c, k.digest)
		}
		return err
	})
	if errors.Is(err, errSpent) {
		return Answer{}, t.revokeReusedCode(ctx, k, r)
	}
	if err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// spendFailure returns the reason why a code cannot be spent: errSpent or errTooManyFailures. c must be the transaction
// that failed to spend it. Other connections might not see the reason yet, since the write that spent the code may be
// part of the same group commit.
func spendFailure(c store.Conn, digest string) error {
	var spent int64
	err := c.Row("SELECT spent_at FROM authserver_codes WHERE digest = ?", digest).Scan(&spent)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && spent == 0:
		return errTooManyFailures
	case err == nil:
		return errSpent
	}
	return err
}

// Start issues the first tokens for a grant without an authorization code, such as that of a device. The grantType is
// used for the metric and the audit event. If jkt is not empty, the tokens are bound to the key with that thumbprint.
// The address is that of the request, for the audit event. Start calls spend in the transaction that stores the token
// family. If spend returns an error, no tokens are issued, and Start returns that error.
func (t *Tokens) Start(
	ctx context.Context, c *clients.Client, g Grant, grantType, jkt, address string, spend func(c store.Conn) error,
) (Answer, error) {
	targets, err := t.targets(ctx, g.Resources, nil)
	if err != nil {
		return Answer{}, err
	}
	u, err := t.options.User(ctx, g.User) // bypasses the cache, since nothing has checked the user before
	if err != nil {
		return Answer{}, err
	}
	if !u.Active {
		return Answer{}, refuseInactive()
	}
	g.Client = c.ID
	answer, f, issued, err := t.startFamily(ctx, c, kernel.NewIDAt(t.Now()), g, targets, jkt)
	if err != nil {
		return Answer{}, err
	}
	if err := t.storeFamily(ctx, f, issued, grantType, address, spend); err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// storeFamily stores a new family in the transaction in which spend uses up the code or the approval of a device, and
// records the family's first access token. If spend returns an error, nothing is stored.
func (t *Tokens) storeFamily(
	ctx context.Context, f *family, issued Issuance, grantType, address string, spend func(c store.Conn) error,
) error {
	err := t.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		if err := spend(c); err != nil {
			return err
		}
		if err := requireConsents(c, f.Consents); err != nil {
			return err
		}
		return f.insert(c)
	})
	if err != nil {
		return err
	}
	t.Count("tokens_issued_total", grantType)
	t.Audit(ctx, kernel.Event{
		Action: "token.issued", Actor: f.User, Client: f.Client, Address: address,
		Detail: []string{"grant", grantType, "jti", issued.JTI, "scope", issued.Scope},
	})
	t.queueIssuance(ctx, issued)
	return nil
}

// requireConsents returns errWithdrawn if a consent that a grant depends on was revoked. The consents cannot be revoked
// before the end of the transaction.
func requireConsents(c store.Conn, consents []string) error {
	for _, id := range consents {
		var dummy int
		err := c.Row("SELECT 1 FROM authserver_consents WHERE id = ?"+c.Keep(), id).Scan(&dummy)
		if err != nil {
			return kernel.IfNoRows(err, errWithdrawn)
		}
	}
	return nil
}

// startFamily creates a token family with the given id and its first tokens. The caller passes the family and the
// Issuance of the access token to storeFamily.
func (t *Tokens) startFamily(
	ctx context.Context, c *clients.Client, id string, g Grant, targets []*resources.Resource, jkt string,
) (Answer, *family, Issuance, error) {
	answer, issued, err := t.signAccessToken(ctx, Order{
		Client: c, Subject: g.User, Scope: g.Scope, Resources: targets, Family: id, AuthTime: g.AuthTime,
		ACR: ClassOf(g.Methods), JKT: jkt, Life: t.options.AccessLife,
	})
	if err != nil {
		return answer, nil, issued, err
	}
	g.JKT = ""
	if c.Public() { // only the refresh tokens of public clients are bound to a key (RFC 9449 section 5)
		g.JKT = jkt
	}
	f := newFamily(id, g, t.Now())
	if c.May(clients.GrantRefresh) {
		answer.Refresh = f.newFirstToken()
		f.expires = f.created.Add(t.options.RefreshLife)
	} else {
		f.expires = f.created.Add(t.options.LongestLife)
	}
	err = t.addIDToken(ctx, g, &answer)
	return answer, f, issued, err
}

// addIDToken adds an ID token to the response if its scope contains openid.
func (t *Tokens) addIDToken(ctx context.Context, g Grant, answer *Answer) (err error) {
	g.Scope = strings.Fields(answer.Scope) // a refresh may request less than the granted scope
	if t.options.IDToken == nil || !slices.Contains(g.Scope, "openid") {
		return nil
	}
	answer.IDToken, err = t.options.IDToken(ctx, g, answer.AccessToken)
	return err
}
