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

	"github.com/tollgate-gateway/tollgate/internal/text"
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

// sanitizer is a sanitizer: the function apply and its default number.
type sanitizer struct {
	// apply returns the sanitized value.
	apply func(value any, o options) any
	// limit is the maximum length or the bound, unless the spec has a number. The value unlimited means that there is
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
	// whole and cut convert a function on texts to the function of a sanitizer. The function of cut has a limit.
	whole := func(fn func(string) string) func(any, options) any {
		return func(value any, _ options) any { return fn(str(value)) }
	}
	cut := func(fn func(string, int) string) func(any, options) any {
		return func(value any, o options) any { return fn(str(value), o.limit) }
	}
	all = map[string]sanitizer{
		"string":   {apply: cut(text.Cut), limit: unlimited},
		"text":     {apply: cut(line), limit: 255},
		"textarea": {apply: cut(lines), limit: 16_384},
		"line":     {apply: cut(line), limit: unlimited},
		"lines":    {apply: cut(lines), limit: unlimited},

		"name":              {apply: cut(name), limit: 128},
		"fieldName":         {apply: cut(fieldName), limit: 128},
		"varName":           {apply: cut(fieldName), limit: 128},
		"templateName":      {apply: cut(templateName), limit: 128},
		"pageName":          {apply: cut(pageName), limit: 128},
		"username":          {apply: cut(pageName), limit: 128},
		"pageNameTranslate": {apply: cut(pageNameTranslate), limit: 128},
		"pagePathName":      {apply: cut(pagePathName), limit: 2048},
		"path":              {apply: path, limit: 2048},
		"filename":          {apply: cut(filename), limit: 128},
		"attrName":          {apply: cut(attrName), limit: 128},
		"htmlClass":         {apply: cut(htmlClass), limit: 128},
		"htmlClasses":       {apply: cut(htmlClasses), limit: 1024},

		"alpha":        {apply: cut(alpha), limit: 1024},
		"alphanumeric": {apply: cut(alphanumeric), limit: 1024},
		"digits":       {apply: cut(digits), limit: 1024},
		"chars":        {apply: chars, limit: unlimited},
		"word":         {apply: cut(word), limit: unlimited},
		"words":        {apply: cut(words), limit: unlimited},
		"wordsArray":   {apply: wordsArray, limit: unlimited},

		"email":         {apply: whole(email), fixed: true},
		"emailHeader":   {apply: cut(emailHeader), limit: unlimited},
		"url":           {apply: cut(anyURL), limit: 1024},
		"httpUrl":       {apply: cut(httpURL), limit: 1024},
		"selectorValue": {apply: cut(selectorValue), limit: 100},
		"selectorField": {apply: cut(selectorField), limit: unlimited},

		"entities":         {apply: whole(entities), fixed: true},
		"unentities":       {apply: whole(unentities), fixed: true},
		"entitiesMarkdown": {apply: whole(entitiesMarkdown), fixed: true},
		"purify":           {apply: whole(purify), fixed: true},
		"markupToText":     {apply: cut(markupToText), limit: unlimited},
		"markupToLine":     {apply: cut(markupToLine), limit: unlimited},

		"removeNewlines":      {apply: whole(removeNewlines), fixed: true},
		"removeWhitespace":    {apply: whole(removeWhitespace), fixed: true},
		"reduceWhitespace":    {apply: whole(reduceWhitespace), fixed: true},
		"normalizeWhitespace": {apply: whole(normalizeWhitespace), fixed: true},
		"trim":                {apply: whole(trim), fixed: true},
		"truncate":            {apply: cut(truncate), limit: 300},
		"maxLength":           {apply: cut(text.Cut), limit: 128},
		"minLength":           {apply: cut(minLength), limit: 1},
		"maxBytes":            {apply: cut(text.CutBytes), limit: 128},

		"camelCase":  {apply: whole(camelCase), fixed: true},
		"pascalCase": {apply: whole(pascalCase), fixed: true},
		"snakeCase":  {apply: whole(snakeCase), fixed: true},
		"kebabCase":  {apply: whole(kebabCase), fixed: true},
		"hyphenCase": {apply: whole(kebabCase), fixed: true},

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
