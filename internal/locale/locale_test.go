package locale_test

import (
	"html/template"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// folder returns a folder with files; each pair is a name and a text.
func folder(pairs ...string) fstest.MapFS {
	files := make(fstest.MapFS)
	for i := 0; i+1 < len(pairs); i += 2 {
		files[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return files
}

// catalogue is a catalogue in German.
const catalogue = `{
	"texts": {
		"Hello, <b>{name}</b>": "Hallo, <b>{name}</b>",
		"{n} codes": {"one": "Ein Code", "other": "{n} Codes"},
		"Sign in": "Anmelden"
	},
	"messages": {
		"the password must have {n} characters or more": "Das Passwort muss mindestens {n} Zeichen haben.",
		"{what} is not available": "{what} ist nicht verfügbar.",
		"the server": "Der Server"
	}
}`

func load(t *testing.T, fallback string, offered []string, folders ...fstest.MapFS) *locale.Languages {
	t.Helper()
	all := append(make([]fs.FS, 0, 1+len(folders)), folder("de.json", catalogue))
	for _, fsys := range folders {
		all = append(all, fsys)
	}
	languages, err := locale.Load(fallback, offered, all...)
	if err != nil {
		t.Fatal(err)
	}
	return languages
}

func TestTexts(t *testing.T) {
	t.Parallel()
	german := load(t, "", nil).Find("de")
	var none *locale.Language // English without a catalogue
	name := `<Ann "A">`
	for _, c := range []struct{ got, want string }{
		{german.Translate("Sign in"), "Anmelden"},
		{none.Translate("Sign in"), "Sign in"},
		{german.Translate("Not translated, {name}", "name", name), `Not translated, <Ann "A">`},
		{string(german.TranslateHTML("Hello, <b>{name}</b>", "name", name)), "Hallo, <b>&lt;Ann &#34;A&#34;&gt;</b>"},
		{string(none.TranslateHTML("Hello, <b>{name}</b>", "name", template.HTML("<i>Ann</i>"))), "Hello, <b><i>Ann</i></b>"},
		{none.Translate("{other} and {name}", "name", "{other}"), "{other} and {other}"},
		{german.Plural(1, "{n} code", "{n} codes"), "Ein Code"},
		{german.Plural(12345, "{n} code", "{n} codes"), "12.345 Codes"},
		{none.Plural(1, "{n} code", "{n} codes"), "1 code"},
		{string(none.PluralHTML(12345, "{n} code", "{n} codes")), "12\u202f345 codes"},
		{german.Message("The password must have 8 characters or more."), "Das Passwort muss mindestens 8 Zeichen haben."},
		{german.Message("the server is not available"), "Der Server ist nicht verfügbar."},
		{german.Message("the cellar is not available"), "the cellar ist nicht verfügbar."},
		{german.Message("something else"), "something else"},
		{german.Message(""), ""},
		{none.Message("the server"), "the server"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	german := load(t, "", nil).Find("de")
	var none *locale.Language
	date := time.Date(2026, time.March, 7, 8, 5, 9, 0, time.UTC)
	for _, c := range []struct{ got, want string }{
		{none.Moment(date), date.Format("2 Jan 2006, 15:04")},
		{none.Exact(date), date.Format("Monday, 2 January 2006, 15:04:05 MST")},
		{none.Until(date), date.Format("2 January 2006, 15:04 MST")},
		{german.Moment(date), "7. März 2026, 08:05"},
		{german.Exact(date), "Samstag, 7. März 2026, 08:05:09 UTC"},
		{german.Until(date), "7. März 2026, 08:05 Uhr UTC"},
		{none.Number(999), "999"},
		{german.Number(-1234567), "-1.234.567"},
		{german.Number(-123), "-123"},
		{german.Fraction(1.25), "1,2"},
		{none.Fraction(1.25), "1.2"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	languages := load(t, "", nil, folder("fr.json", `{"name": "Français"}`, "pt-BR.json", `{}`))
	long := strings.Repeat("xx,", 200)
	for _, c := range []struct {
		wishes []string
		want   string
	}{
		{nil, "en"},
		{[]string{""}, "en"},
		{[]string{"de"}, "de"},
		{[]string{"de-AT,de;q=0.9,en;q=0.8"}, "de"},
		{[]string{"en;q=0.5, de"}, "de"},
		{[]string{"ja, fr;q=0.5, de;q=0.1"}, "fr"},
		{[]string{"ja"}, "en"},
		{[]string{"*"}, "en"},
		{[]string{"pt"}, "pt-BR"},
		{[]string{"", "fr", "de"}, "fr"},
		{[]string{"ja", "de"}, "de"},
		{[]string{"de;q=", "fr"}, "fr"},
		{[]string{"\xff\x00", "de"}, "de"},
		{[]string{long + "de"}, "en"}, // beyond the limit
		{[]string{"de," + long}, "de"},
		{[]string{locale.Wish("fr-CA  de")}, "fr"},
		{[]string{locale.Wish(" ")}, "en"},
	} {
		if got := languages.Choose(c.wishes...).Tag(); got != c.want {
			t.Errorf("%.40q: %s, want %s", c.wishes, got, c.want)
		}
	}
	if got := languages.Tags(); !slices.Equal(got, []string{"de", "en", "fr", "pt-BR"}) {
		t.Errorf("the languages are %v", got)
	}
	if got := load(t, "de", nil).Choose("ja").Tag(); got != "de" {
		t.Errorf("the default is %s", got)
	}
	if got := load(t, "", []string{"en"}).Choose("de").Tag(); got != "en" {
		t.Errorf("%s is not offered", got)
	}
	var none *locale.Languages
	if none.Choose("de") != nil || none.Match("de") != nil || len(none.List()) != 1 || none.Find("en") != nil {
		t.Error("without catalogues there is more than English")
	}
}

// TestOverride checks that a later folder replaces texts, including English texts, and leaves the other texts
// unchanged.
func TestOverride(t *testing.T) {
	t.Parallel()
	languages := load(t, "", nil, folder(
		"de.json", `{"texts": {"Sign in": "Einloggen", "{n} codes": "{n} Code(s)"}}`,
		"en.json", `{"texts": {"Sign in": "Log in", "{n} codes": {"one": "a code", "other": "{n} codes"}}}`,
		"pl.json", `{"name": "Polski", "texts": {"{n} codes": {"one": "{n} kod", "few": "{n} kody", "many": "{n} kodów", "other": "{n} kodu"}}}`,
	))
	german, english, polish := languages.Find("de"), languages.Find("en"), languages.Find("pl")
	for _, c := range []struct{ got, want string }{
		{german.Translate("Sign in"), "Einloggen"},
		{german.Message("the server"), "Der Server"},
		{german.Plural(2, "{n} code", "{n} codes"), "2 Code(s)"},
		{german.Name, "Deutsch"},
		{english.Translate("Sign in"), "Log in"},
		{english.Plural(1, "{n} code", "{n} codes"), "a code"},
		{polish.Plural(1, "{n} code", "{n} codes"), "1 kod"},
		{polish.Plural(3, "{n} code", "{n} codes"), "3 kody"},
		{polish.Plural(12, "{n} code", "{n} codes"), "12 kodów"},
		{polish.Translate("Sign in"), "Sign in"},
		{polish.Name, "Polski"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, fallback string
		offered              []string
		tells                string
	}{
		{name: "de.json", text: "{", tells: "de.json"},
		{name: "de.json", text: "{} {}", tells: "after the end"},
		{name: "de.json", text: `{"text": {}}`, tells: `unknown field "text"`},
		{name: "de.json", text: `{"texts": {"a": 1}}`, tells: "must be a text"},
		{name: "de.json", text: `{"texts": {"a": {"one": "b"}}}`, tells: `"other"`},
		{name: "de.json", text: `{"texts": {"a": {"other": "b", "lots": "c"}}}`, tells: `"lots"`},
		{name: "de.json", text: `{"texts": {"a {n}": "b {name}"}}`, tells: "{name}"},
		{name: "de.json", text: `{"messages": {"a": "b {n}"}}`, tells: "{n}"},
		{name: "de.json", text: `{"formats": {"months": []}}`, tells: "12 months"},
		{name: "de.json", text: `{"name": "` + strings.Repeat("x", 1<<20) + `"}`, tells: "1024 KiB"},
		{name: "german.json", text: "{}", tells: "german.json"},
		{name: "DE.json", text: "{}", tells: "DE.json"},
		{name: "de.json", text: "{}", fallback: "fr", tells: `"fr"; there are de, en`},
		{name: "de.json", text: "{}", offered: []string{"en", "it"}, tells: `"it"; there are de, en`},
		{name: "de.json", text: "{}", fallback: "de", offered: []string{"en"}, tells: `"de" is not offered`},
	} {
		_, err := locale.Load(c.fallback, c.offered, folder(c.name, c.text))
		if err == nil || !strings.Contains(err.Error(), c.tells) {
			t.Errorf("%s %.60s: %v, want %s", c.name, c.text, err, c.tells)
		}
	}
}

func FuzzChoose(f *testing.F) {
	languages, err := locale.Load("", nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"de", "de-DE,en;q=0.5", "x-y-z", "*;q=1", "en-u-co-phonebk", ",,;;==", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, wish string) {
		if l := languages.Choose(wish, locale.Wish(wish)); l == nil {
			t.Error("no language was chosen")
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(catalogue))
	f.Add([]byte(`{"formats": {"months": [], "group": "."}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := locale.Parse(raw)
		if err == nil && file == nil {
			t.Error("neither a catalogue nor an error")
		}
	})
}
