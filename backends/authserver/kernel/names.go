package kernel

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Names are what a column has of the rows with these ids. Table and column are those of the
// schema, never of a request; ids that are not there are left out.
func Names(c Conn, table, column string, ids []string) (map[string]string, error) {
	names := make(map[string]string)
	for part := range slices.Chunk(ids, namesPart) {
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = id
		}
		err := c.All("SELECT id, "+column+" FROM "+table+" WHERE id IN (?"+strings.Repeat(", ?", len(part)-1)+")", args, func(r store.Row) error {
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

// namesPart bounds how many ids a statement has.
const namesPart = 500
