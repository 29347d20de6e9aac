package hub

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Fault returns a 400 for the value at a JSON path. Its message begins with the path.
func Fault(code, at, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, code, "%s %s", at, fmt.Sprintf(format, args...)).With(at)
}

// Shown returns a client's text in the form for error messages.
func Shown(text string) string { return strconv.Quote(wire.Mask(text, 100)) }
