package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// MaxBody limits the body of a request, in bytes.
const MaxBody = 1 << 20

// maxDepth is how deep the values of a body may nest.
const maxDepth = 32

// Call is a request that a route serves. It must not be used by several goroutines at a time.
type Call struct {
	W http.ResponseWriter
	R *http.Request
	// Who is the sender of the request, or nil if the sender is unknown.
	Who Identity
	// Status is the status of the answer. It is preset to the route's Status.
	Status int

	unchanged bool // the client has the current version already
}

// User returns the id of the signed-in user, or "" for a guest.
func (c *Call) User() string {
	if c.Who == nil {
		return ""
	}
	return c.Who.UserID()
}

// Path returns the value of a wildcard in the route's path.
func (c *Call) Path(name string) string { return c.R.PathValue(name) }

// Decode reads the JSON body into the struct to which target points. It returns an error for unknown members, data
// after the value, and a body that is too large or nested too deep. The error's message names the fault.
func (c *Call) Decode(target any) error {
	text, err := c.jsonBody()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return refuse(http.StatusBadRequest, "invalid_json", "", "this request needs a JSON body")
	}
	return decode(text, target)
}

// DecodeIfAny works like Decode but accepts an empty body, which leaves the struct unchanged.
func (c *Call) DecodeIfAny(target any) error {
	text, err := c.jsonBody()
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	return decode(text, target)
}

// jsonBody reads the body, which may be empty. For a body that is too large or incomplete, it returns the error that
// tells the client so.
func (c *Call) jsonBody() ([]byte, error) {
	text, err := c.body(MaxBody)
	switch {
	case errors.Is(err, errTooLarge):
		err = refuse(http.StatusRequestEntityTooLarge, "request_too_large", "", "the body is larger than 1 MiB")
	case errors.Is(err, errIncomplete):
		err = refuse(http.StatusBadRequest, "invalid_request_body", "", "the body could not be read whole")
	}
	return text, err
}

// Errors of Call.body. Its callers return errors with other words and codes instead.
var (
	errTooLarge   = errors.New("the body is too large")
	errIncomplete = errors.New("the body could not be read whole")
)

// body reads a body of at most limit bytes. The client must send at a pace; see package inbound.
func (c *Call) body(limit int64) ([]byte, error) {
	if c.R.ContentLength > limit {
		return nil, errTooLarge
	}
	paced := inbound.Default.Body(c.W, c.R)
	text, err := io.ReadAll(http.MaxBytesReader(c.W, paced, limit))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, errTooLarge
	case inbound.TooSlow(err):
		return nil, refuse(http.StatusRequestTimeout, "request_timeout", "",
			"the body took too long to arrive, send it again")
	case err != nil:
		return nil, errIncomplete
	}
	paced.Done()
	return text, nil
}

// decode decodes a JSON body into the struct to which target points; see Call.Decode.
func decode(text []byte, target any) error {
	if !utf8.Valid(text) {
		return refuse(http.StatusBadRequest, "invalid_json", "", "the body is not UTF-8")
	}
	if tooDeep(text) {
		return refuse(http.StatusBadRequest, "invalid_json", "", "the body nests deeper than 32 levels")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(target)
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return refuse(http.StatusBadRequest, "invalid_json", "", "the body has more data after its JSON value")
		}
		return nil
	case errors.As(err, &wrongType):
		member := memberPath(wrongType.Field)
		if member == "" {
			return refuse(http.StatusBadRequest, "invalid_value", "", "the body must be a JSON object")
		}
		return refuse(http.StatusBadRequest, "invalid_value", member, member+" "+mismatch(wrongType))
	case errors.As(err, &syntax):
		return refuse(http.StatusBadRequest, "invalid_json", "",
			"the body is not JSON: "+syntax.Error()+" at byte "+strconv.FormatInt(syntax.Offset, 10))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(http.StatusBadRequest, "invalid_json", "", "the JSON of the body is incomplete")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		return refuse(http.StatusBadRequest, "unknown_parameter", Quote(name),
			"there is no member "+Quote(name)+" here")
	}
	return refuse(http.StatusBadRequest, "invalid_value", "",
		"the body has a value that cannot be read: "+Quote(err.Error()))
}

// memberPath returns the path of a body's member. It leaves out the names of embedded structs, which encoding/json
// includes: they begin with a capital letter, and no member does.
func memberPath(field string) string {
	path := strings.Split(field, ".")
	return strings.Join(slices.DeleteFunc(path, func(name string) bool {
		return name != "" && name[0] >= 'A' && name[0] <= 'Z'
	}), ".")
}

// mismatch returns a message about the type that a member must have. It does not quote the error, because for a number
// that is too large the error repeats the digits.
func mismatch(wrongType *json.UnmarshalTypeError) string {
	number, isNumber := strings.CutPrefix(wrongType.Value, "number ") // followed by its digits
	switch {
	case !isNumber:
		return "must not be a " + wrongType.Value
	case wrongType.Type.Kind() != reflect.Float64 && strings.ContainsAny(number, ".eE"):
		return "must be a whole number, without a fraction and an exponent"
	}
	return "is out of range"
}

// tooDeep reports whether a body nests deeper than maxDepth. It counts the brackets outside of strings.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return false
}

// refuse returns an *apierror.Error. param is the parameter or member at fault, or "".
func refuse(status int, code, param, message string) error {
	return &apierror.Error{Status: status, Code: code, Param: param, Message: message}
}

// Int returns a query parameter, or byDefault if the parameter is missing. A value that is not from minimum to maximum
// is an error.
func (c *Call) Int(name string, byDefault, minimum, maximum int) (int, error) {
	text := c.query(name)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < minimum || n > maximum {
		return 0, refuse(http.StatusBadRequest, "invalid_value", name,
			name+" must be a whole number from "+strconv.Itoa(minimum)+" to "+strconv.Itoa(maximum))
	}
	return n, nil
}

// Time returns a query parameter that is a time in RFC 3339, or a date, which means the beginning of that day in UTC.
// It returns the zero time if the parameter is missing.
func (c *Call) Time(name string) (time.Time, error) {
	text := c.query(name)
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	// An unescaped plus sign has been decoded to a space.
	parsed, err := time.Parse(time.RFC3339, strings.ReplaceAll(text, " ", "+"))
	if err != nil {
		return time.Time{}, refuse(http.StatusBadRequest, "invalid_value", name,
			name+" must be a time such as 2026-01-31 or 2026-01-31T08:00:00Z")
	}
	return parsed, nil
}

// Choice returns a query parameter that must be one of words. If the parameter is missing it returns the first word.
func (c *Call) Choice(name string, words ...string) (string, error) {
	text := c.query(name)
	if text == "" {
		return words[0], nil
	}
	for _, word := range words {
		if word == text {
			return word, nil
		}
	}
	return "", refuse(http.StatusBadRequest, "invalid_value", name, name+" must be one of "+strings.Join(words, ", "))
}

// List returns the words of a comma-separated query parameter, or nil if the parameter is missing.
func (c *Call) List(name string) []string {
	text := c.query(name)
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Text returns a query parameter unchanged, or "" if the parameter is missing.
func (c *Call) Text(name string) string { return c.query(name) }

// query returns a query parameter, or "" if it is missing.
func (c *Call) query(name string) string { return c.R.URL.Query().Get(name) }

// Write writes the answer of a route; see Route.Serve. If the answer cannot be encoded as JSON, Write writes nothing
// and returns an error.
func (c *Call) Write(answer any) error {
	w := c.W
	if c.unchanged {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	var text []byte
	kind := "application/json"
	switch a := answer.(type) {
	case nil:
		w.WriteHeader(http.StatusNoContent)
		return nil
	case http.Handler:
		a.ServeHTTP(w, c.R)
		return nil
	case Raw:
		kind, text = a.Type, a.Data
		if a.Name != "" {
			w.Header().Set("Content-Disposition",
				mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}))
		}
	default:
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(answer); err != nil {
			return err
		}
		text = out.Bytes()
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(c.Status)
	if c.R.Method == http.MethodHead {
		return nil
	}
	_, _ = w.Write(text) // the client may be gone
	return nil
}

// Quote returns a text from outside in a form that can be quoted in a message: without control characters, and cut to
// about 100 bytes.
func Quote(outside string) string {
	quoted := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, outside)
	if len(quoted) > 100 {
		quoted = text.CutBytes(quoted, 100) + "…"
	}
	return quoted
}
