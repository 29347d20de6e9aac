package locale

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Language is a language with its texts. It is safe for concurrent use. A nil *Language is English without a catalogue.
type Language struct {
	// Name is the name of the language in the language itself, such as Deutsch.
	Name string

	tag      string
	parsed   language.Tag      // the tag
	texts    map[string]Forms  // as in File
	messages map[string]string // as in File
	formats  *Formats          // nil if no catalogue has formats
	exact    map[string]string // the messages without placeholders, by their normal form
	patterns []pattern         // the messages with placeholders
}

// pattern is a message with placeholders.
type pattern struct {
	matches *regexp.Regexp // matches the normal form of the English text
	names   []string       // the placeholders, in the order of the English text
	text    string         // the translation
}

// newLanguage returns a language without texts.
func newLanguage(tag string) *Language {
	return &Language{
		Name: tag, tag: tag, parsed: language.Make(tag), texts: make(map[string]Forms), messages: make(map[string]string),
	}
}

// compile prepares the messages to be matched.
func (l *Language) compile() {
	l.exact, l.patterns = make(map[string]string), nil
	for english, text := range l.messages {
		names := Placeholders(english)
		if len(names) == 0 {
			l.exact[normal(english)] = text
			continue
		}
		expression := regexp.QuoteMeta(normal(english))
		for _, name := range names {
			expression = strings.Replace(expression, regexp.QuoteMeta("{"+name+"}"), "(.+?)", 1)
		}
		l.patterns = append(l.patterns, pattern{regexp.MustCompile("(?s)^" + expression + "$"), names, text})
	}
	// A pattern with more literal text is tried first.
	slices.SortFunc(l.patterns, func(a, b pattern) int {
		first, second := a.matches.String(), b.matches.String()
		return cmp.Or(len(second)-len(first), strings.Compare(first, second))
	})
}

// normal returns a message in the form for comparison: with a small first letter and without a full stop at the end.
func normal(message string) string {
	r, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToLower(r)) + strings.TrimSuffix(message[size:], ".")
}

// Tag returns the tag of the language (BCP 47), such as de.
func (l *Language) Tag() string {
	if l == nil {
		return English
	}
	return l.tag
}

// Translate returns a text in the language. The text is identified by its English form. values contains the name of
// each placeholder, followed by its value.
func (l *Language) Translate(english string, values ...any) string {
	return fill(l.form(english, single), values, plain)
}

// TranslateHTML works like Translate for a text with markup. Values are escaped, except for those of the type
// template.HTML.
func (l *Language) TranslateHTML(english string, values ...any) template.HTML {
	return template.HTML(fill(l.form(english, single), values, escaped)) //nolint:gosec // a text of a catalogue, with escaped values
}

// Plural returns the plural form of a text for the number n, in the language. The text is identified by its two English
// forms. The placeholder {n} is the number; values are as for Translate.
func (l *Language) Plural(n int64, singular, plural string, values ...any) string {
	return fill(l.plural(n, singular, plural), append(values, "n", l.Number(n)), plain)
}

// PluralHTML works like Plural for a text with markup. Values are escaped as by TranslateHTML.
func (l *Language) PluralHTML(n int64, singular, plural string, values ...any) template.HTML {
	return template.HTML(fill(l.plural(n, singular, plural), append(values, "n", l.Number(n)), escaped)) //nolint:gosec // as above
}

// form returns the translation of a text for a plural category, or the text if there is none.
func (l *Language) form(english, category string) string {
	if l == nil {
		return english
	}
	return cmp.Or(l.texts[english][category], english)
}

// plural returns the form for the number n of the text with the English forms singular and plural. Its placeholders are
// not replaced yet.
func (l *Language) plural(n int64, singular, plural string) string {
	if l != nil {
		if forms := l.texts[plural]; forms != nil {
			return cmp.Or(forms[l.category(n)], forms["other"], forms[single])
		}
	}
	if n == 1 {
		return singular
	}
	return plural
}

// category returns the plural category of a number.
func (l *Language) category(n int64) string {
	// The rules depend only on the last digits (TR 35, part 3, section 5.1).
	switch plural.Cardinal.MatchPlural(l.parsed, int(max(n, 0)%1_000_000), 0, 0, 0, 0) {
	case plural.Zero:
		return "zero"
	case plural.One:
		return "one"
	case plural.Two:
		return "two"
	case plural.Few:
		return "few"
	case plural.Many:
		return "many"
	case plural.Other:
	}
	return "other"
}

// Message returns the translation of a sentence that is already composed. A text that was inserted for a placeholder
// is also translated if it is itself a message. A sentence without a translation is returned unchanged.
func (l *Language) Message(english string) string {
	if l == nil || len(l.messages) == 0 {
		return english
	}
	sentence := normal(english)
	if text, ok := l.exact[sentence]; ok {
		return text
	}
	for _, p := range l.patterns {
		match := p.matches.FindStringSubmatch(sentence)
		if match == nil {
			continue
		}
		values := make([]any, 0, 2*len(p.names))
		for i, name := range p.names {
			value, ok := l.exact[normal(match[i+1])]
			if !ok {
				value = match[i+1]
			}
			values = append(values, name, value)
		}
		return fill(p.text, values, plain)
	}
	return english
}

var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// Placeholders returns the names of a text's placeholders in their order, without duplicates.
func Placeholders(text string) (names []string) {
	for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

// fill replaces the placeholders of a text by their values (see Translate), which show converts to texts. A
// placeholder without a value stays unchanged.
func fill(text string, values []any, show func(value any) string) string {
	if len(values) == 0 || !strings.Contains(text, "{") {
		return text
	}
	var out strings.Builder
	for {
		head, rest, found := strings.Cut(text, "{")
		name, tail, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return out.String() + text
		}
		out.WriteString(head)
		if i := indexOf(values, name); i >= 0 {
			out.WriteString(show(values[i]))
			text = tail
		} else {
			out.WriteByte('{')
			text = rest // another brace may follow before the closing one
		}
	}
}

// indexOf returns the index of a placeholder's value in values, or -1.
func indexOf(values []any, name string) int {
	for i := 0; i+1 < len(values); i += 2 {
		if values[i] == name {
			return i + 1
		}
	}
	return -1
}

// plain converts a value for a text without markup.
func plain(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case template.HTML:
		return string(v)
	}
	return fmt.Sprint(value)
}

// escaped converts a value for a text with markup.
func escaped(value any) string {
	if markup, ok := value.(template.HTML); ok {
		return string(markup)
	}
	return html.EscapeString(plain(value))
}
