// Package answer implements the investment answer API without Caddy.
package answer

import (
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/migrations"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SchemaName is the name of the service's schema in a database.
const SchemaName = "answer"

// Schema returns the tables of the answer API.
func Schema() store.Schema {
	s := migrations.Schema()
	s.Reindex = corpus.Reindex
	return s
}
