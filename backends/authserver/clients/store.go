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

const columns = "id, name, secret, auth_method, redirects, grants, responses, scope, agent, agent_text, metadata, status, source, registration, issued_at, updated_at, fresh_until"

func scan(r store.Row) (*Client, error) {
	c := new(Client)
	var redirects, grants, responses, scope, metadata string
	var issued, updated, fresh int64
	err := r.Scan(&c.ID, &c.Name, &c.Secret, &c.AuthMethod, &redirects, &grants, &responses, &scope, &c.Agent, &c.AgentText,
		&metadata, &c.Status, &c.Source, &c.Registration, &issued, &updated, &fresh)
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
	return c, nil
}

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
	// Text is in the name or the id, whichever case its letters have.
	Text string
}

// List is a page of clients, the first ones first.
func (cs *Clients) List(ctx context.Context, f Filter, limit, offset int) (list []*Client, err error) {
	err = cs.Read(ctx, func(c store.Conn) error {
		list, err = store.List(c, scan, "SELECT "+columns+" FROM authserver_clients"+
			" WHERE (? = '' OR status = ?) AND (? = '' OR source = ?) AND (? = '' OR lower(name) LIKE ? ESCAPE '!' OR lower(id) LIKE ? ESCAPE '!')"+
			" ORDER BY issued_at, id LIMIT ? OFFSET ?",
			f.Status, f.Status, f.Source, f.Source, f.Text, kernel.Containing(f.Text), kernel.Containing(f.Text), limit, offset)
		return err
	})
	return list, err
}

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
	c.Status = Active
	now := cs.Now().Truncate(time.Microsecond)
	c.IssuedAt, c.UpdatedAt = now, now
	return secret, cs.Change(ctx, topic, c.ID, func(conn store.Conn) error { return insert(conn, c) })
}

func insert(conn store.Conn, c *Client) error {
	fresh := int64(0)
	if !c.FreshUntil.IsZero() {
		fresh = c.FreshUntil.UnixMicro()
	}
	_, err := conn.Exec("INSERT INTO authserver_clients ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

// SetStatus suspends a client, takes it in again, or revokes it, for good.
func (cs *Clients) SetStatus(ctx context.Context, id, status string) (*Client, error) {
	return cs.Edit(ctx, id, func(c *Client) error {
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
// by whoever has that.
func (cs *Clients) Delete(ctx context.Context, id string) error {
	return cs.Change(ctx, topic, id, func(c store.Conn) error {
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
