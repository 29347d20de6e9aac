package authserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImport checks that users are imported, that refused records are reported, and that the report file is written.
func TestImport(t *testing.T) { // not parallel: a process has one command line, which Caddy relies on
	run, _ := userLine(t)
	folder := t.TempDir()
	file, report := filepath.Join(folder, "users.csv"), filepath.Join(folder, "report")
	text := "email,name,password_hash\nann@example.com,Ann,\nno address,,\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, notes, err := run("", "import", "--from", "csv", file, "--dry-run")
	if err == nil || !strings.Contains(out, "WOULD BE TAKEN") || !strings.Contains(notes, "line 3 no address: this must be a mail address") {
		t.Errorf("a dry run: %s%s%v", out, notes, err)
	}
	if out, _, err = run("", "user", "list"); err != nil || strings.Contains(out, "ann@example.com") {
		t.Errorf("a dry run has stored a user: %s%v", out, err)
	}
	_, _, err = run(text, "import", "--from", "csv", "-", "--report", report)
	if err == nil || !strings.Contains(err.Error(), "1 records were refused") {
		t.Errorf("%v", err)
	}
	if out, _, err = run("", "user", "list"); err != nil || !strings.Contains(out, "ann@example.com") {
		t.Errorf("%s%v", out, err)
	}
	lines, err := os.ReadFile(report)
	if err != nil || strings.Count(string(lines), "\n") != 2 || !strings.Contains(string(lines), `"outcome":"taken"`) {
		t.Errorf("%s%v", lines, err)
	}
	text = "email,name\nann@example.com,Anna\n"
	out, notes, err = run(text, "import", "--from", "csv", "-", "--update", "--dry-run")
	if err != nil || !strings.Contains(out, "WOULD BE UPDATED") || !strings.Contains(notes, "ann@example.com: would change: name") {
		t.Errorf("a dry run of an update: %s%s%v", out, notes, err)
	}
	if out, _, err = run(text, "import", "--from", "csv", "-", "--update"); err != nil || !strings.Contains(out, "UPDATED") {
		t.Errorf("an update: %s%v", out, err)
	}
	if out, _, err = run("", "user", "list"); err != nil || !strings.Contains(out, "Anna") {
		t.Errorf("%s%v", out, err)
	}
	if _, _, err := run(text, "import", "--from", "csv", "-", "--replace-passwords"); err == nil {
		t.Error("passwords are replaced without an update")
	}
	if _, _, err := run("", "import", "--from", "auth0", file); err == nil || !strings.Contains(err.Error(), "csv, hydra, keycloak") {
		t.Errorf("an unknown server: %v", err)
	}
}
