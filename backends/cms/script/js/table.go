package js

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// routesJS is the name of the routes file in JavaScript.
const routesJS = "api/Routes.js"

// helperName is the name of the built-in class that every site can use.
const helperName = "RestApiHelper"

// Load loads the files whose names are in frame, the payload of a Load frame. It appends to result the payload of a
// Result frame, which describes the classes in these files by the names under which the files export them.
func (rt *Runtime) Load(host Host, frame, result []byte) []byte {
	rt.host = host
	t := &tableBuilder{rt: rt, taken: make(map[string]bool)}
	r := wire.NewReader(frame)
	names := make([]string, r.Len())
	for i := range names { // read all names first, because a reply of the host overwrites the memory of the frame
		names[i] = r.Text()
	}
	for _, name := range names {
		err := rt.withExports("/"+name, func(s *source, exports goja.Value) { t.addExports(s, exports) })
		if err != nil {
			return rt.appendError(name, err, result)
		}
	}
	return t.appendLoaded(result, nil)
}

// Table evaluates Routes.js and appends the payload of a Result frame to result. The payload contains the routes
// table and its classes. The names of the classes are unique, even if two files export classes with the same name.
func (rt *Runtime) Table(host Host, result []byte) []byte {
	rt.host = host
	t := &tableBuilder{rt: rt, taken: make(map[string]bool), names: make(map[*goja.Object]string)}
	var table value
	err := rt.withExports("/"+routesJS, func(s *source, exports goja.Value) {
		for _, s := range rt.loadedScripts() {
			t.addTableClasses(s, rt.modules[s.name].Get("exports"))
		}
		t.names[rt.vm.Get(helperName).ToObject(rt.vm)] = helperName
		if o, ok := exports.(*goja.Object); !ok || o.ClassName() != "Array" {
			t.fail(position{File: routesJS}, "module.exports is not a list of routes")
			return
		}
		t.file = s
		table = t.value(exports, s.exportsExpr, s.position(s.exportsExpr), 0)
	})
	if err == nil && t.err != nil {
		err = t.err
	}
	if err != nil {
		return rt.appendError(routesJS, err, result)
	}
	return t.appendLoaded(result, &table)
}

// withExports loads a file and calls fn with the value of its module.exports. fn may run code of the script, such as a
// getter; withExports returns the exception that this code throws.
func (rt *Runtime) withExports(name string, fn func(*source, goja.Value)) error {
	found, err := rt.code.find(rt.host, "", name)
	if err != nil {
		return err
	}
	thrown := rt.catch(func() {
		var exports goja.Value
		if exports, err = rt.load(found); err == nil {
			fn(found, exports)
		}
	})
	if thrown != nil {
		return thrown
	}
	return err
}

// loadedScripts returns the loaded JavaScript files except Routes.js, sorted by name.
func (rt *Runtime) loadedScripts() (scripts []*source) {
	rt.code.mu.Lock()
	defer rt.code.mu.Unlock()
	for name := range rt.modules {
		if s := rt.code.files[name]; s != nil && s.program != nil && name != routesJS {
			scripts = append(scripts, s)
		}
	}
	slices.SortFunc(scripts, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return scripts
}

// appendError appends the payload of a Result frame to result. The payload contains an error with its position. name
// is the name of the file with the error.
func (rt *Runtime) appendError(name string, err error, result []byte) []byte {
	p, ok := errors.AsType[*SourceError](err)
	if !ok {
		p = rt.problem(name, rt.toWireError(err))
	}
	return p.append(append(result, wire.Wrong))
}

// append appends the encoded error to buf.
func (p *SourceError) append(buf []byte) []byte {
	buf = wire.AppendInt(wire.AppendInt(wire.AppendText(buf, p.File), int64(p.Line)), int64(p.Column))
	return wire.AppendText(buf, p.Message[:min(len(p.Message), maxErrorText)])
}

// problem converts an error to a SourceError. The position of the error is that of the innermost call. If the
// position of that call is not known, the error has the given file name without a line.
func (rt *Runtime) problem(name string, err wireError) *SourceError {
	converted := &SourceError{File: name, Message: err.message}
	switch err.kind {
	case wire.TookTime:
		converted.Message = ErrTime.Error()
	case wire.TookMemory:
		converted.Message = ErrMemory.Error()
	}
	innermost, _, _ := strings.Cut(err.stack, "\n")
	if i := strings.LastIndexByte(innermost, '('); i >= 0 {
		innermost = strings.TrimSuffix(innermost[i+1:], ")")
	}
	if parts := strings.Split(innermost, ":"); len(parts) == 3 {
		line, _ := strconv.Atoi(parts[1])
		column, _ := strconv.Atoi(parts[2])
		if line > 0 && column > 0 {
			if line == 1 {
				column = max(column-len(wrapperStart), 1)
			}
			converted.File, converted.Line, converted.Column = parts[0], line, column
		}
	}
	return converted
}

// class is a class that a file exports.
type class struct {
	name, file, export string // if export is empty, the file exports the class itself
	methods            []string
}

// addExports adds the classes that a file exports to t.found, for Load: module.exports, if it is a class, and its
// members that are classes or objects with methods. exports is the value of module.exports. If two classes have the
// same name, the host uses the later one.
func (t *tableBuilder) addExports(s *source, exports goja.Value) {
	object, ok := exports.(*goja.Object)
	if !ok {
		return
	}
	if _, ok := goja.AssertFunction(object); ok { // module.exports = class …
		t.found = append(t.found, class{object.Get("name").String(), s.name, "", t.rt.methods(object)})
	}
	for _, key := range object.Keys() {
		value, ok := object.Get(key).(*goja.Object)
		if !ok {
			continue
		}
		if found := t.rt.methods(value); len(found) > 0 || value.ClassName() == "Function" {
			t.found = append(t.found, class{key, s.name, key, found})
		}
	}
}

// methods returns the sorted names of a class's static methods, including inherited ones, or of a plain object's
// functions.
func (rt *Runtime) methods(object *goja.Object) (found []string) {
	functionPrototype := rt.vm.Get("Function").ToObject(rt.vm).Get("prototype")
	for o := object; o != nil; o = o.Prototype() {
		isObjectPrototype := o.Prototype() == nil
		if isObjectPrototype || o == functionPrototype { // do not list the built-in methods
			break
		}
		for _, name := range o.GetOwnPropertyNames() {
			if slices.Contains(found, name) || name == "prototype" || name == "length" || name == "name" {
				continue
			}
			if _, ok := goja.AssertFunction(o.Get(name)); ok {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// appendLoaded appends the payload of a Result frame to result. The payload contains the classes in t.found, the
// problems found in all files, and the table, unless that is nil.
func (t *tableBuilder) appendLoaded(result []byte, table *value) []byte {
	result = wire.AppendUint(append(result, wire.Loaded), uint64(len(t.found)))
	for _, c := range t.found {
		result = wire.AppendText(wire.AppendText(wire.AppendText(result, c.name), c.file), c.export)
		result = wire.AppendUint(result, uint64(len(c.methods)))
		for _, m := range c.methods {
			result = wire.AppendText(result, m)
		}
	}
	var problems []*SourceError
	t.rt.code.mu.Lock()
	for _, s := range t.rt.code.files {
		problems = append(problems, s.problems...)
	}
	t.rt.code.mu.Unlock()
	result = wire.AppendUint(result, uint64(len(problems)))
	for _, p := range problems {
		result = p.append(result)
	}
	if table != nil {
		result = table.append(result)
	}
	return result
}

// position is a position in a file.
type position struct {
	File         string
	Line, Column int
}

// append appends the encoded position to buf.
func (p position) append(buf []byte) []byte {
	return wire.AppendInt(wire.AppendInt(wire.AppendText(buf, p.File), int64(p.Line)), int64(p.Column))
}

// value is a value in a routes table.
type value struct {
	kind  byte // a kind of package wire's values, or wire.Class
	text  string
	n     int64
	items []item
	pos   position
}

// item is an element of a list, or a member of an object in a routes table.
type item struct {
	named bool // whether it is a member of an object; key and pos are set only then
	key   string
	pos   position // of the key
	value value
}

// append appends the encoded value to buf.
func (v *value) append(buf []byte) []byte {
	buf = v.pos.append(append(buf, v.kind))
	switch v.kind {
	case wire.String, wire.Class:
		buf = wire.AppendText(buf, v.text)
	case wire.Int:
		buf = wire.AppendInt(buf, v.n)
	case wire.List:
		buf = wire.AppendUint(buf, uint64(len(v.items)))
		for i := range v.items {
			buf = wire.AppendBool(buf, v.items[i].named)
			buf = v.items[i].pos.append(wire.AppendText(buf, v.items[i].key))
			buf = v.items[i].value.append(buf)
		}
	}
	return buf
}

// tableBuilder collects the classes of a site's files and converts the value of Routes.js to a routes table.
type tableBuilder struct {
	rt    *Runtime
	file  *source // Routes.js
	found []class
	taken map[string]bool         // the names of the classes in found
	names map[*goja.Object]string // the names of exported classes
	err   *SourceError            // the first error
}

// addTableClasses adds the classes that a file exports to t.found, for Table: module.exports, if it is a class; its
// members that are objects; and module.exports as one class, if its members include functions. exports is the value of
// module.exports. If the name of a class is taken, the class gets the name of the file instead, followed by a colon and
// the name of the member.
func (t *tableBuilder) addTableClasses(s *source, exports goja.Value) {
	object, ok := exports.(*goja.Object)
	if !ok {
		return
	}
	add := func(name, export string, value *goja.Object) {
		if _, named := t.names[value]; named {
			return
		}
		if t.taken[name] {
			if name = s.name; export != "" {
				name += ":" + export
			}
		}
		t.names[value], t.taken[name] = name, true
		t.found = append(t.found, class{name, s.name, export, t.rt.methods(value)})
	}
	if _, ok := goja.AssertFunction(object); ok {
		add(object.Get("name").String(), "", object)
	}
	for _, key := range object.Keys() {
		if value, ok := object.Get(key).(*goja.Object); ok {
			add(key, key, value)
		}
	}
	if len(t.rt.methods(object)) > 0 { // the exports of the module are methods
		add(fileClassName(s.name), "", object)
	}
}

// fileClassName returns the name of the class that all exports of a file form together: the name of the file without
// its folder and extension.
func fileClassName(name string) string {
	base := filepath.Base(name)
	return base[:len(base)-len(filepath.Ext(base))]
}

// fail sets t.err, unless there is an earlier error.
func (t *tableBuilder) fail(pos position, format string, args ...any) {
	if t.err == nil {
		t.err = &SourceError{pos.File, pos.Line, pos.Column, fmt.Sprintf(format, args...)}
	}
}

// maxTable limits the nesting of a routes table.
const maxTable = 32

// value converts a value in the routes table. depth is the number of values that contain this value. expr is the
// expression of the value in Routes.js, or nil if that is not known; pos is the position of the expression or, if
// that is not known, of the innermost expression around it.
func (t *tableBuilder) value(v goja.Value, expr ast.Expression, pos position, depth int) value {
	converted := value{kind: wire.Null, pos: pos}
	if depth > maxTable {
		t.fail(pos, "the routes nest deeper than %d", maxTable)
		return converted
	}
	switch v := v.(type) {
	case nil:
		return converted
	case goja.String:
		converted.kind, converted.text = wire.String, v.String()
		return converted
	case *goja.Object:
		if v.ClassName() == "Array" {
			return t.list(v, expr, pos, depth)
		}
		if _, class := t.names[v]; class || v.ClassName() == "Function" {
			return t.class(v, pos)
		}
		converted.kind = wire.List
		literal, _ := expr.(*ast.ObjectLiteral)
		for _, key := range v.Keys() {
			memberExpr, memberPos := t.file.member(literal, key, pos)
			member := t.value(v.Get(key), memberExpr, memberPos, depth+1)
			converted.items = append(converted.items, item{true, key, memberPos, member})
		}
		return converted
	}
	switch n := v.Export().(type) {
	case bool:
		if converted.kind = wire.False; n {
			converted.kind = wire.True
		}
	case int64:
		converted.kind, converted.n = wire.Int, n
	case float64:
		if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			t.fail(pos, "%v is not an integer", n)
		}
		converted.kind, converted.n = wire.Int, int64(n)
	}
	return converted
}

// list converts a JavaScript array in the table: a route, or a list of routes and groups. The other parameters are
// those of value.
func (t *tableBuilder) list(o *goja.Object, expr ast.Expression, pos position, depth int) value {
	converted := value{kind: wire.List, pos: pos}
	literal, _ := expr.(*ast.ArrayLiteral)
	length := o.Get("length").ToInteger()
	for i := range length {
		var elementExpr ast.Expression
		elementPos := pos
		if literal != nil && int64(len(literal.Value)) == length { // the code has not changed the list since
			if elementExpr = literal.Value[i]; elementExpr != nil {
				elementPos = t.file.position(elementExpr)
			}
		}
		element := o.Get(strconv.FormatInt(i, 10))
		var convertedElement value
		if i == 2 && converted.items[0].value.kind == wire.String { // a route: [HTTP method, path, class, method, …]
			convertedElement = t.class(element, elementPos)
		} else {
			convertedElement = t.value(element, elementExpr, elementPos, depth+1)
		}
		converted.items = append(converted.items, item{value: convertedElement})
		if i > 100_000 {
			t.fail(pos, "too many routes")
			break
		}
	}
	return converted
}

// class converts the third element of a route: a class that a file exports, or the name of a class written in Go.
func (t *tableBuilder) class(v goja.Value, pos position) value {
	converted := value{kind: wire.Class, pos: pos}
	switch v := v.(type) {
	case goja.String:
		converted.text = v.String()
	case *goja.Object:
		name, ok := t.names[v]
		if !ok {
			t.fail(pos, "this handler class is not exported by a file that is required")
		}
		converted.text = name
	default:
		t.fail(pos, "the handler class is %s: is it exported by the file that is required?", v)
	}
	return converted
}

// member returns the value of the member named key in an object literal of the file, and the position of the member. If
// literal is nil or has no such member, member returns nil and pos.
func (s *source) member(literal *ast.ObjectLiteral, key string, pos position) (ast.Expression, position) {
	if literal == nil {
		return nil, pos
	}
	for _, property := range literal.Value {
		keyed, ok := property.(*ast.PropertyKeyed)
		if !ok || keyed.Computed {
			continue
		}
		if name, ok := keyed.Key.(*ast.StringLiteral); ok && name.Value.String() == key {
			return keyed.Value, s.position(keyed.Key)
		}
	}
	return nil, pos
}

// position returns the position of an expression of the file, or a position without a line if e is nil.
func (s *source) position(e ast.Expression) position {
	if e == nil || s.tree == nil {
		return position{File: s.name}
	}
	line, column := filePosition(s.tree.File.Position(int(e.Idx0()) - s.tree.File.Base()))
	return position{s.name, line, column}
}
