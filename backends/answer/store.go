// Package answer is the investment answer API as plain Go.
package answer

import (
	"embed"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the tables of the answer API.
func Schema() store.Schema { return store.Embedded("answer", migrations) }
