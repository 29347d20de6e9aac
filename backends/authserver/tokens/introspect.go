package tokens

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// lookedEvery is the minimum time between two audit events for the same client and token. Many clients introspect a
// token at each request.
const lookedEvery = time.Minute

// Introspect returns the introspection response for a token (RFC 7662 section 2.2). The response is nil if the token is
// not active or the client may not see it.
func (t *Tokens) Introspect(ctx context.Context, client *clients.Client, text, address string) ([]byte, error) {
	if id, raw, ok := splitRefresh(text); ok {
		return t.introspectRefresh(ctx, client, id, raw, digest(text), address)
	}
	claims, user, ok, err := t.Live(ctx, text)
	if err != nil || !ok {
		return nil, err
	}
	if claims.Client != client.ID {
		ok, err := t.isRuntimeClient(ctx, client, claims.Audience)
		if err == nil && !ok {
			t.auditIntrospection(ctx, "token.introspect_denied", client, address, "jti", claims.ID)
		}
		if err != nil || !ok {
			return nil, err
		}
	}
	t.auditIntrospection(ctx, "token.introspected", client, address, "jti", claims.ID)
	return claims.appendIntrospection(make([]byte, 0, 600), user.Email), nil
}

// auditIntrospection records in the audit feed that a client has introspected a token. The kind names the type of the
// id: a jti or a family.
func (t *Tokens) auditIntrospection(
	ctx context.Context, action string, client *clients.Client, address, kind, id string,
) {
	if t.looks.Allow(client.ID + " " + id) {
		t.Audit(ctx, kernel.Event{
			Action: action, Actor: client.ID, Client: client.ID, Address: address, Detail: []string{kind, id},
		})
	}
}

// isRuntimeClient reports whether a client serves one of the token's resources: the policy of the resource lists the
// client among its runtime clients.
func (t *Tokens) isRuntimeClient(ctx context.Context, client *clients.Client, audience Audience) (bool, error) {
	all, err := t.options.Catalog.All(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range all {
		named := r.URI != "" && slices.ContainsFunc(audience, func(name string) bool { return kernel.SameURI(name, r.URI) })
		if named && slices.Contains(r.Policy.Runtime.ClientIDs, client.ID) {
			return true, nil
		}
	}
	return false, nil
}

// introspectRefresh returns the introspection response for a refresh token, or nil if the client may not see it. The
// token consists of the id of its family and the bytes raw, and has the digest sum.
func (t *Tokens) introspectRefresh(
	ctx context.Context, client *clients.Client, id string, raw []byte, sum, address string,
) ([]byte, error) {
	f, err := t.findFamily(ctx, id)
	if errors.Is(err, errNoFamily) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !f.issued(raw) || !f.alive(t.Now()) || !f.rotation.has(sum) {
		return nil, nil
	}
	if f.Client != client.ID {
		t.auditIntrospection(ctx, "token.introspect_denied", client, address, "family", id)
		return nil, nil
	}
	if u, err := t.users.Get(ctx, f.User); err != nil || !u.Active {
		return nil, err
	}
	t.auditIntrospection(ctx, "token.introspected", client, address, "family", id)
	return appendRefresh(nil, f.Client, strings.Join(f.Scope, " "), f.expires.Unix()), nil
}
