//go:build !windows

package osfile

import (
	"errors"
	"io/fs"
	"os"
)

// SyncFolder makes the names in a folder survive the loss of power. It is called after a file was made or renamed
// there and its content was synchronized.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Private reports whether only the owner of a file can read and write it.
func Private(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
