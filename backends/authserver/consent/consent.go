// Package consent stores the consents of users: the scopes granted by each user to each client for each resource.
package consent

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Need is the scope that a client requests at a resource.
type Need struct {
	Resource string // its id; empty for this server and for requests without a resource
	Scope    []string
}

// Grant is a row of authserver_consents. Times are microseconds since 1970.
type Grant struct {
	ID, User, Client, Resource string
	Scope                      []string
	CreatedAt, UpdatedAt       int64

	redirects string // the digest of the client's redirect URIs at the time of the consent
}

// Consents stores all consents.
type Consents struct{ *kernel.Server }

// columns are the columns of authserver_consents, in the order of scan.
const columns = "id, user_id, client_id, resource_id, scope, redirects, created_at, updated_at"

// scan reads a row with columns.
func scan(row store.Row) (g Grant, err error) {
	var scope string
	err = row.Scan(&g.ID, &g.User, &g.Client, &g.Resource, &scope, &g.redirects, &g.CreatedAt, &g.UpdatedAt)
	g.Scope = strings.Fields(scope)
	return g, err
}

// Covers reports whether the consents of a user to a client cover all needs, and returns the ids of those consents, one
// for each need. If the client has a metadata document, a consent no longer counts once the redirect URIs have changed.
func (s *Consents) Covers(
	ctx context.Context, user string, client *clients.Client, needs []Need,
) (ids []string, ok bool, err error) {
	all, err := s.Between(ctx, user, client)
	if err != nil {
		return nil, false, err
	}
	for _, need := range needs {
		index := IndexOf(all, need.Resource)
		if index < 0 {
			return nil, false, nil
		}
		grant := &all[index]
		if slices.ContainsFunc(need.Scope, func(scope string) bool { return !slices.Contains(grant.Scope, scope) }) {
			return nil, false, nil
		}
		ids = append(ids, grant.ID)
	}
	return ids, true, nil
}

// IndexOf returns the index of the consent for a resource, or -1. There is at most one in the consents of a user to a
// client.
func IndexOf(grants []Grant, resource string) int {
	return slices.IndexFunc(grants, func(g Grant) bool { return g.Resource == resource })
}

// Between returns the consents of a user to a client. If the client has a metadata document, a consent no longer counts
// once the redirect URIs have changed.
func (s *Consents) Between(ctx context.Context, user string, client *clients.Client) (grants []Grant, err error) {
	err = s.ReadBriefly(ctx, func(c store.Conn) (err error) {
		grants, err = find(c, user, client.ID)
		return err
	})
	return valid(client, grants), err
}

// valid returns the consents to a client that still count; see Between. It reuses the array of grants.
func valid(client *clients.Client, grants []Grant) []Grant {
	if client.Source != clients.Document || len(grants) == 0 {
		return grants
	}
	current := digest(client)
	return slices.DeleteFunc(grants, func(g Grant) bool { return g.redirects != current })
}

// maxGrants is the maximum number of consents that one query reads. It is a literal in the statement, which each
// authorization request runs: SQLite would prepare a statement again each time if its LIMIT were a parameter.
const maxGrants = 10_000

// find returns the stored consents of a user to a client, including those that no longer count.
func find(c store.Conn, user, client string) ([]Grant, error) {
	return store.List(c, scan, "SELECT "+columns+" FROM authserver_consents WHERE user_id = ? AND client_id = ? LIMIT "+
		strconv.Itoa(maxGrants), user, client)
}

// Approve stores the scopes that a user has approved and returns the ids of the consents. The lists requested and
// approved have the same resources in the same order. A scope that was granted before is kept if the client does not
// request it now and the former consent still counts; a scope that is requested but not approved is removed.
func (s *Consents) Approve(
	ctx context.Context, user string, client *clients.Client, requested, approved []Need,
) (ids []string, err error) {
	err = s.Write(ctx, func(c store.Conn) error {
		ids = nil
		all, err := find(c, user, client.ID)
		if err != nil {
			return err
		}
		all = valid(client, all)
		for i, need := range approved {
			scope := slices.Clone(need.Scope)
			if index := IndexOf(all, need.Resource); index >= 0 {
				for _, former := range all[index].Scope {
					if !slices.Contains(requested[i].Scope, former) {
						scope = append(scope, former)
					}
				}
			}
			id, err := s.upsert(c, user, client, need.Resource, scope)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// upsert stores the consent of a user to a client for a resource, and returns the id of the stored consent. It
// replaces a former consent to the same client and resource.
func (s *Consents) upsert(
	c store.Conn, user string, client *clients.Client, resource string, scope []string,
) (id string, err error) {
	now := s.Micros()
	err = c.Row(
		"INSERT INTO authserver_consents (id, user_id, client_id, resource_id, scope, redirects, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (user_id, client_id, resource_id) DO UPDATE SET scope = excluded.scope, redirects = excluded.redirects, updated_at = excluded.updated_at RETURNING id",
		kernel.NewID(), user, client.ID, resource, strings.Join(scope, " "), digest(client), now, now).Scan(&id)
	return id, err
}

// Of returns the consents of a user, newest first.
func (s *Consents) Of(ctx context.Context, user string) ([]Grant, error) {
	return kernel.Read(ctx, s.Server, func(c store.Conn) ([]Grant, error) {
		return store.List(c, scan, "SELECT "+
			columns+" FROM authserver_consents WHERE user_id = ? ORDER BY updated_at DESC, id DESC LIMIT ?", user, maxGrants)
	})
}

// Revoke deletes a consent and returns it. Unless revoke is nil, Revoke calls it in the same transaction, to revoke the
// tokens that depend on the consent. If the consent does not exist, the error has status 404.
func (s *Consents) Revoke(
	ctx context.Context, id string, revoke func(c store.Conn, g Grant) error,
) (g Grant, err error) {
	err = s.Write(ctx, func(c store.Conn) (err error) {
		g, err = scan(c.Row("DELETE FROM authserver_consents WHERE id = ? RETURNING "+columns, id))
		if errors.Is(err, sql.ErrNoRows) {
			return apierror.New(http.StatusNotFound, "not_found", "there is no such grant")
		}
		if err != nil || revoke == nil {
			return err
		}
		return revoke(c, g)
	})
	return g, err
}

// digest returns a digest of a client's redirect URIs, independent of their order.
func digest(client *clients.Client) string {
	uris := slices.Clone(client.Redirects)
	slices.Sort(uris)
	sum := sha256.Sum256([]byte(strings.Join(uris, "\n")))
	return hex.EncodeToString(sum[:])
}
