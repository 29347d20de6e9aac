package tokens

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
)

// Introspect is what RFC 7662 section 2.2 tells a client of a token; nil: the token is not active for this client.
func (t *Tokens) Introspect(ctx context.Context, by *clients.Client, text string) ([]byte, error) {
	if id, raw, ok := splitRefresh(text); ok {
		return t.introspectRefresh(ctx, by, id, raw, digest(text))
	}
	claims, user, ok, err := t.Live(ctx, text)
	if err != nil || !ok {
		return nil, err
	}
	if claims.Client != by.ID {
		if ok, err := t.runtime(ctx, by, claims.Audience); err != nil || !ok {
			return nil, err
		}
	}
	return claims.appendIntrospection(make([]byte, 0, 600), user.Email), nil
}

// runtime reports whether a client runs one of the resources that a token is for.
func (t *Tokens) runtime(ctx context.Context, by *clients.Client, audience Audience) (bool, error) {
	all, err := t.options.Catalog.All(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range all {
		if r.URI != "" && slices.Contains(audience, r.URI) && slices.Contains(r.Policy.Runtime.ClientIDs, by.ID) {
			return true, nil
		}
	}
	return false, nil
}

func (t *Tokens) introspectRefresh(ctx context.Context, by *clients.Client, id string, raw []byte, sum string) ([]byte, error) {
	f, err := t.findFamily(ctx, id)
	if errors.Is(err, errNoFamily) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !f.made(raw) || f.Client != by.ID || !f.alive(t.Now()) || !f.has(sum) {
		return nil, nil
	}
	if u, err := t.users.Get(ctx, f.User); err != nil || !u.Active {
		return nil, err
	}
	return appendRefresh(nil, f.Client, strings.Join(f.Scope, " "), f.expires.Unix()), nil
}
