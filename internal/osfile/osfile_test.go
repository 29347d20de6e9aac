package osfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
)

func TestSyncFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := osfile.SyncFolder(dir); err != nil {
		t.Error(err)
	}
	if err := osfile.SyncFolder(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error for a folder that does not exist is %v", err)
	}
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	for mode, want := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := osfile.Private(info); got != (want || runtime.GOOS == "windows") {
			t.Errorf("Private of a file with mode %o is %v", mode, got)
		}
	}
}
