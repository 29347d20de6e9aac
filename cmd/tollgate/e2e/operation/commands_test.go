package operation

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

var theirName = regexp.MustCompile(`\bcaddy\b`)

// TestHelp checks that the help of every command names tollgate instead of caddy, and that no command would replace the
// binary.
func TestHelp(t *testing.T) {
	t.Parallel()
	n := e2e.NewNode(t, "")
	commands := regexp.MustCompile(`(?m)^  ([a-z][a-z-]*)  `)
	seen := 0
	var look func(path ...string)
	look = func(path ...string) {
		seen++
		help := n.Tool(append(path, "--help")...)
		name := "tollgate " + strings.Join(path, " ")
		if found := theirName.FindString(help); found != "" {
			t.Errorf("%s: the help speaks of %s:\n%s", name, found, help)
		}
		if !strings.Contains(help, "Usage:\n  "+strings.TrimSpace(name)) {
			t.Errorf("%s has no usage line", name)
		}
		_, below, found := strings.Cut(help, "Available Commands:\n")
		if !found {
			return
		}
		below, _, _ = strings.Cut(below, "\n\n")
		for _, command := range commands.FindAllStringSubmatch(below+"\n", -1) {
			switch command[1] {
			case "help", "completion":
			case "upgrade", "add-package", "remove-package":
				t.Errorf("%s offers %s", name, command[1])
			default:
				if len(path) == 0 {
					look(command[1])
				}
			}
		}
	}
	look()
	if seen < 20 {
		t.Errorf("%d commands", seen)
	}
	if help := n.Tool("help"); !strings.Contains(help, "Tollgate is an edge gateway: Caddy with modules") {
		t.Errorf("the help does not describe the program: %s", help)
	}
	if msg := refused(n, "gateway"); !strings.Contains(msg, "keychain") {
		t.Errorf("gateway, which is a service and no command: %s", msg)
	}
	if msg := refused(n, "upgrade"); !strings.Contains(msg, "unknown command") {
		t.Errorf("upgrade: %s", msg)
	}
}

// TestCommandsFindServer checks that stop, reload and trust read the admin address from the Caddyfile of the working
// directory, or from that of --config.
func TestCommandsFindServer(t *testing.T) {
	t.Parallel()
	n := e2e.NewNode(t, second("data/admin.sock", "sqlite data/tollgate.db", e2e.FreePort(t))).Start()
	n.Tool("reload")
	n.Tool("reload", "--config", "Caddyfile")
	n.AwaitLog("config is unchanged")
	n.Tool("stop")
	n.AwaitExit()
	for _, command := range []string{"stop", "reload"} {
		if msg := refused(n, command); !strings.Contains(msg, "\nError: no server answers at the admin endpoint data/admin.sock: ") {
			t.Errorf("%s: %s", command, msg)
		}
	}
}

// TestUsage checks that a command with wrong arguments prints its usage.
func TestUsage(t *testing.T) {
	t.Parallel()
	n := e2e.NewNode(t, "")
	for want, args := range map[string][]string{
		"usage: tollgate keychain users add <id>": {"keychain", "users", "add"},
		"usage: tollgate backup <folder>":         {"backup"},
		"tollgate run takes no argument, but was given \"other.caddy\"; to name a file, run: tollgate run --config other.caddy; usage: tollgate run [--config <path>": {"run", "other.caddy"},
		"to name a file, run: tollgate start --config other.caddy":    {"start", "other.caddy"},
		"to name a file, run: tollgate reload --config other.caddy":   {"reload", "other.caddy"},
		"to name a file, run: tollgate validate --config other.caddy": {"validate", "--adapter", "caddyfile", "other.caddy"},
		"to name a file, run: tollgate adapt --config other.caddy":    {"adapt", "--pretty", "other.caddy"},
		"see: tollgate keychain keys create --help":                   {"keychain", "keys", "create", "--models", "x"},
	} {
		if msg := refused(n, args...); !strings.Contains(msg, want) {
			t.Errorf("%v: %s", args, msg)
		}
	}
}

// TestValidateMakesNothing checks that validating a configuration with certificates, logs and databases creates no
// files.
func TestValidateMakesNothing(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	n := e2e.NewNode(t, `{
	admin unix/admin/admin.sock
	skip_install_trust
	storage file_system state/caddy
	log {
		output file logs/log
	}
	tollgate {
		database sqlite state/tollgate.db
	}
}
https://localhost:`+e2e.FreePort(t)+` {
	tls internal
	log {
		output file logs/access
	}
	tollgate gateway
}
`, "TMPDIR="+temporary)
	if out := n.Tool("validate"); !strings.Contains(out, "Valid configuration") {
		t.Errorf("it says %q", out)
	}
	n.Tool("validate", "--config", "Caddyfile")
	var files []string
	err := filepath.WalkDir(n.Dir, func(path string, _ fs.DirEntry, err error) error {
		files = append(files, strings.TrimPrefix(path, n.Dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(files, " "); got != " /Caddyfile /data" {
		t.Errorf("there are %s", got)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, error %v", left, err)
	}
}

// TestErrorsTellTheLine checks that an error in a Caddyfile that a module reports names the line, also when it is
// loaded into a running server.
func TestErrorsTellTheLine(t *testing.T) {
	t.Parallel()
	n := e2e.NewNode(t, second("data/admin.sock", "sqlite data/tollgate.db", e2e.FreePort(t))).Start()
	wrong := second("data/admin.sock", "sqlite data/tollgate.db", e2e.FreePort(t)) + "http://localhost:" + e2e.FreePort(t) + " {\n\tcascade\n}\n"
	if err := os.WriteFile(filepath.Join(n.Dir, "Wrong.Caddyfile"), []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "\nError: Wrong.Caddyfile:" + strconv.Itoa(strings.Count(wrong, "\n")-1) + ": no handler verifies a key before cascade"
	for _, command := range [][]string{{"validate"}, {"reload"}, {"adapt", "--validate"}} {
		if msg := refused(n, append(command, "--config", "Wrong.Caddyfile")...); !strings.Contains("\n"+msg, want) {
			t.Errorf("%v: %s", command, msg)
		}
	}
	n.Tool("stop")
	n.AwaitExit()
	if msg := refused(n, "run", "--config", "Wrong.Caddyfile"); !strings.Contains(msg, want) {
		t.Errorf("run: %s", msg)
	}
}
