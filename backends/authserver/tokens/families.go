package tokens

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// A refresh token consists of the id of its family, followed by base64url of 32 random bytes and their 16-byte MAC
// under the family's key. Only digests of the valid and the recently used tokens are stored. The MAC proves that an
// older token was issued for the family.
const (
	idLength     = 26 // the number of characters of a family's id
	secretBytes  = 32
	macBytes     = 16
	refreshBytes = secretBytes + macBytes
)

// family is a row of authserver_families.
type family struct {
	Grant
	id         string
	generation int64     // the number of refreshes so far
	rotation   rotation  // digests of the refresh tokens
	rotated    time.Time // the time of the last refresh
	created    time.Time
	expires    time.Time
	revoked    bool
}

// newFamily returns a family with a new key. It has no refresh token yet; see newFirstToken.
func newFamily(id string, g Grant, now time.Time) *family {
	f := &family{Grant: g, id: id, created: now, rotated: now}
	f.Key = make([]byte, secretBytes)
	_, _ = rand.Read(f.Key)                                     // never fails
	f.Challenge, f.RedirectURI, f.RedirectGiven = "", "", false // only the code needs them
	return f
}

// newFirstToken creates the family's first refresh token.
func (f *family) newFirstToken() string {
	text := f.newToken()
	f.rotation = rotation{present: []present{{sum: digest(text)}}}
	return text
}

// newToken creates a new refresh token of the family.
func (f *family) newToken() string {
	raw := make([]byte, secretBytes, refreshBytes)
	_, _ = rand.Read(raw) // never fails
	return f.id + base64.RawURLEncoding.EncodeToString(append(raw, f.mac(raw)...))
}

// mac returns the MAC of the random bytes of a refresh token under the family's key.
func (f *family) mac(random []byte) []byte {
	h := hmac.New(sha256.New, f.Key)
	h.Write(random)
	return h.Sum(nil)[:macBytes]
}

// hasIssued reports whether a refresh token was issued for the family. The argument raw is the result of splitRefresh.
// The token may be invalid by now.
func (f *family) hasIssued(raw []byte) bool {
	return len(f.Key) > 0 && hmac.Equal(raw[secretBytes:], f.mac(raw[:secretBytes]))
}

// splitRefresh splits a refresh token into the id of its family and the decoded bytes that follow. It returns false for
// a text of another form, such as an access token.
func splitRefresh(text string) (id string, raw []byte, ok bool) {
	if len(text) != idLength+base64.RawURLEncoding.EncodedLen(refreshBytes) {
		return "", nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text[idLength:])
	if err != nil || len(raw) != refreshBytes {
		return "", nil, false
	}
	id = text[:idLength]
	for i := range idLength {
		if b := id[i]; (b < 'A' || b > 'Z') && (b < '2' || b > '7') { // not base32
			return "", nil, false
		}
	}
	return id, raw, true
}

// insert stores a new family.
func (f *family) insert(c store.Conn) error {
	granted, err := json.Marshal(f.Grant)
	if err != nil {
		return err
	}
	present, _ := f.rotation.columns()
	_, err = c.Exec("INSERT INTO authserver_families (id, client_id, user_id, granted, present, rotated_at, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		f.id, f.Client, f.User, string(granted), present, f.rotated.UnixMicro(), f.created.UnixMicro(), f.expires.UnixMicro())
	return err
}

const familyColumns = "id, client_id, user_id, granted, generation, present, previous, graces, rotated_at, created_at, expires_at, revoked_at"

// scanFamily returns the family in a row with the columns familyColumns.
func scanFamily(r store.Row) (*family, error) {
	f := new(family)
	var granted, present, previous string
	var graces int
	var rotated, created, expires, revoked int64
	if err := r.Scan(&f.id, &f.Client, &f.User, &granted, &f.generation, &present, &previous, &graces, &rotated, &created,
		&expires, &revoked); err != nil {
		return nil, err
	}
	f.rotated, f.created, f.expires, f.revoked = time.UnixMicro(rotated), time.UnixMicro(created), time.UnixMicro(expires),
		revoked != 0
	f.rotation = parseRotation(present, previous, f.rotated, graces)
	return f, json.Unmarshal([]byte(granted), &f.Grant)
}

var errNoFamily = errors.New("the token family does not exist")

// findFamily returns the family with an id, or errNoFamily.
func (t *Tokens) findFamily(ctx context.Context, id string) (f *family, err error) {
	err = t.ReadBriefly(ctx, func(c store.Conn) error {
		f, err = scanFamily(c.Row("SELECT "+familyColumns+" FROM authserver_families WHERE id = ?", id))
		return err
	})
	return f, kernel.IfNoRows(err, errNoFamily)
}

// alive reports whether a family is neither revoked nor expired.
func (f *family) alive(now time.Time) bool { return !f.revoked && now.Before(f.expires) }

// Renewal is a token request with a refresh token.
type Renewal struct {
	Client    *clients.Client // the authenticated client
	Token     string
	Scope     string   // empty for the granted scope
	Resources []string // the values of the parameter resource (RFC 8707); may be empty
	JKT       string   // the thumbprint of the key in the request's DPoP proof (RFC 9449), or "" without a proof
	Address   string   // the IP address of the request, for the audit feed
}

// errStale means that a concurrent request changed the family.
var errStale = errors.New("a concurrent request has changed the token family")

// Refresh exchanges a refresh token for a new refresh token and an access token (RFC 6749 section 6). A token that
// was already exchanged is accepted again, at most maxGraces times, within the grace period after the exchange, if
// its replacement has not been used yet, because the client may not have received the answer. Otherwise an attempt by
// its client revokes the family.
func (t *Tokens) Refresh(ctx context.Context, r Renewal) (Answer, error) {
	id, raw, ok := splitRefresh(r.Token)
	if !ok {
		return Answer{}, refuseRefresh("unknown")
	}
	for {
		answer, err := t.refresh(ctx, r, id, raw)
		if !errors.Is(err, errStale) {
			return answer, err
		}
		// Another request has changed the family between the read and the write, so this request tries again. The loop ends,
		// since with each such change another request has made progress.
	}
}

// refuseRefresh returns the error for a refresh token that is, for example, "unknown" or "expired".
func refuseRefresh(state string) error {
	return kernel.Refuse(kernel.InvalidGrant, "the refresh token is %s", state)
}

// refresh implements Refresh for a token that splitRefresh has split. It returns errStale if a concurrent request
// changed the family; the caller then tries again.
func (t *Tokens) refresh(ctx context.Context, r Renewal, id string, raw []byte) (Answer, error) {
	f, err := t.findFamily(ctx, id)
	switch {
	case errors.Is(err, errNoFamily):
		return Answer{}, refuseRefresh("unknown")
	case err != nil:
		return Answer{}, err
	case !f.hasIssued(raw):
		return Answer{}, refuseRefresh("unknown")
	case f.Client != r.Client.ID:
		return Answer{}, refuseRefresh("issued to another client")
	case f.revoked:
		return Answer{}, refuseRefresh("revoked")
	case !f.alive(t.Now()):
		return Answer{}, refuseRefresh("expired")
	}
	sum := digest(r.Token)
	if !f.rotation.has(sum) && !f.rotation.graceful(sum, t.Now(), t.options.Grace) {
		return Answer{}, t.revokeReusedFamily(ctx, f, r)
	}
	scope, targets, err := t.narrow(ctx, f, r)
	if err != nil {
		return Answer{}, err
	}
	answer, issued, err := t.signAccessToken(ctx, Order{
		Client: r.Client, Subject: f.User, Scope: scope, Resources: targets, Family: f.id, AuthTime: f.AuthTime,
		ACR: ClassOf(f.Methods), JKT: r.JKT, Life: t.options.AccessLife,
	})
	if err != nil {
		return Answer{}, err
	}
	answer.Refresh = f.newToken()
	f.Nonce = "" // only the first ID token has a nonce (OpenID Connect Core section 12.2)
	if err := t.addIDToken(ctx, f.Grant, &answer); err != nil {
		return Answer{}, err
	}
	if f.JKT == "" && r.Client.Public() {
		f.JKT = r.JKT // the next refresh token is bound to the key of this proof (RFC 9449 section 5)
	}
	if err := t.rotate(ctx, f, sum, digest(answer.Refresh)); err != nil {
		return Answer{}, err
	}
	t.Count("tokens_refreshed_total", "")
	t.Audit(ctx, kernel.Event{
		Action: "token.refreshed", Actor: f.User, Client: f.Client, Address: r.Address,
		Detail: []string{"family", f.id, "jti", issued.JTI},
	})
	t.queueIssuance(ctx, issued)
	return answer, nil
}

// narrow returns the scope and the resources of a refresh, which the request may limit to a part of the granted ones.
// It makes all checks that can fail, so that a refused request does not use up the token.
func (t *Tokens) narrow(ctx context.Context, f *family, r Renewal) ([]string, []*resources.Resource, error) {
	if err := t.requireActiveUser(ctx, f.User); err != nil {
		return nil, nil, err
	}
	if !r.Client.May(clients.GrantRefresh) {
		return nil, nil, kernel.Refuse(kernel.UnauthorizedClient, "the client is not registered for the grant refresh_token")
	}
	if f.JKT != "" && f.JKT != r.JKT {
		return nil, nil, kernel.Refuse(kernel.InvalidProof, "the refresh token is bound to another key")
	}
	requested, err := resources.ParseScope(r.Scope)
	if err != nil {
		return nil, nil, err
	}
	for _, word := range requested {
		if !slices.Contains(f.Scope, word) {
			return nil, nil, kernel.Refuse(kernel.InvalidScope, "the scope %s was not granted", word)
		}
	}
	// The scope for which the client is registered may have been reduced since the grant.
	scope, ceiling := requested, t.options.Clients.Ceiling(r.Client)
	if len(requested) == 0 {
		scope = resources.Cut(f.Scope, ceiling)
		if len(scope) == 0 && len(f.Scope) > 0 {
			return nil, nil, kernel.Refuse(kernel.InvalidScope,
				"the client is no longer registered for any of the granted scopes")
		}
	} else if err := resources.Within(requested, ceiling); err != nil {
		return nil, nil, err
	}
	targets, err := t.targets(ctx, f.Resources, r.Resources)
	return scope, targets, err
}

// rotate stores that the refresh token with the digest oldSum is spent, and that the token with the digest newSum
// replaces it. It returns errStale if the family has changed. Its transaction contains no other write of the refresh.
func (t *Tokens) rotate(ctx context.Context, f *family, oldSum, newSum string) error {
	now := t.Now()
	rotation := f.rotation.replace(oldSum, newSum, now, t.options.Grace)
	present, previous := rotation.columns()
	granted, err := json.Marshal(f.Grant)
	if err != nil {
		return err
	}
	return t.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_families SET generation = generation + 1, granted = ?, present = ?, previous = ?, rotated_at = ?, expires_at = ?"+
			" WHERE id = ? AND generation = ? AND revoked_at = 0",
			string(granted), present, previous, now.UnixMicro(), now.Add(t.options.RefreshLife).UnixMicro(), f.id, f.generation)
		if err == nil && n == 0 {
			err = errStale
		}
		return err
	})
}

// revokeReusedFamily revokes a family in which a refresh token was used twice, since the token may have been stolen
// (RFC 9700 section 4.14.2). It returns the error for the client.
func (t *Tokens) revokeReusedFamily(ctx context.Context, f *family, r Renewal) error {
	revoked, err := t.revokeFamily(ctx, f.id, "reuse")
	if err != nil {
		return err
	}
	if revoked {
		t.Count("refresh_token_reuse_total", "")
		t.Audit(ctx, kernel.Event{
			Action: "family.revoked", Actor: f.User, Client: f.Client, Address: r.Address,
			Detail: []string{"family", f.id, "reason", "reuse"},
		})
	}
	return refuseRefresh("already used; all tokens that descend from the same sign-in have been revoked")
}
