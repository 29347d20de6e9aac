package spending

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// node is a ledger with its clock, log and key uses, which tests inspect.
type node struct {
	*Ledger
	clock  *clock
	logs   *observer.ObservedLogs
	logger *zap.Logger
	used   keyUses
}

// keyUses holds the times at which keys were last used. Tests set them.
type keyUses struct{ at map[string]int64 }

func (u *keyUses) Take(time.Time) map[string]int64 {
	uses := u.at
	u.at = nil
	return uses
}

func (u *keyUses) GiveBack(used map[string]int64) { u.at = used }

func (u *keyUses) Write(c store.Conn, used map[string]int64) error {
	for id, lastUsed := range used {
		if _, err := c.Exec(`UPDATE gateway_keys SET last_used_at = ? WHERE id = ?`, lastUsed, id); err != nil {
			return err
		}
	}
	return nil
}

// start starts a node on the database.
func (p place) start(tb testing.TB) *node {
	tb.Helper()
	db := p.Open(tb)
	testenv.Open(tb, db)
	return newNode(db)
}

func newNode(db *store.DB) *node {
	core, logs := observer.New(zap.InfoLevel)
	n := &node{clock: new(clock), logs: logs, logger: zap.New(core)}
	n.Ledger = NewLedger(db, n.logger, n.clock.Now)
	return n
}

// sql changes rows directly, without the services' knowledge.
func (n *node) sql(tb testing.TB, query string, args ...any) {
	tb.Helper()
	err := n.db.Write(tb.Context(), func(c store.Conn) error {
		_, err := c.Exec(query, args...)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// wantRefusal checks the status, code and parameter of an error.
func wantRefusal(tb testing.TB, err error, status int, code, param string) {
	tb.Helper()
	refusal, ok := apierror.From(err)
	if !ok || refusal.Status != status || refusal.Code != code || refusal.Param != param {
		tb.Errorf("error %v (%+v), want %d %s %q", err, refusal, status, code, param)
	}
}

func wantUnavailable(tb testing.TB, err error) {
	tb.Helper()
	if !errors.Is(err, store.ErrUnavailable) {
		tb.Errorf("error %v, want one that wraps store.ErrUnavailable", err)
	}
}

func equal(tb testing.TB, got, want []string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got  %q\nwant %q", got, want)
	}
}

// team creates a team and returns its id.
func (n *node) team(tb testing.TB, name string) struct{ ID string } {
	tb.Helper()
	id := "team_" + name
	n.sql(tb, "INSERT INTO gateway_teams (id, name, created_at) VALUES (?, ?, ?)", id, name, schema.Micros(n.now()))
	return struct{ ID string }{id}
}

// user creates a user with a key.
func (n *node) user(tb testing.TB, id string) (key struct{ ID, Label string }) {
	tb.Helper()
	key.ID, key.Label = "gk_"+id, "primary"
	n.sql(tb, "INSERT INTO gateway_users (id, created_at) VALUES (?, ?)", id, schema.Micros(n.now()))
	n.sql(tb, `INSERT INTO gateway_keys (id, user_id, hash, masked, label, is_primary, effort_mode, created_at)
		VALUES (?, ?, ?, 'ak-', ?, 1, 'override', ?)`, key.ID, id, id, key.Label, schema.Micros(n.now()))
	return key
}
