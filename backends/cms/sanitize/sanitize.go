// Package sanitize converts input values to the form that the name of a sanitizer stands for, such as one line of text,
// a number or a list. A value that cannot be converted is not an error: the result is then empty, zero or false.
//
// A value is any JSON value: nil, bool, string, a number, []any or map[string]any. Every sanitizer accepts any value,
// and takes time linear in its length. All sanitizers except the encoders (entities, entitiesMarkdown, unentities) are
// idempotent. As text, a list or an object is its JSON.
package sanitize

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownError is the error for a spec that contains this unknown name of a sanitizer.
type UnknownError string

func (e UnknownError) Error() string { return fmt.Sprintf("'%s' is not a sanitizer", string(e)) }

// Apply sanitizes a value. A spec is the name of a sanitizer, optionally with a number that overrides the sanitizer's
// maximum length (text20) or bound (max10). Several sanitizers are joined by underscores and applied in this order
// (text20_entities). The error is an UnknownError.
func Apply(spec string, value any) (any, error) { return With(spec, value) }

// With is like Apply, but passes the arguments to the sanitizer, such as the values that option allows. In a
// chain, only the last sanitizer gets the arguments.
func With(spec string, value any, arguments ...any) (any, error) {
	rest := spec
	for {
		name, more, chained := strings.Cut(rest, "_")
		s, limit, ok := parse(name)
		if !ok {
			return nil, UnknownError(spec)
		}
		if !chained {
			return s.make(value, options{limit, arguments}), nil
		}
		if !Known(more) { // before anything is applied
			return nil, UnknownError(spec)
		}
		value, rest = s.make(value, options{limit: limit}), more
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

// sanitizer is a sanitizer: the function make and its default number.
type sanitizer struct {
	make func(value any, o options) any
	// limit is the maximum length or the bound, unless the spec has a number. The value unlimited means that there is
	// no default limit.
	limit int
	// fixed means that no number can follow the name in a spec.
	fixed bool
}

const unlimited = 1 << 30

// options are the number and the arguments with which a sanitizer is called.
type options struct {
	limit     int
	arguments []any
}

// parse returns the sanitizer with the given name, which a number may follow. limit is that number, or the sanitizer's
// default.
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

// all holds the sanitizers by name. It is set by init to avoid an initialization cycle: some sanitizers use it.
var all map[string]sanitizer

func init() {
	text := func(fn func(string) string) func(any, options) any {
		return func(value any, _ options) any { return fn(str(value)) }
	}
	cut := func(fn func(string, int) string) func(any, options) any {
		return func(value any, o options) any { return fn(str(value), o.limit) }
	}
	all = map[string]sanitizer{
		"string":   {make: cut(first), limit: unlimited},
		"text":     {make: cut(line), limit: 255},
		"textarea": {make: cut(lines), limit: 16_384},
		"line":     {make: cut(line), limit: unlimited},
		"lines":    {make: cut(lines), limit: unlimited},

		"name":              {make: cut(name), limit: 128},
		"fieldName":         {make: cut(fieldName), limit: 128},
		"varName":           {make: cut(fieldName), limit: 128},
		"templateName":      {make: cut(templateName), limit: 128},
		"pageName":          {make: cut(pageName), limit: 128},
		"username":          {make: cut(pageName), limit: 128},
		"pageNameTranslate": {make: cut(pageNameTranslate), limit: 128},
		"pagePathName":      {make: cut(pagePathName), limit: 2048},
		"path":              {make: path, limit: 2048},
		"filename":          {make: cut(filename), limit: 128},
		"attrName":          {make: cut(attrName), limit: 128},
		"htmlClass":         {make: cut(htmlClass), limit: 128},
		"htmlClasses":       {make: cut(htmlClasses), limit: 1024},

		"alpha":        {make: cut(alpha), limit: 1024},
		"alphanumeric": {make: cut(alphanumeric), limit: 1024},
		"digits":       {make: cut(digits), limit: 1024},
		"chars":        {make: chars, limit: unlimited},
		"word":         {make: cut(word), limit: unlimited},
		"words":        {make: cut(words), limit: unlimited},
		"wordsArray":   {make: wordsArray, limit: unlimited},

		"email":         {make: text(email), fixed: true},
		"emailHeader":   {make: cut(emailHeader), limit: unlimited},
		"url":           {make: cut(anyURL), limit: 1024},
		"httpUrl":       {make: cut(httpURL), limit: 1024},
		"selectorValue": {make: cut(selectorValue), limit: 100},
		"selectorField": {make: cut(selectorField), limit: unlimited},

		"entities":         {make: text(entities), fixed: true},
		"unentities":       {make: text(unentities), fixed: true},
		"entitiesMarkdown": {make: text(entitiesMarkdown), fixed: true},
		"purify":           {make: text(purify), fixed: true},
		"markupToText":     {make: cut(markupToText), limit: unlimited},
		"markupToLine":     {make: cut(markupToLine), limit: unlimited},

		"removeNewlines":      {make: text(removeNewlines), fixed: true},
		"removeWhitespace":    {make: text(removeWhitespace), fixed: true},
		"reduceWhitespace":    {make: text(reduceWhitespace), fixed: true},
		"normalizeWhitespace": {make: text(normalizeWhitespace), fixed: true},
		"trim":                {make: text(trim), fixed: true},
		"truncate":            {make: cut(truncate), limit: 300},
		"maxLength":           {make: cut(first), limit: 128},
		"minLength":           {make: cut(minLength), limit: 1},
		"maxBytes":            {make: cut(maxBytes), limit: 128},

		"camelCase":  {make: text(camelCase), fixed: true},
		"pascalCase": {make: text(pascalCase), fixed: true},
		"snakeCase":  {make: text(snakeCase), fixed: true},
		"kebabCase":  {make: text(kebabCase), fixed: true},
		"hyphenCase": {make: text(kebabCase), fixed: true},

		"int":         {make: unsigned, fixed: true},
		"intUnsigned": {make: unsigned, fixed: true},
		"intSigned":   {make: signed, fixed: true},
		"float":       {make: float, fixed: true},
		"min":         {make: atLeast, limit: unlimited},
		"max":         {make: atMost, limit: unlimited},
		"range":       {make: within, limit: unlimited},
		"bit":         {make: bit, fixed: true},
		"bool":        {make: boolean, fixed: true},
		"checkbox":    {make: boolean, fixed: true},
		"date":        {make: date, fixed: true},

		"array":       {make: array, limit: unlimited},
		"arrayVal":    {make: arrayVal, limit: unlimited},
		"intArray":    {make: intArray, limit: unlimited},
		"intArrayVal": {make: intArrayVal, limit: unlimited},
		"flatArray":   {make: flatArray, limit: unlimited},
		"minArray":    {make: minArray, limit: unlimited},
		"option":      {make: option, fixed: true},
		"options":     {make: optionsOf, limit: unlimited},
	}
}
