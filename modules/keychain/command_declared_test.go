package keychain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeclaredByCommand checks that a declaration is applied from a file and from standard input, that its changes are
// printed line by line, and that the export returns it unchanged.
func TestDeclaredByCommand(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	file := filepath.Join(t.TempDir(), "teams.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const teams = "teams:\n  - name: Red\n    limits:\n      usd_per_month: 50\n      allowed_models:\n        - openai/*\n    members:\n      - user: alice\n        role: admin\n        default: true\nusers: []\n"
	write(teams)
	const lines = "+ user alice\n+ team Red\n~ team Red: limits: usd_per_month none -> 50, allowed_models none -> [\"openai/*\"]\n+ team Red: member alice: admin, default team\n"
	out, notes := l.run("apply", "-f", file, "--dry-run")
	if out != lines || !strings.Contains(notes, "4 changes would be made. Nothing was changed.") {
		t.Errorf("a dry run: %s, notes %s", out, notes)
	}
	out, notes = l.run("apply", "-f", file)
	if out != lines || !strings.Contains(notes, "4 changes were made.") {
		t.Errorf("the first time: %s, notes %s", out, notes)
	}
	if out, notes = l.run("apply", "-f", file); out != "" || !strings.Contains(notes, "Nothing to change: everything is as the file says.") {
		t.Errorf("the second time: %s, notes %s", out, notes)
	}
	if out, _ = l.run("export"); out != teams {
		t.Errorf("the export is\n%s\nwant\n%s", out, teams)
	}
	if out, _ = l.run("teams", "limit", "Red"); !strings.Contains(out, "50 USD/month, only openai/*") {
		t.Errorf("the team is limited to %s", out)
	}

	out, _ = l.run("export", "--json")
	if !json.Valid([]byte(out)) || !strings.Contains(out, `"usd_per_month": 50`) {
		t.Errorf("as JSON: %s", out)
	}
	l.stdin = out
	var answer struct {
		DryRun  bool `json:"dry_run"`
		Changes []struct{ Change, What, How string }
	}
	out, _ = l.run("apply", "-f", "-", "--prune", "--json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Changes == nil || len(answer.Changes) > 0 {
		t.Errorf("its own export: %s, error %v", out, err)
	}
	l.stdin = "teams: []"
	out, _ = l.run("apply", "-f", "-", "--prune", "--dry-run", "--json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil || !answer.DryRun || len(answer.Changes) != 1 || answer.Changes[0].Change != "remove" || answer.Changes[0].What != "team Red" {
		t.Errorf("without teams: %s, error %v", out, err)
	}

	write("teams:\n- name: Red\n  color: blue\n- nam: x\n")
	l.wantError("line 3: a team has no field \"color\"", "apply", "-f", file)
	l.wantError("line 4: a team must have a name", "apply", "-f", file)
	write("teams:\n- name: Blue\n- name: Red\n  limits: {allowed_models: [openai/gpt-nothing]}\n")
	l.wantError("line 4: team Red: allowed_models[0] names the unknown model \"openai/gpt-nothing\"; nothing was changed", "apply", "-f", file)
	if out, _ = l.run("teams", "list"); strings.Contains(out, "Blue") {
		t.Errorf("a part of a refused file was applied: %s", out)
	}
	l.wantError("no such file", "apply", "-f", file+"none")
	l.wantError(`required flag(s) "file"`, "apply")
}

// TestDeclaredProviderKeys checks that a declared key comes from the environment or a file, and is never printed.
func TestDeclaredProviderKeys(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	secret := filepath.Join(t.TempDir(), "groq")
	if err := os.WriteFile(secret, []byte("gsk-0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOLLGATE_TEST_OPENAI", "sk-0123456789-0123456789")
	input := "organisation: {provider_keys: [{provider: openai, label: company, key: \"{env.TOLLGATE_TEST_OPENAI}\"}, {provider: groq, key: \"{file." + secret + "}\"}]}"
	l.stdin = input
	if out, _ := l.run("apply", "-f", "-"); out != "+ organisation: provider key openai \"company\": sk…89\n+ organisation: provider key groq: gs…ef\n" {
		t.Errorf("it adds %s", out)
	}
	l.stdin = input
	if out, _ := l.run("apply", "-f", "-", "--prune"); out != "" {
		t.Errorf("the second time: %s", out)
	}
	out, _ := l.run("export", "--json")
	if strings.Contains(out, "0123456789") || !strings.Contains(out, `"label": "company"`) {
		t.Errorf("the export is %s", out)
	}
	l.stdin = out
	if out, _ = l.run("apply", "-f", "-", "--prune", "--dry-run"); out != "" {
		t.Errorf("its own export changes %s", out)
	}
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	l.stdin = input
	l.wantError("line 1: organisation: provider key groq: stat "+secret, "apply", "-f", "-")
	if out, _ = l.run("provider-keys", "list", "--organisation"); strings.Count(out, "pk_") != 2 {
		t.Errorf("there are %s", out)
	}
}
