package tollgate_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
)

// TestDocumentDefaults checks the defaults in the tables of the reference against the modules, as far as these have
// them: in a field that Provision fills, or as one value behind "Default:" in the comment of the field.
func TestDocumentDefaults(t *testing.T) {
	commentDefaults := comments(t)
	filled := provisioned(t)
	tables := make(map[string][]option)
	compared := make(map[string]bool)
	for _, id := range registeredModules(t) {
		info, err := caddy.GetModule(id)
		if err != nil {
			t.Fatal(err)
		}
		name := "docs/reference/" + pageOf(id)
		if _, err := os.Stat(name); err != nil {
			continue // a module without a page of its own
		}
		if tables[name] == nil {
			tables[name] = options(page(t, name))
		}
		walkFields(reflect.TypeOf(info.New()), func(field string, key string) {
			value, ok := filled[id][field]
			if !ok {
				value, ok = commentDefaults[key]
			}
			if !ok || !literal.MatchString(value) {
				return
			}
			for _, o := range tables[name] {
				if o.named(field) && o.module(id) {
					compared[id+" "+field] = true
					if plain(o.standard) != plain(value) {
						t.Errorf("%s: the default of %s is given as %s, and is %s", name, field, o.standard, value)
					}
				}
			}
		})
	}
	if len(compared) < 30 {
		t.Errorf("only %d defaults: they are not found any more: %v", len(compared), compared)
	}

	times := cascade.Options{}.WithDefaults()
	text := fmt.Sprintf("low %s, medium %s, high %s", times.FirstContent.Low, times.FirstContent.Medium, times.FirstContent.High)
	for field, value := range map[string]string{"first_content": text, "answer": times.Answer.High.String(), "idle": times.Idle.String()} {
		for _, o := range tables["docs/reference/cascade.md"] {
			if o.named(field) && plain(o.standard) != plain(value) {
				t.Errorf("cascade: the default of %s is given as %s, and is %s", field, o.standard, value)
			}
		}
	}
}

// pageOf returns the name of the reference page that documents the options of a module.
func pageOf(id string) string {
	if directive, ok := strings.CutPrefix(id, "http.handlers."); ok {
		return directive + ".md"
	}
	switch {
	case strings.HasPrefix(id, "http.authentication.providers."):
		return "api_auth.md"
	case id == "tollgate.gateway":
		return "catalog.md"
	case strings.HasPrefix(id, "tollgate"):
		return "tollgate-option.md"
	}
	return id + ".md"
}

// walkFields calls visit with each field of a configuration: its name in JSON, and the
// type and field that have its comment.
func walkFields(typ reflect.Type, visit func(name, key string)) {
	seen := make(map[reflect.Type]bool)
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), modulePath+"/") {
			return
		}
		seen[typ] = true
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || name == "-" || name == "" && !field.Anonymous {
				continue
			}
			if name != "" {
				visit(name, strings.TrimPrefix(typ.PkgPath(), modulePath+"/")+"."+typ.Name()+"."+field.Name)
			}
			walk(field.Type)
		}
	}
	walk(typ)
}

var standardOf = regexp.MustCompile(`(?s)\bDefault: (.*?)(?:\.\s|\.$|, since)`)

// literal is a default that a program can compare: one value, or one for each tier.
var literal = regexp.MustCompile(`^(?:low \S+, medium \S+, high \S+|"?[\w./:{}-]+"?|\d+ [KMG]iB(?:,.*)?)$`)

// comments returns the defaults that the comments of struct fields name, by package, type and field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, root := range []string{"modules", "backends"} {
		err := fs.WalkDir(os.DirFS("."), root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				spec, ok := node.(*ast.TypeSpec)
				if !ok {
					return true
				}
				fields, ok := spec.Type.(*ast.StructType)
				if !ok {
					return true
				}
				for _, field := range fields.Fields.List {
					match := standardOf.FindStringSubmatch(field.Doc.Text())
					for _, ident := range field.Names {
						if match != nil {
							found[path.Dir(name)+"."+spec.Name.Name+"."+ident.Name] = strings.Join(strings.Fields(match[1]), " ")
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// provisioned returns the fields that modules set in Provision by themselves, by module and field.
func provisioned(t *testing.T) map[string]map[string]string {
	t.Helper()
	ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]map[string]string)
	for id, required := range map[string]string{
		"http.handlers.budget":                   `{"limit":"1"}`,
		"http.authentication.providers.user_jwt": `{"audiences":["a"],"issuer":"https://id.example.com"}`,
		"tollgate.counters.redis":                `{"url":"redis://127.0.0.1"}`,
	} {
		module, err := ctx.LoadModuleByID(id, json.RawMessage(required))
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		value := reflect.ValueOf(module).Elem()
		found[id] = make(map[string]string)
		for field, v := range value.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || name == "" || v.IsZero() || strings.Contains(required, `"`+name+`"`) {
				continue
			}
			switch v := v.Interface().(type) {
			case caddy.Duration:
				found[id][name] = time.Duration(v).String()
			case string, int, int64:
				found[id][name] = fmt.Sprint(v)
			}
		}
	}
	return found
}

// option is a row of a table of the reference.
type option struct {
	cells    []string
	standard string // what stands under Default
}

// options returns the rows of the tables of a page that have a column of defaults.
func options(text string) (found []option) {
	column := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			column = -1
			continue
		}
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "/"), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
			if cells[i] == "Default" {
				column = i
			}
		}
		if column > 0 && column < len(cells) && cells[column] != "Default" && !strings.HasPrefix(cells[column], "---") {
			found = append(found, option{cells[:len(cells)-1], cells[column]})
		}
	}
	return found
}

// named reports whether the row is about the field.
func (o option) named(field string) bool {
	for _, cell := range o.cells {
		if word, _, _ := strings.Cut(strings.Trim(cell, "`"), " "); strings.Trim(word, "`,") == field && strings.HasPrefix(cell, "`") {
			return true
		}
	}
	return false
}

// module reports whether the row is about the module. A row that names no module is about all.
func (o option) module(id string) bool {
	return !strings.HasPrefix(o.cells[0], "`") || !strings.Contains(o.cells[0], "`tollgate.") || strings.Contains(o.cells[0], "`"+id+"`")
}

// plain returns a default without markup and explanations, and with durations in one form.
func plain(text string) string {
	text = strings.NewReplacer("`", "", `"`, "").Replace(text)
	if !strings.HasPrefix(text, "low ") {
		text, _, _ = strings.Cut(text, ",")
	}
	words := strings.Fields(strings.ReplaceAll(text, ",", ""))
	if len(words) == 2 && strings.HasSuffix(words[1], "iB") {
		words = []string{words[0] + words[1]}
	}
	for i, word := range words {
		if d, err := caddy.ParseDuration(word); err == nil && word != "0" {
			words[i] = d.String()
		}
	}
	return strings.Join(words, " ")
}
