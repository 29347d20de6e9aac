// Package localetest finds the texts that a program shows, in its templates and its source, and compares them with a
// catalogue. A test of each service that has catalogues uses it:
//
//	texts := localetest.New()
//	texts.Templates(t, files, "templates/*.html")
//	texts.Source(t, ".", nil)
//	texts.Check(t, "de", catalogue)
package localetest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// Texts are the texts that a program shows.
type Texts struct {
	texts        map[string]string // the place of use by text
	untranslated []string          // reports of texts that are in English only
	plurals      map[string]bool   // the texts with a number, by the form "other"
	messages     map[string]string // the place of use by sample of a message
}

// New returns an empty set of texts.
func New() *Texts {
	return &Texts{texts: make(map[string]string), plurals: make(map[string]bool), messages: make(map[string]string)}
}

// Text adds texts that Templates and Source do not find.
func (x *Texts) Text(english ...string) {
	for _, text := range english {
		x.texts[text] = "the test"
	}
}

// Message adds messages that Source does not find.
func (x *Texts) Message(english ...string) {
	for _, text := range english {
		x.messages[text] = "the test"
	}
}

// Except removes messages from x, because no page shows them. The test fails if one of them is not in x.
func (x *Texts) Except(t testing.TB, english ...string) {
	t.Helper()
	for _, text := range english {
		if x.messages[text] == "" {
			t.Errorf("the message %q is made nowhere", text)
		}
		delete(x.messages, text)
	}
}

// Variable adds the texts in the value of a Go file's variable, except for the keys of maps.
func (x *Texts) Variable(t testing.TB, file, name string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	oldLen := len(x.texts)
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == name {
			x.literals(file, spec.Values[0])
		}
		return true
	})
	if len(x.texts) == oldLen {
		t.Errorf("%s has no texts in %s", name, file)
	}
}

// literals adds the string literals of an expression. location is the place in the source to report.
func (x *Texts) literals(location string, e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			x.literals(location, pair.Value)
			return false
		}
		if literal, ok := n.(*ast.BasicLit); ok {
			if text, ok := constant(literal); ok {
				x.texts[text] = location
			}
		}
		return true
	})
}

// Templates adds the texts of the templates that match a pattern. These are the first argument of the functions t and
// of methods T, and the form "other" in the arguments of the functions tn and of methods Tn. Check reports words that
// stand in a template outside of such calls.
func (x *Texts) Templates(t testing.TB, files fs.FS, pattern string) {
	t.Helper()
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no templates %s: %v", pattern, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		x.Template(t, name, string(text))
	}
}

// Template adds the texts of one template.
func (x *Texts) Template(t testing.TB, name, text string) {
	t.Helper()
	trees := make(map[string]*parse.Tree)
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		t.Fatal(err)
	}
	for _, tree := range trees {
		if tree.Root == nil {
			continue
		}
		x.node(name, tree.Root)
		for _, words := range bare(tree.Root) {
			x.untranslated = append(x.untranslated, fmt.Sprintf("%s, template %s: %q is in English only", name, tree.Name, words))
		}
	}
}

// node adds the texts of a node and the nodes below it. location is the place in the source to report.
func (x *Texts) node(location string, node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				x.node(location, child)
			}
		}
	case *parse.ActionNode:
		x.node(location, n.Pipe)
	case *parse.TemplateNode:
		x.node(location, n.Pipe)
	case *parse.IfNode:
		x.branch(location, &n.BranchNode)
	case *parse.WithNode:
		x.branch(location, &n.BranchNode)
	case *parse.RangeNode:
		x.branch(location, &n.BranchNode)
	case *parse.PipeNode:
		if n != nil {
			for _, command := range n.Cmds {
				x.command(location, command)
			}
		}
	}
}

// branch adds the texts of an if, with or range; see node.
func (x *Texts) branch(location string, n *parse.BranchNode) {
	x.node(location, n.Pipe)
	x.node(location, n.List)
	x.node(location, n.ElseList)
}

// command adds the texts of a call and of its arguments, which may be calls in parentheses; see node.
func (x *Texts) command(location string, command *parse.CommandNode) {
	for _, arg := range command.Args {
		x.node(location, arg)
	}
	// text returns argument i of the command, counted from 1, if it is a string literal, and "" otherwise.
	text := func(i int) string {
		if i < len(command.Args) {
			if s, ok := command.Args[i].(*parse.StringNode); ok {
				return s.Text
			}
		}
		return ""
	}
	switch name := command.Args[0].String(); {
	case name == "t" || strings.HasSuffix(name, ".T"):
		if text(1) != "" { // otherwise it is a value; see Text and Variable
			x.texts[text(1)] = location
		}
	case name == "tn" || strings.HasSuffix(name, ".Tn"):
		x.texts[text(3)], x.plurals[text(3)] = location, true
	}
}

// action replaces an action in the text of a template.
const action = "\x00"

var (
	// spoken matches an attribute that readers see or hear. Its value is in one of the groups.
	spoken = regexp.MustCompile(`(?:alt|title|placeholder|label|aria-label)="([^"]*)"|data-[a-z]+="(\p{Lu}[^"]*)"`)
	// markup matches what readers do not see, and code, which is the same in all languages.
	markup = regexp.MustCompile(`(?s)<code[ >].*?</code>|<style[ >].*?</style>|<[^>]*>|&[a-z]+;|[?&]\w+=`)
	// english matches words, with the actions between them.
	english = regexp.MustCompile(`[\p{L}\x00' ]*\p{Ll}[\p{L}\x00' ]+`)
)

// bare returns the words of a template that readers see and that are not made by actions.
func bare(root *parse.ListNode) (words []string) {
	var text strings.Builder
	writeText(&text, root)
	var visible strings.Builder
	visible.WriteString(markup.ReplaceAllString(text.String(), "\n"))
	for _, attribute := range spoken.FindAllStringSubmatch(text.String(), -1) {
		visible.WriteString("\n" + attribute[1] + attribute[2])
	}
	for _, found := range english.FindAllString(visible.String(), -1) {
		words = append(words, strings.TrimSpace(strings.ReplaceAll(found, action, "…")))
	}
	return words
}

// writeText writes the text of nodes. Instead of each action with a result, it writes the constant action.
func writeText(out *strings.Builder, nodes ...*parse.ListNode) {
	for _, list := range nodes {
		if list == nil { // there is no else
			continue
		}
		for _, node := range list.Nodes {
			switch n := node.(type) {
			case *parse.TextNode:
				out.Write(n.Text)
			case *parse.IfNode:
				writeText(out, n.List, n.ElseList)
			case *parse.WithNode:
				writeText(out, n.List, n.ElseList)
			case *parse.RangeNode:
				writeText(out, n.List, n.ElseList)
			case *parse.ActionNode:
				if len(n.Pipe.Decl) == 0 { // not the declaration of a variable
					out.WriteString(action)
				}
			default:
				out.WriteString(action)
			}
		}
	}
}

// Source adds the texts of the Go files of a folder, except for tests: the texts in calls of T, Translate,
// TranslateHTML, Plural and PluralHTML, and the messages of errors. composers are further functions whose messages
// are shown, with the index of the message's argument. If fileNames is not empty, only the files with these names
// are read.
func (x *Texts) Source(t testing.TB, folder string, composers map[string]int, fileNames ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			len(fileNames) > 0 && !slices.Contains(fileNames, name) {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(folder, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil {
				x.expression(files.Position(n.Pos()).String(), n, composers)
			}
			return true
		})
	}
}

// expression adds the texts of a call, and the message of an error that is written as a struct; see Source. It does not
// look at the nodes below n.
func (x *Texts) expression(location string, n ast.Node, composers map[string]int) {
	// message adds the message that arg makes, followed by suffix.
	message := func(arg ast.Expr, suffix string) {
		if text, ok := sample(arg); ok && text != "" && text != samplePart {
			x.messages[text+suffix] = location
		}
	}
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Message" {
			message(n.Value, "")
		}
	case *ast.CallExpr:
		name := called(n.Fun)
		short := name[strings.LastIndex(name, ".")+1:] // equal to name for a function of the package itself
		// arg returns an argument if it is a string literal.
		arg := func(i int) (text string, ok bool) {
			if i < len(n.Args) {
				return constant(n.Args[i])
			}
			return "", false
		}
		switch {
		case name == "apierror.New" && len(n.Args) > 2:
			message(n.Args[2], "")
		case name == "apierror.Unavailable":
			message(n.Args[0], " is not available right now, try again shortly")
		case short == "T" || short == "Translate" || short == "TranslateHTML":
			if text, ok := arg(0); ok && name != short {
				x.texts[text] = location
			}
		case short == "Plural" || short == "PluralHTML":
			if text, ok := arg(2); ok && strings.Contains(text, "{n}") {
				x.texts[text], x.plurals[text] = location, true
			}
		}
		if i, ok := titles[short]; ok && name != short {
			if text, ok := arg(i); ok && text != "" {
				x.untranslated = append(x.untranslated, fmt.Sprintf("%s: %q is in English only", location, text))
			}
		}
		if i, ok := composers[name]; ok && i < len(n.Args) {
			message(n.Args[i], "")
		}
	}
}

// titles are the methods of pages.Call that show a title or a notice, with the index of the argument.
var titles = map[string]int{"Show": 1, "ShowForm": 2, "Redirect": 1, "Then": 2}

// called returns the name of a called function, with its package or receiver if that is a name.
func called(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return called(f.X) + "." + f.Sel.Name
	}
	return ""
}

// constant returns the value of a string literal.
func constant(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// samplePart replaces the parts of a message that are known only when the program runs.
const samplePart = "X"

var verb = regexp.MustCompile(`%[a-z]`)

// sample returns an example of the message that an expression makes. ok is false for an expression that is neither a
// text, a sum of texts, nor a call of fmt.Sprintf.
func sample(e ast.Expr) (message string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, ok := constant(e)
		return verb.ReplaceAllString(text, samplePart), ok
	case *ast.BinaryExpr:
		left, _ := sample(e.X)
		right, _ := sample(e.Y)
		return cmp.Or(left, samplePart) + cmp.Or(right, samplePart), true
	case *ast.CallExpr:
		if called(e.Fun) == "fmt.Sprintf" {
			return sample(e.Args[0])
		}
	}
	return "", false
}

// Check compares the texts with a catalogue, whose language has the given tag. The test fails for each text that is
// in English only or not in the catalogue, for each unused entry, and for each translation whose placeholders differ
// from those of the English text.
func (x *Texts) Check(t testing.TB, tag string, catalogue []byte) {
	t.Helper()
	for _, fault := range x.faults(tag, catalogue) {
		t.Error(fault)
	}
}

// faults returns the faults for which Check fails.
func (x *Texts) faults(tag string, catalogue []byte) (list []string) {
	file, err := locale.Parse(catalogue)
	if err != nil {
		return []string{err.Error()}
	}
	report := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	list = append(list, x.untranslated...)
	x.checkTexts(tag, file, report)
	x.checkMessages(tag, file, report)
	return list
}

// checkTexts reports the faults of a catalogue's texts.
func (x *Texts) checkTexts(tag string, file *locale.File, report func(format string, args ...any)) {
	for _, text := range slices.Sorted(maps.Keys(x.texts)) {
		forms := file.Texts[text]
		switch {
		case forms == nil:
			report("%s: %s lacks the text %q", x.texts[text], tag, text)
		case x.plurals[text] != (forms[""] == ""): // "" is the category of a text without a number
			report("%s: in %s, the text %q must have plural forms just if it has a number", x.texts[text], tag, text)
		}
	}
	for _, english := range slices.Sorted(maps.Keys(file.Texts)) {
		if x.texts[english] == "" {
			report("%s has the text %q, which is used nowhere", tag, english)
		}
		for category, text := range file.Texts[english] {
			optional := ""
			if category != "" && category != "other" {
				optional = "n" // "one code", in words
			}
			if !samePlaceholders(english, text, optional) {
				report("%s: the placeholders of %q are not those of %q", tag, text, english)
			}
		}
	}
}

// checkMessages reports the faults of a catalogue's messages.
func (x *Texts) checkMessages(tag string, file *locale.File, report func(format string, args ...any)) {
	matched := make(map[string]bool) // the messages of the catalogue that the program makes
	for _, message := range slices.Sorted(maps.Keys(x.messages)) {
		found := false
		for english := range file.Messages {
			if matches(english, message) {
				found, matched[english] = true, true
			}
		}
		if !found {
			report("%s: %s lacks the message %q", x.messages[message], tag, message)
		}
	}
	for _, english := range slices.Sorted(maps.Keys(file.Messages)) {
		if !matched[english] {
			report("%s has the message %q, which is made nowhere", tag, english)
		}
		if !samePlaceholders(english, file.Messages[english], "") {
			report("%s: the placeholders of %q are not those of %q", tag, file.Messages[english], english)
		}
	}
}

// matches reports whether sample could be made from an English message by filling the placeholders of the message.
func matches(english, sample string) bool {
	expression := regexp.QuoteMeta(strings.TrimSuffix(english, "."))
	for _, name := range locale.Placeholders(english) {
		expression = strings.Replace(expression, regexp.QuoteMeta("{"+name+"}"), ".+", 1)
	}
	return regexp.MustCompile("(?is)^" + expression + "$").MatchString(strings.TrimSuffix(sample, "."))
}

// samePlaceholders reports whether two texts have the same placeholders. The placeholder called optionalName may be
// missing in the translation. optionalName may be empty.
func samePlaceholders(english, text, optionalName string) bool {
	a, b := locale.Placeholders(english), locale.Placeholders(text)
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Contains(b, optionalName) {
		a = slices.DeleteFunc(a, func(name string) bool { return name == optionalName })
	}
	return slices.Equal(a, b)
}
