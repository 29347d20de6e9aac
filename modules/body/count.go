package body

import (
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// WriteCount answers a request to count tokens: it writes their number in the client's format.
func WriteCount(w http.ResponseWriter, format formats.Counter, tokens int64) error {
	answer := format.AppendCount(nil, tokens)
	rest.NoSniff(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, err := w.Write(answer)
	return err
}
