package e2e

import (
	"context"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// BackgroundContext is the context of clients that continue until the test stops them.
var BackgroundContext = context.Background()

// MasterKey is the master key of the nodes of a cluster, in base64.
const MasterKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// Master returns the bytes of MasterKey.
func Master(t *testing.T) []byte {
	t.Helper()
	key, err := keyring.ParseMasterKey(MasterKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Clustered returns one node of a cluster, not started: the lines for a cluster in the shipped gateway Caddyfile are
// uncommented. An empty dsn means SQLite, an empty redis means memory.
func Clustered(t *testing.T, dsn, redis string) *Gateway {
	t.Helper()
	counters := "\t\tcounters memory\n"
	if redis != "" {
		counters = "\t\tcounters redis {env.TOLLGATE_REDIS_URL}\n"
	}
	port := FreePort(t)
	replace := []string{
		"\t\t# keyring aes", "\t\tkeyring aes",
		"\t\tcounters memory\n", counters + "\t\tallow_networks 127.0.0.0/8\n",
		"{$TOLLGATE_DOMAIN:localhost}", "http://127.0.0.1:" + port,
	}
	if dsn != "" {
		replace = append(replace, "\t\tdatabase sqlite data/tollgate.db\n", "\t\tdatabase postgres {env.TOLLGATE_DSN}\n")
	}
	config := Shipped(t, "gateway", replace...)
	return &Gateway{
		Node: NewNode(t, config, "TOLLGATE_DSN="+dsn, "TOLLGATE_REDIS_URL="+redis, "TOLLGATE_MASTER_KEY="+MasterKey),
		Base: "http://127.0.0.1:" + port, Config: config,
	}
}

// Administration opens the keychain in a PostgreSQL database, like the command line on a third machine.
func Administration(t *testing.T, dsn string) *keychain.Service {
	t.Helper()
	db, err := store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return OpenKeychain(t, db, Master(t))
}
