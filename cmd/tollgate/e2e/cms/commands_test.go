package cms

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestCommands checks that the commands work before the server runs, and print their results as JSON.
func TestCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var result struct {
		Files, Pages []string
		Password     string
	}
	if err := json.Unmarshal([]byte(s.Tool("cms", "install", "--admin", "ann", "--json")), &result); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(result.Files, "api/Routes.php") || !slices.Equal(result.Pages, []string{"/", "/home", "/admin", "/admin/users"}) || result.Password == "" {
		t.Errorf("installed %+v", result)
	}
	if out := s.Tool("cms", "check"); !strings.Contains(out, "/users/{id:\\d+}") || !strings.Contains(out, "api/Routes.php:9:3") {
		t.Errorf("check: %s", out)
	}
	s.write("site/config.json", `{"endpoint":"home"}`)
	if out := s.Tool("cms", "check", "--json"); !strings.Contains(out, `"/home"`) {
		t.Errorf("check: %s", out)
	}
	s.write("site/config.json", "{}")
	var bob struct{ Name, Password, Status string }
	if err := json.Unmarshal([]byte(s.Tool("cms", "user", "add", "bob", "--role", "superuser", "--generate", "--json")), &bob); err != nil {
		t.Fatal(err)
	}
	if bob.Name != "bob" || bob.Password == "" || bob.Status != "active" {
		t.Errorf("added %+v", bob)
	}
	s.Tool("cms", "user", "disable", "bob")
	if list := s.Tool("cms", "user", "list"); !strings.Contains(list, "disabled") || !strings.Contains(list, "superuser") {
		t.Errorf("list: %s", list)
	}
	s.Tool("cms", "user", "enable", "bob")
	newPassword := strings.TrimSpace(s.Tool("cms", "user", "password", "bob", "--generate"))
	other := newSite(t)
	other.Tool("cms", "install", "--admin", "ann")
	file := filepath.Join(t.TempDir(), "site.jsonl")
	s.Tool("cms", "export", file)
	if out := s.Tool("cms", "export", "-"); !strings.HasPrefix(out, `{"cms":1}`) || !strings.Contains(out, `"path":"/home"`) {
		t.Errorf("export: %s", out)
	}
	for range 2 {
		var done struct{ Fields, Templates, Pages, Files int }
		if err := json.Unmarshal([]byte(other.Tool("cms", "import", file, "--json")), &done); err != nil || done.Pages != 4 || done.Templates != 4 {
			t.Errorf("import: %+v, error %v", done, err)
		}
	}
	s.begin()
	for password, status := range map[string]int{bob.Password: 401, newPassword: 200} {
		if a := e2e.Do(t, s.client, "POST", s.base+"/api/auth", "", "username=bob&password="+password, "Content-Type", "application/x-www-form-urlencoded"); a.Status != status {
			t.Errorf("bob signs in: %d %s, want %d", a.Status, a.Body, status)
		}
	}
	s.Stop()
	if out := s.Tool("keyring", "re-encrypt", "--json"); !strings.Contains(out, `"resealed": 0`) {
		t.Errorf("re-encrypt: %s", out)
	}
}
