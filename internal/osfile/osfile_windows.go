package osfile

import (
	"io/fs"
	"os"
)

// SyncFolder returns an error if there is no such folder. Windows cannot synchronize a folder: NTFS keeps names in its
// journal.
func SyncFolder(path string) error {
	_, err := os.Stat(path)
	return err
}

// Private reports true. Windows has no permission bits: the access list of the folder decides who can read a file, and
// those of a user's folders admit only the user, administrators and the system.
func Private(fs.FileInfo) bool { return true }
