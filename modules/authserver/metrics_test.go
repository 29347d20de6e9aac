package authserver

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMetrics checks that each counter of the server has a metric, and that each metric is used.
func TestMetrics(t *testing.T) {
	t.Parallel()
	named := make(map[string]bool)
	rooms := os.DirFS("../../backends/authserver")
	err := fs.WalkDir(rooms, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(rooms, path)
		for _, match := range regexp.MustCompile(`"([a-z_]+_(?:total|duration_seconds))"`).FindAllSubmatch(text, -1) {
			named[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range named {
		if counted[name] == nil && observed[name] == nil {
			t.Errorf("the counter %s has no metric", name)
		}
	}
	for name := range counted {
		if !named[name] {
			t.Errorf("no package counts %s", name)
		}
	}
	for name := range observed {
		if !named[name] {
			t.Errorf("no package observes %s", name)
		}
	}
}
