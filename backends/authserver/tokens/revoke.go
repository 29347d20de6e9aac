package tokens

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ignoreUnknown returns nil if err means that a token is invalid or that its client does not exist, and otherwise err.
func ignoreUnknown(err error) error {
	if errors.Is(err, keys.ErrToken) || errors.Is(err, jwt.ErrLong) || errors.Is(err, clients.ErrUnknown) {
		return nil
	}
	return err
}

// revokeFamily revokes a family and all its tokens. The reason is stored and is a label of the metric. revokeFamily
// returns false if the family does not exist or was already revoked.
func (t *Tokens) revokeFamily(ctx context.Context, id, reason string) (revoked bool, err error) {
	if err := t.Flush(ctx); err != nil {
		return false, err
	}
	expiry := t.Now().Add(t.options.LongestLife)
	err = t.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_families SET revoked_at = ?, reason = ? WHERE id = ? AND revoked_at = 0",
			t.Micros(), reason, id)
		if revoked = n > 0; err != nil {
			return err
		}
		return t.denyFamilies(c, expiry, id)
	})
	t.denyHere(expiry, id)
	if revoked && err == nil {
		t.Count("tokens_revoked_total", reason)
	}
	return revoked, err
}

// denyFamilies denies the access tokens of families until the given time and marks their issuances as revoked. After
// the commit the caller must call denyHere with the families.
func (t *Tokens) denyFamilies(c store.Conn, expiry time.Time, families ...string) error {
	if err := t.denied.deny(c, expiry, families...); err != nil {
		return err
	}
	for _, id := range families {
		start, end := id+".", id+"/" // the jtis that begin with id and a dot (see newJTI): '/' follows '.' in ASCII
		if _, err := c.Exec("UPDATE authserver_issuances SET revoked_at = ? WHERE jti >= ? AND jti < ? AND revoked_at = 0",
			t.Micros(), start, end); err != nil {
			return err
		}
	}
	return nil
}

// denyHere denies ids until the given time on this node, at once. It is called after a transaction even if that
// returned an error, since the transaction may have been committed nevertheless.
func (t *Tokens) denyHere(expiry time.Time, ids ...string) {
	for _, id := range ids {
		t.denied.add(id, expiry.UnixMicro())
	}
}

// RevokeToken revokes an access token by its jti, and all tokens that were exchanged from it. expiry is when the token
// expires, and reason is a label of the metric.
func (t *Tokens) RevokeToken(ctx context.Context, jti string, expiry time.Time, reason string) error {
	if err := t.Flush(ctx); err != nil {
		return err
	}
	err := t.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		if err := t.denied.deny(c, expiry, jti); err != nil {
			return err
		}
		return t.revokeDerived(c, "jti = ?", jti)
	})
	t.denyHere(expiry, jti)
	if err == nil {
		t.Count("tokens_revoked_total", reason)
	}
	return err
}

// Revoke revokes a token at the request of its client (RFC 7009). An unknown token is not an error. If the token
// belongs to another client, it is not revoked, and the attempt is recorded in the audit feed.
func (t *Tokens) Revoke(ctx context.Context, client *clients.Client, text, address string) error {
	if id, raw, ok := splitRefresh(text); ok {
		return t.revokeRefresh(ctx, client, id, raw, address)
	}
	claims, err := t.verified.Verify(ctx, text)
	if err != nil {
		return ignoreUnknown(err)
	}
	if claims.Client != client.ID {
		t.auditDeniedRevocation(ctx, client, claims.Client, address)
		return nil
	}
	if err := t.RevokeToken(ctx, claims.ID, time.Unix(claims.Expires, 0), "client"); err != nil {
		return err
	}
	t.Audit(ctx, kernel.Event{
		Action: "token.revoked", Actor: client.ID, Client: client.ID, Address: address,
		Detail: []string{"jti", claims.ID},
	})
	return nil
}

// revokeRefresh implements Revoke for a refresh token, given by the results id and raw of splitRefresh. It revokes the
// token's family.
func (t *Tokens) revokeRefresh(
	ctx context.Context, client *clients.Client, id string, raw []byte, address string,
) error {
	f, err := t.findFamily(ctx, id)
	if errors.Is(err, errNoFamily) || err == nil && !f.hasIssued(raw) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.Client != client.ID {
		t.auditDeniedRevocation(ctx, client, f.Client, address)
		return nil
	}
	revoked, err := t.revokeFamily(ctx, id, "client")
	if err != nil || !revoked {
		return err
	}
	t.Audit(ctx, kernel.Event{
		Action: "token.revoked", Actor: client.ID, Client: client.ID, Address: address,
		Detail: []string{"family", id},
	})
	return nil
}

// auditDeniedRevocation records in the audit feed that a client tried to revoke a token of another client, whose id
// is ownerID.
func (t *Tokens) auditDeniedRevocation(ctx context.Context, client *clients.Client, ownerID, address string) {
	t.Audit(ctx, kernel.Event{
		Action: "token.revoke_denied", Actor: client.ID, Client: client.ID, Address: address,
		Detail: []string{"of", ownerID},
	})
}

// revokeFamilies revokes the families that match a condition in SQL with the arguments args, and stores the reason. If
// selects is not nil, only families for which it returns true are revoked. revokeFamilies denies their access tokens
// until the given time, and returns the ids of the families. After the commit the caller must call denyHere with them.
func (t *Tokens) revokeFamilies(
	c store.Conn, expiry time.Time, reason, condition string, args []any, selects func(f *family) bool,
) (ids []string, err error) {
	families, err := store.List(c, scanFamily, "SELECT "+familyColumns+" FROM authserver_families WHERE "+
		condition+" AND revoked_at = 0 AND expires_at > ?"+c.Lock(), append(args, t.Micros())...)
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		if selects != nil && !selects(f) {
			continue
		}
		if _, err := c.Exec("UPDATE authserver_families SET revoked_at = ?, reason = ? WHERE id = ?",
			t.Micros(), reason, f.id); err != nil {
			return nil, err
		}
		ids = append(ids, f.id)
	}
	return ids, t.denyFamilies(c, expiry, ids...)
}

// EndUser revokes all tokens of a user, in a transaction of the caller. Before the transaction the caller must call
// Flush, since a token whose issuance is still queued is not found. After the commit it must notify the topic users, so
// that every node reads the denied ids again.
func (t *Tokens) EndUser(c store.Conn, user string) error {
	ids, err := t.endUser(c, user)
	t.countRevoked("user", len(ids)) // counted twice if the transaction is retried
	return err
}

// countRevoked adds n revocations to the metric.
func (t *Tokens) countRevoked(reason string, n int) {
	for range n {
		t.Count("tokens_revoked_total", reason)
	}
}

// endUser revokes all tokens of a user and returns the denied ids.
func (t *Tokens) endUser(c store.Conn, user string) ([]string, error) {
	if _, err := c.Exec("DELETE FROM authserver_codes WHERE user_id = ? AND spent_at = 0", user); err != nil {
		return nil, err
	}
	expiry := t.Now().Add(t.options.LongestLife)
	ids, err := t.revokeFamilies(c, expiry, "user", "user_id = ?", []any{user}, nil)
	if err != nil {
		return nil, err
	}
	jtis, err := t.revokeStandalone(c, expiry, "user_id", user)
	return append(ids, jtis...), err
}

// revokeStandalone denies those access tokens of a user or client that do not end when its families are revoked:
// tokens without a family, and tokens obtained by exchange. The column is user_id or client_id, and id is its value.
// revokeStandalone also marks the user's or client's tokens and all tokens exchanged from them as revoked. It returns
// the jtis of the denied tokens. After the commit the caller must call denyHere with them.
func (t *Tokens) revokeStandalone(c store.Conn, expiry time.Time, column, id string) ([]string, error) {
	jtis, err := store.List(c, func(r store.Row) (jti string, err error) { return jti, r.Scan(&jti) },
		"SELECT jti FROM authserver_issuances WHERE "+
			column+" = ? AND (family = '' OR parent_jti <> '') AND revoked_at = 0 AND expires_at > ?", id, t.Micros())
	if err != nil {
		return nil, err
	}
	if err := t.revokeDerived(c, column+" = ? AND revoked_at = 0", id); err != nil {
		return nil, err
	}
	return jtis, t.denied.deny(c, expiry, jtis...)
}

// RevokeClient revokes all tokens of a client: its families, and the access tokens that it obtained for itself. It
// returns the number of revoked families and tokens.
func (t *Tokens) RevokeClient(ctx context.Context, client string) (n int, err error) {
	if err := t.Flush(ctx); err != nil {
		return 0, err
	}
	expiry := t.Now().Add(t.options.LongestLife)
	var ids []string
	err = t.Write(ctx, func(c store.Conn) error {
		if ids, err = t.revokeFamilies(c, expiry, "client_revoked", "client_id = ?", []any{client}, nil); err != nil {
			return err
		}
		jtis, err := t.revokeStandalone(c, expiry, "client_id", client)
		ids = append(ids, jtis...)
		return err
	})
	t.denyHere(expiry, ids...)
	if err == nil {
		t.countRevoked("client_revoked", len(ids))
	}
	return len(ids), err
}

// maxClients is the maximum number of clients that ClientsOf returns.
const maxClients = 1000

// ClientsOf returns the ids of the clients that have valid tokens of a user.
func (t *Tokens) ClientsOf(ctx context.Context, user string) ([]string, error) {
	return kernel.Read(ctx, t.Server, func(c store.Conn) ([]string, error) {
		return store.List(c, func(r store.Row) (id string, err error) { return id, r.Scan(&id) },
			"SELECT DISTINCT client_id FROM authserver_families WHERE user_id = ? AND revoked_at = 0 AND expires_at > ? ORDER BY client_id LIMIT ?",
			user, t.Micros(), maxClients)
	})
}

// RevokeUserClient revokes the token families that a client has for a user, and deletes its unused authorization codes
// for the user. The caller must call Flush before, so that the issuances of the families are marked as revoked.
func (t *Tokens) RevokeUserClient(ctx context.Context, user, client string) error {
	expiry := t.Now().Add(t.options.LongestLife)
	var ids []string
	err := t.Write(ctx, func(c store.Conn) (err error) {
		if _, err := c.Exec("DELETE FROM authserver_codes WHERE user_id = ? AND client_id = ? AND spent_at = 0",
			user, client); err != nil {
			return err
		}
		ids, err = t.revokeFamilies(c, expiry, "user", "user_id = ? AND client_id = ?", []any{user, client}, nil)
		return err
	})
	t.denyHere(expiry, ids...)
	if err == nil {
		t.countRevoked("user", len(ids))
	}
	return err
}

// EndConsent revokes the tokens of a client for a user that depend on a consent, in a transaction of the caller. All
// arguments are ids; the consent is for the resource. Before the transaction the caller must call Flush, and after the
// commit it must pass the returned families to Ended.
func (t *Tokens) EndConsent(c store.Conn, user, client, resource, consent string) (families []string, err error) {
	expiry := t.Now().Add(t.options.LongestLife)
	families, err = t.revokeFamilies(c, expiry, "consent", "user_id = ? AND client_id = ?",
		[]any{user, client}, func(f *family) bool {
			return slices.Contains(f.Consents, consent)
		})
	if err != nil {
		return nil, err
	}
	if err := t.denied.deny(c, expiry, consent); err != nil {
		return nil, err
	}
	return families, t.revokeDerived(c, "user_id = ? AND consent_client_id = ? AND ' ' || resource_id || ' ' LIKE ?",
		user, client, "% "+withoutWildcards(resource)+" %")
}

// Ended makes this node reject the tokens that EndConsent revoked, from now on. The families are the result of
// EndConsent.
func (t *Tokens) Ended(consent string, families []string) {
	expiry := t.Now().Add(t.options.LongestLife)
	t.denyHere(expiry, consent)
	t.denyHere(expiry, families...)
	t.countRevoked("consent", len(families))
}

// LiveOf returns the number of a client's access tokens and families that are neither expired nor revoked.
func (t *Tokens) LiveOf(ctx context.Context, client string) (int64, error) {
	return t.live(ctx, "client_id", client)
}

// LiveOfUser returns the number of a user's access tokens and families that are neither expired nor revoked.
func (t *Tokens) LiveOfUser(ctx context.Context, user string) (int64, error) {
	return t.live(ctx, "user_id", user)
}

// live returns the number of access tokens and families that are neither expired nor revoked and whose column, user_id
// or client_id, is id. Families without a refresh token are not counted.
func (t *Tokens) live(ctx context.Context, column, id string) (n int64, err error) {
	if err := t.Flush(ctx); err != nil {
		return 0, err
	}
	err = t.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT (SELECT count(*) FROM authserver_issuances WHERE "+
			column+" = ? AND revoked_at = 0 AND expires_at > ?)"+
			" + (SELECT count(*) FROM authserver_families WHERE "+
			column+" = ? AND revoked_at = 0 AND expires_at > ? AND present <> '')",
			id, t.Micros(), id, t.Micros()).Scan(&n)
	})
	return n, err
}

const (
	// sweepRows is the number of rows that one statement deletes.
	sweepRows = 1000
	// issuanceMemory is how long an issuance is stored after its token has expired.
	issuanceMemory = 24 * time.Hour
)

// Sweep deletes rows that expired long enough ago, and returns their number.
func (t *Tokens) Sweep(ctx context.Context) (int, error) {
	now := t.Now()
	var total int64
	for _, s := range [...]struct {
		statement string
		before    time.Time
	}{
		{
			"DELETE FROM authserver_codes WHERE digest IN (SELECT digest FROM authserver_codes WHERE expires_at <= ? LIMIT ?)",
			now.Add(-codeMemory),
		},
		{
			"DELETE FROM authserver_families WHERE id IN (SELECT id FROM authserver_families WHERE expires_at <= ? LIMIT ?)",
			now.Add(-t.options.LongestLife),
		},
		{
			"DELETE FROM authserver_issuances WHERE id IN (SELECT id FROM authserver_issuances WHERE expires_at <= ? ORDER BY id LIMIT ?)",
			now.Add(-issuanceMemory),
		},
	} {
		n, err := t.DB.Purge(ctx, sweepRows, s.statement, s.before.UnixMicro())
		total += n
		if err != nil {
			return int(total), err
		}
	}
	n, err := t.denied.sweep(ctx)
	return int(total + n), err
}
