package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Limits of a call.
const (
	maxOperations = 1000    // operations on the content, and requests of http.fetch
	maxLines      = 1000    // lines in the log
	maxFile       = 8 << 20 // length of a text that becomes a file, in bytes
	maxValues     = 250_000 // number of values in a JSON value that a script passes
)

// host performs the operations that the script of one call requests. It validates all data from the script: the process
// that runs the script may be under the control of the script's author.
type host struct {
	engine     *Engine
	program    *Program
	ctx        context.Context
	call       *handler.Call
	method     *method // nil while files are loaded
	operations int     // number of operations so far that maxOperations limits
	lines      int     // number of logged lines so far
	// The script refers to an element of causes or served by its index plus one.
	causes []error          // errors whose text the script must not see
	served []handler.Served // files that the method may return as the response
}

// Ask implements js.Host for calls that run in this process.
func (h *host) Ask(operation byte, arguments []byte) ([]byte, error) {
	reply, refusal := h.perform(operation, arguments, nil)
	if refusal != nil {
		return nil, refusal
	}
	return reply, nil
}

// perform performs an operation and appends its result to reply. If the operation fails, perform returns the error for
// the script instead.
func (h *host) perform(operation byte, arguments, reply []byte) ([]byte, *wire.RefusedError) {
	r := wire.NewReader(arguments)
	reply, err := h.operate(operation, r, reply)
	if err == nil && r.Err() != nil {
		err = r.Err()
	}
	if err == nil {
		return reply, nil
	}
	return nil, h.refusal(err)
}

// shownError is an error whose text the script may see.
type shownError string

func (e shownError) Error() string { return string(e) }

// refusal converts an error for the script. A shownError keeps its text. An error with a client status (4xx) keeps
// its status and text. For any other error, the script sees "internal error"; the error itself is added to h.causes,
// and becomes the error of the call if the script does not catch it.
func (h *host) refusal(err error) *wire.RefusedError {
	if e, ok := errors.AsType[shownError](err); ok {
		return &wire.RefusedError{Message: string(e)}
	}
	if e, ok := handler.Of(err); ok {
		return &wire.RefusedError{Code: e.Code, Message: e.Message}
	}
	if e, ok := apierror.From(err); ok && e.Status >= 400 && e.Status <= 499 {
		return &wire.RefusedError{Code: e.Status, Message: e.Message}
	}
	if len(h.causes) < maxOperations {
		h.causes = append(h.causes, err)
	}
	return &wire.RefusedError{Message: "internal error", Cause: uint64(len(h.causes))}
}

// operate performs an operation, whose arguments it reads from r, and appends its result to reply. Each call may
// perform at most maxOperations operations of the following kinds in total: Fetch, and those on pages, files, users,
// templates and fields.
func (h *host) operate(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	switch operation {
	case wire.Source:
		file, text, err := h.program.sources.find(r.Text(), r.Text())
		if err != nil {
			return nil, shownError(err.Error())
		}
		return wire.AppendText(wire.AppendText(reply, file), text), nil
	case wire.CacheGet:
		text, ok := h.engine.cache.get(r.Text())
		return wire.AppendText(wire.AppendBool(reply, ok), text), nil
	case wire.CacheSet:
		if !h.engine.cache.set(r.Text(), r.Text(), time.Duration(r.Int())*time.Millisecond) {
			return nil, shownError("the value is larger than the cache")
		}
		return reply, nil
	case wire.CacheDelete:
		return wire.AppendValue(reply, h.engine.cache.delete(r.Text()))
	case wire.SessionGet, wire.SessionSet, wire.SessionRemove:
		return h.session(operation, r, reply)
	case wire.Config:
		if h.engine.Config == nil {
			return wire.AppendValue(reply, Object{})
		}
		return wire.AppendValue(reply, h.engine.Config())
	case wire.Data, wire.Datum, wire.Query, wire.Body, wire.Params, wire.Uploads, wire.Header, wire.Headers:
		return h.request(operation, r, reply)
	}
	// The operations above are not counted, because they are cheap.
	if h.operations++; h.operations > maxOperations {
		return nil, shownError(fmt.Sprintf("more than %d operations on the content in one request", maxOperations))
	}
	switch operation {
	case wire.Find, wire.Get, wire.Count, wire.Add, wire.Save, wire.Trash:
		return h.pages(operation, r, reply)
	case wire.Attach, wire.File, wire.Image:
		return h.files(operation, r, reply)
	case wire.Users, wire.User:
		return h.users(operation, r, reply)
	case wire.Templates, wire.Template:
		return h.definitions(h.engine.Templates, "templates", operation == wire.Templates, r, reply)
	case wire.Fields, wire.Field:
		return h.definitions(h.engine.Fields, "fields", operation == wire.Fields, r, reply)
	case wire.Fetch:
		return h.fetch(r, reply)
	}
	return nil, fmt.Errorf("unknown operation %d", operation)
}

// appendOptional appends to reply whether a value exists, and then the value.
func appendOptional(reply []byte, value any, ok bool) ([]byte, error) {
	return wire.AppendValue(wire.AppendBool(reply, ok), value)
}

// appendObject appends an object to reply. If err is not nil, it returns err.
func appendObject(reply []byte, o Object, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return wire.AppendValue(reply, o)
}

// appendObjects appends a list of objects to reply. If err is not nil, it returns err.
func appendObjects(reply []byte, list []Object, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return wire.AppendValue(reply, list)
}

// request performs an operation that reads a part of the HTTP request, such as a header, and appends the part to
// reply. For Datum and Header, r contains the name of the part. For the other operations, r contains nothing. Other
// parts, such as the path and the user, are in the Call frame; see appendCall.
func (h *host) request(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	c := h.call
	switch operation {
	case wire.Data:
		return wire.AppendValue(reply, orEmpty(c.Data))
	case wire.Datum:
		value, ok := c.Data[r.Text()]
		return appendOptional(reply, value, ok)
	case wire.Query:
		return wire.AppendValue(reply, orEmpty(c.Query))
	case wire.Body:
		return wire.AppendValue(reply, orEmpty(c.Body))
	case wire.Header:
		values := c.Header.Values(r.Text())
		return wire.AppendText(wire.AppendBool(reply, len(values) > 0), strings.Join(values, ", ")), nil
	case wire.Headers:
		headers := make(Object, len(c.Header))
		for name, values := range c.Header {
			headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
		return wire.AppendValue(reply, headers)
	case wire.Params:
		params := make(Object, len(c.Params))
		for name, value := range c.Params {
			params[name] = value
		}
		return wire.AppendValue(reply, params)
	default: // wire.Uploads: the files of a form, without their content
		uploads := make([]Object, 0, len(c.Files))
		for _, field := range slices.Sorted(maps.Keys(c.Files)) {
			file := c.Files[field]
			uploads = append(uploads, Object{"field": field, "name": file.Name, "size": len(file.Content)})
		}
		return wire.AppendValue(reply, uploads)
	}
}

// orEmpty returns o, or an empty object if o is nil.
func orEmpty(o Object) Object {
	if o == nil {
		return Object{}
	}
	return o
}

// session performs an operation on the caller's session. It returns an error if the authorization mode of the site is
// not session.
func (h *host) session(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	s := h.call.Session
	if s == nil {
		return nil, shownError("there are no sessions in this authorization mode")
	}
	name := r.Text()
	switch operation {
	case wire.SessionGet:
		value, ok := s.Get(name)
		return appendOptional(reply, value, ok)
	case wire.SessionSet:
		value, err := readJSON(r.Bytes())
		if err != nil {
			return nil, err
		}
		if err := s.Set(name, value); err != nil {
			return nil, shownError(err.Error())
		}
	default:
		s.Remove(name)
	}
	return reply, nil
}

// readJSON decodes a JSON value from a script. It counts the values first, because a decoded value can take many times
// the memory of its text.
func readJSON(text []byte) (value any, err error) {
	if err := checkBounds(text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, shownError("the value is not valid JSON")
	}
	return value, nil
}

// checkBounds returns an error for JSON that is nested too deeply or has too many values. It counts a value for each
// list and object, and for each comma.
func checkBounds(text []byte) error {
	depth, values := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"': // skip the string
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
			values++
		case ']', '}':
			depth--
		case ',':
			values++
		}
		if depth > wire.MaxNesting || values > maxValues {
			return shownError(fmt.Sprintf("the value nests deeper than %d, or has more than %d parts", wire.MaxNesting, maxValues))
		}
	}
	return nil
}

// readObject decodes a JSON object from a script.
func readObject(text []byte) (Object, error) {
	value, err := readJSON(text)
	if err != nil {
		return nil, err
	}
	o, ok := value.(Object)
	if !ok {
		return nil, shownError("the value is not an object")
	}
	return o, nil
}

// pages performs an operation on pages with the rights of the calling user.
func (h *host) pages(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	pages, user := h.engine.Pages, h.call.User
	if pages == nil {
		return nil, shownError("there are no pages here")
	}
	switch operation {
	case wire.Find:
		found, cursor, err := pages.Find(h.ctx, user, r.Text())
		if reply, err = appendObjects(reply, found, err); err != nil {
			return nil, err
		}
		return wire.AppendText(reply, cursor), nil
	case wire.Get:
		found, err := pages.Get(h.ctx, user, r.Text())
		return appendObject(reply, found, err)
	case wire.Count:
		n, err := pages.Count(h.ctx, user, r.Text())
		if err != nil {
			return nil, err
		}
		return wire.AppendValue(reply, n)
	case wire.Add:
		page, err := readObject(r.Bytes())
		if err != nil {
			return nil, err
		}
		created, err := pages.Add(h.ctx, user, page)
		return appendObject(reply, created, err)
	case wire.Save:
		id := r.Int()
		changes, err := readObject(r.Bytes())
		if err != nil {
			return nil, err
		}
		saved, err := pages.Save(h.ctx, user, id, changes)
		return appendObject(reply, saved, err)
	default:
		return reply, pages.Trash(h.ctx, user, r.Int())
	}
}

// files performs an operation on files: it attaches a file to a page, appends the address of an image to reply, or
// prepares a file or an image as the response and appends its number to reply.
func (h *host) files(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	files := h.engine.Files
	if files == nil {
		return nil, shownError("there are no files here")
	}
	if operation == wire.Attach {
		return h.attach(r, reply)
	}
	id := r.Int()
	var size Object // of an image; nil for the original size
	if text := r.Bytes(); len(text) > 0 {
		var err error
		if size, err = readObject(text); err != nil {
			return nil, err
		}
	}
	if operation == wire.Image {
		link, err := files.Link(id, size)
		if err != nil {
			return nil, err
		}
		return wire.AppendValue(reply, h.call.BaseURL+"/"+link)
	}
	serve, err := files.Answer(h.call.User, id, size)
	if err != nil {
		return nil, err
	}
	h.served = append(h.served, serve)
	return wire.AppendUint(reply, uint64(len(h.served))), nil
}

// attach adds a file to a field of a page, and appends the page to reply. The file is an upload of the request or a
// text from the script. For an upload, r contains the upload's name in the form. For a text, r contains the name of
// the new file and the text.
func (h *host) attach(r *wire.Reader, reply []byte) ([]byte, error) {
	page, field, isText, name := r.Int(), r.Text(), r.Bool(), r.Text()
	var file handler.Upload
	if isText {
		file = handler.Upload{Name: name, Content: []byte(r.Text())}
		if len(file.Content) > maxFile {
			return nil, shownError("the file is larger than 8 MiB")
		}
	} else {
		var ok bool
		if file, ok = h.call.Files[name]; !ok {
			return nil, handler.Errorf(http.StatusBadRequest, "a file '%s' is missing", name)
		}
	}
	changed, err := h.engine.Files.Attach(h.ctx, h.call.User, page, field, file.Name, file.Content)
	return appendObject(reply, changed, err)
}

// users performs an operation that reads users and appends them to reply: either the user with the ID or name in r,
// or at most 500 users with IDs greater than the ID in r.
func (h *host) users(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	users := h.engine.Users
	switch {
	case users == nil:
		return nil, shownError("there are no users here")
	case operation == wire.User:
		found, err := users.Get(h.ctx, r.Text())
		return appendObject(reply, found, err)
	}
	afterID, limit := r.Int(), r.Int()
	found, err := users.Find(h.ctx, afterID, int(min(max(limit, 1), 500)))
	return appendObjects(reply, found, err)
}

// definitions performs an operation on templates or fields. If list is set, it appends all of them to reply.
// Otherwise it reads a name from r and appends the definition with this name to reply. noun is the word for the
// definitions in errors.
func (h *host) definitions(
	definitions Definitions, noun string, list bool, r *wire.Reader, reply []byte,
) ([]byte, error) {
	switch {
	case definitions == nil:
		return nil, shownError("there are no " + noun + " here")
	case list:
		found, err := definitions.All(h.ctx, h.call.User)
		return appendObjects(reply, found, err)
	}
	found, err := definitions.Get(h.ctx, h.call.User, r.Text())
	return appendObject(reply, found, err)
}

// fetch sends the HTTP request that r contains, and appends the status, headers and body of the response to reply.
func (h *host) fetch(r *wire.Reader, reply []byte) ([]byte, error) {
	address, method := r.Text(), r.Text()
	headers := make(map[string]string)
	for range r.Len() {
		headers[r.Text()] = r.Text()
	}
	body := r.Bytes()
	if len(body) > maxFetch {
		return nil, shownError("the body is larger than 4 MiB")
	}
	response, err := h.engine.fetch(h.ctx, method, address, headers, body)
	if err != nil {
		return nil, shownError(err.Error())
	}
	reply = wire.AppendUint(reply, uint64(response.status)) //nolint:gosec // G115: a status
	reply = wire.AppendUint(reply, uint64(len(response.headers)))
	for name := range response.headers {
		reply = wire.AppendText(wire.AppendText(reply, strings.ToLower(name)), response.headers.Get(name))
	}
	return wire.AppendText(reply, response.body), nil
}

// levels holds the functions that log a line, by level.
var levels = [...]func(*zap.Logger, string, ...zap.Field){
	wire.Debug: (*zap.Logger).Debug, wire.Info: (*zap.Logger).Info, wire.Warn: (*zap.Logger).Warn,
	wire.Error: (*zap.Logger).Error,
}

// maxLine limits the length of a line that a script logs, in bytes.
const maxLine = 8 << 10

// Log writes a line from the script to the log. level is one of the levels of package wire. After maxLines lines of a
// call, Log ignores further lines.
func (h *host) Log(level byte, text string) {
	if h.lines++; h.lines > maxLines || int(level) >= len(levels) {
		return
	}
	fields := []zap.Field{zap.String("text", text[:min(len(text), maxLine)])}
	if h.method != nil {
		fields = append(fields, zap.String("request", h.call.RequestID))
	}
	levels[level](h.engine.Logger(), "script", fields...)
}
