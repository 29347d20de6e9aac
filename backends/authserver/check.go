package authserver

import (
	"context"
	"time"
)

// CheckToken returns the claims of an access token that this server issued and that is valid now: neither expired nor
// revoked, of an active client and an active user. For any other token, ok is false. An error means that the database
// does not answer.
func (s *Server) CheckToken(
	ctx context.Context, token string,
) (claims map[string]any, expires time.Time, ok bool, err error) {
	c, _, ok, err := s.rooms.tokens.Live(ctx, token)
	if err != nil || !ok {
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
	return claims, time.Unix(c.Expires, 0), true, nil
}
