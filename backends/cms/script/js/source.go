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

// SourceError is an error in the code of a site, with its position.
type SourceError struct {
	File         string
	Line, Column int // 0 if unknown
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

// maxNames limits the number of required names that are stored, because a script may build a name from data of a
// client.
const maxNames = 10_000

// Code holds the compiled files of a site that have been required so far. It represents the site at one point in time:
// a file that has changed is not read again. A Code is safe for concurrent use.
type Code struct {
	mu    sync.Mutex
	files map[string]*source    // by file name
	names map[[2]string]*source // by requiring file and required name
}

// NewCode returns a Code without files.
func NewCode() *Code {
	return &Code{files: make(map[string]*source), names: make(map[[2]string]*source)}
}

// Add compiles a file that requiringFile requires by the given name. If the file has an error, it is not added, and the
// error occurs again when a script requires the file.
func (c *Code) Add(requiringFile, name, file, text string) error {
	_, err := c.add([2]string{requiringFile, name}, file, text)
	return err
}

// add compiles a file, unless it is compiled already, and records that required refers to it. required is the requiring
// file and the required name.
func (c *Code) add(required [2]string, file, text string) (*source, error) {
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
		c.names[required] = s
	}
	return s, nil
}

// find returns the file that requiringFile requires by the given name. If requiringFile has not required the name
// before, find asks the host for the file.
func (c *Code) find(host Host, requiringFile, name string) (*source, error) {
	required := [2]string{requiringFile, name}
	c.mu.Lock()
	s := c.names[required]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	reply, err := host.Ask(wire.Source, wire.AppendText(wire.AppendText(nil, requiringFile), name))
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(reply)
	file, text := r.Text(), r.Text()
	if r.Err() != nil {
		return nil, r.Err()
	}
	return c.add(required, file, text)
}

// source is a compiled file of a site.
type source struct {
	name string // relative to the site's folder
	json string // the text of a .json file
	// program evaluates to a function with the parameters exports, require and module.
	program  *goja.Program
	problems []*SourceError // problems that do not keep the file from running, such as unknown sanitizers
	// The following fields are only set for Routes.js: the syntax tree, and the expression that is assigned to
	// module.exports, if any.
	tree        *ast.Program
	exportsExpr ast.Expression
}

// Each file is wrapped in this function before it is compiled.
const (
	wrapperStart = "(function (exports, require, module) {"
	wrapperEnd   = "\n})"
)

// compile parses and compiles a JavaScript file, or validates a JSON file. It keeps the syntax tree of the routes file
// only. Errors are of type *SourceError.
func compile(name, text string) (*source, error) {
	compiled := &source{name: name}
	if path.Ext(name) == ".json" {
		var raw json.RawMessage
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			return nil, &SourceError{File: name, Message: fmt.Sprintf("not JSON: %v", err)}
		}
		compiled.json = text
		return compiled, nil
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.HasPrefix(text, "#!") {
		text = "//" + text
	}
	tree, err := parser.ParseFile(nil, name, wrapperStart+text+wrapperEnd, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, newSyntaxError(name, err)
	}
	findings := inspect(name, tree)
	compiled.problems = findings.problems
	if name == routesJS {
		compiled.tree, compiled.exportsExpr = tree, findings.exportsExpr
	}
	if compiled.program, err = goja.CompileAST(tree, true); err != nil {
		return nil, newSyntaxError(name, err)
	}
	return compiled, nil
}

// newSyntaxError converts an error of the parser or the compiler to a SourceError with its position. name is the name
// of the file.
func newSyntaxError(name string, err error) *SourceError {
	message := err.Error()
	var pos file.Position
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		pos, message = list[0].Position, list[0].Message
	} else if compiling, ok := errors.AsType[*goja.CompilerSyntaxError](err); ok {
		message = compiling.Message
		if compiling.File != nil {
			pos = compiling.File.Position(compiling.Offset)
		}
	}
	if strings.Contains(message, "reserved word") || strings.Contains(message, "import") ||
		strings.Contains(message, "export") {
		message += " (files are CommonJS: require and module.exports)"
	}
	line, column := filePosition(pos)
	return &SourceError{name, line, column, message}
}

// filePosition converts a position in the wrapped text of a file to the position in the file.
func filePosition(pos file.Position) (line, column int) {
	if pos.Line == 1 {
		return 1, max(pos.Column-len(wrapperStart), 1)
	}
	return pos.Line, pos.Column
}

// inspection collects findings in the syntax tree of a file, without running the file. name is the name of the file.
type inspection struct {
	name        string
	tree        *ast.Program
	shadowed    bool // the file declares its own sanitizer
	problems    []*SourceError
	exportsExpr ast.Expression // assigned to module.exports
}

// inspect finds the expression assigned to module.exports, and the names of unknown sanitizers, in the syntax tree of a
// wrapped file.
func inspect(name string, tree *ast.Program) *inspection {
	in := &inspection{name: name, tree: tree}
	outer, ok := tree.Body[0].(*ast.ExpressionStatement).Expression.(*ast.FunctionLiteral)
	if !ok { // the file contains a brace that closes the wrapper
		return in
	}
	for _, d := range outer.DeclarationList { // the variables declared with var
		for _, b := range d.List {
			in.noteBinding(b)
		}
	}
	for _, statement := range outer.Body.List {
		switch s := statement.(type) {
		case *ast.LexicalDeclaration:
			for _, b := range s.List {
				in.noteBinding(b)
			}
		case *ast.ExpressionStatement:
			if assign, ok := s.Expression.(*ast.AssignExpression); ok {
				if left, ok := assign.Left.(*ast.DotExpression); ok && left.Identifier.Name == "exports" {
					in.exportsExpr = assign.Right
				}
			}
		}
	}
	for _, statement := range outer.Body.List {
		walk(reflect.ValueOf(statement), in.checkSanitizer)
	}
	return in
}

// noteBinding sets in.shadowed if the file declares a variable with the name of the global object sanitizer.
func (in *inspection) noteBinding(b *ast.Binding) {
	if name, ok := b.Target.(*ast.Identifier); ok && name.Name == "sanitizer" {
		in.shadowed = true
	}
}

// checkSanitizer reports an unknown sanitizer, if n is a call such as sanitizer.text(…), sanitizer.apply(…, "text") or
// checkAndSanitizeRequiredParameters(…, ["name|text"]).
func (in *inspection) checkSanitizer(n ast.Node) {
	call, ok := n.(*ast.CallExpression)
	if !ok {
		return
	}
	callee, ok := call.Callee.(*ast.DotExpression)
	if !ok {
		return
	}
	name, arguments := string(callee.Identifier.Name), call.ArgumentList
	if name == "checkAndSanitizeRequiredParameters" && len(arguments) > 1 {
		if specs, ok := arguments[1].(*ast.ArrayLiteral); ok {
			in.checkSpecs(specs)
		}
		return
	}
	if object, ok := callee.Left.(*ast.Identifier); !ok || object.Name != "sanitizer" || in.shadowed {
		return
	}
	switch name {
	case "names": // a method without a sanitizer
	case "apply", "valid":
		if len(arguments) < 2 {
			return
		}
		if spec, ok := arguments[1].(*ast.StringLiteral); ok && !sanitize.Known(spec.Value.String()) {
			in.report(spec.Idx, sanitize.UnknownError(spec.Value.String()))
		}
	default:
		if !sanitize.Known(name) {
			in.report(callee.Identifier.Idx, sanitize.UnknownError(name))
		}
	}
}

// checkSpecs reports unknown sanitizers in the second argument of checkAndSanitizeRequiredParameters.
func (in *inspection) checkSpecs(specs *ast.ArrayLiteral) {
	for _, item := range specs.Value {
		spec, ok := item.(*ast.StringLiteral)
		if !ok {
			continue
		}
		if _, sanitizer, has := strings.Cut(spec.Value.String(), "|"); has && !sanitize.Known(sanitizer) {
			in.report(spec.Idx, sanitize.UnknownError(sanitizer))
		}
	}
}

// report adds a problem at a position of the file.
func (in *inspection) report(pos file.Idx, err error) {
	line, column := filePosition(in.tree.File.Position(int(pos) - in.tree.File.Base()))
	in.problems = append(in.problems, &SourceError{in.name, line, column, err.Error()})
}

// walk calls fn for each node of a syntax tree. It uses reflection, which is slow but short: each file is walked only
// once, when it is compiled. Declaration lists are left out, because they repeat declarations of the body.
func walk(v reflect.Value, fn func(ast.Node)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Pointer {
			if v.Type() == reflect.TypeFor[*file.File]() { // the source text is not part of the tree
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
