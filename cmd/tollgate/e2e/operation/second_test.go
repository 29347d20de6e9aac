package operation

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// second returns the configuration of a server with one service on a port.
func second(socket, database, port string) string {
	return fmt.Sprintf(`{
	admin unix/%s
	persist_config off
	storage file_system data/caddy
	tollgate {
		database %s
	}
}
http://127.0.0.1:%s {
	tollgate board
}
`, socket, database, port)
}

// TestSecondServer checks that a server does not start if another server uses its admin socket, its database file or
// its port. Its error is one sentence that names the process, and nothing is logged.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	const socket, database = "data/admin.sock", "sqlite data/tollgate.db"
	port := e2e.FreePort(t)
	first := e2e.NewNode(t, second(socket, database, port)).Start()
	process := fmt.Sprint("process ", first.Cmd.Process.Pid)
	for _, c := range []struct{ name, config, want string }{
		{"all", second(socket, database, port), process},
		{"socket", second(socket, "sqlite data/other.db", e2e.FreePort(t)), process},
		{"database", second("data/other.sock", database, e2e.FreePort(t)), process},
		{"port", second("data/other.sock", "sqlite data/other.db", port), ":" + port + " is in use"},
	} {
		file := first.Path(c.name + ".caddyfile")
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		msg := refused(first, "run", "--config", file)
		if !strings.HasPrefix(msg, "Error: ") || strings.Count(msg, "\n") != 1 || !strings.Contains(msg, c.want) {
			t.Errorf("%s: it says %q, want %q", c.name, msg, c.want)
		}
	}
	// The running server is not affected, and can reload with the same files and ports.
	first.Load(second(socket, database+" {\nreaders 5\n}", port))
	first.Tool("reload", "--force")
	first.AwaitLog("load complete")
	first.Stop()
	first.Start() // the stop has freed the files
	first.Stop()
}

// TestUnusablePaths checks that an unusable path is reported in one sentence, and that a missing folder is created.
func TestUnusablePaths(t *testing.T) {
	t.Parallel()
	n := e2e.NewNode(t, "")
	if err := os.WriteFile(n.Path("file"), []byte("no database, for which it is too long by far "+strings.Repeat("x", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]string{
		"the folder of the database cannot be created":     second("data/admin.sock", "sqlite file/tollgate.db", e2e.FreePort(t)),
		"cannot be used: reading the database file":        second("data/admin.sock", "sqlite file", e2e.FreePort(t)),
		"cannot be used: it is a folder":                   second("data/admin.sock", "sqlite data", e2e.FreePort(t)),
		"the folder of the admin socket cannot be created": second("file/admin.sock", "sqlite data/tollgate.db", e2e.FreePort(t)),
	} {
		n.Configure(config)
		msg := refused(n, "run")
		if !strings.HasPrefix(msg, "Error: ") || strings.Count(msg, "\n") != 1 || !strings.Contains(msg, want) {
			t.Errorf("it says %q, want %q", msg, want)
		}
	}
	if err := os.RemoveAll(n.Path("data")); err != nil {
		t.Fatal(err)
	}
	n.Configure(second("data/admin.sock", "sqlite data/tollgate.db", e2e.FreePort(t)))
	n.Start()
	n.Stop()
}

// TestNodesBesideEachOther checks that nodes on PostgreSQL can run on one machine, even in one folder, on different
// ports.
func TestNodesBesideEachOther(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t).DSN()
	first := e2e.NewNode(t, second("data/admin.sock", "postgres {env.TOLLGATE_DSN}", e2e.FreePort(t)), "TOLLGATE_DSN="+dsn).Start()
	other := e2e.NewNode(t, second("data/admin.sock", "postgres {env.TOLLGATE_DSN}", e2e.FreePort(t)), "TOLLGATE_DSN="+dsn)
	key, err := os.ReadFile(first.Path("data", "tollgate.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other.Path("data", "tollgate.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	other.Start()
	other.Stop()
	first.Stop()
}

// TestForeignPort checks that a port that another program uses is also reported, even if it is that of an admin
// endpoint.
func TestForeignPort(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	n := e2e.NewNode(t, second("data/admin.sock", "sqlite data/tollgate.db", port))
	if msg := refused(n, "run"); !strings.Contains(msg, ":"+port+" is in use") {
		t.Errorf("it says %q", msg)
	}
	if _, err := os.Stat(filepath.Join(n.Dir, "data", "tollgate.db")); err == nil {
		t.Error("a database was made")
	}
	n.Configure(strings.Replace(second("x", "sqlite data/tollgate.db", e2e.FreePort(t)), "unix/x", address, 1))
	if msg := refused(n, "run"); !strings.Contains(msg, address+" of the admin endpoint is in use") {
		t.Errorf("it says %q", msg)
	}
	n.Configure(strings.Replace(second("data/admin.sock", "sqlite data/tollgate.db", port), "\ttollgate board", "\tbind 192.0.2.1\n\ttollgate board", 1))
	if msg := refused(n, "run"); !strings.HasPrefix(msg, "Error: the address 192.0.2.1:"+port+" does not belong to this machine") {
		t.Errorf("it says %q", msg)
	}
}

// TestEnvironmentFile checks that the variables of --envfile are set during the checks before the start, and during
// validation.
func TestEnvironmentFile(t *testing.T) {
	t.Parallel()
	port := e2e.FreePort(t)
	n := e2e.NewNode(t, second("data/admin.sock", "sqlite data/tollgate.db", port)).Start()
	for name, text := range map[string]string{
		"env":      "# where it listens\nexport TEST_PORT=" + port + "\nTEST_DATABASE=\"data/other.db\"\n",
		"other":    second("data/other.sock", "sqlite {env.TEST_DATABASE}", "{$TEST_PORT}"),
		"wrong":    second("data/other.sock", "sqlite {env.TEST_DATABASE}", "{$TEST_PORT}") + "http://127.0.0.1:1 {\n\tcascade\n}\n",
		"nonsense": "no variable\n",
	} {
		if err := os.WriteFile(n.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, args := range map[string][]string{
		":" + port + " is in use by another process": {"run", "--envfile", "env", "--config", "other", "--adapter", "caddyfile"},
		"no handler verifies a key before cascade":   {"validate", "--envfile", "env", "--config", "wrong", "--adapter", "caddyfile"},
		"can't parse line 1":                         {"run", "--envfile", "nonsense"},
		"open nowhere":                               {"validate", "--envfile", "nowhere"},
	} {
		if msg := refused(n, args...); !strings.Contains(msg, want) || strings.Contains(msg, "os.Getwd") {
			t.Errorf("%v: it says %q, want %q", args, msg, want)
		}
	}
	n.Tool("validate", "--envfile", "env", "--config", "other", "--adapter", "caddyfile")
	if _, err := os.Stat(n.Path("data", "other.db")); err == nil {
		t.Error("a database was made")
	}
	n.Stop()
}
