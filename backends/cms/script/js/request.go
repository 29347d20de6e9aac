package js

import (
	"fmt"

	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/header"
	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// context is the second argument of methods. input and session are global objects with data of the same request.
var context, input, session *namespace

func init() {
	// requestText returns a member whose value is a string of the request.
	requestText := func(read func(*request) string) member {
		return member{value: func(rt *Runtime) goja.Value { return rt.vm.ToValue(read(&rt.call)) }}
	}
	method, path := requestText(func(r *request) string { return r.method }),
		requestText(func(r *request) string { return r.path })
	user := member{value: func(rt *Runtime) goja.Value {
		object := rt.vm.NewObject()
		_ = object.Set("id", rt.call.user.id)
		_ = object.Set("name", rt.call.user.name)
		_ = object.Set("roles", rt.value(rt.call.user.roles))
		return object
	}}
	context = newNamespace(map[string]member{
		"method": method, "path": path, "user": user, "headers": hostValue(wire.Headers),
		"requestId": requestText(func(r *request) string { return r.id }),
		"address":   requestText(func(r *request) string { return r.address }),
		"setStatus": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			status := c.Argument(0).ToInteger()
			if status < 200 || status > 599 {
				rt.fail(fmt.Sprintf("%d is not a status of an answer", status))
			}
			rt.status = int(status)
			return goja.Undefined()
		}},
		"setHeader": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			name, value := c.Argument(0).String(), text(c.Argument(1))
			if err := header.Check(name, value); err != nil {
				rt.fail(err.Error())
			}
			if len(rt.header) >= maxHeaders || len(name)+len(value) > maxHeader {
				rt.fail(fmt.Sprintf("more than %d headers, or a header longer than %d bytes", maxHeaders, maxHeader))
			}
			rt.header = append(rt.header, [2]string{name, value})
			return goja.Undefined()
		}},
	}, "method", "path", "user", "requestId", "address", "headers")
	input = newNamespace(map[string]member{
		"method": method, "path": path, "data": hostValue(wire.Data), "query": hostValue(wire.Query),
		"body": hostValue(wire.Body), "params": hostValue(wire.Params), "files": hostValue(wire.Uploads),
		// get(name, sanitizer) returns a member of the data, sanitized if a sanitizer is given.
		"get": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			r := rt.ask(wire.Datum, wire.AppendText(rt.arguments(), c.Argument(0).String()))
			if !r.Bool() {
				return goja.Undefined()
			}
			value := rt.decoded(r)
			if !isSet(c.Argument(1)) {
				return value
			}
			sanitized, err := sanitize.Apply(c.Argument(1).String(), rt.plain(value))
			if err != nil {
				rt.throw(400, err.Error())
			}
			return rt.value(sanitized)
		}},
		"header": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			r := rt.ask(wire.Header, wire.AppendText(rt.arguments(), c.Argument(0).String()))
			if !r.Bool() {
				return goja.Undefined()
			}
			return rt.vm.ToValue(r.Text())
		}},
	})
	session = newNamespace(map[string]member{
		"user":     user,
		"loggedIn": {value: func(rt *Runtime) goja.Value { return rt.vm.ToValue(rt.call.user.name != "guest") }},
		"get": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			r := rt.ask(wire.SessionGet, wire.AppendText(rt.arguments(), c.Argument(0).String()))
			if !r.Bool() {
				return goja.Undefined()
			}
			return rt.decoded(r)
		}},
		"set": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			encoded := []byte("null")
			if isSet(c.Argument(1)) {
				var err error
				encoded, err = rt.json(c.Argument(1))
				rt.check(err)
			}
			rt.ask(wire.SessionSet, wire.AppendText(wire.AppendText(rt.arguments(), c.Argument(0).String()), encoded))
			return goja.Undefined()
		}},
		"remove": {call: func(rt *Runtime, c goja.FunctionCall) goja.Value {
			rt.ask(wire.SessionRemove, wire.AppendText(rt.arguments(), c.Argument(0).String()))
			return goja.Undefined()
		}},
	})
}

// Limits of the headers that a call sets: their number, and the length of each header's name and value, in bytes.
const (
	maxHeaders = 1000
	maxHeader  = 64 << 10
)
