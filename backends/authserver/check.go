package authserver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
)

// CheckToken returns the claims of a valid access token. A token is valid if this server issued it, it is neither
// expired nor revoked, and its client and its user are active. For an invalid token, ok is false. An error means that
// the database does not answer.
//
// The claims are those of the token, including custom claims that claim rules added. If the token has the scopes
// profile and email, the user's current name and mail address are added, as at the userinfo endpoint.
func (s *Server) CheckToken(
	ctx context.Context, token string,
) (claims map[string]any, expires time.Time, ok bool, err error) {
	c, user, ok, err := s.components.tokens.Live(ctx, token)
	if err != nil || !ok {
		return nil, time.Time{}, false, err
	}
	custom, err := c.Custom()
	if err != nil {
		return nil, time.Time{}, false, err
	}
	claims = map[string]any{
		"iss": c.Issuer, "sub": c.Subject, "aud": []string(c.Audience), "client_id": c.Client,
		"scope": c.Scope, "jti": c.ID,
	}
	if c.AuthTime != 0 {
		claims["auth_time"] = c.AuthTime
	}
	if c.ACR != "" {
		claims["acr"] = c.ACR
	}
	if c.Agent != "" {
		claims["agent_id"] = c.Agent
	}
	if c.Confirm.JKT != "" {
		claims["cnf"] = map[string]any{"jkt": c.Confirm.JKT}
	}
	maps.Copy(claims, custom) // no rule makes a claim that the server sets itself
	addPerson(claims, c, user)
	return claims, time.Unix(c.Expires, 0), true, nil
}

// addPerson adds the claims about the token's user that the scope of the token permits.
func addPerson(claims map[string]any, c *tokens.Claims, user tokens.User) {
	if c.User() == "" {
		return
	}
	scope := strings.Fields(c.Scope)
	if slices.Contains(scope, "profile") && user.Name != "" {
		claims["name"] = user.Name
	}
	if slices.Contains(scope, "email") {
		claims["email"], claims["email_verified"] = user.Email, user.Verified
	}
}
