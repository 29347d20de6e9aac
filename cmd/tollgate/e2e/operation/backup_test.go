package operation

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// refused runs a command that must fail, and returns its output.
func refused(n *e2e.Node, args ...string) string {
	n.T.Helper()
	cmd := exec.CommandContext(n.T.Context(), e2e.Binary, args...)
	cmd.Dir, cmd.Env = n.Dir, n.Env
	out, err := cmd.CombinedOutput()
	if err == nil {
		n.T.Errorf("tollgate %s: the command is not refused\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// TestBackup checks that a backup that is made while a node serves works on another node: every row of every service is
// there, members can sign in, keys and tokens are valid, and secrets open.
func TestBackup(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			up := e2e.NewUpstream(t)
			first := newEarlier(t, engine, up)
			first.load(newest(t, engine))
			first.Start()
			first.serving()
			e2e.Eventually(t, time.Minute, "the board has looked at the words of older posts", func() error {
				table := "board_settings"
				if engine == "postgres" { // loading the dump empties the search_path
					table = "public." + table
				}
				var state string
				err := first.db.QueryRowContext(t.Context(), "SELECT value FROM "+table+" WHERE name = '"+search.SettingIndexed+"'").Scan(&state)
				if err == nil && state != search.IndexedAll {
					err = fmt.Errorf("it is at post %s", state)
				}
				return err
			})
			folder := filepath.Join(first.Dir, "backups", "today")
			output := first.Tool("backup", folder)
			for _, part := range []string{"database common", engine} {
				if !strings.Contains(output, part) {
					t.Errorf("the backup prints:\n%s\nwithout %s", output, part)
				}
			}
			if msg := refused(first.Node, "backup", folder); !strings.Contains(msg, "already exists") {
				t.Errorf("a second backup to the same folder: %s", msg)
			}
			if msg := refused(first.Node, "restore", folder); !strings.Contains(msg, "database common") {
				t.Errorf("a restore on a server that runs: %s", msg)
			}
			before := first.counts(engine)
			first.Stop()

			second := newEarlier(t, engine, up)
			second.noted = first.noted
			if err := os.RemoveAll(second.Path("site")); err != nil { // the backup contains the folder
				t.Fatal(err)
			}
			second.Tool("restore", folder)
			after := second.counts(engine)
			for table, n := range before {
				// The server writes to these tables by itself, also between the backup and the count.
				if before := strings.TrimPrefix(table, "public."); strings.HasSuffix(before, "_leases") || before == "gateway_sweeps" || before == "gateway_usage_writers" {
					continue
				}
				if left, ok := after[table]; !ok || left != n {
					t.Errorf("%s has %d rows of %d", table, left, n)
				}
			}
			if len(before) < 50 || len(before) != len(after) {
				t.Errorf("%d tables of %d", len(after), len(before))
			}
			second.Start()
			second.serving()
			second.looks(up)
			second.Stop()
		})
	}
}

// TestBackupFiles checks that a backup contains the files beside each database that the configuration names, and the
// master key. If one of the databases or the key is missing, no backup is made.
func TestBackupFiles(t *testing.T) {
	t.Parallel()
	config := `{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
	tollgate {
		database sqlite data/tollgate.db
		database board sqlite data/forum/board.db
	}
}
http://127.0.0.1:%s {
	handle_path /forum/* {
		tollgate board {
			attachments data/attached
		}
	}
	tollgate gateway
}
`
	first := e2e.NewNode(t, fmt.Sprintf(config, e2e.FreePort(t)))
	if msg := refused(first, "backup", "b"); !strings.Contains(msg, "there is no database at "+first.Path("data", "tollgate.db")) {
		t.Errorf("without a database: %s", msg)
	}
	first.Start()
	file := func(n *e2e.Node) string { return n.Path("data", "attached", "ab", "abcd") }
	if err := os.MkdirAll(filepath.Dir(file(first)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(first), []byte("attached"), 0o600); err != nil {
		t.Fatal(err)
	}
	first.Tool("keychain", "users", "add", "alice")
	first.Tool("board", "init", "--admin", "root", "--email", "root@example.com")
	var result struct {
		Databases []struct {
			Name    string
			Schemas map[string]int
		}
		Folders []string
		KeyFile bool `json:"key_file"`
	}
	if err := json.Unmarshal([]byte(first.Tool("backup", "b", "--json")), &result); err != nil {
		t.Fatal(err)
	}
	schemas := make(map[string]int)
	for _, d := range result.Databases {
		for name := range d.Schemas {
			schemas[d.Name+"/"+name] = 1
		}
	}
	if want := map[string]int{"common/gateway": 1, "common/keyring": 1, "board/board": 1, "board/keyring": 1}; !maps.Equal(schemas, want) || !result.KeyFile || len(result.Folders) != 1 {
		t.Errorf("%v, want %v: %+v", schemas, want, result)
	}
	first.Tool("backup", "keyless", "--without-key")
	first.Stop()

	second := e2e.NewNode(t, fmt.Sprintf(config, e2e.FreePort(t)))
	second.Tool("restore", first.Path("b"))
	if text, err := os.ReadFile(file(second)); err != nil || string(text) != "attached" {
		t.Errorf("the attachment is %q, error %v", text, err)
	}
	second.Start()
	if users := second.Tool("keychain", "users", "list"); !strings.Contains(users, "alice") {
		t.Errorf("users: %s", users)
	}
	second.Stop()

	third := e2e.NewNode(t, fmt.Sprintf(config, e2e.FreePort(t)))
	third.Tool("restore", first.Path("keyless"))
	if _, err := os.Stat(third.Path("data", "tollgate.key")); err == nil {
		t.Error("the master key was in the backup")
	}
}
