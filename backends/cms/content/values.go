package content

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The types of fields.
const (
	TypeText     = "text"     // one line
	TypeTextarea = "textarea" // several lines
	TypeInt      = "int"      // integers below 2^53
	TypeFloat    = "float"
	TypeBool     = "bool"
	TypeDatetime = "datetime" // RFC 3339 in UTC; a day or seconds since 1970 are accepted, too
	TypeEmail    = "email"
	TypeURL      = "url"  // http, https, or a path
	TypePage     = "page" // a page ID, or a list of them
	TypeOptions  = "options"
	TypeFile     = "file" // see package files
	TypeJSON     = "json"
	TypeBlocks   = "blocks" // a list of objects; the member type is an object's kind, and the other members are fields
)

// Types lists all types.
var Types = []string{
	TypeText, TypeTextarea, TypeInt, TypeFloat, TypeBool, TypeDatetime, TypeEmail, TypeURL, TypePage, TypeOptions,
	TypeFile, TypeJSON, TypeBlocks,
}

// kinds maps each field type to the selector kind that defines how its values are compared. JSON values cannot be
// searched.
var kinds = map[string]selector.Kind{
	TypeText: selector.Text, TypeTextarea: selector.Text, TypeEmail: selector.Text, TypeURL: selector.Text,
	TypeOptions: selector.Text, TypeFile: selector.Text,
	TypeBlocks: selector.Text, TypeInt: selector.Number, TypeFloat: selector.Number, TypeBool: selector.Bool,
	TypeDatetime: selector.Time, TypePage: selector.Page,
}

// Limits of values.
const (
	maxText        = 255     // characters in a text, by default
	maxTextarea    = 65_536  // characters in a textarea, by default
	maxTextSetting = 262_144 // highest allowed setting Most of a text or textarea
	maxList        = 100     // pages, options, files or blocks in a list, by default
	maxListSetting = 1000    // highest allowed setting Most of a list
	maxData        = 1 << 20 // bytes of all values of a page as JSON
	maxJSON        = 65_536  // bytes of a JSON value
	jsonDepth      = 32      // nested lists and objects in a JSON value
	maxInteger     = 1 << 53 // integers below this limit are exact as a float64
)

// Settings restrict the values of a field. Settings that do not apply to the field's type are errors.
type Settings struct {
	// Most limits the characters in a text, or the entries in a list. Default: 255 for a text, 65,536 for a textarea,
	// 100 for a list.
	Most int `json:"most,omitempty"`
	// Min and Max are the bounds of a number.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Multiple allows several pages or options, as a list. Files and blocks are always lists.
	Multiple bool `json:"multiple,omitempty"`
	// Options are the allowed values of a field of type options.
	Options []string `json:"options,omitempty"`
	// Templates are the names of the templates whose pages a field of type page can refer to. Default: all templates.
	Templates []string `json:"templates,omitempty"`
	// Extensions are the allowed file name extensions, such as jpg. Default: the extensions of all supported file
	// types.
	Extensions []string `json:"extensions,omitempty"`
	// MaxBytes is the maximum size of a file. Default: 10 MiB.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// Sizes are the sizes to which images in the field can be scaled down, such as 640x, x480, 640x480, or 200x200c,
	// which fills the box. Default: none.
	Sizes []string `json:"sizes,omitempty"`
	// Blocks maps each kind of block to the names of its fields.
	Blocks map[string][]string `json:"blocks,omitempty"`
}

// check returns an error if the type or the settings of the field are invalid. It converts file name extensions to
// lower case, without a leading dot.
//
// A setting is invalid if it is set for a type that does not have it, or if its value is out of bounds. A field of
// the type options must have the setting Options, and a field of the type blocks must have the setting Blocks.
func (f *Field) check(s *schema) error {
	if !slices.Contains(Types, f.Type) {
		return kernel.Invalid("type", "unknown", "a type is one of "+strings.Join(Types, ", "))
	}
	invalid := func(setting, message string) error { return kernel.Invalid("settings."+setting, "invalid", message) }
	hasType := func(types ...string) bool { return slices.Contains(types, f.Type) }
	o := &f.Settings
	mostLimit := maxListSetting
	if hasType(TypeText, TypeTextarea) {
		mostLimit = maxTextSetting
	}
	switch {
	case o.Most != 0 && !hasType(TypeText, TypeTextarea, TypePage, TypeOptions, TypeFile, TypeBlocks),
		o.Most < 0, o.Most > mostLimit:
		return invalid("most", fmt.Sprintf(
			"most is only allowed for the types text, textarea, page, options, file and blocks, from 1 to %d", mostLimit))
	case (o.Min != nil || o.Max != nil) && !hasType(TypeInt, TypeFloat),
		o.Min != nil && o.Max != nil && *o.Min > *o.Max:
		return invalid("min", "min and max are only allowed for the types int and float, and min must not exceed max")
	case o.Multiple && !hasType(TypePage, TypeOptions):
		return invalid("multiple", "multiple is only allowed for the types page and options")
	case (len(o.Options) > 0) != hasType(TypeOptions), len(o.Options) > maxListSetting:
		return invalid("options", fmt.Sprintf(
			"a field of the type options needs 1 to %d options; other types must not have options", maxListSetting))
	case len(o.Templates) > 0 && !hasType(TypePage):
		return invalid("templates", "templates are only allowed for the type page")
	case (len(o.Extensions) > 0 || o.MaxBytes != 0) && !hasType(TypeFile), o.MaxBytes < 0:
		return invalid("extensions",
			"extensions and max_bytes are only allowed for the type file, and max_bytes must not be negative")
	case len(o.Sizes) > 0 && !hasType(TypeFile), len(o.Sizes) > maxSizes:
		return invalid("sizes", fmt.Sprintf("sizes are only allowed for the type file, at most %d of them", maxSizes))
	case (len(o.Blocks) > 0) != hasType(TypeBlocks), len(o.Blocks) > 100:
		return invalid("blocks",
			"a field of the type blocks needs 1 to 100 kinds of blocks; other types must not have blocks")
	}
	o.Extensions = slices.Clone(o.Extensions) // the caller keeps its list
	for i, extension := range o.Extensions {
		o.Extensions[i] = strings.TrimPrefix(strings.ToLower(extension), ".") // the form that uploadLimit compares
		if o.Extensions[i] == "" || !text.IsLine(extension) || len(extension) > 20 {
			return invalid("extensions", "an extension must have 1 to 20 characters, such as jpg")
		}
	}
	for _, size := range o.Sizes {
		if _, ok := ParseSize(size); !ok {
			return invalid("sizes", fmt.Sprintf(
				"a size must have the form 640x, x480, 640x480 or 200x200c, with sides of 1 to %d", MaxSide))
		}
	}
	for _, option := range o.Options {
		if option == "" || utf8.RuneCountInString(option) > maxText || !text.IsLine(option) {
			return invalid("options", "an option must be one line of 1 to 255 characters")
		}
	}
	for _, name := range o.Templates {
		if s.templatesByName[name] == nil {
			return invalid("templates", "there is no template "+strconv.Quote(name))
		}
	}
	return f.checkBlocks(s)
}

// checkBlocks returns an error if the setting Blocks has an invalid name of a block, or a field that does not exist or
// that blocks cannot contain.
func (f *Field) checkBlocks(s *schema) error {
	invalid := func(message string) error { return kernel.Invalid("settings.blocks", "invalid", message) }
	for kind, fields := range f.Settings.Blocks {
		if !goodName(kind, true) || len(fields) == 0 || len(fields) > maxTemplateFields {
			return invalid("a kind of block needs a name of the same form as a template and 1 to 200 fields")
		}
		for _, name := range fields {
			inner := s.fields[name]
			if inner == nil {
				return invalid("there is no field " + strconv.Quote(name))
			}
			if inner.Type == TypeBlocks || inner.Type == TypeFile {
				return invalid("blocks cannot contain the field " + strconv.Quote(name) + ", because its type is " + inner.Type)
			}
		}
	}
	return nil
}

// maxEntries returns the maximum length of a list.
func (o *Settings) maxEntries() int {
	if o.Most > 0 {
		return o.Most
	}
	return maxList
}

// clean validates a new value of a field and returns it in its stored form, or nil if it is empty. old is the current
// value of the page's field, which is only needed for files.
func (s *schema) clean(f *Field, value, old any) (any, error) {
	invalid := func(message string) error { return kernel.Invalid(f.Name, "type", f.Name+": "+message) }
	if value == nil {
		return nil, nil // no value
	}
	switch f.Type {
	case TypeText, TypeTextarea, TypeEmail, TypeURL, TypeDatetime, TypeOptions:
		if s, ok := value.(string); ok && strings.TrimSpace(s) == "" {
			return nil, nil // no value
		}
	}
	switch f.Type {
	case TypeText:
		v, ok := value.(string)
		if v = strings.TrimSpace(v); !ok || !text.IsLine(v) {
			return nil, invalid("the value must be one line of text without control characters")
		}
		return f.checkLength(v, maxText)
	case TypeTextarea:
		v, ok := value.(string)
		if !ok || !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			return nil, invalid("the value must be text in UTF-8 without zero bytes")
		}
		return f.checkLength(strings.ReplaceAll(v, "\r\n", "\n"), maxTextarea)
	case TypeInt, TypeFloat:
		n, ok := asNumber(value)
		o := f.Settings
		switch {
		case !ok:
			return nil, invalid("the value must be a number")
		case f.Type == TypeInt && (n != math.Trunc(n) || math.Abs(n) >= maxInteger):
			return nil, invalid("the value must be an integer between -2^53 and 2^53")
		case o.Min != nil && n < *o.Min, o.Max != nil && n > *o.Max:
			return nil, kernel.Invalid(f.Name, "range",
				f.Name+": the number is below the minimum or above the maximum of the field")
		}
		return n, nil
	case TypeBool: // scripts may write 0 and 1
		if v, ok := value.(bool); ok {
			return v, nil
		}
		if n, ok := asNumber(value); ok && (n == 0 || n == 1) {
			return n == 1, nil
		}
		return nil, invalid("the value must be true or false")
	case TypeDatetime:
		v, ok := asTime(value)
		if !ok || v.Year() < 1 || v.Year() > 9999 { // RFC 3339 allows no other years
			return nil, invalid("the value must be a time, such as 2026-01-02 or 2026-01-02T15:04:05Z")
		}
		return v.Format(time.RFC3339), nil
	case TypeEmail:
		v, _ := value.(string)
		address, err := mailaddress.Parse(v)
		if err != nil || utf8.RuneCountInString(address) > maxText {
			return nil, invalid("the value must be an e-mail address")
		}
		return address, nil
	case TypeURL:
		v, _ := value.(string)
		v = strings.TrimSpace(v)
		if !isWebAddress(v) {
			return nil, invalid("the value must be an address that begins with https://, http:// or /")
		}
		return v, nil
	case TypePage:
		return s.cleanList(f, value, func(v any) (any, error) {
			n, ok := asNumber(v)
			if !ok || n != math.Trunc(n) || n < 1 || n >= maxInteger {
				return nil, invalid("the value must be the id of a page")
			}
			return n, nil
		})
	case TypeOptions:
		return s.cleanList(f, value, func(v any) (any, error) {
			if word, ok := v.(string); ok && slices.Contains(f.Settings.Options, word) {
				return v, nil
			}
			return nil, kernel.Invalid(f.Name, "unknown", f.Name+": the value must be one of "+
				text.Short(strings.Join(f.Settings.Options, ", "), 200))
		})
	case TypeFile:
		return cleanFiles(f, value, old)
	case TypeJSON:
		raw := encode(value)
		if len(raw) > maxJSON || depth(value) > jsonDepth {
			return nil, kernel.Invalid(f.Name, "length",
				fmt.Sprintf("%s: the value may have at most %d bytes of JSON and %d levels", f.Name, maxJSON, jsonDepth))
		}
		return value, nil
	case TypeBlocks:
		return s.cleanBlocks(f, value)
	}
	return nil, fmt.Errorf("field %s has the unknown type %q", f.Name, f.Type)
}

// checkLength returns v, or an error if v has too many characters. The limit is the field's setting Most or, if that
// is not set, defaultLimit.
func (f *Field) checkLength(v string, defaultLimit int) (any, error) {
	limit := cmp.Or(f.Settings.Most, defaultLimit)
	if utf8.RuneCountInString(v) > limit {
		return nil, kernel.Invalid(f.Name, "length", fmt.Sprintf("%s: at most %d characters are allowed", f.Name, limit))
	}
	return v, nil
}

// isWebAddress reports whether v is either an absolute URL with the scheme http or https, or a path that begins with a
// slash.
func isWebAddress(v string) bool {
	u, err := url.Parse(v)
	if err != nil || !text.IsLine(v) || len(v) > 1024 || strings.ContainsAny(v, " \\\"<>") {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "":
		return u.Host == "" && strings.HasPrefix(v, "/") // an address such as //example.com has a host
	}
	return false
}

// asNumber converts a number from JSON or JavaScript to a float64. ok is false for other values, NaN and infinities.
func asNumber(value any) (number float64, ok bool) {
	n := math.NaN()
	switch v := value.(type) {
	case float64:
		n = v
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case json.Number:
		var err error
		if n, err = v.Float64(); err != nil {
			return 0, false
		}
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

// asTime converts a text that [selector.ParseTime] accepts, or a number of seconds since 1970, to a time in UTC. ok is
// false for other values.
func asTime(value any) (t time.Time, ok bool) {
	if v, isText := value.(string); isText {
		t, ok = selector.ParseTime(strings.TrimSpace(v))
		return t.UTC(), ok
	}
	seconds, ok := asNumber(value)
	if !ok || math.Abs(seconds) >= 1e11 { // more microseconds may not fit into an int64
		return time.Time{}, false
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC(), true
}

// depth returns the number of nested lists and objects in a JSON value, which is 0 for a scalar.
func depth(value any) int {
	deepest := 0
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
		return deepest + 1
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
		return deepest + 1
	}
	return 0
}

// cleanList validates the value of a field that may have several values. It calls cleanElement for each value and
// removes duplicates.
func (s *schema) cleanList(f *Field, value any, cleanElement func(v any) (any, error)) (any, error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	if ok && !f.Settings.Multiple && len(list) > 1 {
		return nil, kernel.Invalid(f.Name, "many", f.Name+": only one value is allowed")
	}
	if len(list) > f.Settings.maxEntries() {
		return nil, kernel.Invalid(f.Name, "many",
			fmt.Sprintf("%s: at most %d values are allowed", f.Name, f.Settings.maxEntries()))
	}
	result := []any{}
	for _, v := range list {
		v, err := cleanElement(v)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(result, v) {
			result = append(result, v)
		}
	}
	switch {
	case len(result) == 0:
		return nil, nil // no value
	case !f.Settings.Multiple:
		return result[0], nil
	}
	return result, nil
}

// cleanFiles returns the files whose IDs are in value, in the order and with the descriptions that value gives. It
// takes these files from old, the current value of the field. It returns an error for any ID that is not in old,
// because only Attach adds new files.
func cleanFiles(f *Field, value, old any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, kernel.Invalid(f.Name, "type", f.Name+": the value must be a list of files")
	}
	oldFiles := make(map[float64]map[string]any)
	previous, _ := old.([]any)
	for _, v := range previous {
		if file, ok := v.(map[string]any); ok {
			if id, ok := asNumber(file["id"]); ok {
				oldFiles[id] = file
			}
		}
	}
	result := []any{}
	for _, v := range list {
		entry, _ := v.(map[string]any)
		id, _ := asNumber(entry["id"])
		file := oldFiles[id]
		if file == nil {
			return nil, kernel.Invalid(f.Name, "unknown",
				f.Name+": the list contains a file whose id is not in this field: upload the file to the page first")
		}
		delete(oldFiles, id) // so that a file that is listed twice is refused
		updated := maps.Clone(file)
		if description, ok := entry["description"].(string); ok {
			if utf8.RuneCountInString(description) > maxText || !text.IsLine(description) {
				return nil, kernel.Invalid(f.Name, "length",
					f.Name+": a description must be one line of at most 255 characters")
			}
			updated["description"] = description
		}
		result = append(result, updated)
	}
	if len(result) == 0 {
		return nil, nil // no value
	}
	return result, nil
}

// cleanBlocks validates a list of blocks. In each block, the member type names the kind of block, and the other members
// are fields of that kind.
func (s *schema) cleanBlocks(f *Field, value any) (any, error) {
	list, ok := value.([]any)
	if !ok || len(list) > f.Settings.maxEntries() {
		return nil, kernel.Invalid(f.Name, "type", fmt.Sprintf("%s: the value must be a list of at most %d blocks",
			f.Name, f.Settings.maxEntries()))
	}
	result := []any{}
	for i, v := range list {
		block, _ := v.(map[string]any)
		kind, _ := block["type"].(string)
		fields, ok := f.Settings.Blocks[kind]
		if !ok {
			return nil, kernel.Invalid(fmt.Sprintf("%s[%d].type", f.Name, i), "unknown",
				fmt.Sprintf("%s: there is no kind of block %q", f.Name, kind))
		}
		cleaned := map[string]any{"type": kind}
		for name, v := range block {
			if name == "type" {
				continue
			}
			field := s.fields[name]
			if field == nil || !slices.Contains(fields, name) {
				return nil, kernel.Invalid(fmt.Sprintf("%s[%d].%s", f.Name, i, name), "unknown",
					fmt.Sprintf("%s: blocks of the kind %s have no field %q", f.Name, kind, name))
			}
			inner := *field
			inner.Name = fmt.Sprintf("%s[%d].%s", f.Name, i, name) // for error messages
			v, err := s.clean(&inner, v, nil)
			if err != nil {
				return nil, err
			}
			if v != nil {
				cleaned[name] = v
			}
		}
		result = append(result, cleaned)
	}
	if len(result) == 0 {
		return nil, nil // no value
	}
	return result, nil
}

// searchCopy is a searchable copy of a value. The copy is in num if isNum is true, and in text otherwise.
type searchCopy struct {
	text  string
	num   float64
	isNum bool
}

// copies returns the searchable copies of a stored value of f. The type of f must be a key of the map kinds. For a
// list, copies returns the copies of all entries.
func (s *schema) copies(f *Field, value any) (rows []searchCopy) {
	switch v := value.(type) {
	case nil:
	case []any:
		for _, inner := range v {
			rows = append(rows, s.copies(f, inner)...)
		}
	case map[string]any:
		if f.Type == TypeBlocks {
			return s.copiesOfBlock(f, v)
		}
		for _, name := range []string{"name", "description"} { // of a file
			if word, _ := v[name].(string); word != "" {
				rows = append(rows, searchCopy{text: word})
			}
		}
	case bool:
		flag := searchCopy{isNum: true}
		if v {
			flag.num = 1
		}
		rows = append(rows, flag)
	case float64:
		rows = append(rows, searchCopy{num: v, isNum: true})
	case string:
		if f.Type == TypeDatetime {
			parsed, _ := time.Parse(time.RFC3339, v)
			return []searchCopy{{num: float64(parsed.UnixMicro()) / 1e6, isNum: true}}
		}
		rows = append(rows, searchCopy{text: v})
	}
	return rows
}

// copiesOfBlock returns one searchable copy with all texts of a block, or none if the block has no text.
func (s *schema) copiesOfBlock(f *Field, block map[string]any) []searchCopy {
	var texts []string
	for _, name := range f.Settings.Blocks[fmt.Sprint(block[blockType])] {
		inner := s.fields[name]
		if inner == nil {
			continue
		}
		if kind, searchable := kinds[inner.Type]; !searchable || kind != selector.Text {
			continue
		}
		for _, row := range s.copies(inner, block[name]) {
			texts = append(texts, row.text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return []searchCopy{{text: strings.Join(texts, "\n")}}
}
