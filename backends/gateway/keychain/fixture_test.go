package keychain

import (
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// node is a service with its ledger, clock and log, which tests inspect.
type node struct {
	*Service
	ledger *spending.Ledger
	clock  *clock
	logs   *observer.ObservedLogs
}

func testRing(tb testing.TB) keyring.Keyring {
	tb.Helper()
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

// start starts a node on the database. On PostgreSQL it waits until the node listens for notifications, which empties
// the caches once.
func (p cluster) start(tb testing.TB) *node {
	tb.Helper()
	db := p.Open(tb)
	testenv.Open(tb, db)
	n := newNode(tb, db)
	if p.Dialect == store.Postgres {
		n.waitForListener(tb)
	}
	return n
}

func newNode(tb testing.TB, db *store.DB) *node {
	tb.Helper()
	core, logs := observer.New(zap.InfoLevel)
	n := &node{clock: new(clock), logs: logs}
	var err error
	n.ledger = spending.NewLedger(db, zap.New(core), n.clock.Now)
	if n.Service, err = New(db, testRing(tb), n.ledger, zap.New(core), n.clock.Now); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(n.Close)
	return n
}

// waitForListener waits until the node receives notifications of other nodes' changes.
func (n *node) waitForListener(tb testing.TB) {
	tb.Helper()
	schematest.Eventually(tb, "the node listens", func() bool { return n.changes.current() > 0 })
}

// user creates a user and returns their first key.
func (n *node) user(tb testing.TB, id string) *NewKey {
	tb.Helper()
	_, key, created, err := n.InitUser(tb.Context(), id)
	if err != nil || !created {
		tb.Fatalf("created %t, error %v", created, err)
	}
	return key
}

func (n *node) providerKey(tb testing.TB, user, provider, secret string) *ProviderKey {
	tb.Helper()
	key, err := n.AddProviderKey(tb.Context(), user, provider, secret, "", anyProvider)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func anyProvider(string) bool { return true }

func (n *node) account(tb testing.TB, user string) *Account {
	tb.Helper()
	account, err := n.Account(tb.Context(), user)
	if err != nil {
		tb.Fatal(err)
	}
	return account
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

// dump returns every value of every table as text.
func (n *node) dump(tb testing.TB) string {
	tb.Helper()
	var b strings.Builder
	for _, table := range []string{"gateway_users", "gateway_keys", "gateway_provider_keys", "gateway_models", "gateway_preferences", "gateway_usage_records"} {
		err := n.db.Read(tb.Context(), func(c store.Conn) error {
			rows, err := c.Rows("SELECT * FROM " + table)
			if err != nil {
				return err
			}
			defer rows.Close()
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			for rows.Next() {
				cells := make([]any, len(columns))
				for i := range cells {
					cells[i] = new(sql.NullString)
				}
				if err := rows.Scan(cells...); err != nil {
					return err
				}
				for _, c := range cells {
					b.WriteString(c.(*sql.NullString).String + "\n")
				}
			}
			return rows.Err()
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return b.String()
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

func wantUnknownKey(tb testing.TB, n *node, key string) {
	tb.Helper()
	_, err := n.Authenticate(tb.Context(), key)
	wantRefusal(tb, err, http.StatusUnauthorized, "invalid_api_key", "")
}

// testCatalog returns a catalog of three providers. The providers alpha and beta have models in all tiers; gamma has
// one model without a tier and one that is retired.
func testCatalog(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	providers, models := make([]string, 0, 3), make([]string, 0, 9)
	for _, code := range []string{"alpha", "beta", "gamma"} {
		providers = append(providers, `{"code":"`+code+`","name":"`+code+`","base_url":"https://`+code+
			`.test/v1","env":["`+strings.ToUpper(code)+`_API_KEY"],"shape":{"max_tokens_field":"max_tokens"}}`)
	}
	add := func(provider, id, more string) {
		models = append(models, `{"provider":"`+provider+`","id":"`+id+`","modalities":["text"]`+more+`}`)
	}
	for _, code := range []string{"alpha", "beta"} {
		add(code, "large", `,"tiers":["high"]`)
		add(code, "mid", `,"tiers":["medium"]`)
		add(code, "small", `,"tiers":["low"]`)
	}
	add("alpha", "both", `,"tiers":["medium","low"]`)
	add("gamma", "by/name", "")
	add("gamma", "old", `,"tiers":["low"],"retired":true`)
	cat, err := catalog.Parse([]byte(`{"updated":"2026-01-01","providers":[` + strings.Join(providers, ",") +
		`],"models":[` + strings.Join(models, ",") + `]}`))
	if err != nil {
		tb.Fatal(err)
	}
	return cat
}

// order returns the names of a tier's candidates.
func order(r *Routing, t catalog.Tier) string {
	names := make([]string, 0, len(r.Tier(t)))
	for _, c := range r.Tier(t) {
		names = append(names, c.Entry)
	}
	return strings.Join(names, " ")
}

func equal(tb testing.TB, got, want []string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got  %q\nwant %q", got, want)
	}
}

// quietLog returns a log without the background writer, for tests that flush it themselves.
func quietLog(n *node) *spending.Log { return spending.NewLog(n.ledger, n.KeyUses(), n.logger) }
