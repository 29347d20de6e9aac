// Package openid implements the OpenID layer (OpenID Connect Core 1.0, RP-Initiated Logout 1.0): ID tokens and the
// UserInfo endpoint, which give clients claims about users, and logout requests by clients.
package openid

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/proofs"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// Scopes are the scopes of this server, which belong to no resource.
var Scopes = []resources.Scope{
	{Name: "openid", Description: "Know who you are here"},
	{Name: "profile", Description: "See your name"},
	{Name: "email", Description: "See your mail address"},
	{Name: "groups", Description: "See the groups that you are in"},
}

// Names returns the names of Scopes.
func Names() []string {
	names := make([]string, len(Scopes))
	for i, scope := range Scopes {
		names[i] = scope.Name
	}
	return names
}

// The paths of the endpoints, below the issuer.
const (
	UserInfoPath = "/oauth/userinfo"
	LogoutPath   = "/oauth/logout"
)

// idLife is the life of an ID token, which clients verify at once.
const idLife = 10 * time.Minute

// OpenID is the OpenID layer.
type OpenID struct {
	*kernel.Server
	Users   *users.Users
	Clients *clients.Clients
	Keys    *keys.Keys
	// Tokens is set after the OpenID is created, since Tokens needs the method IDToken.
	Tokens *tokens.Tokens
	// Proofs checks DPoP proofs for tokens that are bound to a key. If it is nil, no such token is accepted.
	Proofs *proofs.Proofs
	// HTTP sends logout tokens to clients; see outbound.NewClient.
	HTTP *http.Client
	// SessionLife is the life of a session. Zero means that sessions do not expire.
	SessionLife time.Duration
}

// Metadata returns the discovery metadata of the OpenID layer (OpenID Connect Discovery 1.0 section 3).
func (s *OpenID) Metadata() map[string]any {
	return map[string]any{
		"userinfo_endpoint":    s.Issuer + UserInfoPath,
		"end_session_endpoint": s.Issuer + LogoutPath,
		"claims_supported": []string{
			"sub", "iss", "aud", "azp", "exp", "iat", "auth_time", "acr", "amr", "nonce", "sid", "at_hash", "name",
			"preferred_username", "updated_at", "email", "email_verified", "groups",
		},
		"acr_values_supported":                 tokens.Classes(),
		"backchannel_logout_supported":         true,
		"backchannel_logout_session_supported": true,
		"claim_types_supported":                []string{"normal"},
		"prompt_values_supported":              []string{"none", "login", "consent"},
		"claims_parameter_supported":           false,
		"request_parameter_supported":          false,
		// The default of this member is true.
		"request_uri_parameter_supported": false,
	}
}

// Person holds the claims about a user that a client may receive.
type Person struct {
	Subject       string   `json:"sub"`
	Name          string   `json:"name,omitempty"`
	Username      string   `json:"preferred_username,omitempty"`
	UpdatedAt     int64    `json:"updated_at,omitempty"` // seconds since 1970
	Email         string   `json:"email,omitempty"`
	EmailVerified *bool    `json:"email_verified,omitempty"`
	Groups        []string `json:"groups,omitempty"`
}

// person returns the claims about a user that a scope permits.
func person(u *users.User, scope []string) Person {
	p := Person{Subject: u.ID}
	if slices.Contains(scope, "profile") {
		p.Name, p.Username, p.UpdatedAt = u.Name, u.Email, time.UnixMicro(u.UpdatedAt).Unix()
	}
	if slices.Contains(scope, "email") {
		p.Email, p.EmailVerified = u.Email, &u.EmailVerified
	}
	if slices.Contains(scope, "groups") {
		p.Groups = u.Groups
	}
	return p
}

// claimsFor returns the claims about a user for a client. The result p has the claims of the scope. The result custom
// has the claims of the client's claim rules for a place: an ID token or a userinfo response. If there is a rule for
// groups, p has no groups.
func (s *OpenID) claimsFor(
	ctx context.Context, u *users.User, client, place string, scope []string,
) (p Person, custom *claims.Members, err error) {
	p = person(u, scope)
	c, err := s.Clients.Find(ctx, client)
	if errors.Is(err, clients.ErrUnknown) { // a client that was deleted has no rules
		return p, nil, nil
	}
	if err != nil {
		return p, nil, err
	}
	rules := claims.Wanted(place, scope, c.ClaimRules())
	if len(rules) == 0 {
		return p, nil, nil
	}
	facts, err := s.Users.Facts(ctx, u.ID)
	if err != nil {
		return p, nil, err
	}
	if slices.ContainsFunc(rules, func(r claims.Rule) bool { return r.Outside() == "groups" }) {
		p.Groups = nil
	}
	return p, claims.Make(rules, facts), nil
}

// idClaims are the claims of an ID token.
type idClaims struct {
	Person
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Party    string `json:"azp"` // the authorized party, which is the client
	Expires  int64  `json:"exp"`
	IssuedAt int64  `json:"iat"`
	AuthTime int64  `json:"auth_time,omitempty"`
	ACR      string `json:"acr,omitempty"`
	// Methods is the claim amr (OpenID Connect Core 1.0 section 2), with the values of RFC 8176.
	Methods []string `json:"amr,omitempty"`
	Nonce   string   `json:"nonce,omitempty"`
	Session string   `json:"sid,omitempty"`     // see OpenID.recordSession
	Token   string   `json:"at_hash,omitempty"` // see accessTokenHash
}

// IDToken returns the ID token for an access token (OpenID Connect Core section 3.1.3.6).
func (s *OpenID) IDToken(ctx context.Context, g tokens.Grant, accessToken string) (string, error) {
	claims, err := s.idTokenClaims(ctx, g, accessToken)
	if err != nil {
		return "", fmt.Errorf("making an ID token: %w", err)
	}
	return s.Keys.Sign(ctx, keys.Plain, claims)
}

// idTokenClaims returns the claims of the ID token for an access token, as a JSON object.
func (s *OpenID) idTokenClaims(ctx context.Context, g tokens.Grant, accessToken string) ([]byte, error) {
	u, err := s.Users.Find(ctx, g.User)
	if err != nil {
		return nil, err
	}
	sid, err := s.recordSession(ctx, g.Client, g.Session)
	if err != nil {
		return nil, err
	}
	person, custom, err := s.claimsFor(ctx, u, g.Client, claims.IDToken, g.Scope)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	raw, err := json.Marshal(idClaims{
		Session: sid,
		Person:  person, Issuer: s.Issuer, Audience: g.Client, Party: g.Client,
		Expires: now.Add(idLife).Unix(), IssuedAt: now.Unix(), AuthTime: g.AuthTime.Unix(), ACR: tokens.ClassOf(g.Methods),
		Methods: g.Methods, Nonce: g.Nonce, Token: accessTokenHash(accessToken),
	})
	return custom.Append(raw), err
}

// accessTokenHash returns the claim at_hash of an access token: the left half of the token's hash, in base64url.
func accessTokenHash(accessToken string) string {
	sum := sha256.Sum256([]byte(accessToken))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}
