package apierrors

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	modelapis "github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// format is a way to render an error. Either render or page is set.
type format struct {
	// render renders an error that classify returned. id is the request id. It has no side effects.
	render func(e *apierror.Error, id string) reply
	// page replaces render in formats that are HTML pages. path is the part of the request's path that handle_path and
	// similar handlers have removed from its beginning.
	page func(path string, e *apierror.Error) reply
	// requestIDHeader is another header for the request id, besides X-Request-Id. It may be empty.
	requestIDHeader string
}

// reply is a rendered error.
type reply struct {
	status int
	header http.Header // replaces headers that are set; owned by the reply
	varyBy string      // value to add to Vary, or empty
	body   []byte
}

// formats has the formats by name. init functions add formats of other packages.
var formats = map[string]format{
	"board":   {render: renderBoard},
	"cms":     {render: renderCMS},
	"answer":  {render: renderAnswer},
	"events":  {render: renderEvents},
	"problem": {render: renderProblem},
}

// init adds the formats of the model APIs, which another package lists.
func init() {
	for _, f := range modelapis.All() {
		formats[f.Facts().Surface] = format{
			requestIDHeader: f.Facts().RequestID,
			render: func(e *apierror.Error, id string) reply {
				status, body := f.Error(e, id)
				header := contentType("application/json")
				if typed, ok := f.(modelapis.Typed); ok {
					name, value := typed.ErrorHeader(e)
					header.Set(name, value)
				}
				return reply{status: status, header: header, body: body}
			},
		}
	}
}

// RegisterPages adds a format whose errors are HTML pages. A module calls it in its init function. render returns the
// header and the body for an error. Links in the page must begin with path, the prefix that handle_path has stripped
// from the request's path, such as /forum, or "".
func RegisterPages(name string, render func(path string, e *apierror.Error) (http.Header, []byte)) {
	formats[name] = format{page: func(path string, e *apierror.Error) reply {
		header, body := render(path, e)
		return reply{status: e.Status, header: header, body: body}
	}}
}

// Register adds a format. A module calls it in its init function. render returns the header and the body for an error.
func Register(name string, render func(e *apierror.Error) (http.Header, []byte)) {
	formats[name] = format{render: func(e *apierror.Error, _ string) reply {
		header, body := render(e)
		return reply{status: e.Status, header: header, body: body}
	}}
}

func formatNames() string {
	return strings.Join(slices.Sorted(maps.Keys(formats)), ", ")
}

func contentType(value string) http.Header {
	return http.Header{"Content-Type": {value}}
}

// appendString appends prefix, which is JSON, and s as a JSON string. Unlike encoding/json it does not escape <, > and
// &, since the bodies are not part of an HTML page.
func appendString(dst []byte, prefix, s string) []byte {
	return jsontext.AppendQuoted(append(dst, prefix...), s)
}

// appendDetails appends prefix and the list of faulty fields with their faults.
func appendDetails(dst []byte, prefix string, details []apierror.Detail) []byte {
	dst = append(append(dst, prefix...), '[')
	for i, d := range details {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, `{"field":`, d.Field)
		dst = appendString(dst, `,"reason":`, d.Reason)
		dst = appendString(dst, `,"message":`, d.Message)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
