package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// refused runs a command that must fail, and returns what it says.
func (n *node) refused(args ...string) string {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), binary, args...)
	cmd.Dir, cmd.Env = n.dir, n.env
	out, err := cmd.CombinedOutput()
	if err == nil {
		n.t.Errorf("tollgate %s: it is not refused\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// TestBackup: what is copied while a node serves is of use elsewhere: every row of every
// service is there, members sign in, keys and tokens work, secrets open.
func TestBackup(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			first := newEarlier(t, engine, up, "")
			first.load("testdata/upgrade/" + engine + ".sql")
			first.start()
			first.serving()
			folder := filepath.Join(first.dir, "backups", "today")
			told := first.tool("backup", folder)
			for _, part := range []string{"database common", engine} {
				if !strings.Contains(told, part) {
					t.Errorf("it tells:\n%s\nwithout %s", told, part)
				}
			}
			if said := first.refused("backup", folder); !strings.Contains(said, "is there already") {
				t.Errorf("a second backup to the same folder: %s", said)
			}
			if said := first.refused("restore", folder); !strings.Contains(said, "database common") {
				t.Errorf("a restore on a server that runs: %s", said)
			}
			before := first.counts(engine)
			first.stop()

			second := newEarlier(t, engine, up, "")
			second.noted = first.noted
			second.tool("restore", folder)
			after := second.counts(engine)
			for table, n := range before {
				// What the server does by itself goes on between the two.
				if before := strings.TrimPrefix(table, "public."); strings.HasSuffix(before, "_leases") || before == "gateway_sweeps" || before == "gateway_usage_writers" {
					continue
				}
				if left, there := after[table]; !there || left != n {
					t.Errorf("%s has %d rows of %d", table, left, n)
				}
			}
			if len(before) < 50 || len(before) != len(after) {
				t.Errorf("%d tables of %d", len(after), len(before))
			}
			second.start()
			second.serving()
			second.lookAtBoard()
			second.lookAtGateway(up)
			second.lookAtEvents()
			second.stop()
		})
	}
}

// TestBackupFiles: files beside the database and the master key are in a backup, of each
// database that the configuration names; where one is missing there is none.
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
	first := newNode(t, fmt.Sprintf(config, freePort(t)))
	if said := first.refused("backup", "b"); !strings.Contains(said, "there is no database at "+first.path("data", "tollgate.db")) {
		t.Errorf("without a database: %s", said)
	}
	first.start()
	file := func(n *node) string { return n.path("data", "attached", "ab", "abcd") }
	if err := os.MkdirAll(filepath.Dir(file(first)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(first), []byte("attached"), 0o600); err != nil {
		t.Fatal(err)
	}
	first.tool("keychain", "users", "add", "alice")
	first.tool("board", "init", "--admin", "root", "--email", "root@example.com")
	var told struct {
		Databases []struct {
			Name    string
			Schemas map[string]int
		}
		Folders []string
		KeyFile bool `json:"key_file"`
	}
	if err := json.Unmarshal([]byte(first.tool("backup", "b", "--json")), &told); err != nil {
		t.Fatal(err)
	}
	schemas := make(map[string]int)
	for _, d := range told.Databases {
		for name := range d.Schemas {
			schemas[d.Name+"/"+name] = 1
		}
	}
	if want := map[string]int{"common/gateway": 1, "common/keyring": 1, "board/board": 1, "board/keyring": 1}; !maps.Equal(schemas, want) || !told.KeyFile || len(told.Folders) != 1 {
		t.Errorf("%v, want %v: %+v", schemas, want, told)
	}
	first.tool("backup", "keyless", "--without-key")
	first.stop()

	second := newNode(t, fmt.Sprintf(config, freePort(t)))
	second.tool("restore", first.path("b"))
	if text, err := os.ReadFile(file(second)); err != nil || string(text) != "attached" {
		t.Errorf("the attachment is %q, error %v", text, err)
	}
	second.start()
	if users := second.tool("keychain", "users", "list"); !strings.Contains(users, "alice") {
		t.Errorf("users: %s", users)
	}
	second.stop()

	third := newNode(t, fmt.Sprintf(config, freePort(t)))
	third.tool("restore", first.path("keyless"))
	if _, err := os.Stat(third.path("data", "tollgate.key")); err == nil {
		t.Error("the master key was in the backup")
	}
}
