package kernel

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Room refuses one more row of a table that is read whole, and full. The name of the table
// is that of the schema, never of a request.
func Room(c Conn, table string, most int) error {
	var n int
	err := c.Row("SELECT count(*) FROM " + table).Scan(&n)
	if err == nil && n >= most {
		err = apierror.New(http.StatusUnprocessableEntity, "too_many", "there are %d of them already, and there may not be more", n)
	}
	return err
}
