package board

import (
	"embed"

	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema of the board: its migrations, and the function that rebuilds the search index.
func Schema() store.Schema {
	s := store.Embedded("board", migrations)
	s.Reindex = search.Reindex
	return s
}
