package script

import (
	"fmt"
	"os"
	"testing"
)

// TestSourcesAreBounded checks that the number of stored names and the length of stored texts are limited, because
// clients can influence the names.
func TestSourcesAreBounded(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(site(t, map[string]string{"api/a.json": `"a"`, "api/b.json": `"b"`}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	s := newSources(root)
	found := func(requiringFile, name, want string) {
		t.Helper()
		if _, text, err := s.find(requiringFile, name); err != nil || text != want {
			t.Fatalf("%s in %s: %q, %v", name, requiringFile, text, err)
		}
	}
	for i := range maxKnownNames + 10 {
		found(fmt.Sprintf("/api/%d.js", i), "/api/a.json", `"a"`)
	}
	if len(s.names) != maxKnownNames || len(s.files) != 1 {
		t.Errorf("%d names and %d files are stored, want %d and 1", len(s.names), len(s.files), maxKnownNames)
	}
	s.bytes = maxKnownBytes
	for range 2 {
		found("/api/x.js", "/api/b.json", `"b"`)
	}
	if len(s.files) != 1 {
		t.Errorf("%d files are stored, want 1, because the limit of bytes is reached", len(s.files))
	}
}
