package store

import (
	"bytes"
	"io/fs"
)

// Prefixed is a schema of tables that several services have, each its own: in the
// migrations, which lie in a folder of that name, their names begin with PREFIX_,
// which becomes the prefix.
func Prefixed(files fs.FS, room, prefix string) Schema {
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the name of the folder is good
	}
	return Schema{Name: prefix + "_" + room, Migrations: speller{migrations, func(text []byte) ([]byte, error) {
		return bytes.ReplaceAll(text, []byte("PREFIX_"), []byte(prefix+"_")), nil
	}}}
}
