package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
)

// folder stores files under their hash, in subfolders named by its first two digits.
type folder struct {
	root string
	// used reports whether the service refers to the content with the given hash.
	used func(ctx context.Context, hash string) (bool, error)
}

// temporaryPrefix begins the names of files that are being received, and of files that sweep is about to remove.
const temporaryPrefix = "receiving-"

// pathOf returns the path of content within the folder.
func pathOf(hash string) string { return path.Join(hash[:2], hash) }

func (f folder) path(hash string) string {
	return filepath.Join(f.root, filepath.FromSlash(pathOf(hash)))
}

func (f folder) temporary() (*os.File, error) {
	if err := os.MkdirAll(f.root, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(f.root, temporaryPrefix+"*")
}

func (f folder) keep(_ context.Context, received *os.File, hash string) error {
	if err := errors.Join(received.Sync(), received.Close()); err != nil {
		return err
	}
	dst := f.path(hash)
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return err
	}
	// Renaming over the same content renews its modification time, so that it is not swept.
	if err := os.Rename(received.Name(), dst); err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(os.Chtimes(dst, now, now), osfile.SyncFolder(filepath.Dir(dst)), osfile.SyncFolder(f.root))
}

func (f folder) open(_ context.Context, hash string, _ int64) (io.ReadSeekCloser, error) {
	file, err := os.Open(f.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	return file, err
}

func (f folder) sweep(ctx context.Context, cutoff time.Time) (n int, err error) {
	root, err := os.OpenRoot(f.root)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // nothing was ever stored
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	isOldFile := func(name string) bool {
		info, err := root.Stat(name)
		return err == nil && !info.IsDir() && info.ModTime().Before(cutoff)
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || !isOldFile(name):
			return nil // the file has been removed already
		}
		// After an interrupted sweep, the names of content may begin with the prefix too. Without the prefix, only the names
		// of content are as long as a hash.
		hash := strings.TrimPrefix(path.Base(name), temporaryPrefix)
		if len(hash) == 2*sha256.Size {
			if used, err := f.used(ctx, hash); used || err != nil {
				return errors.Join(err, moveBack(root, name, hash))
			}
		} else if !strings.HasPrefix(path.Base(name), temporaryPrefix) {
			return nil // not a file of the store
		}
		// The same content may be stored again at any moment. So the file is renamed first, to a name that nothing else
		// uses, and its age is checked again before it is removed.
		renamed := temporaryPrefix + hash
		if err := root.Rename(name, renamed); err != nil {
			return err
		}
		if !isOldFile(renamed) {
			return root.Rename(renamed, name)
		}
		n++
		return root.Remove(renamed)
	})
	return n, err
}

// moveBack moves the content with the given hash back to its place, if an interrupted sweep has renamed it. name is
// the name that the content has now.
func moveBack(root *os.Root, name, hash string) error {
	if name == pathOf(hash) {
		return nil
	}
	return root.Rename(name, pathOf(hash))
}
