// Package answer is the investment answer API as plain Go.
package answer

import (
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/migrations"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SchemaName names the service among those that a database can be given to.
const SchemaName = "answer"

// Schema is the tables of the answer API.
func Schema() store.Schema {
	s := migrations.Schema()
	s.Reindex = corpus.Reindex
	return s
}
