package tollgate_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// nounOpening matches the comment of a function that describes it as a thing. "X is like Y", which refers to another
// comment, is not matched.
var nounOpening = regexp.MustCompile(`^\S+ (?:is|are|has|have|was|were)\b(?: like\b)?`)

// maxLine is the number of characters of a line, with a tab counted as one.
const maxLine = 120

// unclearNames are words that no parameter, result or variable has for its name. A comment that mentions such a name
// cannot be read: "Register sends a link from the client address from".
var unclearNames = strings.Fields(`about after again and any asked at away back be before begin begins between both but by
	can do each either except for from given gone had have how if into is it just kept least like made make may most must
	near neither nor of off on one only onto or over past per said since so such taken than that their them then these they
	this those through to told under until upon via want wanted wants was were what when where which while who whom whose
	why with within without`)

// TestWords checks the form of comments, names and lines in the code that is not generated: the comment of a function
// says what it does and does not begin with "X is", no parameter or variable has one of the unclearNames, and a line is
// longer than maxLine only if literals, struct tags or directives, which cannot be divided, make up a third of it.
func TestWords(t *testing.T) {
	t.Parallel()
	functions := 0
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "." || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		source, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			functions++
			if opening := nounOpening.FindString(f.Doc.Text()); opening != "" && !strings.HasSuffix(opening, " like") {
				t.Errorf("%s: the comment begins with %q: say what the function does", files.Position(f.Pos()), opening)
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			longLines(t, path, source)
			if !strings.Contains(path, "/e2e/") {
				checkNames(t, files, file)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if functions < 10_000 {
		t.Errorf("only %d functions with a comment were found", functions)
	}
}

// checkNames reports the parameters, results and variables of a file that have one of the unclearNames.
func checkNames(t *testing.T, files *token.FileSet, file *ast.File) {
	t.Helper()
	check := func(expression ast.Expr) {
		if name, ok := expression.(*ast.Ident); ok && slices.Contains(unclearNames, name.Name) {
			t.Errorf("%s: %s says nothing about the value: use a noun", files.Position(name.Pos()), name.Name)
		}
	}
	checkAll := func(fields *ast.FieldList) {
		if fields == nil {
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				check(name)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncType:
			checkAll(n.Params)
			checkAll(n.Results)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, variable := range n.Lhs {
					check(variable)
				}
			}
		case *ast.RangeStmt:
			check(n.Key)
			check(n.Value)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				check(name)
			}
		}
		return true
	})
}

// longLines reports the lines of a file that are too long and could be divided.
func longLines(t *testing.T, path string, source []byte) {
	t.Helper()
	lines := strings.Split(string(source), "\n")
	quoted := make(map[int]int) // how many bytes of a line are in literals
	files := token.NewFileSet()
	file := files.AddFile(path, files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		place := files.Position(pos).Line
		switch {
		case kind == token.STRING && !strings.Contains(text, "\n"):
			quoted[place] += len(text)
		case kind == token.STRING, kind == token.COMMENT && (strings.HasPrefix(text, "//nolint") || strings.HasPrefix(text, "//go:")):
			for line := place; line <= place+strings.Count(text, "\n"); line++ {
				quoted[line] = maxLine
			}
		}
	}
	for i, line := range lines {
		if len([]rune(line)) > maxLine && quoted[i+1] < maxLine/3 && !strings.Contains(line, "://") {
			t.Errorf("%s:%d: the line has more than %d characters", path, i+1, maxLine)
		}
	}
}

// TestMarks checks that each nolint mark names a linter that .golangci.yml enables. The linter itself does not report
// marks of linters that do not run.
func TestMarks(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(".golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	mark := regexp.MustCompile("//" + `nolint:([a-z,]+)`)
	root := os.DirFS(".")
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "." || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		source, err := fs.ReadFile(root, path)
		for _, found := range mark.FindAllSubmatch(source, -1) {
			for name := range strings.SplitSeq(string(found[1]), ",") {
				if !strings.Contains(string(config), "    - "+name+"\n") {
					t.Errorf("%s has a mark for %s, which is not enabled in .golangci.yml", path, name)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
