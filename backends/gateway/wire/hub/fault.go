package hub

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Fault is a 400 for the value at a JSON path; the message begins with the path.
func Fault(code, at, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, code, "%s %s", at, fmt.Sprintf(format, args...)).With(at)
}

// Shown is a client's text as errors repeat it.
func Shown(text string) string { return strconv.Quote(wire.Mask(text, 100)) }
