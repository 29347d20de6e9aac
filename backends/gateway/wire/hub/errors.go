package hub

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Fault returns an error with status 400 for an invalid value of a request. param is the JSON path of the value. code
// is the error's code. The message is param, followed by the formatted text.
func Fault(code, param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, code, "%s %s", param, fmt.Sprintf(format, args...)).With(param)
}

// Shown returns a client's text for use in an error message: masked, shortened and quoted.
func Shown(text string) string { return strconv.Quote(wire.Mask(text, 100)) }
