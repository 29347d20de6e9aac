package clients

import (
	"context"
	"database/sql"
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
	// documentsMost bounds the clients that are known by a URL.
	documentsMost = 10_000
	// documentsRoom is how many are forgotten where there are too many.
	documentsRoom = 100
	// documentsIdle is how long one that nothing was granted to is remembered.
	documentsIdle = 24 * time.Hour
)

// Current is Find for who begins something: a client that is known by the URL of its
// metadata document is as the document says it now, which is fetched where it is new or was
// fetched too long ago. The error is ErrUnknown, or a refusal of the client or of now.
func (cs *Clients) Current(ctx context.Context, id string) (*Client, error) {
	known, err := cs.Find(ctx, id)
	if err == nil {
		cs.see(known)
	}
	if !documents.IsURL(id) || err != nil && !errors.Is(err, ErrUnknown) {
		return known, err
	}
	switch {
	case known != nil && known.Source != Document:
		return known, nil
	case cs.options.Documents == nil:
		return nil, ErrUnknown
	case known != nil && (!known.Active() || cs.Now().Before(known.FreshUntil)):
		return known, nil
	}
	return cs.fetch(ctx, id, false)
}

// Refresh fetches the document of a client that is known by it, however fresh it is.
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

// ErrNoDocument tells that a client is not known by a document.
var ErrNoDocument = errors.New("the client has no metadata document that is used")

// fetch gets a document once for all who ask at the same time, who wait no longer than
// their requests live.
func (cs *Clients) fetch(ctx context.Context, id string, again bool) (*Client, error) {
	flight := cs.flights.DoChan(id, func() (any, error) {
		ctx := context.WithoutCancel(ctx)
		known, err := cs.Find(ctx, id)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return nil, err
		}
		if known != nil && !again && cs.Now().Before(known.FreshUntil) { // by a flight that has just ended
			return known, nil
		}
		get := cs.options.Documents.Fetch
		if known != nil {
			get = cs.options.Documents.Refetch
		}
		document, err := get(ctx, id)
		if err != nil {
			return nil, cs.noDocument(id, known, err)
		}
		c, err := cs.documented(document)
		if err != nil {
			return nil, err
		}
		c.ID = id
		return cs.put(ctx, c)
	})
	select {
	case done := <-flight:
		c, _ := done.Val.(*Client)
		return c, done.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// noDocument is the refusal where no document can be had. What answers there, or why it
// does not, is for the log alone: who names a URL learns nothing of the networks here.
func (cs *Clients) noDocument(id string, known *Client, err error) error {
	if !errors.Is(err, documents.ErrUnavailable) {
		return err
	}
	cs.Logger().Info("the metadata document of a client could not be fetched", zap.String("client_id", id), zap.Error(err))
	if known != nil {
		return kernel.Refuse(kernel.Unavailable, "the metadata document of the client cannot be fetched at the moment, try again shortly")
	}
	return kernel.Refuse(kernel.InvalidClient, "no metadata document of the client could be fetched from its client_id")
}

// documented is the client that a document tells of.
func (cs *Clients) documented(document *documents.Document) (*Client, error) {
	r, err := ParseRegistration(document.Text)
	if err != nil {
		return nil, kernel.Refuse(kernel.InvalidClient, "the document of the client has members of other types than those of RFC 7591")
	}
	switch {
	case r.Name == "":
		return nil, kernel.Refuse(kernel.InvalidClient, "the document of the client has no client_name")
	case len(r.Redirects) == 0:
		return nil, kernel.Refuse(kernel.InvalidClient, "the document of the client has no redirect_uris")
	case r.AuthMethod == "":
		r.AuthMethod = MethodNone
	case r.AuthMethod != MethodNone && r.AuthMethod != MethodKey:
		return nil, kernel.Refuse(kernel.InvalidClient, "the token_endpoint_auth_method of the document of the client must be none or private_key_jwt")
	}
	if r.Grants == nil {
		r.Grants = []string{GrantCode, GrantRefresh}
	}
	r.Grants = slices.DeleteFunc(r.Grants, func(g string) bool { return !withUser(g) || !slices.Contains(cs.options.Grants, g) })
	r.Responses = nil // they follow from the grants
	c, err := cs.Client(r, Document)
	if refusal, ok := apierror.From(err); ok {
		return nil, kernel.Refuse(kernel.InvalidClient, "the document of the client: %s", refusal.Message)
	}
	if err != nil {
		return nil, err
	}
	c.Scope = nil // Ceiling has that of all
	c.FreshUntil = document.Fresh
	return c, nil
}

// put stores a client as its document says it. What an administrator has set of it stays,
// and so does whether it is an agent.
func (cs *Clients) put(ctx context.Context, c *Client) (*Client, error) {
	done := ""
	now := cs.Now().Truncate(time.Microsecond)
	c.Status, c.IssuedAt, c.UpdatedAt = Active, now, now
	err := cs.Change(ctx, topic, c.ID, func(conn store.Conn) error {
		done = ""
		known, err := scan(conn.Row("SELECT "+columns+" FROM authserver_clients WHERE id = ?"+conn.Lock(), c.ID))
		if errors.Is(err, sql.ErrNoRows) {
			done = "client.registered"
			if err := makeRoom(conn, now); err != nil {
				return err
			}
			return insert(conn, c)
		}
		if err != nil {
			return err
		}
		c.Scope, c.Status, c.Agent, c.IssuedAt = known.Scope, known.Status, known.Agent, known.IssuedAt
		if same(c, known) {
			c.UpdatedAt = known.UpdatedAt
		} else {
			done = "client.updated"
		}
		_, err = conn.Exec("UPDATE authserver_clients SET name = ?, auth_method = ?, redirects = ?, grants = ?, responses = ?, agent_text = ?, metadata = ?, updated_at = ?, fresh_until = ? WHERE id = ?",
			c.Name, c.AuthMethod, text(c.Redirects), text(c.Grants), text(c.Responses), c.AgentText, text(c.Metadata), c.UpdatedAt.UnixMicro(), c.FreshUntil.UnixMicro(), c.ID)
		return err
	})
	if store.IsUniqueViolation(err) { // another node was faster
		return cs.Find(ctx, c.ID)
	}
	if err != nil {
		return nil, err
	}
	if done == "client.registered" {
		cs.Count("clients_registered_total", Document)
	}
	if done != "" {
		cs.Audit(ctx, kernel.Event{Action: done, Client: c.ID, Detail: []string{"source", Document, "name", c.Name}})
	}
	return c, nil
}

// same reports whether a document says nothing new.
func same(c, known *Client) bool {
	return c.Name == known.Name && c.AuthMethod == known.AuthMethod && c.AgentText == known.AgentText && text(c.Metadata) == text(known.Metadata) &&
		slices.Equal(c.Redirects, known.Redirects) && slices.Equal(c.Grants, known.Grants)
}

// unused are clients that are known by a URL and have nothing that would be lost with them.
const unused = "source = '" + Document + "' AND status = '" + Active + "' AND scope = '' AND fresh_until < ?" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_consents o WHERE o.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_families f WHERE f.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_issuances i WHERE i.client_id = c.id)"

// makeRoom keeps the number of clients that are known by a URL within its bound.
func makeRoom(conn store.Conn, now time.Time) error {
	var n int
	if err := conn.Row("SELECT count(*) FROM authserver_clients WHERE source = '" + Document + "'").Scan(&n); err != nil || n < documentsMost {
		return err
	}
	gone, err := conn.Exec("DELETE FROM authserver_clients WHERE id IN (SELECT id FROM authserver_clients c WHERE "+unused+" ORDER BY fresh_until LIMIT ?)",
		now.Add(documentsIdle).UnixMicro(), documentsRoom)
	if err == nil && gone == 0 {
		err = kernel.Refuse(kernel.Unavailable, "there are too many clients with metadata documents")
	}
	return err
}

// Sweep forgets the clients that are known by a URL, that nothing was granted to, and whose
// documents nobody has asked for in a day.
func (cs *Clients) Sweep(ctx context.Context) (n int, err error) {
	err = cs.Write(ctx, func(conn store.Conn) error {
		gone, err := conn.Exec("DELETE FROM authserver_clients WHERE id IN (SELECT id FROM authserver_clients c WHERE "+unused+" LIMIT ?)",
			cs.Now().Add(-documentsIdle).UnixMicro(), documentsMost)
		n = int(gone)
		return err
	})
	if n > 0 {
		cs.Tell(topic, "")
	}
	return n, err
}
