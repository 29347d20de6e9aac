package tokens

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
)

// customClaims returns the claims that claim rules of the client and of the resources add to a user's access token. If
// the subject is a client, or if no rule applies, it returns nil and does not read the database.
func (t *Tokens) customClaims(ctx context.Context, c *Claims, o Order) (*claims.Members, error) {
	user := c.User()
	if user == "" || t.options.Facts == nil {
		return nil, nil
	}
	rules := claims.Wanted(claims.AccessToken, o.Scope, o.Client.ClaimRules())
	for _, r := range o.Resources {
		rules = append(rules, claims.Wanted(claims.AccessToken, o.Scope, r.Claims)...)
	}
	if len(rules) == 0 {
		return nil, nil
	}
	facts, err := t.options.Facts(ctx, user)
	if err != nil {
		return nil, err
	}
	members := claims.Make(rules, facts)
	if len(members.Omitted) > 0 {
		t.Logger().Warn("custom claims were left out of an access token, since it would be too large",
			zap.String("client_id", c.Client), zap.String("user", user), zap.Strings("claims", members.Omitted))
	}
	return members, nil
}

// customMembers returns those claims of a token that claim rules added. The JSON object raw has all claims of the
// token: first those that append writes for c, and then the added ones. The result consists of JSON members and begins
// with a comma. It is nil if no claims were added.
func (c *Claims) customMembers(raw []byte) []byte {
	standard := c.append(make([]byte, 0, len(raw)))
	n := len(standard) - 1 // without the closing brace
	if len(raw) <= len(standard) || !bytes.HasPrefix(raw, standard[:n]) || raw[n] != ',' {
		return nil
	}
	return bytes.Clone(raw[n : len(raw)-1])
}

// Custom returns the claims that claim rules added, or nil if there are none.
func (c *Claims) Custom() (custom map[string]any, err error) {
	if len(c.custom) == 0 {
		return nil, nil
	}
	object := append(append([]byte{'{'}, c.custom[1:]...), '}')
	if err := json.Unmarshal(object, &custom); err != nil {
		return nil, fmt.Errorf("reading the claims of rules in an access token: %w", err)
	}
	return custom, nil
}
