package authserver

import (
	"embed"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of the authorization server.
func Schema() store.Schema { return store.Embedded("authserver", migrations) }
