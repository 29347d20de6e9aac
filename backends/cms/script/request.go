package script

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
)

// current is the call that a runtime works on.
func (rt *runtime) current() *call {
	if rt.call == nil {
		rt.fail("there is no request")
	}
	return rt.call
}

// getter is a member that is read of the call.
func (rt *runtime) getter(object *goja.Object, name string, of func(*call) goja.Value) {
	_ = object.DefineAccessorProperty(name, rt.vm.ToValue(func(goja.FunctionCall) goja.Value { return of(rt.current()) }), nil, goja.FLAG_FALSE, goja.FLAG_TRUE)
}

// requestGlobals makes what tells of the request: the second argument of methods, and
// the members of input and session that are no functions.
func (rt *runtime) requestGlobals(input, session *goja.Object) {
	rt.context = rt.vm.NewObject()
	for _, to := range []*goja.Object{rt.context, input} {
		rt.getter(to, "method", func(c *call) goja.Value { return rt.vm.ToValue(c.Method) })
		rt.getter(to, "path", func(c *call) goja.Value { return rt.vm.ToValue(c.Path) })
	}
	for _, to := range []*goja.Object{rt.context, session} {
		rt.getter(to, "user", func(c *call) goja.Value { return rt.user(c.User) })
	}
	rt.getter(rt.context, "requestId", func(c *call) goja.Value { return rt.vm.ToValue(c.RequestID) })
	rt.getter(rt.context, "address", func(c *call) goja.Value { return rt.vm.ToValue(c.Address) })
	rt.getter(rt.context, "headers", func(c *call) goja.Value {
		made := rt.vm.NewObject()
		for name, values := range c.Header {
			_ = made.Set(strings.ToLower(name), strings.Join(values, ", "))
		}
		return made
	})
	_ = rt.context.Set("setStatus", func(c goja.FunctionCall) goja.Value {
		if err := rt.current().SetStatus(int(c.Argument(0).ToInteger())); err != nil {
			rt.fail(err.Error())
		}
		return goja.Undefined()
	})
	_ = rt.context.Set("setHeader", func(c goja.FunctionCall) goja.Value {
		if err := rt.current().SetHeader(c.Argument(0).String(), text(c.Argument(1))); err != nil {
			rt.fail(err.Error())
		}
		return goja.Undefined()
	})
	rt.getter(input, "data", func(c *call) goja.Value { return rt.object(c.Data) })
	rt.getter(input, "query", func(c *call) goja.Value { return rt.object(c.Query) })
	rt.getter(input, "body", func(c *call) goja.Value { return rt.object(c.Body) })
	rt.getter(input, "params", func(c *call) goja.Value {
		made := make(map[string]any, len(c.Params))
		for name, value := range c.Params {
			made[name] = value
		}
		return rt.object(made)
	})
	rt.getter(input, "files", func(c *call) goja.Value { return rt.value(uploads(c)) })
	rt.getter(session, "loggedIn", func(c *call) goja.Value { return rt.vm.ToValue(c.User.Name != "guest") })
}

func (rt *runtime) user(u handler.User) goja.Value {
	made := rt.vm.NewObject()
	_ = made.Set("id", u.ID)
	_ = made.Set("name", u.Name)
	_ = made.Set("roles", rt.value(u.Roles))
	return made
}

// input has get(name, sanitizer) and header(name).
func (rt *runtime) input() map[string]native {
	return map[string]native{
		"get": func(c goja.FunctionCall) goja.Value {
			value, ok := rt.current().Data[c.Argument(0).String()]
			if !ok {
				return goja.Undefined()
			}
			if is(c.Argument(1)) {
				made, err := sanitize.Apply(c.Argument(1).String(), value)
				if err != nil {
					rt.throw(400, err.Error())
				}
				value = made
			}
			return rt.value(value)
		},
		"header": func(c goja.FunctionCall) goja.Value {
			values := rt.current().Header.Values(c.Argument(0).String())
			if len(values) == 0 {
				return goja.Undefined()
			}
			return rt.vm.ToValue(strings.Join(values, ", "))
		},
	}
}

// session has get, set and remove, where the mode has sessions.
func (rt *runtime) session() map[string]native {
	store := func() handler.Session {
		if s := rt.current().Session; s != nil {
			return s
		}
		rt.fail("there are no sessions in this mode of authorization")
		return nil
	}
	return map[string]native{
		"get": func(c goja.FunctionCall) goja.Value {
			value, ok := store().Get(c.Argument(0).String())
			if !ok {
				return goja.Undefined()
			}
			return rt.value(value)
		},
		"set": func(c goja.FunctionCall) goja.Value {
			value, err := rt.plainValue(c.Argument(1))
			rt.check(err)
			if err := store().Set(c.Argument(0).String(), value); err != nil {
				rt.fail(err.Error())
			}
			return goja.Undefined()
		},
		"remove": func(c goja.FunctionCall) goja.Value {
			store().Remove(c.Argument(0).String())
			return goja.Undefined()
		},
	}
}
