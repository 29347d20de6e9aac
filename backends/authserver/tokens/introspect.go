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

// auditInterval is the minimum time between two audit events about introspections of the same token by the same client.
// It is needed since many clients introspect a token at each request.
const auditInterval = time.Minute

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

// auditIntrospection records in the audit feed that a client has introspected a token, at most once per auditInterval.
// The kind is "jti" if id is that of an access token, and "family" if id is that of a refresh token's family.
func (t *Tokens) auditIntrospection(
	ctx context.Context, action string, client *clients.Client, address, kind, id string,
) {
	if t.auditLimit.Allow(client.ID + " " + id) {
		t.Audit(ctx, kernel.Event{
			Action: action, Actor: client.ID, Client: client.ID, Address: address, Detail: []string{kind, id},
		})
	}
}

// isRuntimeClient reports whether the policy of one of the resources in a token's audience lists the client among its
// runtime clients, which serve the resource.
func (t *Tokens) isRuntimeClient(ctx context.Context, client *clients.Client, audience Audience) (bool, error) {
	all, err := t.options.Catalog.All(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range all {
		inAudience := r.URI != "" &&
			slices.ContainsFunc(audience, func(uri string) bool { return kernel.SameURI(uri, r.URI) })
		if inAudience && slices.Contains(r.Policy.Runtime.ClientIDs, client.ID) {
			return true, nil
		}
	}
	return false, nil
}

// introspectRefresh returns the introspection response for a refresh token. The response is nil if the token is not
// active or belongs to another client. The arguments id and raw are the results of splitRefresh, and sum is the digest
// of the token.
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
	if !f.hasIssued(raw) || !f.alive(t.Now()) || !f.rotation.has(sum) {
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
