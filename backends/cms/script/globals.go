package script

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

type native = func(goja.FunctionCall) goja.Value

// globals makes what scripts find: section 4 of the specification. Their objects are of
// the runtime, and speak of its call.
func (rt *runtime) globals() {
	set := func(name string, of map[string]native) *goja.Object {
		object := rt.vm.NewObject()
		for member, fn := range of {
			_ = object.Set(member, fn)
		}
		_ = rt.vm.Set(name, object)
		return object
	}
	pages := rt.pages()
	maps.Copy(pages, rt.files())
	set("pages", pages)
	set("users", rt.users())
	set("templates", rt.definitions(func(e *Engine) Definitions { return e.Templates }, "templates"))
	set("fields", rt.definitions(func(e *Engine) Definitions { return e.Fields }, "fields"))
	set("cache", rt.cacheGlobal())
	set("http", map[string]native{"fetch": rt.fetchGlobal})
	set("log", map[string]native{
		"debug": rt.logs(zapcore.DebugLevel), "info": rt.logs(zapcore.InfoLevel), "warn": rt.logs(zapcore.WarnLevel), "error": rt.logs(zapcore.ErrorLevel),
	})
	set("console", map[string]native{
		"debug": rt.logs(zapcore.DebugLevel), "log": rt.logs(zapcore.InfoLevel), "info": rt.logs(zapcore.InfoLevel),
		"warn": rt.logs(zapcore.WarnLevel), "error": rt.logs(zapcore.ErrorLevel), "trace": rt.logs(zapcore.DebugLevel),
	})
	set("RestApiHelper", rt.helper())
	rt.sanitizer(set("sanitizer", nil))
	rt.requestGlobals(set("input", rt.input()), set("session", rt.session()))
	_ = rt.vm.Set("Response", rt.newResponse)
	_ = rt.vm.GlobalObject().DefineAccessorProperty("config", rt.vm.ToValue(func(goja.FunctionCall) goja.Value {
		if read := rt.program.engine.Config; read != nil {
			return rt.object(read())
		}
		return rt.vm.NewObject()
	}), nil, goja.FLAG_FALSE, goja.FLAG_TRUE)
}

// throw throws an error of the script; with a code it becomes the answer.
func (rt *runtime) throw(code int, message string) {
	rt.away.Store(false) // whatever was waited for is over
	made := rt.failure("Error", message)
	if o, ok := made.(*goja.Object); ok && code != 0 {
		_ = o.Set("code", code)
	}
	panic(made)
}

func (rt *runtime) fail(message string) { rt.throw(0, message) }

// check throws an error of Go: with its status where the client may know it. Whatever
// was waited for is over.
func (rt *runtime) check(err error) {
	rt.away.Store(false)
	if err == nil {
		return
	}
	if e, ok := handler.Of(err); ok {
		rt.throw(e.Code, e.Message)
	}
	if e, ok := apierror.From(err); ok && e.Status >= 400 && e.Status <= 499 {
		rt.throw(e.Status, e.Message)
	}
	if interrupted, ok := errors.AsType[*goja.InterruptedError](err); ok {
		panic(interrupted)
	}
	made := rt.failure("Error", "internal error")
	if o, ok := made.(*goja.Object); ok {
		if rt.call.causes == nil {
			rt.call.causes = make(map[*goja.Object]error)
		}
		rt.call.causes[o] = err
	}
	panic(made)
}

// operation counts what asks the store.
func (rt *runtime) operation() {
	if rt.call == nil {
		rt.fail("there is no request")
	}
	if rt.call.operations++; rt.call.operations > maxOperations {
		rt.fail(fmt.Sprintf("more than %d operations on the content in one request", maxOperations))
	}
	rt.away.Store(true)
}

// is reports whether an argument was given.
func is(v goja.Value) bool { return v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) }

func (rt *runtime) objects(list []Object) goja.Value {
	items := make([]any, len(list))
	for i := range list {
		items[i] = rt.object(list[i])
	}
	return rt.vm.NewArray(items...)
}

func (rt *runtime) orNull(o Object) goja.Value {
	if o == nil {
		return goja.Null()
	}
	return rt.object(o)
}

// members is an argument that is an object.
func (rt *runtime) members(v goja.Value, what string) Object {
	made, err := rt.plainValue(v)
	rt.check(err)
	m, ok := made.(map[string]any)
	if !ok {
		rt.fail(what + " is not an object")
	}
	return m
}

func (rt *runtime) pages() map[string]native {
	store := func() Pages {
		rt.operation()
		if rt.program.engine.Pages == nil {
			rt.fail("there are no pages here")
		}
		return rt.program.engine.Pages
	}
	id := func(v goja.Value) int64 { return rt.id(v, "page") }
	return map[string]native{
		"find": func(c goja.FunctionCall) goja.Value {
			found, after, err := store().Find(rt.call.context(), rt.call.User, text(c.Argument(0)))
			rt.check(err)
			list := rt.objects(found).(*goja.Object)
			_ = list.DefineDataProperty("after", rt.vm.ToValue(after), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
			return list
		},
		"get": func(c goja.FunctionCall) goja.Value {
			found, err := store().Get(rt.call.context(), rt.call.User, text(c.Argument(0)))
			rt.check(err)
			return rt.orNull(found)
		},
		"count": func(c goja.FunctionCall) goja.Value {
			n, err := store().Count(rt.call.context(), rt.call.User, text(c.Argument(0)))
			rt.check(err)
			return rt.vm.ToValue(n)
		},
		"add": func(c goja.FunctionCall) goja.Value {
			made, err := store().Add(rt.call.context(), rt.call.User, rt.members(c.Argument(0), "the page"))
			rt.check(err)
			return rt.orNull(made)
		},
		"save": func(c goja.FunctionCall) goja.Value {
			to, changes := id(c.Argument(0)), c.Argument(1)
			if !is(changes) {
				changes = c.Argument(0)
			}
			made, err := store().Save(rt.call.context(), rt.call.User, to, rt.members(changes, "the change"))
			rt.check(err)
			return rt.orNull(made)
		},
		"trash": func(c goja.FunctionCall) goja.Value {
			rt.check(store().Trash(rt.call.context(), rt.call.User, id(c.Argument(0))))
			return goja.Undefined()
		},
	}
}

// text is an argument that is one; without it, empty.
func text(v goja.Value) string {
	if !is(v) {
		return ""
	}
	return v.String()
}

func (rt *runtime) users() map[string]native {
	store := func() Users {
		rt.operation()
		if rt.program.engine.Users == nil {
			rt.fail("there are no users here")
		}
		return rt.program.engine.Users
	}
	return map[string]native{
		// find({after, limit}): 25 by default, 500 at most.
		"find": func(c goja.FunctionCall) goja.Value {
			after, limit := int64(0), int64(25)
			if o, ok := c.Argument(0).(*goja.Object); ok {
				if v := o.Get("after"); is(v) {
					after = v.ToInteger()
				}
				if v := o.Get("limit"); is(v) {
					limit = min(max(v.ToInteger(), 1), 500)
				}
			}
			found, err := store().Find(rt.call.context(), after, int(limit))
			rt.check(err)
			return rt.objects(found)
		},
		"get": func(c goja.FunctionCall) goja.Value {
			if !is(c.Argument(0)) {
				return goja.Null()
			}
			found, err := store().Get(rt.call.context(), c.Argument(0).String())
			rt.check(err)
			return rt.orNull(found)
		},
	}
}

func (rt *runtime) definitions(of func(*Engine) Definitions, name string) map[string]native {
	store := func() Definitions {
		rt.operation()
		found := of(rt.program.engine)
		if found == nil {
			rt.fail("there are no " + name + " here")
		}
		return found
	}
	return map[string]native{
		"all": func(goja.FunctionCall) goja.Value {
			all, err := store().All(rt.call.context(), rt.call.User)
			rt.check(err)
			return rt.objects(all)
		},
		"get": func(c goja.FunctionCall) goja.Value {
			found, err := store().Get(rt.call.context(), rt.call.User, text(c.Argument(0)))
			rt.check(err)
			return rt.orNull(found)
		},
	}
}

// sanitizer has a method for each name, and apply, valid and names for specs.
func (rt *runtime) sanitizer(object *goja.Object) {
	with := func(spec string, args []goja.Value) (value any, given []any) {
		if !sanitize.Known(spec) {
			rt.throw(http.StatusBadRequest, sanitize.UnknownError(spec).Error())
		}
		for i, arg := range args {
			made, err := rt.plainValue(arg)
			rt.check(err)
			if i == 0 {
				value = made
			} else {
				given = append(given, made)
			}
		}
		return value, given
	}
	apply := func(spec string, args []goja.Value) goja.Value {
		value, given := with(spec, args)
		made, err := sanitize.With(spec, value, given...)
		rt.check(err)
		return rt.value(made)
	}
	for _, name := range sanitize.Names() {
		_ = object.Set(name, func(c goja.FunctionCall) goja.Value { return apply(name, c.Arguments) })
	}
	second := func(c goja.FunctionCall) (spec string, args []goja.Value) {
		if len(c.Arguments) < 2 {
			rt.fail("a value and the name of a sanitizer are needed")
		}
		return c.Arguments[1].String(), append([]goja.Value{c.Arguments[0]}, c.Arguments[2:]...)
	}
	_ = object.Set("apply", func(c goja.FunctionCall) goja.Value { return apply(second(c)) })
	_ = object.Set("valid", func(c goja.FunctionCall) goja.Value {
		spec, args := second(c)
		value, given := with(spec, args)
		valid, err := sanitize.Valid(spec, value, given...)
		rt.check(err)
		return rt.vm.ToValue(valid)
	})
	_ = object.Set("names", func(goja.FunctionCall) goja.Value { return rt.value(sanitize.Names()) })
}

// helper is RestApiHelper: section 4.1.
func (rt *runtime) helper() map[string]native {
	return map[string]native{
		"checkAndSanitizeRequiredParameters": func(c goja.FunctionCall) goja.Value {
			data, ok := c.Argument(0).(*goja.Object)
			if !ok {
				rt.fail("the data is not an object")
			}
			specs, ok := c.Argument(1).(*goja.Object)
			if !ok || specs.ClassName() != "Array" {
				rt.fail("the parameters are not a list")
			}
			for i := range specs.Get("length").ToInteger() {
				rt.required(data, text(specs.Get(fmt.Sprint(i))))
			}
			return data
		},
		"noEndPoint": func(goja.FunctionCall) goja.Value { return rt.vm.ToValue("no endpoint defined") },
		"preflight": func(goja.FunctionCall) goja.Value {
			rt.check(rt.call.SetStatus(http.StatusNoContent))
			return goja.Undefined()
		},
		"baseUrl": func(goja.FunctionCall) goja.Value { return rt.vm.ToValue(rt.call.BaseURL) },
	}
}

// required checks and replaces a member as name|sanitizer says.
func (rt *runtime) required(data *goja.Object, spec string) {
	name, sanitizer, has := strings.Cut(spec, "|")
	if !has {
		sanitizer = "text"
	}
	value := data.Get(name)
	if !is(value) {
		rt.throw(http.StatusBadRequest, "Required parameter '"+name+"' is missing")
	}
	plain, err := rt.plainValue(value)
	rt.check(err)
	made, err := sanitize.Apply(sanitizer, plain)
	if err != nil {
		rt.throw(http.StatusBadRequest, err.Error())
	}
	if err := data.Set(name, rt.value(made)); err != nil {
		rt.rethrow(err)
	}
}

// newResponse is Response(status, body, headers), with or without new.
func (rt *runtime) newResponse(c goja.ConstructorCall) *goja.Object {
	if rt.call == nil {
		rt.fail("there is no request")
	}
	status := c.Argument(0).ToInteger()
	if !is(c.Argument(0)) {
		status = http.StatusOK
	}
	if status < 200 || status > 599 {
		rt.fail(fmt.Sprintf("%d is no status of an answer", status))
	}
	made := &response{status: int(status), body: c.Argument(1), headers: http.Header{}}
	if headers, ok := c.Argument(2).(*goja.Object); ok {
		for _, name := range headers.Keys() {
			value := headers.Get(name).String()
			if err := handler.CheckHeader(name, value); err != nil {
				rt.fail(err.Error())
			}
			made.headers.Set(name, value)
		}
	}
	object := rt.vm.NewObject()
	_ = object.Set("status", made.status)
	if rt.call.responses == nil {
		rt.call.responses = make(map[*goja.Object]*response)
	}
	rt.call.responses[object] = made
	return object
}

func (rt *runtime) cacheGlobal() map[string]native {
	get := func(key goja.Value) (goja.Value, bool) {
		text, ok := rt.program.engine.cache.get(key.String())
		if !ok {
			return goja.Undefined(), false
		}
		made, err := rt.parse(goja.Undefined(), rt.vm.ToValue(text))
		if err != nil {
			rt.rethrow(err)
		}
		return made, true
	}
	set := func(key, value, seconds goja.Value) {
		text, err := rt.json(value)
		if err != nil {
			rt.fail(err.Error())
		}
		life := time.Duration(0)
		if is(seconds) {
			n := seconds.ToFloat()
			if n <= 0 || math.IsNaN(n) {
				rt.program.engine.cache.delete(key.String())
				return
			}
			life = time.Duration(min(n, math.MaxInt32) * float64(time.Second))
		}
		if !rt.program.engine.cache.set(key.String(), string(text), life) {
			rt.fail("the value is larger than the cache")
		}
	}
	return map[string]native{
		"get": func(c goja.FunctionCall) goja.Value {
			value, _ := get(c.Argument(0))
			return value
		},
		"set": func(c goja.FunctionCall) goja.Value {
			set(c.Argument(0), c.Argument(1), c.Argument(2))
			return goja.Undefined()
		},
		"delete": func(c goja.FunctionCall) goja.Value {
			return rt.vm.ToValue(rt.program.engine.cache.delete(c.Argument(0).String()))
		},
		// remember(key, seconds, make) makes what is not there.
		"remember": func(c goja.FunctionCall) goja.Value {
			if value, ok := get(c.Argument(0)); ok {
				return value
			}
			fn, ok := goja.AssertFunction(c.Argument(2))
			if !ok {
				rt.fail("cache.remember needs a function")
			}
			value, err := fn(goja.Undefined())
			if err != nil {
				rt.rethrow(err)
			}
			set(c.Argument(0), value, c.Argument(1))
			return value
		},
	}
}

// maxLog bounds a line of a script in the log.
const maxLog = 8 << 10

// logs writes a line into the request's log.
func (rt *runtime) logs(level zapcore.Level) native {
	return func(c goja.FunctionCall) goja.Value {
		entry := rt.program.engine.Logger().Check(level, "script")
		if entry == nil {
			return goja.Undefined()
		}
		var line strings.Builder
		for i, arg := range c.Arguments {
			if i > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(rt.shown(arg))
			if line.Len() > maxLog {
				break
			}
		}
		said := line.String()
		fields := []zap.Field{zap.String("text", strings.ToValidUTF8(said[:min(len(said), maxLog)], ""))}
		if rt.call != nil {
			fields = append(fields, zap.String("request", rt.call.RequestID))
		}
		entry.Write(fields...)
		return goja.Undefined()
	}
}

// shown is a value as a console shows it.
func (rt *runtime) shown(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return v.String()
	}
	switch o.ClassName() {
	case "Error", "Function", "Date", "RegExp":
		return v.String()
	}
	text, err := rt.json(o)
	if err != nil {
		return v.String()
	}
	return string(text)
}
