//go:build !windows

package osfile

import (
	"errors"
	"io/fs"
	"os"
)

// SyncFolder makes the names in a folder survive the loss of power. The caller calls it after it has made or renamed a
// file there, and synchronized the file's content.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Private reports whether only the owner of a file can read and write it.
func Private(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
