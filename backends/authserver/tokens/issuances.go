package tokens

import (
	"context"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Issuance is the stored record of an issued access token.
type Issuance struct {
	ID            int64  // the number of the row, in the order in which rows were stored
	JTI           string // the claim jti
	Family        string // the id of the token family; may be empty
	User          string // the user who is the subject; empty if the subject is a client
	Client        string // the client_id
	ConsentClient string // the client at which the user signed in, if the token was obtained by exchange
	Resource      string // ids, separated by spaces
	Scope         string
	Kind          string // the kind of the resource, such as resources.Mint
	Parent        string // the jti of the token that was exchanged for this one; may be empty
	JKT           string // the thumbprint of the key that the token is bound to; may be empty
	Agent         string // the claim agent_id
	Chain         string // the claim agent_chain, separated by spaces
	IssuedAt      time.Time
	ExpiresAt     time.Time
	RevokedAt     time.Time // zero if not revoked
}

const issuanceColumns = "jti, family, user_id, client_id, consent_client_id, resource_id, scope, kind, parent_jti, jkt, agent_id, agent_chain, issued_at, expires_at"

// queueIssuance queues an issuance to be stored soon. It blocks while too many are queued. It returns no error: even
// without its row the token is valid and can be revoked, and the code or refresh token has already been spent.
func (t *Tokens) queueIssuance(ctx context.Context, i Issuance) {
	for !t.issuances.Add(i) {
		_ = t.issuances.Flush(ctx) // after an error, lostIssuances has been called
	}
}

// storeIssuances writes issuances to the database in one transaction.
func (t *Tokens) storeIssuances(ctx context.Context, rows []Issuance) error {
	return t.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		return kernel.Insert(c, "authserver_issuances", issuanceColumns, rows, func(args []any, r *Issuance) []any {
			return append(args, r.JTI, r.Family, r.User, r.Client, r.ConsentClient, r.Resource, r.Scope, r.Kind, r.Parent,
				r.JKT, r.Agent, r.Chain, r.IssuedAt.UnixMicro(), r.ExpiresAt.UnixMicro())
		})
	})
}

// lostIssuances logs issuances that could not be stored.
func (t *Tokens) lostIssuances(rows []Issuance, err error) {
	for i := range rows {
		t.Logger().Error("the record of an issued access token could not be stored",
			zap.String("jti", rows[i].JTI), zap.String("client", rows[i].Client), zap.Error(err))
	}
}

// IssuanceFilter selects issuances. Zero fields select all of them.
type IssuanceFilter struct {
	User, Client, JTI string
	Resource          string    // the id of a resource
	Since             time.Time // the earliest time of issuance
	// Live selects only issuances whose tokens are neither expired nor revoked.
	Live bool
	ID   int64
}

// Listing returns the query of the filter. The parameter now is the current time in microseconds since 1970. If
// f.Live is set, the query leaves out issuances whose tokens have expired by then.
func (f IssuanceFilter) Listing(now int64) kernel.Listing {
	l := kernel.Listing{Columns: "id, " + issuanceColumns + ", revoked_at", Table: "authserver_issuances", ID: "id"}
	if f.ID != 0 {
		l.And("id = ?", f.ID)
	}
	if f.User != "" {
		l.And("user_id = ? AND user_id <> ''", f.User) // matches the condition of the partial index
	}
	if f.Client != "" {
		l.And("client_id = ?", f.Client)
	}
	if f.JTI != "" {
		l.And("jti = ?", f.JTI)
	}
	if f.Resource != "" {
		l.And("' ' || resource_id || ' ' LIKE ?", "% "+withoutWildcards(f.Resource)+" %")
	}
	if !f.Since.IsZero() {
		l.And("issued_at >= ?", f.Since.UnixMicro())
	}
	if f.Live {
		l.And("revoked_at = 0 AND expires_at > ?", now)
	}
	return l
}

// Issuances stores the queued issuances and then returns a page of those that match a filter.
func (t *Tokens) Issuances(ctx context.Context, f IssuanceFilter, p kernel.Page) ([]Issuance, error) {
	if err := t.Flush(ctx); err != nil {
		return nil, err
	}
	return kernel.Rows(ctx, t.Server, f.Listing(t.Micros()).Find, p, scanIssuance)
}

// TotalIssuances returns the number of stored issuances that match a filter, up to limit.
func (t *Tokens) TotalIssuances(ctx context.Context, f IssuanceFilter, limit int) (int, error) {
	return kernel.CountRows(ctx, t.Server, f.Listing(t.Micros()).Find, limit)
}

// Place returns the position of an issuance in a list, for paging.
func (i Issuance) Place() kernel.Place { return kernel.Place{At: i.ID} }

// withoutWildcards removes the wildcards of LIKE from an id. The ids of resources contain none.
func withoutWildcards(text string) string { return strings.NewReplacer("%", "", "_", "").Replace(text) }

// scanIssuance returns the issuance in a row with the columns of IssuanceFilter.Listing.
func scanIssuance(r store.Row) (i Issuance, err error) {
	var issued, expires, revoked int64
	err = r.Scan(&i.ID, &i.JTI, &i.Family, &i.User, &i.Client, &i.ConsentClient, &i.Resource, &i.Scope, &i.Kind, &i.Parent,
		&i.JKT, &i.Agent, &i.Chain, &issued, &expires, &revoked)
	i.IssuedAt, i.ExpiresAt = time.UnixMicro(issued), time.UnixMicro(expires)
	if revoked != 0 {
		i.RevokedAt = time.UnixMicro(revoked)
	}
	return i, err
}
