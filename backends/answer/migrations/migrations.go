// Package migrations contains the tables of the answer API.
package migrations

import (
	"embed"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed *.sql
var files embed.FS

// Schema returns the tables of the answer API.
func Schema() store.Schema { return store.Schema{Name: "answer", Migrations: files} }
