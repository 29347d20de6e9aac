package kernel

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Names returns the values of a column by the ids of their rows. Table and column must be names of the schema, never
// from a request. Ids that do not exist are left out.
func Names(c Conn, table, column string, ids []string) (map[string]string, error) {
	names := make(map[string]string)
	for part := range slices.Chunk(ids, namesPart) {
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = id
		}
		err := c.All("SELECT id, "+column+" FROM "+table+" WHERE id IN (?"+strings.Repeat(", ?", len(part)-1)+")",
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

// namesPart bounds the number of ids in one statement.
const namesPart = 500
