package script

import (
	"maps"
	"slices"

	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// files are the methods of pages that are about files.
func (rt *runtime) files() map[string]native {
	store := func() Files {
		rt.operation()
		if rt.program.engine.Files == nil {
			rt.fail("there are no files here")
		}
		return rt.program.engine.Files
	}
	size := func(v goja.Value) Object {
		if !is(v) {
			return nil
		}
		return rt.members(v, "the size")
	}
	return map[string]native{
		// attach(page, field, file): file is the name of a part of the form that was sent, or {name, text}.
		"attach": func(c goja.FunctionCall) goja.Value {
			to, field := rt.id(c.Argument(0), "page"), text(c.Argument(1))
			var file handler.Upload
			if o, ok := c.Argument(2).(*goja.Object); ok {
				file = handler.Upload{Name: text(o.Get("name")), Content: []byte(text(o.Get("text")))}
			} else if file, ok = rt.current().Files[text(c.Argument(2))]; !ok {
				rt.throw(400, "a file '"+text(c.Argument(2))+"' is missing")
			}
			made, err := store().Attach(rt.call.context(), rt.call.User, to, field, file.Name, file.Content)
			rt.check(err)
			return rt.orNull(made)
		},
		// file(file, size) is an answer: return it.
		"file": func(c goja.FunctionCall) goja.Value {
			of, to := rt.id(c.Argument(0), "file"), size(c.Argument(1))
			serve, err := store().Answer(rt.call.User, of, to)
			rt.check(err)
			object := rt.vm.NewObject()
			if rt.call.served == nil {
				rt.call.served = make(map[*goja.Object]handler.Served)
			}
			rt.call.served[object] = serve
			return object
		},
		// image(file, size) is the address of an image in a size.
		"image": func(c goja.FunctionCall) goja.Value {
			of, to := rt.id(c.Argument(0), "file"), size(c.Argument(1))
			link, err := store().Link(of, to)
			rt.check(err)
			return rt.vm.ToValue(rt.call.BaseURL + "/" + link)
		},
	}
}

// id is an argument that is an id, or an object that has one.
func (rt *runtime) id(v goja.Value, what string) int64 {
	if o, ok := v.(*goja.Object); ok {
		v = o.Get("id")
	}
	if !is(v) {
		rt.fail("a " + what + " has an id")
	}
	return v.ToInteger()
}

// uploads are what the form had as files, without their content.
func uploads(c *call) []any {
	list := make([]any, 0, len(c.Files))
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		list = append(list, Object{"field": name, "name": c.Files[name].Name, "size": len(c.Files[name].Content)})
	}
	return list
}
