package clients

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/documents"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// maxDocuments is the maximum number of clients with metadata documents.
	maxDocuments = 10_000
	// documentsRoom is the number of unused clients that are removed when the maximum is reached.
	documentsRoom = 100
	// documentsIdle is how long a client with a metadata document is kept if nothing was granted to it.
	documentsIdle = 24 * time.Hour
)

// Current returns a client for a new authorization. If its client_id is the URL of a metadata document, Current fetches
// the document, unless the stored copy is still fresh or the client is not active. The error is ErrUnknown,
// invalid_client for an invalid document, or temporarily_unavailable.
func (cs *Clients) Current(ctx context.Context, id string) (*Client, error) {
	known, err := cs.Find(ctx, id)
	if err == nil {
		cs.recordUse(known)
	}
	if !documents.IsURL(id) || err != nil && !errors.Is(err, ErrUnknown) {
		return known, err
	}
	switch { // known is nil for a document that has never been fetched
	case known != nil && known.Source != Document:
		return known, nil
	case cs.options.Documents == nil:
		return nil, ErrUnknown
	case known != nil && (!known.Active() || cs.Now().Before(known.FreshUntil)):
		return known, nil
	}
	return cs.fetch(ctx, id, false)
}

// Refresh fetches the metadata document of a client even if the stored copy is still fresh. It returns ErrNoDocument
// for a client without a document.
func (cs *Clients) Refresh(ctx context.Context, id string) (*Client, error) {
	known, err := cs.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if known.Source != Document || cs.options.Documents == nil {
		return nil, ErrNoDocument
	}
	return cs.fetch(ctx, id, true)
}

// ErrNoDocument means that no metadata document describes the client, or that metadata documents are not enabled.
var ErrNoDocument = errors.New("the client has no metadata document, or metadata documents are disabled")

// fetch fetches a document once for all concurrent callers. Each caller waits no longer than its own context lasts. If
// refetch is set, fetch ignores that the stored copy is still fresh.
func (cs *Clients) fetch(ctx context.Context, id string, refetch bool) (*Client, error) {
	flight := cs.flights.DoChan(id, func() (any, error) {
		ctx := context.WithoutCancel(ctx) // the first caller may leave while others wait
		known, err := cs.Find(ctx, id)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return nil, err
		}
		if known != nil && !refetch && cs.Now().Before(known.FreshUntil) { // stored by a flight that has just ended
			return known, nil
		}
		download := cs.options.Documents.Fetch
		if known != nil { // not blocked by requests for unknown URLs of the same host
			download = cs.options.Documents.Refetch
		}
		document, err := download(ctx, id)
		if err != nil {
			return nil, cs.documentError(id, known, err)
		}
		c, err := cs.fromDocument(document)
		if err != nil {
			return nil, err
		}
		c.ID = id
		return cs.storeDocumented(ctx, c)
	})
	select {
	case result := <-flight:
		c, _ := result.Val.(*Client)
		return c, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// documentError returns the error for a client whose document cannot be fetched. The parameter storedClient is the
// stored copy of the client, or nil. The reason is only logged: otherwise URLs could be used to probe the server's
// network.
func (cs *Clients) documentError(id string, storedClient *Client, err error) error {
	if !errors.Is(err, documents.ErrUnavailable) {
		return err
	}
	cs.Logger().Info("the metadata document of a client could not be fetched", zap.String("client_id", id), zap.Error(err))
	if storedClient != nil {
		return kernel.Refuse(kernel.Unavailable,
			"the metadata document of the client cannot be fetched at the moment, try again shortly")
	}
	return kernel.Refuse(kernel.InvalidClient, "no metadata document of the client could be fetched from its client_id")
}

// fromDocument returns the client that a metadata document describes. The client is not stored.
func (cs *Clients) fromDocument(document *documents.Document) (*Client, error) {
	r, err := ParseRegistration(document.Text)
	if err != nil {
		return nil, kernel.Refuse(kernel.InvalidClient,
			"the metadata document of the client must be a JSON object whose members have the types that RFC 7591 defines")
	}
	switch {
	case r.Name == "":
		return nil, kernel.Refuse(kernel.InvalidClient, "the document of the client has no client_name")
	case len(r.Redirects) == 0:
		return nil, kernel.Refuse(kernel.InvalidClient, "the document of the client has no redirect_uris")
	case r.AuthMethod == "":
		r.AuthMethod = MethodNone
	case r.AuthMethod != MethodNone && r.AuthMethod != MethodKey:
		return nil, kernel.Refuse(kernel.InvalidClient,
			"the token_endpoint_auth_method of the document of the client must be none or private_key_jwt")
	}
	if r.Grants == nil {
		r.Grants = []string{GrantCode, GrantRefresh}
	}
	r.Grants = slices.DeleteFunc(r.Grants,
		func(g string) bool { return !withUser(g) || !slices.Contains(cs.options.Grants, g) })
	r.Responses = nil // they are derived from the grants
	c, err := cs.Client(r, Document)
	if refusal, ok := apierror.From(err); ok {
		return nil, kernel.Refuse(kernel.InvalidClient, "the document of the client: %s", refusal.Message)
	}
	if err != nil {
		return nil, err
	}
	c.Scope = nil // Ceiling returns the default
	c.FreshUntil = document.Fresh
	return c, nil
}

// storeDocumented stores the client c with the metadata of its document, and returns it. It keeps the scope and the
// status that an administrator has set, and whether the client is an agent.
func (cs *Clients) storeDocumented(ctx context.Context, c *Client) (*Client, error) {
	action := "" // of the audit event; empty if nothing but FreshUntil changes
	now := cs.Now().Truncate(time.Microsecond)
	c.Status, c.IssuedAt, c.UpdatedAt = Active, now, now
	err := cs.Change(ctx, topic, c.ID, func(conn store.Conn) error {
		action = "" // the transaction may be repeated
		known, err := readIn(conn, c.ID, conn.Lock())
		if errors.Is(err, ErrUnknown) {
			action = "client.registered"
			if err := makeRoom(conn, now); err != nil {
				return err
			}
			return insert(conn, c)
		}
		if err != nil {
			return err
		}
		c.Scope, c.Status, c.Agent, c.IssuedAt = known.Scope, known.Status, known.Agent, known.IssuedAt
		if unchanged(c, known) {
			c.UpdatedAt = known.UpdatedAt
		} else {
			action = "client.updated"
		}
		_, err = conn.Exec("UPDATE authserver_clients SET name = ?, auth_method = ?, redirects = ?, grants = ?, responses = ?, agent_text = ?, metadata = ?, updated_at = ?, fresh_until = ? WHERE id = ?",
			c.Name, c.AuthMethod, kernel.JSON(c.Redirects), kernel.JSON(c.Grants), kernel.JSON(c.Responses), c.AgentText,
			kernel.JSON(c.Metadata), c.UpdatedAt.UnixMicro(), c.FreshUntil.UnixMicro(), c.ID)
		return err
	})
	if store.IsUniqueViolation(err) { // another node was faster
		return cs.Find(ctx, c.ID)
	}
	if err != nil {
		return nil, err
	}
	if action == "client.registered" {
		cs.Count("clients_registered_total", Document)
	}
	if action != "" {
		cs.Audit(ctx, kernel.Event{Action: action, Client: c.ID, Detail: []string{"source", Document, "name", c.Name}})
	}
	return c, nil
}

// unchanged reports whether the client c, which was made from a document, equals storedClient.
func unchanged(c, storedClient *Client) bool {
	return c.Name == storedClient.Name && c.AuthMethod == storedClient.AuthMethod &&
		c.AgentText == storedClient.AgentText &&
		kernel.JSON(c.Metadata) == kernel.JSON(storedClient.Metadata) &&
		slices.Equal(c.Redirects, storedClient.Redirects) && slices.Equal(c.Grants, storedClient.Grants)
}

// unusedCondition is the SQL condition for clients with metadata documents that can be removed without loss: they have
// no consents and no tokens, and no administrator has changed them. The parameter of the condition is a time at which
// the copy of the document must no longer be fresh.
const unusedCondition = "source = '" + Document + "' AND status = '" + Active + "' AND scope = '' AND fresh_until < ?" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_consents o WHERE o.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_families f WHERE f.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_issuances i WHERE i.client_id = c.id)"

// makeRoom removes unused clients with metadata documents if the maximum is reached, even if their copies are still
// fresh. It returns an error if all of them are in use.
func makeRoom(conn store.Conn, now time.Time) error {
	var n int
	err := conn.Row("SELECT count(*) FROM authserver_clients WHERE source = '" + Document + "'").Scan(&n)
	if err != nil || n < maxDocuments {
		return err
	}
	removed, err := conn.Exec("DELETE FROM authserver_clients WHERE id IN (SELECT id FROM authserver_clients c WHERE "+
		unusedCondition+" ORDER BY fresh_until LIMIT ?)",
		now.Add(documentsIdle).UnixMicro(), documentsRoom)
	if err == nil && removed == 0 {
		err = kernel.Refuse(kernel.Unavailable, "there are too many clients with metadata documents")
	}
	return err
}

// Sweep removes unused clients with metadata documents whose copy has not been fresh for a day. It returns their
// number.
func (cs *Clients) Sweep(ctx context.Context) (n int, err error) {
	err = cs.Write(ctx, func(conn store.Conn) error {
		removed, err := conn.Exec("DELETE FROM authserver_clients WHERE id IN (SELECT id FROM authserver_clients c WHERE "+
			unusedCondition+" LIMIT ?)",
			cs.Now().Add(-documentsIdle).UnixMicro(), maxDocuments)
		n = int(removed)
		return err
	})
	if n > 0 {
		cs.Tell(topic, "")
	}
	return n, err
}
