package localetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const page = `{{define "main"}}<h1>{{t "Sign in"}}</h1>{{with .Name}}{{t "As {name}" "name" (printf "%s" .)}}{{else}}{{$.T "Nobody"}}{{end}}
{{range .List}}{{tn .N "{n} code" "{n} codes"}}{{end}}{{template "x" (link (t "Inside") "y")}}{{end}}`

const source = `package x

const one = "not a text"

var list = map[string]string{"not a text either": "Of a variable"}

func f(c *call) error {
	c.Form.Text("field")
	c.T("Saved")
	in.Plural(n, "{n} day", "{n} days")
	return apierror.New(400, "code", "there are %d " + what)
}

func g() error { return says("too long: " + name) }
`

const titled = `package x

func f(c *call) error {
	c.Show("page", "A title", nil)
	c.Show("page", c.T("Of"), nil)
	return c.Redirect("/", "")
}
`

// TestUntranslatedWordsAreFound checks that words outside of the catalogue are found, in templates and in titles, and
// nothing else.
func TestUntranslatedWordsAreFound(t *testing.T) {
	t.Parallel()
	texts := New()
	texts.Template(t, "good.html", `{{define "main"}}<h1 class="big">{{t "Sign in"}}</h1><input placeholder="XXXX-XXXX" aria-label="{{t "Name"}}">`+
		`<p>#{{.Number}}, <code>brd_{{.Lookup}}</code> &amp; <a href="/x?a=b">{{.Name}}</a></p>{{end}}{{define "query"}}{{with .X}}?redirect={{.}}{{end}}{{end}}`)
	if len(texts.untranslated) > 0 {
		t.Errorf("a good template has %q", texts.untranslated)
	}
	texts.Template(t, "bad.html", `<p>{{if .X}}By{{else}}{{t "Of"}}{{end}} {{.Name}}</p><a aria-label="Post {{.Number}}">x</a>{{range .L}}<b>, more</b>{{end}}`)
	file := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(file, []byte(titled), 0o600); err != nil {
		t.Fatal(err)
	}
	texts.Source(t, filepath.Dir(file), nil)
	for i, words := range []string{`"By… …"`, `"more"`, `"Post …"`, `x.go:4:2: "A title"`} {
		if i >= len(texts.untranslated) || !strings.Contains(texts.untranslated[i], words) {
			t.Errorf("%q, want %s", texts.untranslated, words)
		}
	}
	if faults := texts.faults("de", []byte(`{"texts": {"Sign in": "a", "Name": "b", "Of": "c"}}`)); len(faults) != 4 {
		t.Errorf("%q", faults)
	}
}

// TestFaults checks that each kind of difference is found, and that nothing is reported where there is no difference.
func TestFaults(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "x.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	texts := New()
	texts.Templates(t, fstest.MapFS{"page.html": {Data: []byte(page)}}, "*.html")
	texts.Source(t, folder, map[string]int{"says": 0})
	texts.Variable(t, file, "list")
	good := `{"texts": {"Sign in": "a", "As {name}": "{name}", "Nobody": "b", "Inside": "c", "Saved": "d", "Of a variable": "e",
		"{n} codes": {"one": "f", "other": "{n}"}, "{n} days": {"other": "{n}"}},
		"messages": {"there are {n} {what}": "{n} {what}", "too long: {name}": "{name}"}}`
	if faults := texts.faults("de", []byte(good)); len(faults) > 0 {
		t.Errorf("a good catalogue has the faults %q", faults)
	}
	for change, tells := range map[string]string{
		`"Sign in": "a",|`:                       `page.html: de lacks the text "Sign in"`,
		`"Saved": "d",|`:                         `x.go:9:2: de lacks the text "Saved"`,
		`"Of a variable": "e",|`:                 `lacks the text "Of a variable"`,
		`"Nobody": "b"|"Nobody": "b", "X": ""`:   `"X", which is used nowhere`,
		`"As {name}": "{name}"|"As {name}": "a"`: `the placeholders of "a" are not those of "As {name}"`,
		`{"other": "{n}"}}|"{n}"}`:               `"{n} days" must have plural forms`,
		`"Inside": "c"|"Inside": {"other": "c"}`: `"Inside" must have plural forms`,
		`, "too long: {name}": "{name}"|`:        `lacks the message "too long: X"`,
		`"there are|"there were`:                 `which is made nowhere`,
		`: "{n} {what}"|: "{n}"`:                 `the placeholders`,
		`"texts"|"text"`:                         `unknown field`,
	} {
		oldText, newText, _ := strings.Cut(change, "|")
		bad := strings.Replace(good, oldText, newText, 1)
		if bad == good {
			t.Errorf("%s changes nothing", change)
		}
		faults := texts.faults("de", []byte(bad))
		if !slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, tells) }) {
			t.Errorf("%s: the faults are %q, want %s", change, faults, tells)
		}
	}
}
