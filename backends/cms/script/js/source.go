package js

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// SourceError is an error of a site's code where its author looks.
type SourceError struct {
	File         string
	Line, Column int // 0 where they are not known
	Message      string
}

func (p *SourceError) Error() string {
	text := p.File
	if p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			text += ":" + strconv.Itoa(p.Column)
		}
	}
	return text + ": " + p.Message
}

// maxNames bounds the names of files that are remembered, which may be made of what a client has sent.
const maxNames = 10_000

// Code is the code of a site as it was at one moment: the files that were read so far, compiled. It is safe for
// concurrent use.
type Code struct {
	mu    sync.Mutex
	files map[string]*source
	names map[[2]string]*source // by the file that requires, and the name in it
}

// NewCode makes a Code without files.
func NewCode() *Code {
	return &Code{files: make(map[string]*source), names: make(map[[2]string]*source)}
}

// Add compiles a file that another one, from, requires by a name. Of a file that is not good it keeps nothing: the
// error is that of the file when it is required.
func (c *Code) Add(from, name, file, text string) error {
	_, err := c.add([2]string{from, name}, file, text)
	return err
}

func (c *Code) add(as [2]string, file, text string) (*source, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.files[file]
	if s == nil {
		var err error
		if s, err = compile(file, text); err != nil {
			return nil, err
		}
		c.files[file] = s
	}
	if len(c.names) < maxNames {
		c.names[as] = s
	}
	return s, nil
}

// find is the file that a name means in another one. The host finds what nobody has asked for yet.
func (c *Code) find(host Host, from, name string) (*source, error) {
	as := [2]string{from, name}
	c.mu.Lock()
	s := c.names[as]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	reply, err := host.Ask(wire.Source, wire.AppendText(wire.AppendText(nil, from), name))
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(reply)
	file, text := r.Text(), r.Text()
	if r.Err() != nil {
		return nil, r.Err()
	}
	return c.add(as, file, text)
}

// source is a file of a site's code, compiled.
type source struct {
	name string // from the site's folder on
	json string // of a .json file: its text
	// program makes a function of exports, require, module.
	program  *goja.Program
	problems []*SourceError // that do not keep it from running
	// Of Routes.js: what it says, and what module.exports is set to, if that is written out.
	tree      *ast.Program
	exportsAt ast.Expression
}

// What stands around a file.
const (
	before = "(function (exports, require, module) {"
	behind = "\n})"
)

func compile(name, text string) (*source, error) {
	made := &source{name: name}
	if path.Ext(name) == ".json" {
		var any json.RawMessage
		if err := json.Unmarshal([]byte(text), &any); err != nil {
			return nil, &SourceError{File: name, Message: fmt.Sprintf("not JSON: %v", err)}
		}
		made.json = text
		return made, nil
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.HasPrefix(text, "#!") {
		text = "//" + text
	}
	tree, err := parser.ParseFile(nil, name, before+text+behind, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, syntax(name, err)
	}
	l := look(name, tree)
	made.problems = l.problems
	if name == routesJS {
		made.tree, made.exportsAt = tree, l.value
	}
	if made.program, err = goja.CompileAST(tree, true); err != nil {
		return nil, syntax(name, err)
	}
	return made, nil
}

// syntax is an error of the parser or the compiler.
func syntax(name string, err error) *SourceError {
	message := err.Error()
	var at file.Position
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		at, message = list[0].Position, list[0].Message
	} else if compiling, ok := errors.AsType[*goja.CompilerSyntaxError](err); ok {
		message = compiling.Message
		if compiling.File != nil {
			at = compiling.File.Position(compiling.Offset)
		}
	}
	if strings.Contains(message, "reserved word") || strings.Contains(message, "import") || strings.Contains(message, "export") {
		message += " (files are CommonJS: require and module.exports)"
	}
	line, column := place(at)
	return &SourceError{name, line, column, message}
}

// place is a position in the file as its author wrote it.
func place(at file.Position) (line, column int) {
	if at.Line == 1 {
		return 1, max(at.Column-len(before), 1)
	}
	return at.Line, at.Column
}

// looking is what is seen in a file without running it.
type looking struct {
	name     string
	tree     *ast.Program
	own      bool // the file declares a sanitizer of its own
	problems []*SourceError
	value    ast.Expression // of module.exports
}

// look finds what module.exports is set to, and names of sanitizers that are none.
func look(name string, tree *ast.Program) *looking {
	l := &looking{name: name, tree: tree}
	outer, ok := tree.Body[0].(*ast.ExpressionStatement).Expression.(*ast.FunctionLiteral)
	if !ok { // it closes the function around it
		return l
	}
	for _, d := range outer.DeclarationList {
		for _, b := range d.List {
			l.declared(b)
		}
	}
	for _, statement := range outer.Body.List {
		switch s := statement.(type) {
		case *ast.LexicalDeclaration:
			for _, b := range s.List {
				l.declared(b)
			}
		case *ast.ExpressionStatement:
			if assign, ok := s.Expression.(*ast.AssignExpression); ok {
				if left, ok := assign.Left.(*ast.DotExpression); ok && left.Identifier.Name == "exports" {
					l.value = assign.Right
				}
			}
		}
	}
	for _, statement := range outer.Body.List {
		walk(reflect.ValueOf(statement), l.sees)
	}
	return l
}

func (l *looking) declared(b *ast.Binding) {
	if name, ok := b.Target.(*ast.Identifier); ok && name.Name == "sanitizer" {
		l.own = true
	}
}

// sees finds sanitizers that are none where their names are written out.
func (l *looking) sees(n ast.Node) {
	call, ok := n.(*ast.CallExpression)
	if !ok {
		return
	}
	callee, ok := call.Callee.(*ast.DotExpression)
	if !ok {
		return
	}
	of, _ := callee.Left.(*ast.Identifier)
	switch name := string(callee.Identifier.Name); {
	case name == "checkAndSanitizeRequiredParameters" && len(call.ArgumentList) > 1:
		specs, _ := call.ArgumentList[1].(*ast.ArrayLiteral)
		if specs == nil {
			return
		}
		for _, item := range specs.Value {
			if spec, ok := item.(*ast.StringLiteral); ok {
				if _, sanitizer, has := strings.Cut(spec.Value.String(), "|"); has && !sanitize.Known(sanitizer) {
					l.report(spec.Idx, sanitize.UnknownError(sanitizer))
				}
			}
		}
	case of != nil && of.Name == "sanitizer" && !l.own && name != "apply" && name != "valid" && name != "names" && !sanitize.Known(name):
		l.report(callee.Identifier.Idx, sanitize.UnknownError(name))
	case of != nil && of.Name == "sanitizer" && !l.own && (name == "apply" || name == "valid") && len(call.ArgumentList) > 1:
		if spec, ok := call.ArgumentList[1].(*ast.StringLiteral); ok && !sanitize.Known(spec.Value.String()) {
			l.report(spec.Idx, sanitize.UnknownError(spec.Value.String()))
		}
	}
}

func (l *looking) report(at file.Idx, err error) {
	line, column := place(l.tree.File.Position(int(at) - l.tree.File.Base()))
	l.problems = append(l.problems, &SourceError{l.name, line, column, err.Error()})
}

// walk calls fn for each node. Files are looked at once, when they are loaded.
func walk(v reflect.Value, fn func(ast.Node)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Pointer {
			if v.Type() == reflect.TypeFor[*file.File]() {
				return
			}
			if n, ok := reflect.TypeAssert[ast.Node](v); ok {
				fn(n)
			}
		}
		walk(v.Elem(), fn)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "DeclarationList" {
				walk(v.Field(i), fn)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), fn)
		}
	default: // a plain value
	}
}
