package authserver

import (
	"embed"
	"io/fs"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the tables of the authorization server.
func Schema() store.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return store.Schema{Name: "authserver", Migrations: files}
}
