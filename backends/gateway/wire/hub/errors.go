package hub

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Fault returns an error with status 400 for the value at the JSON path path of a request. code is the error's code.
// The message is path, followed by the formatted text.
func Fault(code, path, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, code, "%s %s", path, fmt.Sprintf(format, args...)).With(path)
}

// Shown returns a client's text for use in an error message: masked, shortened and quoted.
func Shown(text string) string { return strconv.Quote(wire.Mask(text, 100)) }
