package js

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/header"
	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// The namespaces of the global objects that scripts see. globals itself lists these objects.
var globals, pages, users, templates, fields, cache, fetch, log, console, helper, sanitizers *namespace

func init() {
	// lazyObject returns a member whose value is an object with the members of a namespace. It takes a pointer, because
	// the namespaces are created below.
	lazyObject := func(n **namespace) member { return member{value: func(rt *Runtime) goja.Value { return rt.lazy(*n) }} }
	globals = newNamespace(map[string]member{
		"pages": lazyObject(&pages), "users": lazyObject(&users), "templates": lazyObject(&templates),
		"fields": lazyObject(&fields), "cache": lazyObject(&cache), "http": lazyObject(&fetch), "log": lazyObject(&log),
		"console": lazyObject(&console), "RestApiHelper": lazyObject(&helper),
		"sanitizer": lazyObject(&sanitizers), "input": lazyObject(&input), "session": lazyObject(&session),
		"Response": {value: func(rt *Runtime) goja.Value { return rt.vm.ToValue(rt.newResponse) }},
		"config":   hostValue(wire.Config),
	})
	pages = newNamespace(map[string]member{
		"find": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			r := rt.ask(wire.Find, wire.AppendText(rt.arguments(), text(c.Argument(0))))
			list := rt.decoded(r)
			if o, ok := list.(*goja.Object); ok { // the list has the cursor as a member that is not enumerable
				_ = o.DefineDataProperty("after", rt.vm.ToValue(r.Text()), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
			}
			return list
		}},
		"get":   hostMethod(wire.Get),
		"count": hostMethod(wire.Count),
		"add": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			page := rt.objectArgument(c.Argument(0), "the page")
			return rt.decoded(rt.ask(wire.Add, wire.AppendText(rt.arguments(), page)))
		}},
		"save": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			page, changes := rt.idArgument(c.Argument(0), "page"), c.Argument(1)
			if !isSet(changes) {
				changes = c.Argument(0)
			}
			change := rt.objectArgument(changes, "the changes")
			return rt.decoded(rt.ask(wire.Save, wire.AppendText(wire.AppendInt(rt.arguments(), page), change)))
		}},
		"trash": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			rt.ask(wire.Trash, wire.AppendInt(rt.arguments(), rt.idArgument(c.Argument(0), "page")))
			return goja.Undefined()
		}},
		// attach(page, field, file) adds a file to a field. file is the name of a part in the submitted form, or {name,
		// text}.
		"attach": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			page, field := rt.idArgument(c.Argument(0), "page"), text(c.Argument(1))
			o, isObject := c.Argument(2).(*goja.Object)
			var name, content string
			if isObject {
				name, content = text(o.Get("name")), text(o.Get("text"))
			} else {
				name = text(c.Argument(2))
			}
			if len(content) > maxOutput {
				rt.fail("the file is larger than 8 MiB")
			}
			args := wire.AppendText(wire.AppendInt(rt.arguments(), page), field)
			args = wire.AppendText(wire.AppendText(wire.AppendBool(args, isObject), name), content)
			return rt.decoded(rt.ask(wire.Attach, args))
		}},
		// file(file, size) returns a response with the file. To send it, the method must return it.
		"file": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			file, size := rt.idArgument(c.Argument(0), "file"), rt.sizeArgument(c.Argument(1))
			number := rt.ask(wire.File, wire.AppendText(wire.AppendInt(rt.arguments(), file), size)).Uint()
			object := rt.vm.NewObject()
			if rt.served == nil {
				rt.served = make(map[*goja.Object]uint64)
			}
			rt.served[object] = number
			return object
		}},
		// image(file, size) returns the address of the image in the given size.
		"image": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			file, size := rt.idArgument(c.Argument(0), "file"), rt.sizeArgument(c.Argument(1))
			return rt.decoded(rt.ask(wire.Image, wire.AppendText(wire.AppendInt(rt.arguments(), file), size)))
		}},
	})
	users = newNamespace(map[string]member{
		// find({after, limit}) returns 25 users by default, 500 at most.
		"find": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			afterID, limit := int64(0), int64(25)
			if o, ok := c.Argument(0).(*goja.Object); ok {
				if v := o.Get("after"); isSet(v) {
					afterID = v.ToInteger()
				}
				if v := o.Get("limit"); isSet(v) {
					limit = min(max(v.ToInteger(), 1), 500)
				}
			}
			return rt.decoded(rt.ask(wire.Users, wire.AppendInt(wire.AppendInt(rt.arguments(), afterID), limit)))
		}},
		"get": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			if !isSet(c.Argument(0)) {
				return goja.Null()
			}
			return rt.decoded(rt.ask(wire.User, wire.AppendText(rt.arguments(), c.Argument(0).String())))
		}},
	})
	// definitions returns the namespace of templates or fields. all and single are the operations of package wire.
	definitions := func(all, single byte) *namespace {
		return newNamespace(map[string]member{
			"all": {call: func(rt *Runtime, _ goja.FunctionCall) goja.Value { return rt.decoded(rt.ask(all, nil)) }},
			"get": hostMethod(single),
		})
	}
	templates, fields = definitions(wire.Templates, wire.Template), definitions(wire.Fields, wire.Field)
	cache = newNamespace(map[string]member{
		"get": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			value, _ := rt.cacheGet(c.Argument(0))
			return value
		}},
		"set": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			rt.cacheSet(c.Argument(0), c.Argument(1), c.Argument(2))
			return goja.Undefined()
		}},
		"delete": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			return rt.decoded(rt.ask(wire.CacheDelete, wire.AppendText(rt.arguments(), c.Argument(0).String())))
		}},
		// remember(key, seconds, make) returns the cached value, or calls make and caches its result.
		"remember": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			if value, ok := rt.cacheGet(c.Argument(0)); ok {
				return value
			}
			fn, ok := goja.AssertFunction(c.Argument(2))
			if !ok {
				rt.fail("cache.remember needs a function")
			}
			value, err := fn(goja.Undefined())
			rt.check(err)
			rt.cacheSet(c.Argument(0), value, c.Argument(1))
			return value
		}},
	})
	fetch = newNamespace(map[string]member{"fetch": {call: (*Runtime).fetch}})
	debug, info, warn, failure := logMethod(wire.Debug), logMethod(wire.Info), logMethod(wire.Warn), logMethod(wire.Error)
	log = newNamespace(map[string]member{"debug": debug, "info": info, "warn": warn, "error": failure})
	console = newNamespace(map[string]member{
		"debug": debug, "log": info, "info": info, "warn": warn, "error": failure,
		"trace": debug,
	})
	helper = newNamespace(map[string]member{
		"checkAndSanitizeRequiredParameters": {call: (*Runtime).checkParameters},
		"noEndPoint": {call: func(rt *Runtime, _ goja.FunctionCall) goja.Value {
			return rt.vm.ToValue("no endpoint defined")
		}},
		"preflight": {call: func(rt *Runtime, _ goja.FunctionCall) goja.Value {
			rt.status = http.StatusNoContent
			return goja.Undefined()
		}},
		"baseUrl": {call: func(rt *Runtime, _ goja.FunctionCall) goja.Value { return rt.vm.ToValue(rt.call.base) }},
	})
	sanitizers = newNamespace(sanitizerMembers())
}

// hostValue returns a member whose value is the result of an operation of the host. The operation has no arguments.
func hostValue(operation byte) member {
	return member{value: func(rt *Runtime) goja.Value { return rt.decoded(rt.ask(operation, nil)) }}
}

// hostMethod returns a method that performs an operation of the host. The argument of the operation is the method's
// first argument, a string such as a selector.
func hostMethod(operation byte) member {
	return member{call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
		return rt.decoded(rt.ask(operation, wire.AppendText(rt.arguments(), text(c.Argument(0)))))
	}}
}

// arguments returns an empty buffer to which the arguments of an operation of the host are appended.
func (rt *Runtime) arguments() []byte { return rt.buffer[:0] }

// ask performs an operation of the host and returns the host's reply. If the host returns an error, ask throws it in
// the script.
func (rt *Runtime) ask(operation byte, arguments []byte) *wire.Reader {
	reply, err := rt.host.Ask(operation, arguments)
	if rt.buffer = arguments; cap(arguments) > 64<<10 { // keep the grown buffer, but not a very large one
		rt.buffer = nil
	}
	rt.check(err)
	return wire.NewReader(reply)
}

// decoded decodes the value in a reply of the host. It throws an error in the script if the reply is malformed.
func (rt *Runtime) decoded(r *wire.Reader) goja.Value {
	value, err := rt.read(r)
	rt.check(err)
	return value
}

// objectArgument returns the JSON of an argument. It throws an error in the script if the argument is not an object;
// label names the argument in the error.
func (rt *Runtime) objectArgument(v goja.Value, label string) []byte {
	if o, ok := v.(*goja.Object); ok {
		encoded, err := rt.json(o)
		rt.check(err)
		if len(encoded) > 0 && encoded[0] == '{' {
			return encoded
		}
	}
	rt.fail(label + " is not an object")
	return nil
}

// sizeArgument returns the JSON of an argument that is the size of an image, or nil if the argument is missing. It
// throws an error in the script if the argument is not an object.
func (rt *Runtime) sizeArgument(v goja.Value) []byte {
	if !isSet(v) {
		return nil
	}
	return rt.objectArgument(v, "the size")
}

// idArgument returns the ID in an argument, which is a number or an object with the member id. It throws an error in
// the script if there is none; label names the argument in the error.
func (rt *Runtime) idArgument(v goja.Value, label string) int64 {
	if o, ok := v.(*goja.Object); ok {
		v = o.Get("id")
	}
	if !isSet(v) {
		rt.fail("the " + label + " has no id")
	}
	return v.ToInteger()
}

// sanitizerMembers returns the members of the global object sanitizer: a method for each sanitizer, and the methods
// apply, valid and names, which take specs.
func sanitizerMembers() map[string]member {
	// plainArguments converts the arguments of a sanitizer: the value to sanitize, and the parameters of the sanitizer. It
	// throws an error in the script if spec is unknown.
	plainArguments := func(rt *Runtime, spec string, args []goja.Value) (value any, arguments []any) {
		if !sanitize.Known(spec) {
			rt.throw(http.StatusBadRequest, sanitize.UnknownError(spec).Error())
		}
		for i, arg := range args {
			if i == 0 {
				value = rt.plain(arg)
			} else {
				arguments = append(arguments, rt.plain(arg))
			}
		}
		return value, arguments
	}
	apply := func(rt *Runtime, spec string, args []goja.Value) goja.Value {
		value, arguments := plainArguments(rt, spec, args)
		sanitized, err := sanitize.With(spec, value, arguments...)
		rt.check(err)
		return rt.value(sanitized)
	}
	// specArguments takes the second argument of apply or valid, which is the spec of a sanitizer, from the arguments. It
	// returns the spec and the other arguments.
	specArguments := func(rt *Runtime, c goja.FunctionCall) (spec string, args []goja.Value) {
		if len(c.Arguments) < 2 {
			rt.fail("this method needs a value and the name of a sanitizer")
		}
		return c.Arguments[1].String(), append([]goja.Value{c.Arguments[0]}, c.Arguments[2:]...)
	}
	members := make(map[string]member)
	for _, name := range sanitize.Names() {
		members[name] = member{call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			return apply(rt, name, c.Arguments)
		}}
	}
	members["apply"] = member{call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
		spec, args := specArguments(rt, c)
		return apply(rt, spec, args)
	}}
	members["valid"] = member{call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
		spec, args := specArguments(rt, c)
		value, arguments := plainArguments(rt, spec, args)
		valid, err := sanitize.Valid(spec, value, arguments...)
		rt.check(err)
		return rt.vm.ToValue(valid)
	}}
	members["names"] = member{call: func(rt *Runtime, _ goja.FunctionCall) goja.Value {
		return rt.value(sanitize.Names())
	}}
	return members
}

// checkParameters implements checkAndSanitizeRequiredParameters(data, specs) of RestApiHelper. It sanitizes members of
// data in place, and returns data. For the form of specs, see required.
func (rt *Runtime) checkParameters(c goja.FunctionCall) goja.Value {
	data, ok := c.Argument(0).(*goja.Object)
	if !ok {
		rt.fail("the data is not an object")
	}
	specs, ok := c.Argument(1).(*goja.Object)
	if !ok || specs.ClassName() != "Array" {
		rt.fail("the parameters are not a list")
	}
	for i := range specs.Get("length").ToInteger() {
		rt.required(data, text(specs.Get(strconv.FormatInt(i, 10))))
	}
	return data
}

// required sanitizes a member of data, and throws an error in the script if the member is missing. spec has the form
// name|sanitizer; the default sanitizer is text.
func (rt *Runtime) required(data *goja.Object, spec string) {
	name, sanitizer, hasSanitizer := strings.Cut(spec, "|")
	if !hasSanitizer {
		sanitizer = "text"
	}
	value := data.Get(name)
	if !isSet(value) {
		rt.throw(http.StatusBadRequest, "Required parameter '"+name+"' is missing")
	}
	sanitized, err := sanitize.Apply(sanitizer, rt.plain(value))
	if err != nil {
		rt.throw(http.StatusBadRequest, err.Error())
	}
	rt.check(data.Set(name, rt.value(sanitized)))
}

// newResponse implements new Response(status, body, headers). The default of the status is 200.
func (rt *Runtime) newResponse(c goja.ConstructorCall) *goja.Object {
	status := c.Argument(0).ToInteger()
	if !isSet(c.Argument(0)) {
		status = http.StatusOK
	}
	if status < 200 || status > 599 {
		rt.fail(fmt.Sprintf("%d is not a status of an answer", status))
	}
	created := &response{status: int(status), body: c.Argument(1)}
	if headers, ok := c.Argument(2).(*goja.Object); ok {
		for _, name := range headers.Keys() {
			value := headers.Get(name).String()
			if err := header.Check(name, value); err != nil {
				rt.fail(err.Error())
			}
			created.header = append(created.header, [2]string{name, value})
		}
	}
	object := rt.vm.NewObject()
	_ = object.Set("status", created.status)
	if rt.responses == nil {
		rt.responses = make(map[*goja.Object]*response)
	}
	rt.responses[object] = created
	return object
}

// cacheGet returns the value in the cache with the given key, and reports whether it exists.
func (rt *Runtime) cacheGet(key goja.Value) (goja.Value, bool) {
	r := rt.ask(wire.CacheGet, wire.AppendText(rt.arguments(), key.String()))
	if !r.Bool() {
		return goja.Undefined(), false
	}
	value, err := rt.parse(r.Text())
	rt.check(err)
	return value, true
}

// cacheSet stores a value in the cache for the given number of seconds. If seconds is undefined, the value is kept
// until the cache needs the space; if seconds is not positive, cacheSet deletes the value.
func (rt *Runtime) cacheSet(key, value, seconds goja.Value) {
	encoded, err := rt.json(value)
	rt.check(err)
	lifetime := 0.0
	if isSet(seconds) {
		if lifetime = seconds.ToFloat(); lifetime <= 0 || math.IsNaN(lifetime) {
			rt.ask(wire.CacheDelete, wire.AppendText(rt.arguments(), key.String()))
			return
		}
	}
	args := wire.AppendText(wire.AppendText(rt.arguments(), key.String()), encoded)
	rt.ask(wire.CacheSet, wire.AppendInt(args, int64(min(lifetime, math.MaxInt32)*1000)))
}

// Limits of the lines that a call logs.
const (
	maxLine  = 8 << 10 // length of a line, in bytes
	maxLines = 1000    // number of lines
)

// logMethod returns a method that logs its arguments as a line with the given level. A call logs fewer than maxLines
// lines. The next line is replaced by a warning, and all further lines are ignored.
func logMethod(level byte) member {
	return member{call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
		if rt.logged++; rt.logged > maxLines {
			return goja.Undefined()
		}
		if rt.logged == maxLines {
			rt.host.Log(wire.Warn, fmt.Sprintf("a call logs at most %d lines: further lines are left out", maxLines))
			return goja.Undefined()
		}
		var line strings.Builder
		for i, arg := range c.Arguments {
			if i > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(rt.logText(arg))
			if line.Len() > maxLine {
				break
			}
		}
		logged := line.String()
		rt.host.Log(level, strings.ToValidUTF8(logged[:min(len(logged), maxLine)], ""))
		return goja.Undefined()
	}}
}

// logText formats a value for the log, like a browser's console.
func (rt *Runtime) logText(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return v.String()
	}
	switch o.ClassName() {
	case "Error", "Function", "Date", "RegExp":
		return v.String()
	}
	encoded, err := rt.json(o)
	if err != nil {
		return v.String()
	}
	return string(encoded)
}

// maxFetch limits the body of a request of http.fetch, in bytes.
const maxFetch = 4 << 20

// fetchOptions reads the second argument of http.fetch. headers are names and values, in the order of the argument.
func (rt *Runtime) fetchOptions(options goja.Value) (method string, headers [][2]string, body []byte) {
	method = http.MethodGet
	o, ok := options.(*goja.Object)
	if !ok {
		return method, nil, nil
	}
	if m := o.Get("method"); m != nil && !goja.IsUndefined(m) {
		method = strings.ToUpper(m.String())
	}
	if h, ok := o.Get("headers").(*goja.Object); ok {
		for _, name := range h.Keys() {
			headers = append(headers, [2]string{name, h.Get(name).String()})
		}
	}
	switch b := o.Get("body").(type) {
	case goja.String:
		body = []byte(b.String())
	case *goja.Object:
		encoded, err := rt.json(b)
		rt.check(err)
		body = encoded
		if !slices.ContainsFunc(headers, func(h [2]string) bool { return h[0] == "Content-Type" }) {
			headers = append(headers, [2]string{"Content-Type", "application/json"})
		}
	}
	if len(body) > maxFetch {
		rt.fail("the body is larger than 4 MiB")
	}
	return method, headers, body
}

// fetch implements http.fetch(address, {method, headers, body}). If the body is an object, it is sent as JSON. The
// result is {status, ok, headers, text(), json()}.
func (rt *Runtime) fetch(c goja.FunctionCall) goja.Value {
	method, headers, body := rt.fetchOptions(c.Argument(1))
	args := wire.AppendText(wire.AppendText(rt.arguments(), c.Argument(0).String()), method)
	args = wire.AppendUint(args, uint64(len(headers)))
	for _, h := range headers {
		args = wire.AppendText(wire.AppendText(args, h[0]), h[1])
	}
	r := rt.ask(wire.Fetch, wire.AppendText(args, body))
	result, responseHeaders := rt.vm.NewObject(), rt.vm.NewObject()
	status := int(r.Uint()) //nolint:gosec // G115: a status
	for range r.Len() {
		rt.setMember(responseHeaders, r.Text(), rt.vm.ToValue(r.Text()))
	}
	responseBody := r.Text()
	_ = result.Set("status", status)
	_ = result.Set("ok", status >= 200 && status <= 299)
	_ = result.Set("headers", responseHeaders)
	_ = result.Set("text", func(goja.FunctionCall) goja.Value {
		return rt.vm.ToValue(strings.ToValidUTF8(responseBody, "\uFFFD"))
	})
	_ = result.Set("json", func(goja.FunctionCall) goja.Value {
		value, err := rt.parse(responseBody)
		rt.check(err)
		return value
	})
	return result
}
