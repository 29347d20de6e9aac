package keychain

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// AuditEntry records a change of users, teams or limits.
type AuditEntry struct {
	ID int64     `json:"-"`
	At time.Time `json:"at"`
	// Actor is the id of the user who made the change, or Command or SignInRule.
	Actor string `json:"actor"`
	// Action names the change, such as user.suspended. Subject is the id of the changed user, team, key or other
	// object.
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Details json.RawMessage `json:"details"` // an object
}

// The values of AuditEntry.Actor that are not ids of users.
const (
	// Command is the actor of changes that a command line makes.
	Command = "command"
	// SignInRule is the actor of changes that follow from groups or claims of an identity provider.
	SignInRule = "sign-in rule"
)

// actorKey is the context key of the actor.
type actorKey struct{}

// ActedBy returns a context in which changes are recorded in the audit log with the given actor, such as the id of a
// user. In other contexts the actor is Command.
func ActedBy(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// audit records a change in c, the transaction that makes the change. Entries of actions on teams and members, whose
// subject is the team, also appear in that team's audit log.
func (s *Service) audit(ctx context.Context, c store.Conn, action, subject string, details any) error {
	team := ""
	if kind, _, _ := strings.Cut(action, "."); kind == OnTeam || kind == OnTeamOwn || kind == "member" {
		team = subject
	}
	return s.auditOf(ctx, c, team, action, subject, details)
}

// auditOf is like audit, but the entry appears in the audit log of the given team. An empty team means no team.
func (s *Service) auditOf(ctx context.Context, c store.Conn, team, action, subject string, details any) error {
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
	_, err := c.Exec(`INSERT INTO gateway_audit (at, actor, action, subject, details, team_id) VALUES (?, ?, ?, ?, ?, ?)`,
		schema.Micros(s.now()), actor, action, subject, string(text), schema.Nullable(team))
	return err
}

// Audit returns at most limit entries of the audit log with ids below beforeID, newest first. If beforeID is 0 it
// begins with the newest entry.
func (s *Service) Audit(ctx context.Context, beforeID int64, limit int) ([]AuditEntry, error) {
	return s.auditWhere(ctx, "", beforeID, limit)
}

// AuditOf is like Audit, but returns only changes that concern a team: the team itself, its members, limits, keys and
// aliases.
func (s *Service) AuditOf(ctx context.Context, team string, beforeID int64, limit int) ([]AuditEntry, error) {
	if !schema.StorableID(team) {
		return nil, nil
	}
	return s.auditWhere(ctx, " AND team_id = ?", beforeID, limit, team)
}

// auditWhere is like Audit, for the entries that meet an SQL condition. The condition is empty or begins with " AND ";
// args are its arguments.
func (s *Service) auditWhere(
	ctx context.Context, condition string, beforeID int64, limit int, args ...any,
) ([]AuditEntry, error) {
	if beforeID <= 0 {
		beforeID = 1<<63 - 1
	}
	return read(ctx, s, func(row store.Row) (e AuditEntry, err error) {
		var micros int64
		var details string
		err = row.Scan(&e.ID, &micros, &e.Actor, &e.Action, &e.Subject, &details)
		e.At, e.Details = schema.Moment(micros), json.RawMessage(details)
		return e, err
	}, `SELECT id, at, actor, action, subject, details FROM gateway_audit WHERE id < ?`+condition+` ORDER BY id DESC LIMIT ?`,
		append(append([]any{beforeID}, args...), limit)...)
}

// auditKept is how long an entry of the audit log is kept: long enough to look up last year's changes in this year's
// review.
const auditKept = 400 * 24 * time.Hour

// ExpiredAudit returns a statement that deletes entries of the audit log that are older than 400 days; see
// spending.Expiry.
func ExpiredAudit(now time.Time, limit int) (statement string, args []any) {
	return `DELETE FROM gateway_audit WHERE id IN (SELECT id FROM gateway_audit WHERE at < ? ORDER BY id LIMIT ?)`,
		[]any{schema.Micros(now.Add(-auditKept)), limit}
}
