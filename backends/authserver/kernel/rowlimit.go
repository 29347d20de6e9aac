package kernel

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// CheckRoom returns an error with status 422 if a table already has limit rows. It limits the tables that this server
// reads as a whole. The name of the table must be a constant, never text from a request.
func CheckRoom(c Conn, table string, limit int) error {
	var n int
	err := c.Row("SELECT count(*) FROM " + table).Scan(&n)
	if err == nil && n >= limit {
		err = apierror.New(http.StatusUnprocessableEntity, "too_many",
			"there are already %d entries, which is the maximum; delete one first", n)
	}
	return err
}
