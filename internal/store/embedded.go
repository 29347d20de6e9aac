package store

import (
	"bytes"
	"io/fs"

	"github.com/tollgate-gateway/tollgate/internal/store/migration"
)

// Embedded returns a schema with the given name whose migrations are in the folder "migrations" of files.
func Embedded(name string, files fs.FS) Schema {
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder name is valid
	}
	return Schema{Name: name, Migrations: migrations}
}

// Prefixed works like Embedded, for tables that several services have, each under its own prefix. The schema is named
// <prefix>_<suffix>. In the migrations the table names begin with PREFIX_, which is replaced by the prefix and an
// underscore.
func Prefixed(files fs.FS, suffix, prefix string) Schema {
	s := Embedded(prefix+"_"+suffix, files)
	s.Migrations = migration.Rewrite(s.Migrations, func(text []byte) ([]byte, error) {
		return bytes.ReplaceAll(text, []byte("PREFIX_"), []byte(prefix+"_")), nil
	})
	return s
}
