package script

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
)

// routesJS is the routes file of JavaScript.
const routesJS = "api/Routes.js"

// helperName is the class that every site has.
const helperName = "RestApiHelper"

// LoadTable evaluates Routes.js and the files that it requires. The table is what the
// reader of Routes.php would give; its classes are those of the program, by names that
// tell two of the same name apart. The error is a *routes.Error where an author can
// mend it.
func (e *Engine) LoadTable() (routes.Value, *Program, error) {
	p, err := e.program()
	if err != nil {
		return routes.Value{}, nil, err
	}
	rt, err := newRuntime(p)
	if err != nil {
		return routes.Value{}, nil, err
	}
	var value routes.Value
	err = p.first(rt, func() error {
		found, err := p.sources.find("", "/"+routesJS)
		if err != nil {
			return err
		}
		exports, err := rt.load(found)
		if err != nil {
			return err
		}
		var failed error
		if err := rt.do(func() { value, failed = p.table(rt, exports) }); err != nil {
			return err
		}
		return failed
	})
	if err != nil {
		return routes.Value{}, nil, asProblem(routesJS, err)
	}
	p.free <- rt
	return value, p, nil
}

// table makes of what Routes.js exports what the reader of Routes.php gives.
func (p *Program) table(rt *runtime, exports goja.Value) (routes.Value, error) {
	t := &tabling{program: p, rt: rt, names: make(map[*goja.Object]string)}
	p.sources.mu.Lock()
	loaded := make([]*source, 0, len(rt.modules))
	for name := range rt.modules {
		if s := p.sources.files[name]; s != nil && s.program != nil && name != routesJS {
			loaded = append(loaded, s)
		}
	}
	routesFile := p.sources.files[routesJS]
	p.sources.mu.Unlock()
	slices.SortFunc(loaded, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	for _, s := range loaded {
		t.classes(s, rt.modules[s.name].Get("exports"))
	}
	t.names[rt.vm.Get(helperName).ToObject(rt.vm)] = helperName
	if o, ok := exports.(*goja.Object); !ok || o.ClassName() != "Array" {
		return routes.Value{}, problem(routesJS, 0, 0, "module.exports is not a list of routes")
	}
	value := t.value(exports, routesFile.exportsAt, routesFile.place(routesFile.exportsAt), 0)
	if t.err != nil {
		return value, t.err
	}
	return value, nil
}

// tabling turns values into routes.
type tabling struct {
	program *Program
	rt      *runtime
	names   map[*goja.Object]string // of classes that files export
	err     *routes.Error           // the first
}

// classes names those of a file. Two of the same name are told apart by their files.
func (t *tabling) classes(s *source, exports goja.Value) {
	object, ok := exports.(*goja.Object)
	if !ok {
		return
	}
	add := func(name, export string, value *goja.Object) {
		if _, named := t.names[value]; named {
			return
		}
		if _, taken := t.program.classes[name]; taken {
			if name = s.name; export != "" {
				name += ":" + export
			}
		}
		t.names[value] = name
		t.program.classes[name] = &class{s, export, methods(t.rt, value)}
	}
	if _, ok := goja.AssertFunction(object); ok {
		add(object.Get("name").String(), "", object)
	}
	for _, key := range object.Keys() {
		if value, ok := object.Get(key).(*goja.Object); ok && handler.Identifier(key) {
			add(key, key, value)
		}
	}
	if len(methods(t.rt, object)) > 0 { // a module whose exports are the methods
		add(handlerName(s.name), "", object)
	}
}

// handlerName is a class after the file that it is.
func handlerName(name string) string {
	base := filepath.Base(name)
	return base[:len(base)-len(filepath.Ext(base))]
}

func (t *tabling) fail(at routes.Position, format string, args ...any) {
	if t.err == nil {
		t.err = &routes.Error{At: at, Message: fmt.Sprintf(format, args...)}
	}
}

// maxTable is how deep routes may nest.
const maxTable = 32

// value is a value of the table. written is where the file has it, nil: somewhere.
func (t *tabling) value(v goja.Value, written ast.Expression, at routes.Position, depth int) routes.Value {
	made := routes.Value{At: at}
	if depth > maxTable {
		t.fail(at, "the routes nest deeper than %d", maxTable)
		return made
	}
	switch v := v.(type) {
	case nil:
		return made
	case goja.String:
		made.Kind, made.Text = routes.String, v.String()
		return made
	case *goja.Object:
		if v.ClassName() == "Array" {
			return t.list(v, written, at, depth)
		}
		if _, class := t.names[v]; class || v.ClassName() == "Function" {
			return t.class(v, at)
		}
		made.Kind = routes.List
		literal, _ := written.(*ast.ObjectLiteral)
		for _, key := range v.Keys() {
			inner, innerAt := t.program.member(literal, key, at)
			made.Items = append(made.Items, routes.Item{Named: true, Key: key, KeyAt: innerAt, Value: t.value(v.Get(key), inner, innerAt, depth+1)})
		}
		return made
	}
	switch n := v.Export().(type) {
	case bool:
		made.Kind, made.Bool = routes.Boolean, n
	case int64:
		made.Kind, made.Int = routes.Integer, n
	case float64:
		if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			t.fail(at, "%v is not an integer", n)
		}
		made.Kind, made.Int = routes.Integer, int64(n)
	}
	return made
}

// list is a route, or a list of routes and groups.
func (t *tabling) list(o *goja.Object, written ast.Expression, at routes.Position, depth int) routes.Value {
	made := routes.Value{Kind: routes.List, At: at}
	literal, _ := written.(*ast.ArrayLiteral)
	length := o.Get("length").ToInteger()
	for i := range length {
		var inner ast.Expression
		innerAt := at
		if literal != nil && int64(len(literal.Value)) == length {
			if inner = literal.Value[i]; inner != nil {
				innerAt = t.program.sources.files[routesJS].place(inner)
			}
		}
		item := o.Get(strconv.FormatInt(i, 10))
		var value routes.Value
		if i == 2 && made.Items[0].Value.Kind == routes.String {
			value = t.class(item, innerAt)
		} else {
			value = t.value(item, inner, innerAt, depth+1)
		}
		made.Items = append(made.Items, routes.Item{Value: value})
		if i > 100_000 {
			t.fail(at, "too many routes")
			break
		}
	}
	return made
}

// class is the third position of a route: a class that a file exports, or the name of
// one that is compiled in.
func (t *tabling) class(v goja.Value, at routes.Position) routes.Value {
	made := routes.Value{Kind: routes.Class, At: at}
	switch v := v.(type) {
	case goja.String:
		made.Text = v.String()
	case *goja.Object:
		name, ok := t.names[v]
		if !ok {
			t.fail(at, "this handler class is not exported by a file that is required")
		}
		made.Text = name
	default:
		t.fail(at, "the handler class is %s: is it exported by the file that is required?", v)
	}
	return made
}

// member is where a file has a member of an object.
func (p *Program) member(literal *ast.ObjectLiteral, key string, at routes.Position) (ast.Expression, routes.Position) {
	if literal == nil {
		return nil, at
	}
	for _, property := range literal.Value {
		keyed, ok := property.(*ast.PropertyKeyed)
		if !ok || keyed.Computed {
			continue
		}
		if name, ok := keyed.Key.(*ast.StringLiteral); ok && name.Value.String() == key {
			return keyed.Value, p.sources.files[routesJS].place(keyed.Key)
		}
	}
	return nil, at
}

// place is where a file has an expression; of nil, the file.
func (s *source) place(e ast.Expression) routes.Position {
	if e == nil || s.tree == nil {
		return routes.Position{File: s.name}
	}
	line, column := place(s.tree.File.Position(int(e.Idx0()) - s.tree.File.Base()))
	return routes.Position{File: s.name, Line: line, Column: column}
}
