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
	maxOperations = 1000
	maxLines      = 1000    // lines in the log
	maxFile       = 8 << 20 // bytes of a text that becomes a file
	maxValues     = 250_000 // parts of a value that a script passes
)

// host performs the operations that the script of one call requests. It validates all data from the script: the process
// that runs the script may be under the control of the script's author.
type host struct {
	engine     *Engine
	program    *Program
	ctx        context.Context
	call       *handler.Call
	method     *method // nil while files are loaded
	operations int
	lines      int
	// The script refers to these errors and answers by numbers, beginning with 1.
	causes []error
	served []handler.Served
}

// Ask implements js.Host for calls that run in this process.
func (h *host) Ask(operation byte, arguments []byte) ([]byte, error) {
	reply, refused := h.do(operation, arguments, nil)
	if refused != nil {
		return nil, refused
	}
	return reply, nil
}

// do performs an operation and appends its result to reply.
func (h *host) do(operation byte, arguments, reply []byte) ([]byte, *wire.RefusedError) {
	r := wire.NewReader(arguments)
	reply, err := h.operate(operation, r, reply)
	if err == nil && r.Err() != nil {
		err = r.Err()
	}
	if err == nil {
		return reply, nil
	}
	return nil, h.refused(err)
}

// shownError is an error whose text the script may see.
type shownError string

func (e shownError) Error() string { return string(e) }

// refused converts an error for the script. An error with a client status (4xx) keeps its status and text. For any
// other error, the script sees "internal error"; the error itself is added to h.causes, and is logged if the script
// does not catch it.
func (h *host) refused(err error) *wire.RefusedError {
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

// operate performs an operation and appends its result to reply. Operations on pages, files, users, templates and
// fields, and fetch, are limited to maxOperations per request together.
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
	return nil, fmt.Errorf("there is no operation %d", operation)
}

// appendMember appends to reply whether a value exists, and then the value.
func appendMember(reply []byte, value any, ok bool) ([]byte, error) {
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

// request performs the operations that read rarely used parts of the request.
func (h *host) request(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	switch c := h.call; operation {
	case wire.Data:
		return wire.AppendValue(reply, orEmpty(c.Data))
	case wire.Datum:
		value, ok := c.Data[r.Text()]
		return appendMember(reply, value, ok)
	case wire.Query:
		return wire.AppendValue(reply, orEmpty(c.Query))
	case wire.Body:
		return wire.AppendValue(reply, orEmpty(c.Body))
	case wire.Header:
		values := c.Header.Values(r.Text())
		return wire.AppendText(wire.AppendBool(reply, len(values) > 0), strings.Join(values, ", ")), nil
	case wire.Headers:
		all := make(Object, len(c.Header))
		for name, values := range c.Header {
			all[strings.ToLower(name)] = strings.Join(values, ", ")
		}
		return wire.AppendValue(reply, all)
	case wire.Params:
		all := make(Object, len(c.Params))
		for name, value := range c.Params {
			all[name] = value
		}
		return wire.AppendValue(reply, all)
	default: // the files of a form, without their content
		list := make([]Object, 0, len(c.Files))
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			list = append(list, Object{"field": name, "name": c.Files[name].Name, "size": len(c.Files[name].Content)})
		}
		return wire.AppendValue(reply, list)
	}
}

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
		return nil, shownError("there are no sessions in this mode of authorization")
	}
	name := r.Text()
	switch operation {
	case wire.SessionGet:
		value, ok := s.Get(name)
		return appendMember(reply, value, ok)
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
		return nil, shownError("the value is not JSON")
	}
	return value, nil
}

// checkBounds returns an error for JSON that is nested too deeply or has too many values.
func checkBounds(text []byte) error {
	depth, values := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
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
		found, after, err := pages.Find(h.ctx, user, r.Text())
		if reply, err = appendObjects(reply, found, err); err != nil {
			return nil, err
		}
		return wire.AppendText(reply, after), nil
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

// files performs an operation on files: it attaches a file to a page, returns the address of an image, or prepares a
// file or an image as the answer of the request. The attached file is an upload of the request, or a text from the
// script.
func (h *host) files(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	files, user := h.engine.Files, h.call.User
	if files == nil {
		return nil, shownError("there are no files here")
	}
	id := r.Int()
	if operation == wire.Attach {
		field, isText := r.Text(), r.Bool()
		file := handler.Upload{Name: r.Text()}
		if isText {
			if file.Content = []byte(r.Text()); len(file.Content) > maxFile {
				return nil, shownError("the file is larger than 8 MiB")
			}
		} else {
			part, ok := h.call.Files[file.Name]
			if !ok {
				return nil, handler.Errorf(http.StatusBadRequest, "a file '%s' is missing", file.Name)
			}
			file = part
		}
		page, err := files.Attach(h.ctx, user, id, field, file.Name, file.Content)
		return appendObject(reply, page, err)
	}
	var size Object
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
	serve, err := files.Answer(user, id, size)
	if err != nil {
		return nil, err
	}
	h.served = append(h.served, serve)
	return wire.AppendUint(reply, uint64(len(h.served))), nil
}

// users performs an operation that reads one user or a list of users.
func (h *host) users(operation byte, r *wire.Reader, reply []byte) ([]byte, error) {
	users := h.engine.Users
	switch {
	case users == nil:
		return nil, shownError("there are no users here")
	case operation == wire.User:
		found, err := users.Get(h.ctx, r.Text())
		return appendObject(reply, found, err)
	}
	after, limit := r.Int(), r.Int()
	found, err := users.Find(h.ctx, after, int(min(max(limit, 1), 500)))
	return appendObjects(reply, found, err)
}

// definitions performs an operation that reads one template or field, or all of them. name is the word for them in
// errors.
func (h *host) definitions(
	definitions Definitions, name string, all bool, r *wire.Reader, reply []byte,
) ([]byte, error) {
	switch {
	case definitions == nil:
		return nil, shownError("there are no " + name + " here")
	case all:
		found, err := definitions.All(h.ctx, h.call.User)
		return appendObjects(reply, found, err)
	}
	found, err := definitions.Get(h.ctx, h.call.User, r.Text())
	return appendObject(reply, found, err)
}

// fetch sends the HTTP request that a script has described, and appends the status, headers and body of the response to
// reply.
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
	got, err := h.engine.fetch(h.ctx, method, address, headers, body)
	if err != nil {
		return nil, shownError(err.Error())
	}
	reply = wire.AppendUint(reply, uint64(got.status)) //nolint:gosec // G115: a status
	reply = wire.AppendUint(reply, uint64(len(got.headers)))
	for name := range got.headers {
		reply = wire.AppendText(wire.AppendText(reply, strings.ToLower(name)), got.headers.Get(name))
	}
	return wire.AppendText(reply, got.body), nil
}

// levels holds the functions that log a line, by level.
var levels = [...]func(*zap.Logger, string, ...zap.Field){
	wire.Debug: (*zap.Logger).Debug, wire.Info: (*zap.Logger).Info, wire.Warn: (*zap.Logger).Warn,
	wire.Error: (*zap.Logger).Error,
}

// maxLine limits the length of a line that a script logs, in bytes.
const maxLine = 8 << 10

// Log writes a line from the script to the log. After maxLines lines of a call, it ignores further lines.
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
