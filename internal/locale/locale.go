// Package locale shows texts of the program in the language of their reader. The source has each text in English, and a
// catalogue has its translations into another language:
//
//	l := languages.Choose(r.Header.Get("Accept-Language"))
//	l.Translate("Signed in as {name}", "name", user.Name)
//	l.Plural(n, "{n} code is left", "{n} codes are left")
//	l.Message(err.Message) // an English sentence that was composed elsewhere
//
// A catalogue is a JSON file that is named for its language, such as de.json. A text without a translation is shown in
// English. Catalogues of several folders are combined; later catalogues replace entries of earlier ones. With this an
// operator can change texts of the program, also English texts. See File for the format.
package locale

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// English is the tag of the language in which the source is written.
const English = "en"

// maxFile is the limit for a catalogue, in bytes.
const maxFile = 1 << 20

//go:embed languages
var embedded embed.FS

// builtIn returns the catalogues of this package, which define how dates and numbers are written.
func builtIn() fs.FS {
	folder, err := fs.Sub(embedded, "languages")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return folder
}

// File is the content of a catalogue.
type File struct {
	// Name is the name of the language in the language itself, such as Deutsch.
	Name string `json:"name,omitempty"`
	// Formats defines how dates and numbers are written.
	Formats *Formats `json:"formats,omitempty"`
	// Texts are the translations, keyed by the English text. Placeholders have the same names in braces as in the English
	// text. A text with a number has a form for each plural category of the language (Unicode CLDR), such as "one" and
	// "other"; its key is the English form of the category "other".
	Texts map[string]Forms `json:"texts,omitempty"`
	// Messages are the translations of sentences that were composed before they are translated, such as errors. A
	// placeholder of the English text matches any text. The comparison ignores the case of the first letter and a full
	// stop at the end.
	Messages map[string]string `json:"messages,omitempty"`
}

// Forms is a translation: a text, or one text for each plural category.
type Forms map[string]string

// single is the category of a text that has no number.
const single = ""

// UnmarshalJSON implements json.Unmarshaler.
func (f *Forms) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*f = Forms{single: text}
		return nil
	}
	var forms map[string]string
	if err := json.Unmarshal(raw, &forms); err != nil {
		return errors.New("a translation must be a text, or an object with a text for each plural category")
	}
	if forms["other"] == "" {
		return errors.New(`a translation with plural categories must have the category "other"`)
	}
	for category := range forms {
		if !slices.Contains(categories, category) {
			return fmt.Errorf("there is no plural category %q; there are %s", category, strings.Join(categories, ", "))
		}
	}
	*f = forms
	return nil
}

// categories are the plural categories of Unicode CLDR.
var categories = []string{"zero", "one", "two", "few", "many", "other"}

// Languages are the languages in which a program can show its texts. A nil *Languages has English only.
type Languages struct {
	list    []*Language // the default first
	matcher language.Matcher
}

// Load reads the catalogues, which are the *.json files in folders. offered has the tags of the languages to offer; if
// it is empty, English and all languages with a catalogue are offered. fallback is the tag of the default language,
// which must be offered. An error names the file and its fault.
func Load(fallback string, offered []string, folders ...fs.FS) (*Languages, error) {
	byTag := map[string]*Language{English: newLanguage(English)}
	for _, folder := range append([]fs.FS{builtIn()}, folders...) {
		if err := readFolder(folder, byTag); err != nil {
			return nil, err
		}
	}
	tags := slices.Sorted(maps.Keys(byTag))
	if len(offered) == 0 {
		offered = tags
	}
	fallback = cmp.Or(fallback, English)
	s := new(Languages)
	// The default language comes first: Choose returns the first language if none matches.
	for _, tag := range append([]string{fallback}, offered...) {
		l := byTag[tag]
		if l == nil {
			return nil, fmt.Errorf("there is no catalogue of the language %q; there are %s", tag, strings.Join(tags, ", "))
		}
		if !slices.Contains(offered, tag) {
			return nil, fmt.Errorf("the default language %q is not offered; offered are %s", tag, strings.Join(offered, ", "))
		}
		if !slices.Contains(s.list, l) {
			l.compile()
			s.list = append(s.list, l)
		}
	}
	parsed := make([]language.Tag, len(s.list))
	for i, l := range s.list {
		parsed[i] = l.parsed
	}
	s.matcher = language.NewMatcher(parsed)
	return s, nil
}

// readFolder adds the content of the catalogues in a folder to the languages in byTag, and adds languages that are
// missing there.
func readFolder(folder fs.FS, byTag map[string]*Language) error {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return err
	}
	for _, name := range names {
		tag := strings.TrimSuffix(path.Base(name), ".json")
		if parsed, err := language.Parse(tag); err != nil || parsed.String() != tag {
			return fmt.Errorf("%s: the name must be the tag of a language, such as fr.json or pt-BR.json", name)
		}
		if byTag[tag] == nil {
			byTag[tag] = newLanguage(tag)
		}
		if err := byTag[tag].read(folder, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// read adds the content of a catalogue file to the language.
func (l *Language) read(folder fs.FS, name string) error {
	file, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return err
	}
	if len(raw) > maxFile {
		return fmt.Errorf("it has more than %d KiB", maxFile>>10)
	}
	content, err := Parse(raw)
	if err != nil {
		return err
	}
	l.Name = cmp.Or(content.Name, l.Name)
	if content.Formats != nil {
		l.formats = content.Formats
	}
	maps.Copy(l.texts, content.Texts)
	maps.Copy(l.messages, content.Messages)
	return nil
}

// Parse reads a catalogue. It returns an error for an unknown member or category, or a translation with a placeholder
// that the English text does not have.
func Parse(raw []byte) (*File, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	content := new(File)
	if err := decoder.Decode(content); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the end of the object")
	}
	for english, forms := range content.Texts {
		for _, text := range forms {
			if err := checkPlaceholders(english, text); err != nil {
				return nil, err
			}
		}
	}
	for english, text := range content.Messages {
		if err := checkPlaceholders(english, text); err != nil {
			return nil, err
		}
	}
	if content.Formats != nil {
		return content, content.Formats.check()
	}
	return content, nil
}

// checkPlaceholders returns an error if a translation has a placeholder that the English text does not have.
func checkPlaceholders(english, text string) error {
	known := Placeholders(english)
	for _, name := range Placeholders(text) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the translation of %q has the placeholder {%s}, which the English text does not have", english, name)
		}
	}
	return nil
}

// List returns the languages, the default first.
func (s *Languages) List() []*Language {
	if s == nil {
		return []*Language{nil}
	}
	return s.list
}

// Tags returns the tags of the languages in alphabetical order.
func (s *Languages) Tags() []string {
	list := s.List()
	tags := make([]string, len(list))
	for i, l := range list {
		tags[i] = l.Tag()
	}
	slices.Sort(tags)
	return tags
}

// Find returns the language with a tag, or nil if it is not offered.
func (s *Languages) Find(tag string) *Language {
	for _, l := range s.List() {
		if l != nil && l.tag == tag {
			return l
		}
	}
	return nil
}
