package store

import (
	"bytes"
	"io/fs"
	"testing/fstest" // the only file system in memory that the library has
)

// Prefixed is a schema of tables that several services have, each its own: in the
// migrations of files their names begin with PREFIX_, which becomes the prefix. It
// panics where files, which are embedded, cannot be read.
func Prefixed(files fs.FS, room, prefix string) Schema {
	made := make(fstest.MapFS)
	names, err := fs.Glob(files, "migrations/*.sql")
	for _, name := range names {
		var text []byte
		if text, err = fs.ReadFile(files, name); err != nil {
			break
		}
		made[name[len("migrations/"):]] = &fstest.MapFile{Data: bytes.ReplaceAll(text, []byte("PREFIX_"), []byte(prefix+"_")), Mode: 0o444}
	}
	if err != nil || len(names) == 0 {
		panic("store: no migrations of " + room)
	}
	return Schema{Name: prefix + "_" + room, Migrations: made}
}
