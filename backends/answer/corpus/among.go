package corpus

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Among is the condition that a column is one of a list of numbers, with its one
// argument. Its text is the same for lists of all lengths, so that the engine has its
// plan already.
func Among(c kernel.Conn, column string, ids []int64) (condition string, arg any) {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	joined := strings.Join(list, ",")
	if c.Dialect() == store.Postgres {
		return column + " = ANY(CAST(? AS bigint[]))", "{" + joined + "}"
	}
	return column + " IN (SELECT value FROM json_each(?))", "[" + joined + "]"
}
