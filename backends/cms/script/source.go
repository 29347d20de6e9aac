package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
)

// maxSource bounds a file of a site's code.
const maxSource = 4 << 20

// problem is an error of a site's code where its author looks.
func problem(file string, line, column int, message string) *routes.Error {
	return &routes.Error{At: routes.Position{File: file, Line: line, Column: column}, Message: message}
}

// source is a file of a site's code, compiled.
type source struct {
	name string // from the site's folder on
	json string // of a .json file: its text
	// program makes a function of exports, require, module, which returns what the
	// file declares.
	program *goja.Program
	// keeps: what a call does may stay in what the file declares, so each call has it
	// made anew.
	keeps    bool
	problems []*routes.Error // that do not keep it from running
	// Of Routes.js: what it says, and what module.exports is set to, if that is written out.
	tree      *ast.Program
	exportsAt ast.Expression
}

// sources are the files of a site, each read and compiled once.
type sources struct {
	root *os.Root

	mu    sync.Mutex
	files map[string]*source
}

// find is the file that a name means in another one. The name is a path with ./ or ../
// at its beginning, or / for the site's folder; .js may be left out.
func (s *sources) find(from, name string) (*source, error) {
	var at string
	switch {
	case strings.HasPrefix(name, "./"), strings.HasPrefix(name, "../"), name == ".", name == "..":
		at = path.Join(path.Dir(from), name)
	case strings.HasPrefix(name, "/"):
		at = path.Clean(name)[1:]
	default:
		return nil, fmt.Errorf("%s is not a file of the site: names begin with ./ or ../, and packages are not loaded", quote(name))
	}
	if at == ".." || strings.HasPrefix(at, "../") {
		return nil, fmt.Errorf("%s is outside of the site", quote(name))
	}
	switch first, _, inside := strings.Cut(at, "/"); {
	case at == "config.json":
		return nil, errors.New("config.json holds secrets: what handlers may know of it is in config")
	case inside && (first == "files" || first == "cache"):
		return nil, fmt.Errorf("%s: what was uploaded is not code", quote(name))
	}
	ext := path.Ext(at)
	if ext == ".js" || ext == ".json" {
		return s.read(at)
	}
	for _, more := range []string{".js", ".json", "/index.js"} {
		if found, err := s.read(at + more); !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
	}
	return nil, fmt.Errorf("there is no file %s; it is .js or .json", quote(at))
}

func quote(s string) string { return "'" + s + "'" }

func (s *sources) read(at string) (*source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.files[at]; ok {
		return found, nil
	}
	f, err := s.root.Open(at) // which no link leads out of
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &missingError{at}
		}
		return nil, fmt.Errorf("reading %s: %w", at, err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &missingError{at}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", at, err)
	}
	if len(text) > maxSource {
		return nil, problem(at, 0, 0, "longer than 4 MiB")
	}
	made, err := compile(at, string(text))
	if err != nil {
		return nil, err
	}
	s.files[at] = made
	return made, nil
}

type missingError struct{ file string }

func (e *missingError) Error() string { return "there is no file " + quote(e.file) }

func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }

// What stands around a file.
const (
	before = "(function (exports, require, module) {"
	behind = "\n})"
)

func compile(name, text string) (*source, error) {
	made := &source{name: name}
	if path.Ext(name) == ".json" {
		if err := validJSON(text); err != nil {
			return nil, problem(name, 0, 0, err.Error())
		}
		made.json = text
		return made, nil
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.HasPrefix(text, "#!") {
		text = "//" + text
	}
	tree, err := parse(name, before+text+behind)
	if err != nil {
		return nil, err
	}
	l := look(name, tree)
	made.keeps, made.problems = l.keeps, l.problems
	if name == routesJS {
		made.tree, made.exportsAt = tree, l.value
	}
	if !l.keeps { // what it declares is asked for, to be frozen
		if tree, err = parse(name, before+text+"\nreturn ["+strings.Join(l.declared, ", ")+"];"+behind); err != nil {
			return nil, err
		}
	}
	if made.program, err = goja.CompileAST(tree, true); err != nil {
		return nil, syntax(name, err)
	}
	return made, nil
}

func parse(name, text string) (*ast.Program, error) {
	tree, err := parser.ParseFile(nil, name, text, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, syntax(name, err)
	}
	return tree, nil
}

// syntax is an error of the parser or the compiler.
func syntax(name string, err error) *routes.Error {
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
	return problem(name, line, column, message)
}

// place is a position in the file as its author wrote it.
func place(at file.Position) (line, column int) {
	if at.Line == 1 {
		return 1, max(at.Column-len(before), 1)
	}
	return at.Line, at.Column
}

func validJSON(text string) error {
	if deepJSON(text) {
		return errTooDeep
	}
	var any json.RawMessage
	if err := json.Unmarshal([]byte(text), &any); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return nil
}

// looking is what is seen in a file without running it.
type looking struct {
	name     string
	tree     *ast.Program
	declared []string                     // by the file, outside of functions
	own      map[string]bool              // those
	instance map[*ast.ThisExpression]bool // of constructors and of methods that are not static
	keeps    bool
	problems []*routes.Error
	value    ast.Expression // of module.exports
}

// look decides whether a call could leave something in what a file declares. It may
// where the file declares more than functions, classes, plain values and what it
// requires, or where it assigns to something of these. What this does not see is
// frozen.
func look(name string, tree *ast.Program) *looking {
	l := &looking{name: name, tree: tree, own: map[string]bool{"module": true, "exports": true, "require": true}, instance: make(map[*ast.ThisExpression]bool)}
	outer, ok := tree.Body[0].(*ast.ExpressionStatement).Expression.(*ast.FunctionLiteral)
	if !ok { // it closes the function around it
		l.keeps = true
		return l
	}
	for _, statement := range outer.Body.List {
		l.declares(statement)
		if s, ok := statement.(*ast.ExpressionStatement); ok {
			if assign, ok := s.Expression.(*ast.AssignExpression); ok {
				if left, ok := assign.Left.(*ast.DotExpression); ok && left.Identifier.Name == "exports" {
					l.value = assign.Right
				}
			}
		}
	}
	for _, statement := range outer.Body.List {
		walk(reflect.ValueOf(statement), l.sees)
		if l.exports(statement) { // what it assigns to is the export
			right := statement.(*ast.ExpressionStatement).Expression.(*ast.AssignExpression).Right
			walk(reflect.ValueOf(right), l.assigns)
			continue
		}
		walk(reflect.ValueOf(statement), l.assigns)
	}
	return l
}

// declares looks at a statement outside of functions.
func (l *looking) declares(statement ast.Statement) {
	switch s := statement.(type) {
	case *ast.FunctionDeclaration:
		l.add(string(s.Function.Name.Name))
	case *ast.ClassDeclaration:
		l.add(string(s.Class.Name.Name))
		l.class(s.Class)
	case *ast.LexicalDeclaration:
		for _, b := range s.List {
			l.binding(b)
			if s.Token.String() != "const" && !plain(b.Initializer) {
				l.keeps = true
			}
		}
	case *ast.VariableStatement:
		for _, b := range s.List {
			l.binding(b)
		}
	case *ast.ExpressionStatement:
		if _, is := s.Expression.(*ast.StringLiteral); !is && !l.exports(s) {
			l.keeps = true
		}
	case *ast.EmptyStatement:
	default:
		l.keeps = true
	}
}

func (l *looking) add(name string) {
	l.declared = append(l.declared, name)
	l.own[name] = true
}

// binding is const x = …, or const { a, b } = require(…).
func (l *looking) binding(b *ast.Binding) {
	switch target := b.Target.(type) {
	case *ast.Identifier:
		l.add(string(target.Name))
	case *ast.ObjectPattern:
		for _, p := range target.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				l.add(string(p.Name.Name))
			case *ast.PropertyKeyed:
				if to, ok := p.Value.(*ast.Identifier); ok {
					l.add(string(to.Name))
					continue
				}
				l.keeps = true
			default:
				l.keeps = true
			}
		}
		if target.Rest != nil {
			l.keeps = true
		}
	default:
		l.keeps = true
	}
	switch made := b.Initializer.(type) {
	case *ast.ClassLiteral:
		l.class(made)
	case *ast.FunctionLiteral:
		l.named(made.Name)
	case *ast.ArrowFunctionLiteral:
	default:
		if !plain(made) && !requires(made) {
			l.keeps = true
		}
	}
}

// plain are values that nothing can be left in.
func plain(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.StringLiteral, *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return true
	case *ast.TemplateLiteral:
		return len(e.Expressions) == 0
	case *ast.UnaryExpression:
		return plain(e.Operand) && e.Operator.String() == "-"
	case *ast.RegExpLiteral:
		return !strings.ContainsAny(e.Flags, "gy")
	case *ast.ArrayLiteral: // frozen with what it holds
		for _, item := range e.Value {
			if item != nil && !plain(item) {
				return false
			}
		}
		return true
	case *ast.ObjectLiteral:
		for _, p := range e.Value {
			keyed, ok := p.(*ast.PropertyKeyed)
			if !ok || keyed.Computed || keyed.Kind != ast.PropertyKindValue || !plain(keyed.Value) {
				return false
			}
		}
		return true
	}
	return false
}

// requires is require('…') and what is taken of it.
func requires(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.DotExpression:
		return requires(e.Left)
	case *ast.CallExpression:
		callee, ok := e.Callee.(*ast.Identifier)
		return ok && callee.Name == "require" && len(e.ArgumentList) == 1
	}
	return false
}

// named is a class or a function that has its name only for itself.
func (l *looking) named(name *ast.Identifier) {
	if name != nil {
		l.own[string(name.Name)] = true
	}
}

// class: fields of the class itself may be written.
func (l *looking) class(c *ast.ClassLiteral) {
	l.named(c.Name)
	for _, element := range c.Body {
		switch e := element.(type) {
		case *ast.MethodDefinition:
			l.keeps = l.keeps || e.Computed
		case *ast.FieldDefinition:
			l.keeps = l.keeps || e.Static || e.Computed
		default:
			l.keeps = true
		}
	}
	if c.SuperClass != nil {
		if _, ok := c.SuperClass.(*ast.Identifier); !ok {
			l.keeps = true
		}
	}
}

// exports is module.exports = … and exports.x = … outside of functions.
func (l *looking) exports(statement ast.Statement) bool {
	s, ok := statement.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	assign, ok := s.Expression.(*ast.AssignExpression)
	if !ok {
		return false
	}
	left, ok := assign.Left.(*ast.DotExpression)
	if !ok {
		return false
	}
	to, ok := left.Left.(*ast.Identifier)
	if !ok || to.Name != "exports" && (to.Name != "module" || left.Identifier.Name != "exports") {
		return false
	}
	return l.exported(assign.Right)
}

// exported is a name, a class, a function, or an object or a list of them.
func (l *looking) exported(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.Identifier, *ast.ArrowFunctionLiteral:
		return true
	case *ast.FunctionLiteral:
		l.named(e.Name)
		return true
	case *ast.ClassLiteral:
		l.class(e)
		return true
	case *ast.ArrayLiteral:
		for _, item := range e.Value {
			if item != nil && !l.exported(item) {
				return false
			}
		}
		return true
	case *ast.ObjectLiteral:
		for _, p := range e.Value {
			switch p := p.(type) {
			case *ast.PropertyShort:
			case *ast.PropertyKeyed:
				if p.Computed || p.Kind == ast.PropertyKindGet || p.Kind == ast.PropertyKindSet || !l.exported(p.Value) {
					return false
				}
			default:
				return false
			}
		}
		return true
	}
	return plain(e) || requires(e)
}

// assigns looks for what is written that is not of a call: a name of the file, a part
// of one, or of this, or of what a call returned.
func (l *looking) assigns(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignExpression:
		l.written(n.Left)
	case *ast.UnaryExpression:
		if op := n.Operator.String(); op == "++" || op == "--" || op == "delete" {
			l.written(n.Operand)
		}
	case *ast.ForInStatement:
		if into, ok := n.Into.(*ast.ForIntoExpression); ok {
			l.written(into.Expression)
		}
	case *ast.ForOfStatement:
		if into, ok := n.Into.(*ast.ForIntoExpression); ok {
			l.written(into.Expression)
		}
	}
}

func (l *looking) written(e ast.Expression) {
	for {
		switch left := e.(type) {
		case *ast.Identifier:
			l.keeps = l.keeps || l.own[string(left.Name)]
			return
		case *ast.DotExpression:
			e = left.Left
		case *ast.BracketExpression:
			e = left.Left
		case *ast.ThisExpression:
			l.keeps = l.keeps || !l.instance[left]
			return
		default: // a call, a pattern, a private field
			l.keeps = true
			return
		}
	}
}

// sees finds what this is in methods, and sanitizers that are none where their names
// are written out.
func (l *looking) sees(n ast.Node) {
	if method, ok := n.(*ast.MethodDefinition); ok && !method.Static {
		walk(reflect.ValueOf(method.Body), func(n ast.Node) {
			if this, ok := n.(*ast.ThisExpression); ok {
				l.instance[this] = true
			}
		})
	}
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
	case of != nil && of.Name == "sanitizer" && !l.own["sanitizer"] && name != "apply" && name != "valid" && name != "names" && !sanitize.Known(name):
		l.report(callee.Identifier.Idx, sanitize.UnknownError(name))
	case of != nil && of.Name == "sanitizer" && !l.own["sanitizer"] && (name == "apply" || name == "valid") && len(call.ArgumentList) > 1:
		if spec, ok := call.ArgumentList[1].(*ast.StringLiteral); ok && !sanitize.Known(spec.Value.String()) {
			l.report(spec.Idx, sanitize.UnknownError(spec.Value.String()))
		}
	}
}

func (l *looking) report(at file.Idx, err error) {
	line, column := place(l.tree.File.Position(int(at) - l.tree.File.Base()))
	l.problems = append(l.problems, problem(l.name, line, column, err.Error()))
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
