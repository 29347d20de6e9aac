package operation

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// nextMigration is the migration of the gateway in the next release.
const nextMigration = `-- +goose Up
-- additive
ALTER TABLE gateway_users ADD COLUMN next_text TEXT NOT NULL DEFAULT 'none';
ALTER TABLE gateway_keys ADD COLUMN next_text TEXT;
ALTER TABLE gateway_limits ADD COLUMN next_text TEXT;
ALTER TABLE gateway_models ADD COLUMN next_number BIGINT NOT NULL DEFAULT 7;
ALTER TABLE gateway_preferences ADD COLUMN next_text TEXT;
ALTER TABLE gateway_usage_records ADD COLUMN next_number BIGINT NOT NULL DEFAULT 7;
ALTER TABLE gateway_usage_hours ADD COLUMN next_number BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gateway_usage_days ADD COLUMN next_number BIGINT NOT NULL DEFAULT 0;
CREATE TABLE gateway_next (id {{id}}, user_id TEXT NOT NULL REFERENCES gateway_users (id) ON DELETE CASCADE);
`

// nextRelease builds the program like the next release: with another version and one more migration.
func nextRelease(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range map[string]string{"VERSION": "0.2.0\n", "backends/gateway/schema/migrations/99999_next.sql": nextMigration} {
		replacement := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replacement, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[e2e.Repo(file)] = replacement
	}
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "tollgate")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-tags", "nobadger,nomysql,nopgx",
		"-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "github.com/tollgate-gateway/tollgate/cmd/tollgate")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the next release: %v\n%s", err, out)
	}
	return program
}

// TestRollingUpgrade runs this program and the next release on one PostgreSQL database. Clients and a user who manages
// keys use the older node while the newer node starts and adds columns, and then both nodes, while the older node
// restarts. All requests are answered with 200, and all are in the usage log.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	program := nextRelease(t)
	up := e2e.NewUpstream(t)
	pg, redis := testenv.Postgres(t), testenv.Redis(t)
	older, newer := e2e.Clustered(t, pg.DSN(), redis.URL()), e2e.Clustered(t, pg.DSN(), redis.URL())
	newer.Program = program
	older.Start()
	older.Ready()
	key := e2e.AddUser(t, e2e.Administration(t, pg.DSN()), "ada", up, e2e.Script("text", "word ", "repeat", "5", "chunk_delay", "5ms"))
	token := strings.TrimSpace(older.Tool("keychain", "token", "ada"))
	good := func(o e2e.Outcome) bool { return o.Err == nil && o.Status == http.StatusOK }

	first, manages := e2e.StartLoad(older.Base, key, 3, 0), manage(t, older.Base, token)
	first.Await(t, e2e.WaitLimit, "the older node answers", time.Time{}, good)
	newer.Start()
	newer.Ready()
	second, managesNewer := e2e.StartLoad(newer.Base, key, 3, 0), manage(t, newer.Base, token)
	first.Await(t, e2e.WaitLimit, "the older node answers beside the newer one", time.Now(), good)
	second.Await(t, e2e.WaitLimit, "the newer node answers", time.Now(), good)
	manages()
	first.Stop()
	older.Stop()
	older.Start()
	older.Ready()
	older.AwaitLog("the database has additions of a newer program, which this program does not use")
	third, managesAgain := e2e.StartLoad(older.Base, key, 3, 0), manage(t, older.Base, token)
	third.Await(t, e2e.WaitLimit, "the older node answers after a restart", time.Now(), good)
	second.Await(t, e2e.WaitLimit, "the newer node answers after the restart of the older one", time.Now(), good)
	managesAgain()
	managesNewer()
	answered := 0
	second.Stop()
	third.Stop()
	for node, load := range map[string]interface {
		Failed() []e2e.Outcome
		Succeeded() []string
	}{"older": first, "newer": second, "restarted": third} {
		for _, failed := range load.Failed() {
			t.Errorf("the %s node: %v", node, failed)
		}
		answered += len(load.Succeeded())
	}
	older.Stop()
	newer.Stop()
	db, err := sql.Open("pgx", pg.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	records := 0
	if err := db.QueryRowContext(t.Context(),
		"SELECT count(DISTINCT request_id) FROM gateway_usage WHERE status = 200").Scan(&records); err != nil || records != answered {
		t.Errorf("the usage log has %d of %d requests, %v", records, answered, err)
	}
	t.Logf("%d requests were answered", answered)
}

// manage repeatedly reads and changes the resources of a user on a node, until the function that it returns is called.
func manage(t *testing.T, base, token string) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; ; i++ {
			for _, path := range []string{"keychain-keys", "models", "preferences", "usage/recent", "usage?group=provider"} {
				if a := e2e.Get(t, e2e.Client, base+"/users/ada/"+path, token); a.Status != http.StatusOK {
					t.Errorf("%s of %s: %d %s %v", path, base, a.Status, a.Body, a.Err)
				}
			}
			if a := e2e.Do(t, e2e.Client, http.MethodPost, base+"/users/ada/keychain-keys", token, fmt.Sprintf(`{"label":"key %d"}`, i),
				"Content-Type", "application/json"); a.Status/100 != 2 {
				t.Errorf("a new key at %s: %d %s %v", base, a.Status, a.Body, a.Err)
			}
			select {
			case <-done:
				return
			case <-time.After(2 * time.Second): // stays within the budget of 600 requests a minute
			}
		}
	})
	return func() {
		close(done)
		work.Wait()
	}
}
