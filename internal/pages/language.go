package pages

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// A look whose service has catalogues (Look.In) shows each page in the language of its reader. Templates write {{t
// "Signed in as {name}" "name" .Name}} and {{tn .N "{n} code" "{n} codes"}}, Go code writes Call.T("Sign in"). Messages
// of errors are translated when they are shown.

//go:embed languages
var catalogues embed.FS

// Catalogues returns the translations of this package's texts, for locale.Load.
func Catalogues() fs.FS {
	folder, err := fs.Sub(catalogues, "languages")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return folder
}

// LoadLanguages returns the languages of a service. It loads the catalogues of this package, those of the service and,
// unless folder is empty, those in the operator's folder. fallback and offered are as for locale.Load.
func LoadLanguages(fallback string, offered []string, service fs.FS, folder string) (*locale.Languages, error) {
	folders := []fs.FS{Catalogues(), service}
	if folder != "" {
		if _, err := os.ReadDir(folder); err != nil {
			return nil, err
		}
		folders = append(folders, os.DirFS(folder))
	}
	return locale.Load(fallback, offered, folders...)
}

// In returns a copy of the look that shows its pages in languages.
func (l *Look) In(languages *locale.Languages) *Look {
	copied := *l
	copied.languages, copied.spoken = languages, newSpoken()
	return &copied
}

// spoken caches the templates of a look in the languages in which they were shown so far.
type spoken struct {
	mu sync.Mutex
	// templates is keyed by the tag of the language and the name of the page. The name of the bare templates is empty.
	templates map[[2]string]*template.Template
}

// newSpoken returns an empty cache.
func newSpoken() *spoken { return &spoken{templates: make(map[[2]string]*template.Template)} }

// page returns the template of a page in a language.
func (l *Look) page(language *locale.Language, name string) (*template.Template, error) {
	base, ok := l.pages[name]
	if !ok {
		return nil, fmt.Errorf("there is no page %q", name)
	}
	return l.localized(language, name, base)
}

// bareIn returns the templates that pages share, in a language.
func (l *Look) bareIn(language *locale.Language) (*template.Template, error) {
	return l.localized(language, "", l.bare)
}

// localized returns a clone of the template base. The functions of the clone use the given language. localized caches
// the clone under name. It never returns base itself, because a template that was executed once cannot be cloned any
// more.
func (l *Look) localized(language *locale.Language, name string, base *template.Template) (*template.Template, error) {
	s := l.spoken
	key := [2]string{language.Tag(), name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.templates[key]; t != nil {
		return t, nil
	}
	t, err := base.Clone()
	if err != nil {
		return nil, err
	}
	t.Funcs(templateFuncs(language)).Funcs(l.funcs)
	s.templates[key] = t
	return t, nil
}

// Prefer sets the language of the page. wishes are the reader's preferences, as for locale.Languages.Choose. They take
// precedence over the header Accept-Language, which counts even without a call of Prefer.
func (c *Call) Prefer(wishes ...string) {
	c.language = c.site.look.languages.Choose(append(wishes, c.R.Header.Get("Accept-Language"))...)
}

// Language returns the language of the page, or nil for English without a catalogue.
func (c *Call) Language() *locale.Language { return c.language }

// T returns a text in the language of the page; see locale.Language.Translate.
func (c *Call) T(english string, values ...any) string {
	return c.language.Translate(english, values...)
}

// Languages returns the languages in which the page can be shown.
func (v *View) Languages() []*locale.Language { return v.call.site.look.languages.List() }

// scriptTexts are the texts that the script of every page shows (look.Script).
var scriptTexts = []string{
	"never", "just now", "Copy", "Copied", "Select it and copy by hand", "Messages", "Close", "Keyboard",
	"Search, or filter the list", "Show these keys", "Go to the next control", "Close what is open",
}

// scriptAttribute returns the attribute of the body element that has the script's texts in a language. It is empty for
// English.
func scriptAttribute(language *locale.Language) template.HTMLAttr {
	texts := make(map[string]string)
	for _, english := range scriptTexts {
		if text := language.Translate(english); text != english {
			texts[english] = text
		}
	}
	if len(texts) == 0 {
		return ""
	}
	raw, err := json.Marshal(texts)
	if err != nil {
		return "" // texts can always be encoded
	}
	return template.HTMLAttr(` data-texts="` + template.HTMLEscapeString(string(raw)) + `"`) //nolint:gosec // escaped
}
