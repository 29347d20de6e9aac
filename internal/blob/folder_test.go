package blob

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSweepEnded checks that content that an interrupted sweep has set aside is handled by the next sweep: it is put
// back if a file refers to it, and is removed otherwise.
func TestSweepEnded(t *testing.T) {
	t.Parallel()
	usedHash, unusedHash := strings.Repeat("a", 64), strings.Repeat("b", 64)
	files := folder{t.TempDir(), func(_ context.Context, hash string) (bool, error) { return hash == usedHash, nil }}
	mtime := time.Now().Add(-2 * time.Hour)
	for _, hash := range []string{usedHash, unusedHash} {
		if err := os.MkdirAll(filepath.Dir(files.path(hash)), 0o700); err != nil {
			t.Fatal(err)
		}
		aside := filepath.Join(files.root, temporaryPrefix+hash)
		if err := errors.Join(os.WriteFile(aside, []byte(hash), 0o600), os.Chtimes(aside, mtime, mtime)); err != nil {
			t.Fatal(err)
		}
	}
	n, err := files.sweep(t.Context(), time.Now().Add(-time.Hour))
	if n != 1 || err != nil {
		t.Errorf("%d swept, %v", n, err)
	}
	if content, err := os.ReadFile(files.path(usedHash)); err != nil || string(content) != usedHash {
		t.Errorf("%q, %v", content, err)
	}
	if left, err := filepath.Glob(filepath.Join(files.root, temporaryPrefix+"*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
