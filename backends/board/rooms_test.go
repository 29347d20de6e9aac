package board

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// maxRootMethods bounds what the root of the board does itself. Everything else is a method of a room.
const maxRootMethods = 25

// TestRooms holds the rooms apart: a room has others as named fields, so that what it calls of them is
// written where it is called, and no object has the methods of all. The kernel alone is embedded.
func TestRooms(t *testing.T) {
	t.Parallel()
	sources := parseRooms(t)
	rooms := map[string]bool{"board.Server": true}
	structs := make(map[string]*ast.StructType)
	methods := 0
	for folder, files := range sources {
		for _, file := range files {
			in := file.Name.Name
			if folder == "kernel" {
				continue
			}
			for _, declaration := range file.Decls {
				switch d := declaration.(type) {
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						named, ok := spec.(*ast.TypeSpec)
						if !ok {
							continue
						}
						if made, ok := named.Type.(*ast.StructType); ok {
							structs[in+"."+named.Name.Name] = made
						}
					}
				case *ast.FuncDecl:
					switch {
					case d.Recv != nil && in == "board" && typeName(in, d.Recv.List[0].Type) == "board.Server":
						methods++
					case d.Recv == nil && d.Name.Name == "New" && d.Type.Results != nil:
						rooms[typeName(in, d.Type.Results.List[0].Type)] = true
					}
				}
			}
		}
	}
	for name, made := range structs {
		in, _, _ := strings.Cut(name, ".")
		for _, field := range made.Fields.List {
			if len(field.Names) == 0 && typeName(in, field.Type) == "kernel.Server" {
				rooms[name] = true
			}
		}
	}
	for _, name := range []string{"rights.Service", "posts.Service", "accounts.Service", "admin.Service", "api.API"} {
		if !rooms[name] {
			t.Errorf("%s is not found to be a room: this test looks at nothing", name)
		}
	}
	for name, made := range structs {
		in, _, _ := strings.Cut(name, ".")
		for _, field := range made.Fields.List {
			if embedded := typeName(in, field.Type); len(field.Names) == 0 && rooms[embedded] {
				t.Errorf("%s embeds the room %s: give it a field with a name", name, embedded)
			}
		}
	}
	if methods == 0 || methods > maxRootMethods {
		t.Errorf("the root has %d methods, want 1 to %d: move what it does to the room that it is about", methods, maxRootMethods)
	}
}

// parseRooms returns the files of the board without tests, by their folders.
func parseRooms(t *testing.T) map[string][]*ast.File {
	t.Helper()
	sources := make(map[string][]*ast.File)
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		folder := filepath.Dir(path)
		sources[folder] = append(sources[folder], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// typeName returns the package and name of a type, or of what a pointer to it points to. It is empty for a
// type without a name.
func typeName(in string, expression ast.Expr) string {
	if pointer, ok := expression.(*ast.StarExpr); ok {
		expression = pointer.X
	}
	switch e := expression.(type) {
	case *ast.Ident:
		return in + "." + e.Name
	case *ast.SelectorExpr:
		if from, ok := e.X.(*ast.Ident); ok {
			return from.Name + "." + e.Sel.Name
		}
	}
	return ""
}
