package corpus

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Among returns an SQL condition that holds if the column is one of ids, and the argument for its only placeholder. The
// text of the condition does not depend on the number of ids, so that the database can reuse its plan.
func Among(c kernel.Conn, column string, ids []int64) (condition string, arg any) {
	digits := make([]string, len(ids))
	for i, id := range ids {
		digits[i] = strconv.FormatInt(id, 10)
	}
	joined := strings.Join(digits, ",")
	if c.Dialect() == store.Postgres {
		return column + " = ANY(CAST(? AS bigint[]))", "{" + joined + "}"
	}
	return column + " IN (SELECT value FROM json_each(?))", "[" + joined + "]"
}
