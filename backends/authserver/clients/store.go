package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// RawJSON is JSON exactly as a client sent it.
type RawJSON = json.RawMessage

// columns are the columns of authserver_clients, in the order of scan.
const columns = "id, name, secret, auth_method, redirects, grants, responses, scope, agent, agent_text, metadata, status, source, registration, issued_at, updated_at, fresh_until, seen_at"

// scan reads a row with columns.
func scan(r store.Row) (*Client, error) {
	c := new(Client)
	var redirects, grants, responses, scope, metadata string
	var issued, updated, fresh, seen int64
	err := r.Scan(&c.ID, &c.Name, &c.Secret, &c.AuthMethod, &redirects, &grants, &responses, &scope, &c.Agent,
		&c.AgentText,
		&metadata, &c.Status, &c.Source, &c.Registration, &issued, &updated, &fresh, &seen)
	if err != nil {
		return nil, err
	}
	for _, column := range [...]struct {
		text string
		into any
	}{{redirects, &c.Redirects}, {grants, &c.Grants}, {responses, &c.Responses}, {metadata, &c.Metadata}} {
		if err := json.Unmarshal([]byte(column.text), column.into); err != nil {
			return nil, fmt.Errorf("reading client %q: %w", c.ID, err)
		}
	}
	c.Scope = strings.Fields(scope)
	c.IssuedAt, c.UpdatedAt, c.FreshUntil = time.UnixMicro(issued), time.UnixMicro(updated), time.UnixMicro(fresh)
	if seen > 0 {
		c.SeenAt = time.UnixMicro(seen)
	}
	return c, nil
}

// Stored returns a client from the database instead of the cache.
func (cs *Clients) Stored(ctx context.Context, id string) (*Client, error) { return cs.read(ctx, id) }

// read loads a client for the cache.
func (cs *Clients) read(ctx context.Context, id string) (*Client, error) {
	return kernel.Read(ctx, cs.Server, func(c store.Conn) (*Client, error) { return readIn(c, id, "") })
}

// readIn returns a stored client, or ErrUnknown. The parameter lock is the end of the query: it is either empty or
// c.Lock(), which locks the row until the end of the transaction.
func readIn(c store.Conn, id, lock string) (*Client, error) {
	client, err := scan(c.Row("SELECT "+columns+" FROM authserver_clients WHERE id = ?"+lock, id))
	return client, kernel.IfNoRows(err, ErrUnknown)
}

// Filter selects clients.
type Filter struct {
	Status, Source string // empty for all
	Agent          string // "true" or "false"; empty for both
	// Text selects the client with this id. If there is no such client, it selects clients whose name or id contains
	// the text, ignoring case.
	Text string
}

// Listing returns the query of the filter.
func (f Filter) Listing() kernel.Listing {
	l := f.listing()
	if f.Text != "" {
		pattern := kernel.Containing(f.Text)
		l.And("(lower(name) LIKE ? ESCAPE '!' OR lower(id) LIKE ? ESCAPE '!')", pattern, pattern)
	}
	return l
}

// listing returns the query of the filter without its text.
func (f Filter) listing() kernel.Listing {
	l := kernel.Listing{Columns: columns, Table: "authserver_clients", At: "issued_at", ID: "id"}
	switch f.Status {
	case "":
	case Active: // nearly all clients have this status, so that no index helps
		l.And("status = ?", f.Status)
	default:
		l.And("status = ? AND status <> 'active'", f.Status) // matches the condition of the partial index
	}
	if f.Source != "" {
		l.And("source = ?", f.Source)
	}
	switch f.Agent {
	case "true":
		l.And("agent = 1")
	case "false":
		l.And("agent = 0")
	}
	return l
}

// find returns the query of the filter. If the text is the id of a client, the query selects only that client and does
// not need to read all names.
func (f Filter) find(c store.Conn) (kernel.Listing, error) {
	if f.Text == "" {
		return f.Listing(), nil
	}
	exact := f.listing()
	exact.And("id = ?", f.Text)
	if n, err := exact.CountRows(c, 1); err != nil || n > 0 {
		return exact, err
	}
	return f.Listing(), nil
}

// List returns a page of the clients that match a filter.
func (cs *Clients) List(ctx context.Context, f Filter, p kernel.Page) ([]*Client, error) {
	return kernel.Rows(ctx, cs.Server, f.find, p, scan)
}

// Total returns the number of clients that match a filter, up to limit.
func (cs *Clients) Total(ctx context.Context, f Filter, limit int) (int, error) {
	return kernel.CountRows(ctx, cs.Server, f.find, limit)
}

// Place returns the position of a client in a list.
func (c *Client) Place() kernel.Place { return kernel.Place{At: c.IssuedAt.UnixMicro(), ID: c.ID} }

// Create stores a client with the status active, and with a new id unless it has an id. If the client authenticates
// with a secret, Create returns a new secret in clear, and otherwise "".
func (cs *Clients) Create(ctx context.Context, c *Client) (secret string, err error) {
	if c.ID == "" {
		c.ID = kernel.NewID()
	}
	if usesSecret(c.AuthMethod) {
		if secret, c.Secret, err = cs.newSecret(ctx); err != nil {
			return "", err
		}
	}
	return secret, cs.store(ctx, c)
}

// store stores a new client with the status active.
func (cs *Clients) store(ctx context.Context, c *Client) error {
	c.Status = Active
	now := cs.Now().Truncate(time.Microsecond)
	c.IssuedAt, c.UpdatedAt = now, now
	return cs.Change(ctx, topic, c.ID, func(conn store.Conn) error { return insert(conn, c) })
}

// insert stores the row of a new client.
func insert(conn store.Conn, c *Client) error {
	fresh := int64(0)
	if !c.FreshUntil.IsZero() {
		fresh = c.FreshUntil.UnixMicro()
	}
	_, err := conn.Exec("INSERT INTO authserver_clients ("+
		columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
		c.ID, c.Name, c.Secret, c.AuthMethod, kernel.JSON(c.Redirects), kernel.JSON(c.Grants), kernel.JSON(c.Responses),
		strings.Join(c.Scope, " "), kernel.Flag(c.Agent), c.AgentText,
		kernel.JSON(c.Metadata), c.Status, c.Source, c.Registration, c.IssuedAt.UnixMicro(), c.UpdatedAt.UnixMicro(), fresh)
	return err
}

// Seed stores the clients of a list whose ids do not exist yet.
func (cs *Clients) Seed(ctx context.Context, list []*Client) error {
	for _, c := range list {
		_, err := cs.Find(ctx, c.ID)
		if errors.Is(err, ErrUnknown) {
			client := *c
			if _, err = cs.Create(ctx, &client); store.IsUniqueViolation(err) {
				err = nil // another node has stored it
			}
		}
		if err != nil {
			return fmt.Errorf("client %q: %w", c.ID, err)
		}
	}
	return nil
}

// Edit changes a client in a transaction and returns the changed client. It calls edit with the stored client. If edit
// returns an error, nothing is changed. The function edit may be called more than once. It must not change the id, the
// source, the time of issue, or whether the client is an agent.
func (cs *Clients) Edit(ctx context.Context, id string, edit func(c *Client) error) (edited *Client, err error) {
	err = cs.Change(ctx, topic, id, func(conn store.Conn) error {
		c, err := readIn(conn, id, conn.Lock())
		if err != nil {
			return err
		}
		if err := edit(c); err != nil {
			return err
		}
		c.UpdatedAt = cs.Now().Truncate(time.Microsecond)
		edited = c
		_, err = conn.Exec("UPDATE authserver_clients SET name = ?, secret = ?, auth_method = ?, redirects = ?, grants = ?, responses = ?, scope = ?,"+
			" agent_text = ?, metadata = ?, status = ?, registration = ?, updated_at = ? WHERE id = ?",
			c.Name, c.Secret, c.AuthMethod, kernel.JSON(c.Redirects), kernel.JSON(c.Grants), kernel.JSON(c.Responses),
			strings.Join(c.Scope, " "), c.AgentText, kernel.JSON(c.Metadata), c.Status, c.Registration,
			c.UpdatedAt.UnixMicro(), id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return edited, nil
}

// SetStatus sets the status of a client. The status of a revoked client cannot be changed; the error is then
// ErrRevoked. SetStatus first calls each function of checks with the stored client. If one returns an error, nothing is
// changed.
func (cs *Clients) SetStatus(ctx context.Context, id, status string, checks ...func(c *Client) error) (*Client, error) {
	return cs.Edit(ctx, id, func(c *Client) error {
		if err := kernel.Allow(checks, c); err != nil {
			return err
		}
		if c.Status == Revoked && status != Revoked {
			return ErrRevoked
		}
		c.Status = status
		return nil
	})
}

// ErrRevoked means that a client was revoked, which cannot be undone.
var ErrRevoked = errors.New("the client is revoked, which cannot be undone")

// Delete deletes a client and the consents for it. The caller must revoke the client's tokens. Delete first calls each
// function of checks with the stored client. If one returns an error, nothing is deleted.
func (cs *Clients) Delete(ctx context.Context, id string, checks ...func(c *Client) error) error {
	return cs.Change(ctx, topic, id, func(c store.Conn) error {
		stored, err := readIn(c, id, c.Lock())
		if err != nil {
			return err
		}
		if err := kernel.Allow(checks, stored); err != nil {
			return err
		}
		_, err = c.Exec("DELETE FROM authserver_clients WHERE id = ?", id)
		return err
	})
}
