package store

import (
	"bytes"
	"io/fs"
)

// Embedded is a schema whose migrations lie in the folder migrations, as a service
// embeds it.
func Embedded(name string, files fs.FS) Schema {
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the name of the folder is good
	}
	return Schema{Name: name, Migrations: migrations}
}

// Prefixed is Embedded for tables that several services have, each its own: in the
// migrations their names begin with PREFIX_, which becomes the prefix.
func Prefixed(files fs.FS, room, prefix string) Schema {
	s := Embedded(prefix+"_"+room, files)
	s.Migrations = speller{s.Migrations, func(text []byte) ([]byte, error) {
		return bytes.ReplaceAll(text, []byte("PREFIX_"), []byte(prefix+"_")), nil
	}}
	return s
}
