package tollgate_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate"
	app "github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// TestVersion checks that the file VERSION is the only place of the number: the binary reports it, the changelog begins
// with it, and no document has another.
func TestVersion(t *testing.T) {
	t.Parallel()
	version := tollgate.Version()
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		t.Fatalf("VERSION is %q, want three numbers", version)
	}
	if _, full := caddy.Version(); !strings.HasPrefix(full, "tollgate-"+version) {
		t.Errorf("the command version says %q, want tollgate-%s first", full, version)
	}
	if own := app.Version(); !strings.HasPrefix(own, version) {
		t.Errorf("what the services tell is %q, want %s first", own, version)
	}
	first := regexp.MustCompile(`(?m)^## .*$`).FindString(page(t, "CHANGELOG.md"))
	if number, _, _ := strings.Cut(strings.TrimPrefix(first, "## "), " ("); number != version {
		t.Errorf("CHANGELOG.md begins with %q, want \"## %s\", with a date or (unreleased) behind it", first, version)
	}
	count := 0
	written := regexp.MustCompile(`tollgate[-_](\d+\.\d+\.\d+)`)
	for name, text := range pages(t) {
		for _, match := range written.FindAllStringSubmatch(text, -1) {
			count++
			if match[1] != version {
				t.Errorf("%s has %s, want the version %s", name, match[0], version)
			}
		}
	}
	if count == 0 {
		t.Error("no document has the version: it is not found any more")
	}
	for _, line := range []string{
		"VERSION := $(shell cat VERSION)",
		"CustomVersion=tollgate-$(VERSION)",
	} {
		if !strings.Contains(page(t, "Makefile"), line) {
			t.Errorf("Makefile does not have %s", line)
		}
	}
}

// TestOwnVersion checks that no module reports Caddy's version in place of its own.
func TestOwnVersion(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(os.DirFS("modules"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := fs.ReadFile(os.DirFS("modules"), path)
		if strings.Contains(string(text), "caddy.Version()") {
			t.Errorf("%s calls caddy.Version, the version of Caddy: use that of modules/tollgate", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
