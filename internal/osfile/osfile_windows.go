package osfile

import (
	"io/fs"
	"os"
)

// SyncFolder returns an error if the folder does not exist. Windows cannot synchronize a folder: NTFS keeps names in
// its journal.
func SyncFolder(path string) error {
	_, err := os.Stat(path)
	return err
}

// Private reports true. Windows has no permission bits. The folder's access list decides who can read a file, and the
// lists of a user's folders admit only the user, administrators and the system.
func Private(fs.FileInfo) bool { return true }
