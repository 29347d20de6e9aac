// Package sanitize converts input values to a certain form, such as one line of text, a number or a list. Each form has
// a sanitizer, which is called by its name. A value that cannot be converted is not an error: the result is then empty,
// zero or false.
//
// A value is any JSON value: nil, bool, string, a number, []any or map[string]any. Every sanitizer accepts any value,
// and takes time linear in its length. All sanitizers except the encoders (entities, entitiesMarkdown, unentities) are
// idempotent. Where a text is needed, a list or an object is converted to its JSON.
package sanitize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// UnknownError is the error for a spec that contains an unknown name of a sanitizer. Its value is the spec.
type UnknownError string

func (e UnknownError) Error() string { return fmt.Sprintf("'%s' is not a sanitizer", string(e)) }

// Apply sanitizes a value. A spec is the name of a sanitizer, optionally with a number that overrides the sanitizer's
// maximum length (text20) or bound (max10). Several sanitizers are joined by underscores and applied in this order
// (text20_entities). The error is an UnknownError.
func Apply(spec string, value any) (any, error) { return With(spec, value) }

// With is like Apply, but passes the arguments to the sanitizer, such as the values that option allows. In a
// chain, only the last sanitizer gets the arguments.
func With(spec string, value any, arguments ...any) (any, error) {
	remaining := spec // the part that is not applied yet
	for {
		name, next, chained := strings.Cut(remaining, "_")
		s, limit, ok := parse(name)
		if !ok {
			return nil, UnknownError(spec)
		}
		if !chained {
			return s.apply(value, options{limit, arguments}), nil
		}
		if !Known(next) { // check the whole spec before applying the first sanitizer
			return nil, UnknownError(spec)
		}
		value, remaining = s.apply(value, options{limit: limit}), next
	}
}

// Known reports whether spec is valid.
func Known(spec string) bool {
	for name := range strings.SplitSeq(spec, "_") {
		if _, _, ok := parse(name); !ok {
			return false
		}
	}
	return true
}

// Valid reports whether sanitizing leaves the value unchanged. spec, arguments and the error are as in With.
func Valid(spec string, value any, arguments ...any) (bool, error) {
	sanitized, err := With(spec, value, arguments...)
	return err == nil && equal(sanitized, value), err
}

// Names returns the names of all sanitizers, sorted.
func Names() []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// sanitizer holds the function of a sanitizer and the number with which the function is called by default.
type sanitizer struct {
	// apply returns the sanitized value.
	apply func(value any, o options) any
	// limit is the sanitizer's maximum length or bound if the spec has no number. The value unlimited means that there is
	// no default limit.
	limit int
	// fixed means that no number can follow the name in a spec.
	fixed bool
}

// unlimited is the limit of a sanitizer without a default limit.
const unlimited = 1 << 30

// options are the number and the arguments with which a sanitizer is called.
type options struct {
	limit     int
	arguments []any
}

// parse returns the sanitizer with the given name, which may end with a number. limit is this number or, if the name
// has no number, the sanitizer's default.
func parse(name string) (s sanitizer, limit int, ok bool) {
	if s, ok = all[name]; ok {
		return s, s.limit, true
	}
	bare := strings.TrimRight(name, "0123456789")
	digits := name[len(bare):]
	if s, ok = all[bare]; !ok || s.fixed || digits == "" || len(digits) > 9 {
		return s, 0, false
	}
	for _, d := range digits {
		limit = 10*limit + int(d-'0')
	}
	return s, limit, true
}

// plain returns the sanitizer that applies fn to a value as text. It takes no number.
func plain(fn func(string) string) sanitizer {
	return sanitizer{apply: func(value any, _ options) any { return fn(str(value)) }, fixed: true}
}

// sized returns the sanitizer that applies fn to a value as text. The second argument of fn is the limit that the
// name of the sanitizer contains or, if the name contains none, the given limit.
func sized(fn func(s string, limit int) string, limit int) sanitizer {
	return sanitizer{apply: func(value any, o options) any { return fn(str(value), o.limit) }, limit: limit}
}

// all holds the sanitizers by name. It is set by init to avoid an initialization cycle: some sanitizers use it.
var all map[string]sanitizer

func init() {
	all = map[string]sanitizer{
		"string":   sized(text.Cut, unlimited),
		"text":     sized(line, 255),
		"textarea": sized(lines, 16_384),
		"line":     sized(line, unlimited),
		"lines":    sized(lines, unlimited),

		"name":              sized(name, 128),
		"fieldName":         sized(fieldName, 128),
		"varName":           sized(fieldName, 128),
		"templateName":      sized(templateName, 128),
		"pageName":          sized(pageName, 128),
		"username":          sized(pageName, 128),
		"pageNameTranslate": sized(pageNameTranslate, 128),
		"pagePathName":      sized(pagePathName, 2048),
		"path":              {apply: path, limit: 2048},
		"filename":          sized(filename, 128),
		"attrName":          sized(attrName, 128),
		"htmlClass":         sized(htmlClass, 128),
		"htmlClasses":       sized(htmlClasses, 1024),

		"alpha":        sized(alpha, 1024),
		"alphanumeric": sized(alphanumeric, 1024),
		"digits":       sized(digits, 1024),
		"chars":        {apply: chars, limit: unlimited},
		"word":         sized(word, unlimited),
		"words":        sized(words, unlimited),
		"wordsArray":   {apply: wordsArray, limit: unlimited},

		"email":         plain(email),
		"emailHeader":   sized(emailHeader, unlimited),
		"url":           sized(anyURL, 1024),
		"httpUrl":       sized(httpURL, 1024),
		"selectorValue": sized(selectorValue, 100),
		"selectorField": sized(selectorField, unlimited),

		"entities":         plain(entities),
		"unentities":       plain(unentities),
		"entitiesMarkdown": plain(entitiesMarkdown),
		"purify":           plain(purify),
		"markupToText":     sized(markupToText, unlimited),
		"markupToLine":     sized(markupToLine, unlimited),

		"removeNewlines":      plain(removeNewlines),
		"removeWhitespace":    plain(removeWhitespace),
		"reduceWhitespace":    plain(reduceWhitespace),
		"normalizeWhitespace": plain(normalizeWhitespace),
		"trim":                plain(trim),
		"truncate":            sized(truncate, 300),
		"maxLength":           sized(text.Cut, 128),
		"minLength":           sized(minLength, 1),
		"maxBytes":            sized(text.CutBytes, 128),

		"camelCase":  plain(camelCase),
		"pascalCase": plain(pascalCase),
		"snakeCase":  plain(snakeCase),
		"kebabCase":  plain(kebabCase),
		"hyphenCase": plain(kebabCase),

		"int":         {apply: unsigned, fixed: true},
		"intUnsigned": {apply: unsigned, fixed: true},
		"intSigned":   {apply: signed, fixed: true},
		"float":       {apply: float, fixed: true},
		"min":         {apply: atLeast, limit: unlimited},
		"max":         {apply: atMost, limit: unlimited},
		"range":       {apply: within, limit: unlimited},
		"bit":         {apply: bit, fixed: true},
		"bool":        {apply: boolean, fixed: true},
		"checkbox":    {apply: boolean, fixed: true},
		"date":        {apply: date, fixed: true},

		"array":       {apply: array, limit: unlimited},
		"arrayVal":    {apply: arrayVal, limit: unlimited},
		"intArray":    {apply: intArray, limit: unlimited},
		"intArrayVal": {apply: intArrayVal, limit: unlimited},
		"flatArray":   {apply: flatArray, limit: unlimited},
		"minArray":    {apply: minArray, limit: unlimited},
		"option":      {apply: option, fixed: true},
		"options":     {apply: optionsOf, limit: unlimited},
	}
}
