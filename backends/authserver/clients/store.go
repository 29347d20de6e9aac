package clients

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// RawJSON is JSON as it was sent.
type RawJSON = json.RawMessage

const columns = "id, name, secret, auth_method, redirects, grants, responses, scope, agent, agent_text, metadata, status, source, registration, issued_at, updated_at, fresh_until, seen_at"

func scan(r store.Row) (*Client, error) {
	c := new(Client)
	var redirects, grants, responses, scope, metadata string
	var issued, updated, fresh, seen int64
	err := r.Scan(&c.ID, &c.Name, &c.Secret, &c.AuthMethod, &redirects, &grants, &responses, &scope, &c.Agent, &c.AgentText,
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

// Stored is the client of an id as it is now, whatever is remembered of it.
func (cs *Clients) Stored(ctx context.Context, id string) (*Client, error) { return cs.read(ctx, id) }

func (cs *Clients) read(ctx context.Context, id string) (c *Client, err error) {
	err = cs.Read(ctx, func(conn store.Conn) error {
		c, err = scan(conn.Row("SELECT "+columns+" FROM authserver_clients WHERE id = ?", id))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrUnknown
	}
	return c, err
}

// Filter narrows List.
type Filter struct {
	Status, Source string
	Agent          string // true or false
	// Text is the id, or in the name or the id, whichever case its letters have.
	Text string
}

// Listing has the clients of a filter.
func (f Filter) Listing() kernel.Listing {
	l := f.listing()
	if f.Text != "" {
		like := kernel.Containing(f.Text)
		l.And("(lower(name) LIKE ? ESCAPE '!' OR lower(id) LIKE ? ESCAPE '!')", like, like)
	}
	return l
}

// listing is Listing whatever the text.
func (f Filter) listing() kernel.Listing {
	l := kernel.Listing{Columns: columns, Table: "authserver_clients", At: "issued_at", ID: "id"}
	switch f.Status {
	case "":
	case Active: // nearly all are
		l.And("status = ?", f.Status)
	default:
		l.And("status = ? AND status <> 'active'", f.Status) // as its index has it
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

// find is Listing, or, where the text is the id of a client, that one alone: who has an id
// means that, and need not wait for all names to be read.
func (f Filter) find(c store.Conn) (kernel.Listing, error) {
	if f.Text == "" {
		return f.Listing(), nil
	}
	exact := f.listing()
	exact.And("id = ?", f.Text)
	if n, err := kernel.CountRows(c, exact, 1); err != nil || n > 0 {
		return exact, err
	}
	return f.Listing(), nil
}

// List is a page of clients.
func (cs *Clients) List(ctx context.Context, f Filter, p kernel.Page) (list []*Client, err error) {
	err = cs.Read(ctx, func(c store.Conn) error {
		l, err := f.find(c)
		if err == nil {
			list, err = kernel.Rows(c, l, p, scan)
		}
		return err
	})
	return list, err
}

// Total is how many List has on all pages, at most so many.
func (cs *Clients) Total(ctx context.Context, f Filter, most int) (n int, err error) {
	err = cs.Read(ctx, func(c store.Conn) error {
		l, err := f.find(c)
		if err == nil {
			n, err = kernel.CountRows(c, l, most)
		}
		return err
	})
	return n, err
}

// Place is that of a client in a list.
func (c *Client) Place() kernel.Place { return kernel.Place{At: c.IssuedAt.UnixMicro(), ID: c.ID} }

// Create stores a client. It gives it an id unless it has one, an active status, and a
// secret, in clear, where its method needs one: it is shown this once.
func (cs *Clients) Create(ctx context.Context, c *Client) (secret string, err error) {
	if c.ID == "" {
		c.ID = kernel.NewID()
	}
	if c.AuthMethod == MethodBasic || c.AuthMethod == MethodPost {
		if secret, c.Secret, err = cs.newSecret(ctx); err != nil {
			return "", err
		}
	}
	return secret, cs.store(ctx, c)
}

// store stores a client that is new, and active from now on.
func (cs *Clients) store(ctx context.Context, c *Client) error {
	c.Status = Active
	now := cs.Now().Truncate(time.Microsecond)
	c.IssuedAt, c.UpdatedAt = now, now
	return cs.Change(ctx, topic, c.ID, func(conn store.Conn) error { return insert(conn, c) })
}

func insert(conn store.Conn, c *Client) error {
	fresh := int64(0)
	if !c.FreshUntil.IsZero() {
		fresh = c.FreshUntil.UnixMicro()
	}
	_, err := conn.Exec("INSERT INTO authserver_clients ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
		c.ID, c.Name, c.Secret, c.AuthMethod, text(c.Redirects), text(c.Grants), text(c.Responses), strings.Join(c.Scope, " "), flag(c.Agent), c.AgentText,
		text(c.Metadata), c.Status, c.Source, c.Registration, c.IssuedAt.UnixMicro(), c.UpdatedAt.UnixMicro(), fresh)
	return err
}

// Seed stores the clients whose id is not there yet.
func (cs *Clients) Seed(ctx context.Context, list []*Client) error {
	for _, c := range list {
		_, err := cs.Find(ctx, c.ID)
		if errors.Is(err, ErrUnknown) {
			one := *c
			if _, err = cs.Create(ctx, &one); store.IsUniqueViolation(err) {
				err = nil // another node was faster
			}
		}
		if err != nil {
			return fmt.Errorf("client %q: %w", c.ID, err)
		}
	}
	return nil
}

// Edit changes a client in one transaction: edit gets it as it is stored, and may
// refuse. What it must not change are the id, the source and when it was made.
func (cs *Clients) Edit(ctx context.Context, id string, edit func(c *Client) error) (edited *Client, err error) {
	err = cs.Change(ctx, topic, id, func(conn store.Conn) error {
		c, err := scan(conn.Row("SELECT "+columns+" FROM authserver_clients WHERE id = ?"+conn.Lock(), id))
		if errors.Is(err, sql.ErrNoRows) {
			return ErrUnknown
		}
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
			c.Name, c.Secret, c.AuthMethod, text(c.Redirects), text(c.Grants), text(c.Responses), strings.Join(c.Scope, " "),
			c.AgentText, text(c.Metadata), c.Status, c.Registration, c.UpdatedAt.UnixMicro(), id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return edited, nil
}

// SetStatus suspends a client, takes it in again, or revokes it, for good. What may be given
// gets it as it is stored, and may refuse.
func (cs *Clients) SetStatus(ctx context.Context, id, status string, may ...func(c *Client) error) (*Client, error) {
	return cs.Edit(ctx, id, func(c *Client) error {
		for _, allow := range may {
			if err := allow(c); err != nil {
				return err
			}
		}
		if c.Status == Revoked && status != Revoked {
			return ErrRevoked
		}
		c.Status = status
		return nil
	})
}

// ErrRevoked tells that a client was revoked, which is for good.
var ErrRevoked = errors.New("the client was revoked, which is for good")

// Delete removes a client, with what people let it do. What was issued to it is revoked
// by whoever has that. What may be given gets it as it is stored, and may refuse.
func (cs *Clients) Delete(ctx context.Context, id string, may ...func(c *Client) error) error {
	return cs.Change(ctx, topic, id, func(c store.Conn) error {
		for _, allow := range may {
			one, err := scan(c.Row("SELECT "+columns+" FROM authserver_clients WHERE id = ?"+c.Lock(), id))
			if errors.Is(err, sql.ErrNoRows) {
				return ErrUnknown
			}
			if err == nil {
				err = allow(one)
			}
			if err != nil {
				return err
			}
		}
		n, err := c.Exec("DELETE FROM authserver_clients WHERE id = ?", id)
		if err == nil && n == 0 {
			err = ErrUnknown
		}
		return err
	})
}

// text is a value as it is stored.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // lists of texts, and a struct of them
	}
	if string(raw) == "null" {
		return "[]"
	}
	return string(raw)
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
