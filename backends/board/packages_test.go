package board

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxRootMethods bounds what the root of the board does itself. Everything else is a method of a room.
const maxRootMethods = 25

// TestOnlyKernelIsEmbedded checks that the packages of the board have each other as named fields, so that each call
// shows which package it calls, and no object has the methods of all. Only kernel is embedded.
func TestOnlyKernelIsEmbedded(t *testing.T) {
	t.Parallel()
	sources := parseRooms(t)
	rooms := map[string]bool{"board.Server": true}
	embedded := make(map[token.Position]string) // types, by where a struct embeds them
	methods := 0
	for _, source := range sources {
		in := source.file.Name.Name
		if in == "kernel" { // rooms embed it
			continue
		}
		ast.Inspect(source.file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.TypeSpec:
				structType, ok := n.Type.(*ast.StructType)
				if ok && slices.ContainsFunc(structType.Fields.List, func(field *ast.Field) bool {
					return len(field.Names) == 0 && typeName(in, field.Type) == "kernel.Server"
				}) {
					rooms[in+"."+n.Name.Name] = true
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if len(field.Names) == 0 {
						embedded[source.set.Position(field.Pos())] = typeName(in, field.Type)
					}
				}
			case *ast.FuncDecl:
				switch {
				case n.Recv != nil && typeName(in, n.Recv.List[0].Type) == "board.Server":
					methods++
				case n.Recv == nil && n.Name.Name == "New" && n.Type.Results != nil:
					rooms[typeName(in, n.Type.Results.List[0].Type)] = true
				}
			}
			return true
		})
	}
	for _, name := range []string{"rights.Service", "posts.Service", "accounts.Service", "admin.Service", "api.API"} {
		if !rooms[name] {
			t.Errorf("%s is not found to be a room: this test looks at nothing", name)
		}
	}
	for pos, name := range embedded {
		if rooms[name] {
			t.Errorf("%s: a struct embeds the room %s: give it a field with a name", pos, name)
		}
	}
	if methods == 0 || methods > maxRootMethods {
		t.Errorf("the root has %d methods, want 1 to %d: move what it does to a room", methods, maxRootMethods)
	}
}

// source is a file of the board.
type source struct {
	set  *token.FileSet
	file *ast.File
}

// parseRooms returns the files of the board without tests.
func parseRooms(t *testing.T) (sources []source) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		sources = append(sources, source{set, file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// typeName returns the package and name of a type. For a pointer it returns those of the type to which it points. The
// result is empty for a type without a name.
func typeName(in string, expression ast.Expr) string {
	if pointer, ok := expression.(*ast.StarExpr); ok {
		expression = pointer.X
	}
	switch e := expression.(type) {
	case *ast.Ident:
		return in + "." + e.Name
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return pkg.Name + "." + e.Sel.Name
		}
	}
	return ""
}
