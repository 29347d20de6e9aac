package keychain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/modules/cli"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/postgres"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// The tests of this file do not run in parallel: commands set Caddy's default
// logger, of which a process has one.

const masterKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// commandLine runs command lines with one configuration.
type commandLine struct {
	t      *testing.T
	config string
	stdin  string
}

// newCommandLine writes a configuration with the given database, which is in Caddyfile form.
func newCommandLine(t *testing.T, database string) *commandLine {
	t.Helper()
	config := filepath.Join(t.TempDir(), "Caddyfile")
	text := "{\n\ttollgate {\n\t\tdatabase " + database + "\n\t\tkeyring aes " + masterKey + "\n\t\tallow_networks 127.0.0.0/8\n\t}\n}\n:0 {\n\tkeychain\n}\n"
	if err := os.WriteFile(config, []byte("{\n\torder keychain before respond\n"+text[2:]), 0o600); err != nil {
		t.Fatal(err)
	}
	return &commandLine{t: t, config: config}
}

// sqliteCommandLine returns a commandLine with a SQLite database, and the file of the database, which does not exist
// yet.
func sqliteCommandLine(t *testing.T) (l *commandLine, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "data", "x.db")
	return newCommandLine(t, "sqlite "+file), file
}

// execute runs a command as the binary does.
func execute(ctx context.Context, stdin string, args ...string) (out, notes string, err error) {
	root := &cobra.Command{Use: "keychain", SilenceUsage: true, SilenceErrors: true}
	commands(root)
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetIn(strings.NewReader(stdin))
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// createDatabase creates the database.
func (l *commandLine) createDatabase() {
	l.t.Helper()
	app, end, err := tollgate.Load(l.config, "")
	if err != nil {
		l.t.Fatal(err)
	}
	defer end()
	service, _, _, err := gatewayapp.OpenKeychain(l.t.Context(), app)
	if err != nil {
		l.t.Fatal(err)
	}
	service.Close()
}

// run runs a command that must succeed, and returns the texts it printed to stdout and stderr.
func (l *commandLine) run(args ...string) (out, notes string) {
	l.t.Helper()
	out, notes, err := execute(l.t.Context(), l.stdin, append(args, "--config", l.config)...)
	if err != nil {
		l.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return out, notes
}

// wantError checks that a command ends with an error that contains want.
func (l *commandLine) wantError(want string, args ...string) {
	l.t.Helper()
	out, _, err := execute(l.t.Context(), l.stdin, append(args, "--config", l.config)...)
	if err == nil || !strings.Contains(err.Error(), want) || out != "" {
		l.t.Errorf("%s: printed %q, error %v, want %q", strings.Join(args, " "), out, err, want)
	}
}

// wantAudit checks the newest entry of the audit log.
func (l *commandLine) wantAudit(actor, action, subject string) {
	l.t.Helper()
	app, end, err := tollgate.Load(l.config, "")
	if err != nil {
		l.t.Fatal(err)
	}
	defer end()
	service, _, _, err := gatewayapp.OpenKeychain(l.t.Context(), app)
	if err != nil {
		l.t.Fatal(err)
	}
	defer service.Close()
	entries, err := service.Audit(l.t.Context(), 0, 1)
	if err != nil || len(entries) != 1 || entries[0].Actor != actor || entries[0].Action != action || entries[0].Subject != subject {
		l.t.Errorf("the newest entry of the audit log is %+v, error %v; want %s %s %s", entries, err, actor, action, subject)
	}
}

var (
	idText  = regexp.MustCompile(`\b(gk|pk|me)_[0-9A-Za-z]{20}\b`)
	keyText = regexp.MustCompile(`\bak-[0-9A-Za-z]{40}\b`)
	masked  = regexp.MustCompile(`\bak-[0-9A-Za-z]{3}…[0-9A-Za-z]{4}`)
	times   = regexp.MustCompile(`\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// withoutRandomTexts replaces the ids, keys and times in a text, which differ in each run.
func withoutRandomTexts(text string) string {
	text = idText.ReplaceAllString(text, "${1}_ID")
	text = keyText.ReplaceAllString(text, "ak-KEY")
	text = masked.ReplaceAllString(text, "ak-MASK")
	return times.ReplaceAllString(text, "TIME")
}

// compact returns JSON on one line, with ids, keys and times replaced by withoutRandomTexts. It fails the test for
// invalid JSON.
func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return withoutRandomTexts(b.String())
}

// TestJSON checks the JSON output on which programs rely.
func TestJSON(t *testing.T) {
	l, file := sqliteCommandLine(t)
	l.createDatabase()
	t.Setenv("TOLLGATE_TEST_SECRET", "sk-0123456789-abcdefghijklmnopqrstuvwxyz-ABCD")
	l.stdin = "  gsk_0123456789-abcdefghijklmnopqrstuvwxyz-WXYZ\n"
	var gk, pk string
	const key = `"id":"gk_ID","user_id":"alice","label":%q,"masked":"ak-MASK","is_primary":%t,"status":%q,"revoked":%t,"rate_limit_per_minute":%s,` +
		`"expires_at":null,"allowed_models":null,"budgets":{"tokens_per_day":null,"tokens_per_month":null,"usd_per_day":null,"usd_per_month":null},"effort_mode":%q,"created_at":"TIME","last_used_at":null,"imposed":[]`
	keyJSON := func(label string, primary bool, limit, mode string, revoked bool) string {
		return fmt.Sprintf(key, label, primary, map[bool]string{false: "active", true: "revoked"}[revoked], revoked, limit, mode)
	}
	remember := func(prefix string, id *string) func(out string) {
		return func(out string) { *id = regexp.MustCompile(prefix + `_[0-9A-Za-z]{20}`).FindString(out) }
	}
	const custom = `{"id":"me_ID","model_entry":"local/qwen","provider":"custom","tier":"low","enabled":%t,"priority":%d,"is_custom":true,"provider_connected":true,"base_url":"http://127.0.0.1:8000/v1","model":"qwen3"}`
	for _, step := range []struct {
		args string
		want string
		then func(out string)
	}{
		{"users list", `[]`, nil},
		{"users add alice", `{"user":{"id":"alice","created_at":"TIME"},"key":{` + keyJSON("primary", true, "null", "override", false) + `,"key":"ak-KEY"}}`, nil},
		{"users list", `[{"id":"alice","created_at":"TIME"}]`, nil},
		{"keys create -u alice --label ci --rate-limit 60 --own", `{` + keyJSON("ci", false, "60", "override", false) + `,"key":"ak-KEY"}`, remember("gk", &gk)},
		{"keys update KEY -u alice --label build --no-rate-limit --effort-mode max_of_both --own", `{` + keyJSON("build", false, "null", "max_of_both", false) + `}`, nil},
		{"keys update KEY -u alice --rate-limit 5 --own", `{` + keyJSON("build", false, "5", "max_of_both", false) + `}`, nil},
		{"keys revoke KEY -u alice", `{"id":"gk_ID","revoked":true}`, nil},
		{"keys revoke KEY -u alice", `{"id":"gk_ID","revoked":true}`, nil},
		{"keys rotate -u alice", `{` + keyJSON("primary", true, "null", "override", false) + `,"key":"ak-KEY"}`, nil},
		{"keys list -u alice", `[{` + keyJSON("primary", false, "null", "override", true) + `},{` + keyJSON("build", false, "5", "max_of_both", true) +
			`},{` + keyJSON("primary", true, "null", "override", false) + `}]`, nil},
		{"provider-keys list -u alice", `[]`, nil},
		{"provider-keys add groq -u alice --label home", `{"id":"pk_ID","provider":"groq","key_label":"home","masked":"gsk_01…WXYZ","created_at":"TIME"}`, remember("pk", &pk)},
		{"provider-keys add openai -u alice --from-env TOLLGATE_TEST_SECRET", `{"id":"pk_ID","provider":"openai","key_label":"","masked":"sk-012…ABCD","created_at":"TIME"}`, nil},
		{"provider-keys remove PKEY -u alice", `{"id":"pk_ID","removed":true}`, nil},
		{"provider-keys list -u alice", `[{"id":"pk_ID","provider":"openai","key_label":"","masked":"sk-012…ABCD","created_at":"TIME"}]`, nil},
		{"models add local/qwen -u alice --base-url http://127.0.0.1:8000/v1/ --model qwen3 --tier low --key-from-env TOLLGATE_TEST_SECRET", fmt.Sprintf(custom, true, 0), nil},
		{"models disable local/qwen -u alice", fmt.Sprintf(custom, false, 0), nil},
		{"models enable local/qwen -u alice", fmt.Sprintf(custom, true, 0), nil},
		{"models priority -u alice local/qwen 7", fmt.Sprintf(custom, true, 7), nil},
		{"models priority -u alice -- local/qwen -7", fmt.Sprintf(custom, true, -7), nil},
		{"preferences show -u alice", `{"preferred_providers":[],"excluded_providers":[],"excluded_models":[]}`, nil},
		{"preferences set -u alice --prefer groq,openai --exclude-model local/qwen", `{"preferred_providers":["groq","openai"],"excluded_providers":[],"excluded_models":["local/qwen"]}`, nil},
		{"preferences set -u alice --exclude-provider cohere --exclude-provider xai", `{"preferred_providers":["groq","openai"],"excluded_providers":["cohere","xai"],"excluded_models":["local/qwen"]}`, nil},
		{"preferences set -u alice --prefer= --exclude-model=", `{"preferred_providers":[],"excluded_providers":["cohere","xai"],"excluded_models":[]}`, nil},
		{"preferences show -u alice", `{"preferred_providers":[],"excluded_providers":["cohere","xai"],"excluded_models":[]}`, nil},
		{"models remove local/qwen -u alice", `{"id":"local/qwen","removed":true}`, nil},
		{"usage recent -u alice", `[]`, nil},
		{"keys create -u bob", `{` + strings.ReplaceAll(keyJSON("primary", true, "null", "override", false), "alice", "bob") + `,"key":"ak-KEY"}`, nil},
	} {
		args := strings.Fields(strings.NewReplacer("PKEY", pk, "KEY", gk).Replace(step.args))
		pos := len(args)
		for i, a := range args {
			if a == "--" {
				pos = i
			}
		}
		args = append(append(append([]string{}, args[:pos]...), "--json", "--config", l.config), args[pos:]...)
		out, notes, err := execute(t.Context(), l.stdin, args...)
		if err != nil {
			t.Fatalf("%s: %v", step.args, err)
		}
		if got := compact(t, out); got != step.want {
			t.Errorf("%s:\n%s\nwant\n%s", step.args, got, step.want)
		}
		if keyText.MatchString(notes) || strings.Contains(notes, "gsk_") {
			t.Errorf("%s: a secret is in the notes: %s", step.args, notes)
		}
		if step.then != nil {
			step.then(out)
		}
	}

	// The list of models contains those in reach, or all.
	count := func(args ...string) int {
		out, _ := l.run(append(args, "--json")...)
		var entries []keychain.ModelEntry
		if err := json.Unmarshal([]byte(out), &entries); err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	reached, all := count("models", "list", "-u", "alice"), count("models", "list", "-u", "alice", "--all")
	if reached == 0 || reached != len(catalog.Embedded().Models("openai")) || all <= reached {
		t.Errorf("%d of %d models are reached", reached, all)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the database is %v, error %v", info, err)
	}
}

// TestText checks the text output for people.
func TestText(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	l.createDatabase()
	l.stdin = "gsk_0123456789-abcdefghijklmnopqrstuvwxyz-WXYZ"
	check := func(wantOut, wantNotes string, args ...string) {
		t.Helper()
		out, notes := l.run(args...)
		if !strings.Contains(withoutRandomTexts(out), wantOut) || !strings.Contains(notes, wantNotes) {
			t.Errorf("%s:\n%s\nnotes: %s\nwant %q and %q", strings.Join(args, " "), withoutRandomTexts(out), notes, wantOut, wantNotes)
		}
	}
	check("USER  MAIL ADDRESS  NAME  STATE  CREATED\n", "There are no users yet", "users", "list")
	check("User:               alice\nKey id:             gk_ID\nLabel:              laptop\nRequests a minute:  9\nGateway key:        ak-KEY   (shown only once)\n",
		`The user "alice" did not exist`, "keys", "create", "--user", "alice", "--label", "laptop", "--rate-limit", "9", "--own")
	check("alice  -             -     active  TIME\n", "", "users", "list")
	check("gk_ID", "", "users", "add", "carol")
	out, _ := l.run("keys", "list", "-u", "alice")
	if keyText.MatchString(out) || !strings.Contains(out, "laptop") || !strings.Contains(out, "never") || strings.Count(out, "\n") != 2 {
		t.Errorf("%s", out)
	}
	id := idText.FindString(out)
	check("gk_ID was revoked. A running server refuses it within five seconds.\n", "", "keys", "revoke", id, "-u", "alice")
	check("revoked", "", "keys", "list", "-u", "alice")
	l.wantAudit("command", "key.revoked", id)
	check("ak-KEY", "", "keys", "rotate", "-u", "alice")
	check("TIER", "The user cannot reach any model", "models", "list", "-u", "alice")
	check("groq      -      gsk_01…WXYZ", "", "provider-keys", "add", "groq", "-u", "alice")
	check("groq/llama-3.1-8b-instant", "", "models", "list", "-u", "alice")
	check("no       0         yes", "", "models", "disable", "groq/llama-3.1-8b-instant", "-u", "alice")
	check("Removed groq/llama-3.1-8b-instant.\n", "", "models", "remove", "groq/llama-3.1-8b-instant", "-u", "alice")
	check("Preferred providers:  -\n", "", "preferences", "show", "-u", "alice")
	check("Preferred providers:  groq, cerebras\n", "", "preferences", "set", "-u", "alice", "--prefer", "groq,cerebras")
	check("ID  AT", "", "usage", "recent", "-u", "alice")
	for _, args := range [][]string{{}, {"users"}, {"keys"}, {"provider-keys"}, {"models"}, {"preferences"}, {"usage"}} {
		check("Usage:", "", args...)
	}
}

func TestErrors(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	t.Setenv("TOLLGATE_TEST_SECRET", "sk with spaces")
	l.stdin = "gsk_0123456789-abcdefghijklmnopqrstuvwxyz-WXYZ"
	out, _ := l.run("users", "add", "alice")
	key := idText.FindString(out)
	l.run("users", "add", "bob")
	for args, want := range map[string]string{
		"nonsense":                               `unknown command "nonsense"`,
		"users nonsense":                         `unknown command "nonsense"`,
		"users add":                              "accepts 1 arg",
		"users add a b":                          "accepts 1 arg",
		"users add alice":                        "the user \"alice\" already exists; create another key with: tollgate keychain keys create --user alice",
		"users list x":                           `unknown command "x"`,
		"keys create":                            `required flag(s) "user" not set`,
		"keys list":                              `required flag(s) "user" not set`,
		"keys create x -u a":                     `unknown command "x"`,
		"keys list -u nobody":                    `there is no user "nobody"; add one with: tollgate keychain users add`,
		"keys create -u ada@example.com":         "tollgate keychain users add ada@example.com",
		"keys create -u alice --rate-limit 0":    "rate_limit_per_minute must be from 1",
		"keys create -u alice --rate-limit many": "invalid argument",
		"keys create -u nobody --rate-limit -1":  "rate_limit_per_minute must be from 1",
		"keys create -u nobody --label " + strings.Repeat("x", 101):                      "label must have 0 to 100 characters",
		"keys update " + key + " -u alice":                                               "at least one of the flags",
		"keys update " + key + " -u alice --no-rate-limit --rate-limit 5":                "none of the others can be",
		"keys update " + key + " -u alice --effort-mode most":                            "effort_mode must be one of",
		"keys update " + key + " -u bob --label x":                                       "there is no gateway key",
		"keys update gk_x -u alice --label x":                                            `there is no gateway key "gk_x"`,
		"keys revoke gk_x -u alice":                                                      `there is no gateway key "gk_x"`,
		"keys revoke -u alice":                                                           "accepts 1 arg",
		"keys rotate -u nobody":                                                          `there is no user "nobody"`,
		"provider-keys add delta -u alice":                                               `there is no provider "delta"; there are: openai, `,
		"provider-keys add groq -u nobody":                                               `there is no user "nobody"`,
		"provider-keys add groq gsk_secret -u alice":                                     "accepts 1 arg",
		"provider-keys add groq -u alice --from-env TOLLGATE_TEST_UNSET":                 "TOLLGATE_TEST_UNSET is not set",
		"provider-keys add groq -u alice --from-env TOLLGATE_TEST_SECRET":                "printable ASCII",
		"provider-keys list -u nobody":                                                   `there is no user "nobody"`,
		"provider-keys remove pk_x -u alice":                                             `there is no provider key "pk_x"`,
		"models list -u nobody":                                                          `there is no user "nobody"`,
		"models enable x/y -u alice":                                                     `there is no model entry "x/y"`,
		"models disable x/y -u alice":                                                    `there is no model entry "x/y"`,
		"models disable openai/gpt-5.4-nano -u nobody":                                   `there is no user "nobody"`,
		"models priority openai/gpt-5.4-nano many -u alice":                              `the priority "many" is not a whole number`,
		"models priority openai/gpt-5.4-nano -5 -u alice":                                "after two dashes",
		"models priority openai/gpt-5.4-nano 5000000 -u alice":                           "priority must be from",
		"models priority openai/gpt-5.4-nano -u alice":                                   "accepts 2 arg",
		"models add local/x -u alice":                                                    `required flag(s) "base-url", "model", "tier" not set`,
		"models add local/x -u alice --base-url http://h --model x --tier best":          `unknown tier "best"`,
		"models add nothing -u alice --base-url http://h --model x --tier low":           "model_entry must look like",
		"models add local/x -u alice --base-url h --model x --tier low":                  "base_url must be",
		"models add local/x -u alice --base-url http://h? --model x --tier low":          "base_url must be",
		"models add local/x -u alice --base-url http://10.0.0.5/v1 --model x --tier low": `"10.0.0.5" is not public and not in a network of allow_networks`,
		"models add local/x -u a --base-url http://h --model x --tier low":               `there is no user "a"`,
		"models add l/x -u a --base-url http://h --model x --tier low --key-from-env Z":  "Z is not set",
		"models remove local/x -u alice":                                                 `there is no model entry "local/x"`,
		"preferences show -u nobody":                                                     `there is no user "nobody"`,
		"preferences set -u alice":                                                       "at least one of the flags",
		"preferences set -u alice --prefer delta":                                        `unknown provider "delta"`,
		"preferences set -u alice --exclude-model x/y":                                   `unknown model "x/y"`,
		"preferences set -u nobody --prefer groq":                                        `there is no user "nobody"`,
		"usage recent -u nobody":                                                         `there is no user "nobody"`,
		"usage recent -u alice --limit 0":                                                "--limit must be from 1 to 500",
		"usage recent -u alice --limit 501":                                              "--limit must be from 1 to 500",
		"usage recent -u alice --before -1":                                              "--before must be",
	} {
		l.wantError(want, strings.Fields(args)...)
	}
	for stdin, want := range map[string]string{
		"": "the provider key is empty", " \n": "the provider key is empty",
		strings.Repeat("x", cli.MaxSecret+1): "more than 4096 bytes", "a b": "printable ASCII", strings.Repeat("x", 1001): "1 to 1,000",
	} {
		l.stdin = stdin
		l.wantError(want, "provider-keys", "add", "groq", "-u", "alice")
	}
	if out, _ := l.run("users", "list", "--json"); strings.Contains(out, "nobody") {
		t.Error("a refused command created the user")
	}
	_, notes, err := execute(t.Context(), "", "users", "add", "a\tb", "--config", l.config)
	if err == nil || strings.Contains(notes, "\t") {
		t.Errorf("error %v, notes %q", err, notes)
	}
}

// TestWrongFolder checks that only a command that can begin with an empty database creates a database.
func TestWrongFolder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	for _, args := range []string{
		"users list", "keys list -u local", "keys revoke x -u local", "provider-keys list -u local", "models list -u local",
		"preferences show -u local", "usage recent -u local", "usage report -u local",
	} {
		_, _, err := execute(t.Context(), "", strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), "there is no database at "+filepath.Join(folder, "data", "tollgate.db")+": run the command in the folder of the server") {
			t.Errorf("%s: error %v", args, err)
		}
	}
	if _, _, err := execute(t.Context(), "", "token", "alice"); err == nil || !strings.Contains(err.Error(), "there is no key file at "+filepath.Join(folder, "data", "tollgate.key")) {
		t.Errorf("token: error %v", err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("the commands created %v (%v)", files, err)
	}
}

// TestMissingKeyFile checks that no key file is created beside a database whose secrets another key has encrypted.
func TestMissingKeyFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "data/tollgate.key"
	run := func(line string) error {
		_, _, err := execute(t.Context(), "sk-0123456789-abcdefghijklmnopqrstuvwxyz", strings.Fields(line)...)
		return err
	}
	if err := run("users add alice"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"users add bob", "users list", "provider-keys add openai -u alice"} {
		if err := run(line); err == nil || !strings.Contains(err.Error(), "that decrypts them is missing: restore it") {
			t.Errorf("%s: error %v", line, err)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("another key was created")
	}
}

func TestConfigurations(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(name string) bool { _, err := os.Stat(filepath.Join(folder, name)); return err == nil }

	// Without a configuration the app's defaults apply.
	if _, _, err := execute(t.Context(), "", "users", "add", "ada"); err != nil || !exists("data/tollgate.db") || !exists("data/tollgate.key") {
		t.Errorf("defaults: error %v", err)
	}
	// The Caddyfile of the working directory is used.
	write("Caddyfile", "{\n\ttollgate {\n\t\tdatabase sqlite {env.TOLLGATE_TEST_DIR}/own.db\n\t}\n}\n")
	t.Setenv("TOLLGATE_TEST_DIR", filepath.Join(folder, "own"))
	if _, _, err := execute(t.Context(), "", "users", "add", "ada"); err != nil || !exists("own/own.db") || !exists("own/tollgate.key") {
		t.Errorf("Caddyfile: error %v", err)
	}
	// The configuration is JSON, with a database for the gateway alone, and without the app.
	write("c.json", `{"apps":{"http":{"servers":{"x":{"listen":[":1"],"routes":[{"handle":[{"handler":"no_such"}]}]}}},
		"tollgate":{"databases":{"gateway":{"engine":"sqlite","path":"json.db"}},"counters":{"store":"no_such"},"first_run":{"url":"not one"}}}}`)
	if _, _, err := execute(t.Context(), "", "users", "add", "ada", "-c", "c.json"); err != nil || !exists("json.db") {
		t.Errorf("JSON: error %v", err)
	}
	write("other.conf", "{\n\ttollgate {\n\t\tdatabase sqlite adapter.db\n\t}\n}\n")
	if _, _, err := execute(t.Context(), "", "users", "add", "ada", "-c", "other.conf", "-a", "caddyfile"); err != nil || !exists("adapter.db") {
		t.Errorf("adapter: error %v", err)
	}
	write("empty.json", `{}`)
	write("null.json", `{"apps":{"tollgate":null}}`)
	for _, name := range []string{"empty.json", "null.json"} {
		if _, _, err := execute(t.Context(), "", "users", "list", "-c", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	write("broken.caddyfile", "{\n\ttollgate {\n\t\tnonsense\n\t}\n}\n")
	write("field.json", `{"apps":{"tollgate":{"nonsense":1}}}`)
	write("engine.json", `{"apps":{"tollgate":{"database":{"engine":"no_such"}}}}`)
	write("service.json", `{"apps":{"tollgate":{"databases":{"no_such":{"engine":"sqlite","path":"x"}}}}}`)
	write("ring.json", `{"apps":{"tollgate":{"keyring":{"ring":"aes","keys":["x"]}}}}`)
	write("path.json", `{"apps":{"tollgate":{"database":{"engine":"sqlite","path":"Caddyfile/x.db"}}}}`)
	write("catalog.json", `{"apps":{"tollgate":{"catalog":{"enable":["no_such"]}}}}`)
	for name, want := range map[string]string{
		"none.json": "reading the configuration", "broken.caddyfile": "unknown option \"nonsense\"", "field.json": "nonsense",
		"engine.json": "no_such", "service.json": `no service "no_such"`, "ring.json": "master key", "other.conf": "--adapter",
		"path.json": "not a directory", "catalog.json": "no_such",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if name == "path.json" { // the command waits until the context ends
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		_, _, err := execute(ctx, "", "users", "list", "-c", name)
		cancel()
		if name == "path.json" {
			if err == nil {
				t.Error("path.json: no error")
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if _, _, err := execute(t.Context(), "", "users", "list", "-c", "other.conf", "-a", "no_such"); err == nil || !strings.Contains(err.Error(), `no configuration adapter "no_such"`) {
		t.Errorf("unknown adapter: error %v", err)
	}
}

// TestDatabaseDown checks that a command waits a limited time for a database server that does not answer.
func TestDatabaseDown(t *testing.T) {
	l := newCommandLine(t, `postgres "postgres://tollgate:hunter2@127.0.0.1:1/x"`)
	began := time.Now()
	_, notes, err := execute(t.Context(), "", "users", "list", "-c", l.config)
	if err == nil || !strings.Contains(err.Error(), "the database cannot be used") || strings.Contains(err.Error()+notes, "hunter2") {
		t.Errorf("error %v, notes %s", err, notes)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// another returns a second service on the same database, as a running server would have.
func another(t *testing.T, db *store.DB, err error) *keychain.Service {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Register(schema.Gateway()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)
	master, err := keyring.ParseMasterKey(masterKey)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.NewAES(master)
	if err != nil {
		t.Fatal(err)
	}
	service, err := keychain.New(db, ring, spending.NewLedger(db, zap.NewNop(), time.Now), zap.NewNop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	return service
}

// usageLog returns a usage log on the database of a service, as a server writes it.
func usageLog(s *keychain.Service) *spending.Log {
	return spending.NewLog(spending.NewLedger(s.DB(), zap.NewNop(), time.Now), s.KeyUses(), zap.NewNop()).Start()
}

// TestCommandBesideServer checks that commands can manage keys while another service has the database open.
func TestCommandBesideServer(t *testing.T) {
	dsn := testenv.Postgres(t).DSN()
	sqlite, file := sqliteCommandLine(t)
	for name, test := range map[string]struct {
		line *commandLine
		open func() (*store.DB, error)
	}{
		"sqlite": {sqlite, func() (*store.DB, error) {
			return store.NewSQLite(store.SQLiteOptions{Path: file}, zap.NewNop())
		}},
		"postgres": {newCommandLine(t, "postgres "+dsn), func() (*store.DB, error) {
			return store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := test.line
			l.t = t
			db, err := test.open()
			server := another(t, db, err)
			out, _ := l.run("keys", "create", "-u", "alice")
			key := keyText.FindString(out)
			identity, err := server.Authenticate(t.Context(), key)
			if err != nil || identity.UserID != "alice" {
				t.Fatalf("%+v, error %v", identity, err)
			}
			l.stdin = "gsk_0123456789-abcdefghijklmnopqrstuvwxyz-WXYZ"
			l.run("provider-keys", "add", "groq", "-u", "alice")
			account, err := server.Account(t.Context(), "alice")
			if err != nil {
				t.Fatal(err)
			}
			if c := account.RoutingFor(catalog.Embedded(), "").Tier(catalog.High); len(c) == 0 || c[0].Keys[0].Secret != l.stdin {
				t.Errorf("the server has %+v", c)
			}
			if out, _ = l.run("keys", "list", "-u", "alice"); !strings.Contains(out, identity.KeyID) {
				t.Errorf("%s", out)
			}
			began := time.Now()
			l.run("keys", "revoke", identity.KeyID, "-u", "alice")
			for time.Since(began) < 2*time.Minute {
				if _, err = server.Authenticate(t.Context(), key); err != nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if refusal, ok := apierror.From(err); !ok || refusal.Status != 401 || time.Since(began) > keychain.CacheTTL+time.Minute { // for busy machines
				t.Errorf("revoked: error %v after %v", err, time.Since(began))
			}
		})
	}
}

func TestUsage(t *testing.T) {
	l, file := sqliteCommandLine(t)
	l.run("users", "add", "alice")
	db, err := store.NewSQLite(store.SQLiteOptions{Path: file}, zap.NewNop())
	log := usageLog(another(t, db, err))
	now := time.Date(2026, 3, 1, 10, 20, 0, 0, time.UTC)
	log.Add(spending.Record{
		At: now, RequestID: "req_1", UserID: "alice", KeyID: "gk_1", Surface: "chat_completions", AskedModel: "keychain-high", Tier: catalog.High,
		Provider: "groq", Model: "m", ProviderKey: "pk_1", Stream: true, Status: 200, Attempts: 1, InputTokens: 10, CachedTokens: 4, OutputTokens: 5, ReasoningTokens: 2,
		UsageSource: "exact", CostMicroUSD: 1234, CostKnown: true, Latency: 1500 * time.Millisecond, FirstToken: 250500 * time.Microsecond,
		ServedAs: []string{"flex"}, ServerTools: map[string]int64{"web_search": 2},
	})
	log.Add(spending.Record{
		At: now, RequestID: "req_2", UserID: "alice", AskedModel: "evil\x1b[31m\tmodel" + strings.Repeat("x", 200), Status: 502, Code: "all_providers_failed",
		FailedAttempts: []apierror.Attempt{{Provider: "groq", Model: "m", Status: 500, Code: "x", Message: "y", LatencyMS: 3}},
	})
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, _ := l.run("usage", "recent", "-u", "alice", "--json", "--before", "2")
	const want = `[{"id":1,"at":"TIME","request_id":"req_1","key_id":"gk_1","surface":"chat_completions","asked_model":"keychain-high","tier":"high","provider":"groq","model":"m","provider_key_id":"pk_1","stream":true,"status":200,"code":null,"attempts":1,"failed_attempts":[],"input_tokens":10,"cached_tokens":4,"output_tokens":5,"reasoning_tokens":2,"usage_source":"exact","cost_micro_usd":1234,"latency_ms":1500,"first_token_ms":250.5,"served_as":["flex"],"server_tools":{"web_search":2}}]`
	if got := compact(t, out); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	out, _ = l.run("usage", "recent", "-u", "alice", "--json", "--limit", "1")
	for _, part := range []string{`"id":2`, `"tier":null,"provider":null,"model":null`, `"failed_attempts":[{"provider":"groq"`, `"cost_micro_usd":null`, `"first_token_ms":null`} {
		if !strings.Contains(compact(t, out), part) {
			t.Errorf("%s is missing in %s", part, out)
		}
	}
	out, _ = l.run("usage", "recent", "-u", "alice")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "evil?[31m?model") || !strings.Contains(out, "x…") ||
		!strings.Contains(out, "502 all_providers_failed") || !strings.Contains(out, "groq/m") || !strings.Contains(out, "0.001234") {
		t.Errorf("%s", out)
	}
}

func TestRegistered(t *testing.T) {
	cmd, ok := caddycmd.Commands()["keychain"]
	if !ok || cmd.CobraFunc == nil {
		t.Fatalf("the command is missing: %+v", cmd)
	}
}
