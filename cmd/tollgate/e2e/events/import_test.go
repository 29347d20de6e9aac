package events

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestEventsImportKilled checks that a killed import has stored only whole reports, and that a second import stores the
// remaining reports, each once, while the server runs.
func TestEventsImportKilled(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dsn := ""
			if engine == "postgres" {
				dsn = testenv.Postgres(t).DSN()
			}
			n := newEvents(t, dsn)
			if err := os.Mkdir(n.Path("reports"), 0o700); err != nil {
				t.Fatal(err)
			}
			all := make([]sent, 0, 5000)
			for i := range cap(all) {
				run := sent{fmt.Sprintf("node-%d.example.com", i%40), i}
				all = append(all, run)
				if err := os.WriteFile(n.Path("reports", fmt.Sprintf("%06d.json", i)), run.report(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(context.WithoutCancel(t.Context()), e2e.Binary, "events", "import", "reports")
			cmd.Dir, cmd.Env = n.Dir, n.Env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			e2e.Watch(cmd.Process.Pid, true)
			stored := func() float64 {
				return n.rows("/store/query/v4/reports", `["extract",[["function","count"]]]`)[0]["count"].(float64)
			}
			e2e.Eventually(t, e2e.WaitLimit, "some reports are stored", func() error {
				if stored() < 300 {
					return fmt.Errorf("%v", stored())
				}
				return nil
			})
			_ = cmd.Process.Kill()
			err := cmd.Wait()
			e2e.Watch(cmd.Process.Pid, false)
			if err == nil {
				t.Fatal("the import was over before it could be killed")
			}
			if dsn != "" {
				awaitIdle(t, dsn)
			}
			t.Logf("killed after %v of %d", stored(), len(all))
			n.verify(nil)

			var done struct{ Stored, Rejected int }
			if err := json.Unmarshal([]byte(n.Tool("events", "import", "reports", "--json")), &done); err != nil || done.Stored != len(all) || done.Rejected != 0 {
				t.Errorf("the second import: %+v %v", done, err)
			}
			if stored := n.verify(all); stored != len(all) {
				t.Errorf("%d reports, want %d", stored, len(all))
			}
			if dsn == "" && n.Integrity() != "ok" {
				t.Errorf("integrity: %s", n.Integrity())
			}
			if verdict := n.Tool("events", "import", "reports/000000.json"); !strings.HasPrefix(verdict, "stored 1 reports") {
				t.Errorf("the answer for people: %s", verdict)
			}
		})
	}
}

// awaitIdle waits until no session of a PostgreSQL database is active: the sessions of a killed process may still
// commit statements that it has sent.
func awaitIdle(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e2e.Eventually(t, e2e.WaitLimit, "the sessions of the killed import have ended", func() error {
		var working int
		err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle'
				AND pid <> pg_backend_pid()`).Scan(&working)
		if err == nil && working > 0 {
			err = fmt.Errorf("%d work", working)
		}
		return err
	})
}
