package kernel

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Names returns a map from ids to the values of a column of a table. The map contains those of the ids that exist in
// the table. The names of the table and column must be constants, never text from a request.
func Names(c Conn, table, column string, ids []string) (map[string]string, error) {
	names := make(map[string]string)
	for chunk := range slices.Chunk(ids, maxIDs) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		err := c.All("SELECT id, "+column+" FROM "+table+" WHERE id IN (?"+strings.Repeat(", ?", len(chunk)-1)+")",
			args, func(r store.Row) error {
				var id, name string
				err := r.Scan(&id, &name)
				names[id] = name
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// maxIDs is the maximum number of ids in one statement.
const maxIDs = 500
