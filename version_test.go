package tollgate_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate"
)

// TestVersion: the file VERSION is the one place of the number. The binary says it,
// the changelog begins with it, and no document has another.
func TestVersion(t *testing.T) {
	t.Parallel()
	version := tollgate.Version()
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		t.Fatalf("VERSION is %q, want three numbers", version)
	}
	if _, full := caddy.Version(); !strings.HasPrefix(full, "tollgate-"+version) {
		t.Errorf("the command version says %q, want tollgate-%s first", full, version)
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
