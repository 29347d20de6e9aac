package keychain

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// AuditEntry is a change that somebody made of people, teams or limits.
type AuditEntry struct {
	ID int64     `json:"-"`
	At time.Time `json:"at"`
	// Actor is the id of the user who made it, Command or SignInRule.
	Actor string `json:"actor"`
	// Action is what was done, such as user.suspended, and Subject the id of what it was done to.
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Details json.RawMessage `json:"details"` // an object
}

// The actors that are no users.
const (
	// Command is the actor of changes that a command line makes.
	Command = "command"
	// SignInRule is the actor of changes that follow an identity provider.
	SignInRule = "sign-in rule"
)

type actorKey struct{}

// ActedBy returns a context in which changes are audited as those of an actor, such as the id of
// a user. Without it they are those of Command.
func ActedBy(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// audit notes a change in the transaction that makes it.
func (s *Service) audit(ctx context.Context, c store.Conn, action, subject string, details any) error {
	actor, ok := ctx.Value(actorKey{}).(string)
	if !ok {
		actor = Command
	}
	text := []byte("{}")
	if details != nil {
		var err error
		if text, err = json.Marshal(details); err != nil {
			return err
		}
	}
	_, err := c.Exec(`INSERT INTO gateway_audit (at, actor, action, subject, details) VALUES (?, ?, ?, ?, ?)`,
		schema.Micros(s.now()), actor, action, subject, string(text))
	return err
}

// Audit lists changes, newest first, at most limit of them before the one with the id before,
// or from the newest where that is 0.
func (s *Service) Audit(ctx context.Context, before int64, limit int) ([]AuditEntry, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	return read(ctx, s, func(row store.Row) (e AuditEntry, err error) {
		var at int64
		var details string
		err = row.Scan(&e.ID, &at, &e.Actor, &e.Action, &e.Subject, &details)
		e.At, e.Details = schema.Moment(at), json.RawMessage(details)
		return e, err
	}, `SELECT id, at, actor, action, subject, details FROM gateway_audit WHERE id < ? ORDER BY id DESC LIMIT ?`, before, limit)
}

// auditKept is how long the audit keeps an entry: so long that last year's changes can be looked up in
// this year's review.
const auditKept = 400 * 24 * time.Hour

// ExpiredAudit is a spending.Expiry: it deletes entries of the audit that are older than 400 days.
func ExpiredAudit(now time.Time, limit int) (statement string, args []any) {
	return `DELETE FROM gateway_audit WHERE id IN (SELECT id FROM gateway_audit WHERE at < ? ORDER BY id LIMIT ?)`,
		[]any{schema.Micros(now.Add(-auditKept)), limit}
}
