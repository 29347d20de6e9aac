package authserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/internal/store"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// userLine returns a function that runs commands, and the path of a configuration with a new database.
func userLine(t *testing.T) (run func(stdin string, args ...string) (out, notes string, err error), config string) {
	t.Helper()
	folder := t.TempDir()
	config = filepath.Join(folder, "Caddyfile")
	if err := os.WriteFile(config, []byte("{\n\torder authserver before respond\n\ttollgate {\n\t\tdatabase sqlite "+filepath.Join(folder, "x.db")+"\n\t}\n}\n:0 {\n\tauthserver\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, end, err := tollgate.Load(config, "")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	db, err := app.ServiceDatabase(serviceName, authserver.Schema())
	if err != nil {
		t.Fatal(err)
	}
	db.Start(t.Context()) // creates the database, as the server does
	if err := db.Ready(); err != nil {
		t.Fatal(err)
	}
	return func(stdin string, args ...string) (out, notes string, err error) {
		root := &cobra.Command{Use: "authserver", SilenceUsage: true, SilenceErrors: true}
		commands(root)
		var stdout, stderr bytes.Buffer
		root.SetOut(&stdout)
		root.SetErr(&stderr)
		root.SetIn(strings.NewReader(stdin))
		root.SetArgs(append(args, "--config", config))
		err = root.ExecuteContext(t.Context())
		return stdout.String(), stderr.String(), err
	}, config
}

// databaseOf opens the database of a configuration, as a command does.
func databaseOf(t *testing.T, config string) (db *store.DB, end func()) {
	t.Helper()
	app, end, err := tollgate.Load(config, "")
	if err != nil {
		t.Fatal(err)
	}
	if db, err = app.OpenDatabase(t.Context(), serviceName, authserver.Schema()); err != nil {
		end()
		t.Fatal(err)
	}
	return db, end
}

// feed returns the audit events of a configuration: their actions, actors and details.
func feed(t *testing.T, config string) (list []string) {
	t.Helper()
	db, end := databaseOf(t, config)
	defer end()
	if err := db.Read(t.Context(), func(c store.Conn) (err error) {
		list, err = store.List(c, func(r store.Row) (s string, err error) { return s, r.Scan(&s) }, "SELECT action || ' ' || actor_id || ' ' || detail FROM authserver_audit ORDER BY id")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestUserCommands tests the commands for users. Tests of commands do not run in parallel, since they set Caddy's
// default logger.
func TestUserCommands(t *testing.T) { // not parallel: see above
	run, config := userLine(t)
	good := func(stdin string, args ...string) string {
		t.Helper()
		out, notes, err := run(stdin, args...)
		if err != nil || notes == "" && args[1] != "list" {
			t.Fatalf("%q: %q, %q, %v", args, out, notes, err)
		}
		return out
	}
	id := strings.TrimSpace(good(" correct horse\n", "user", "add", "Ann@Example.com", "--name", "Ann", "--group", "staff,admins", "--admin", "--verified"))
	password := good("", "user", "add", "bob@example.com", "--generate")
	if len(strings.TrimSpace(password)) != 20 {
		t.Errorf("the password is %q", password)
	}
	good("", "user", "add", "eve@example.com", "--no-password")
	good("", "user", "password", "BOB@example.com", "--generate")
	good("another horse\n", "user", "password", "ann@example.com")
	good("", "user", "disable", "ann@example.com")

	var list struct{ Users []shownUser }
	out, _, err := run("", "user", "list", "--json")
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list.Users) != 3 {
		t.Fatalf("%s: %v", out, err)
	}
	ann := list.Users[2]
	if ann.ID != id || ann.Email != "Ann@Example.com" || ann.Name != "Ann" || ann.Role != "admin" || ann.Status != "disabled" || !ann.EmailVerified || len(ann.Groups) != 2 || ann.Password != "" {
		t.Errorf("%+v", ann)
	}
	good("", "user", "enable", "ann@example.com")
	if table := good("", "user", "list", "--limit", "2"); !strings.HasPrefix(table, "ID ") || strings.Contains(table, "Ann") || !strings.Contains(table, "eve@example.com") {
		t.Errorf("%s", table)
	}
	events := feed(t, config)
	if len(events) != 7 || events[0] != "user.created admin user="+id || events[5] != "user.disabled admin user="+id {
		t.Errorf("the audit feed has %q", events)
	}
	if _, notes, err := run("", "user", "reset-factors", "ann@example.com"); err != nil || !strings.Contains(notes, "Second factors removed: 0.") {
		t.Errorf("%q, error %v", notes, err)
	}
	for want, args := range map[string][]string{
		"already": {"user", "add", "ANN@example.com", "--no-password"}, "mail address such as": {"user", "add", "ann", "--no-password"},
		"pipe it in": {"user", "add", "x@example.com"}, "no such user": {"user", "disable", "x@example.com"},
		"hash must be": {"user", "add", "x@example.com", "--hash", "x"}, "none of the others can be": {"user", "add", "x@example.com", "--hash", "x", "--generate"},
		"8 characters": {"user", "password", "ann@example.com"},
	} {
		if out, _, err := run("", args...); err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("%q: %q, %v, want %q", args, out, err, want)
		}
	}
}

// TestInvite checks that the command prints an invitation link, or has it mailed if there is a mail server.
func TestInvite(t *testing.T) { // not parallel: a process has one command line, which Caddy relies on
	run, _ := userLine(t)
	if _, _, err := run("", "user", "invite", "ann@example.com"); err == nil || !strings.Contains(err.Error(), "--link") {
		t.Errorf("without a mail server: %v", err)
	}
	out, _, err := run("", "user", "invite", "ann@example.com", "--name", "Ann", "--link")
	if err != nil || !strings.HasPrefix(out, "http://localhost:9000/choose-password?link=") {
		t.Errorf("%q, error %v", out, err)
	}
	out, _, err = run("", "user", "list", "--json")
	var list struct{ Users []shownUser }
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list.Users) != 1 || list.Users[0].Status != "pending" || list.Users[0].Name != "Ann" {
		t.Errorf("%s, error %v", out, err)
	}
	if _, _, err := run("", "user", "invite", "no address", "--link"); err == nil {
		t.Error("no address is invited")
	}
}
