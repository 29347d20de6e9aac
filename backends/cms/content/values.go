package content

import (
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
	TypeBlocks   = "blocks" // a list of objects: type is their kind, the other members are fields
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
	maxText     = 255     // characters of a line, by default
	maxTextarea = 65_536  // characters of a textarea, by default
	longest     = 262_144 // characters that a field may allow
	maxList     = 100     // pages, options, files or blocks, by default
	listLongest = 1000    // entries that a field may allow
	maxData     = 1 << 20 // bytes of all values of a page
	maxJSON     = 65_536  // bytes of a JSON value
	jsonDepth   = 32
	number53    = 1 << 53
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
func (f *Field) check(s *schema) error {
	if !slices.Contains(Types, f.Type) {
		return kernel.Invalid("type", "unknown", "a type is one of "+strings.Join(Types, ", "))
	}
	invalid := func(setting, message string) error { return kernel.Invalid("settings."+setting, "invalid", message) }
	is := func(types ...string) bool { return slices.Contains(types, f.Type) }
	o := &f.Settings
	limit := listLongest
	if is(TypeText, TypeTextarea) {
		limit = longest
	}
	switch {
	case o.Most != 0 && !is(TypeText, TypeTextarea, TypePage, TypeOptions, TypeFile, TypeBlocks), o.Most < 0 ||
		o.Most > limit:
		return invalid("most", fmt.Sprintf("most is of texts and lists, from 1 to %d", limit))
	case (o.Min != nil || o.Max != nil) && !is(TypeInt, TypeFloat), o.Min != nil && o.Max != nil && *o.Min > *o.Max:
		return invalid("min", "min and max are of numbers, and min is not above max")
	case o.Multiple && !is(TypePage, TypeOptions):
		return invalid("multiple", "multiple is of pages and options")
	case (len(o.Options) > 0) != is(TypeOptions) || len(o.Options) > listLongest:
		return invalid("options", fmt.Sprintf("a field of options has 1 to %d of them, and no other has any", listLongest))
	case len(o.Templates) > 0 && !is(TypePage):
		return invalid("templates", "templates are of fields of pages")
	case (len(o.Extensions) > 0 || o.MaxBytes != 0) && !is(TypeFile), o.MaxBytes < 0:
		return invalid("extensions", "extensions and max_bytes are of fields of files")
	case len(o.Sizes) > 0 && !is(TypeFile), len(o.Sizes) > maxSizes:
		return invalid("sizes", fmt.Sprintf("sizes are of fields of files, at most %d of them", maxSizes))
	case (len(o.Blocks) > 0) != is(TypeBlocks) || len(o.Blocks) > 100:
		return invalid("blocks", "a field of blocks has 1 to 100 kinds of them, and no other has any")
	}
	o.Extensions = slices.Clone(o.Extensions)
	for i, extension := range o.Extensions { // takes compares them in this form
		o.Extensions[i] = strings.TrimPrefix(strings.ToLower(extension), ".")
		if o.Extensions[i] == "" || !text.IsLine(extension) || len(extension) > 20 {
			return invalid("extensions", "an extension is such as jpg")
		}
	}
	for _, size := range o.Sizes {
		if _, ok := ParseSize(size); !ok {
			return invalid("sizes", fmt.Sprintf("a size is such as 640x, x480, 640x480 or 200x200c, with sides of 1 to %d",
				MaxSide))
		}
	}
	for _, option := range o.Options {
		if option == "" || utf8.RuneCountInString(option) > maxText || !text.IsLine(option) {
			return invalid("options", "an option is one line of 1 to 255 characters")
		}
	}
	for _, name := range o.Templates {
		if s.names[name] == nil {
			return invalid("templates", "there is no template "+strconv.Quote(name))
		}
	}
	for kind, fields := range o.Blocks {
		if !goodName(kind, true) || len(fields) == 0 || len(fields) > ofTemplate {
			return invalid("blocks", "a kind of blocks has a name as templates have, and 1 to 200 fields")
		}
		for _, name := range fields {
			if inner := s.fields[name]; inner == nil || inner.Type == TypeBlocks || inner.Type == TypeFile {
				return invalid("blocks", "blocks have fields that there are, no files and no blocks: "+strconv.Quote(name)+" is none")
			}
		}
	}
	return nil
}

// list returns the maximum length of a list.
func (o *Settings) list() int {
	if o.Most > 0 {
		return o.Most
	}
	return maxList
}

// clean validates a new value of a field and returns it in its stored form, or nil if it is empty. old is the current
// value of the page's field.
func (s *schema) clean(f *Field, value, old any) (any, error) {
	invalid := func(message string) error { return kernel.Invalid(f.Name, "type", f.Name+": "+message) }
	if value == nil {
		return nil, nil //nolint:nilnil // no value
	}
	switch f.Type {
	case TypeText, TypeTextarea, TypeEmail, TypeURL, TypeDatetime, TypeOptions:
		if s, ok := value.(string); ok && strings.TrimSpace(s) == "" {
			return nil, nil //nolint:nilnil // no value
		}
	}
	switch f.Type {
	case TypeText, TypeTextarea:
		v, ok := value.(string)
		if !ok {
			return nil, invalid("a text is expected")
		}
		limit := f.Settings.Most
		if f.Type == TypeText {
			limit = max(limit, 0)
			if limit == 0 {
				limit = maxText
			}
			if v = strings.TrimSpace(v); !text.IsLine(v) {
				return nil, invalid("this is one line, without control characters")
			}
		} else {
			if limit == 0 {
				limit = maxTextarea
			}
			if v = strings.ReplaceAll(v, "\r\n", "\n"); !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return nil, invalid("this is not text")
			}
		}
		if utf8.RuneCountInString(v) > limit {
			return nil, kernel.Invalid(f.Name, "length", fmt.Sprintf("%s: at most %d characters", f.Name, limit))
		}
		return v, nil
	case TypeInt, TypeFloat:
		n, ok := asNumber(value)
		if !ok || f.Type == TypeInt && (n != math.Trunc(n) || math.Abs(n) >= number53) {
			return nil, invalid("a number is expected, and where the field is an int one without a fraction that is nearer to 0 than 2^53")
		}
		if o := f.Settings; o.Min != nil && n < *o.Min || o.Max != nil && n > *o.Max {
			return nil, kernel.Invalid(f.Name, "range", f.Name+": this number is out of the bounds of the field")
		}
		return n, nil
	case TypeBool:
		if v, ok := value.(bool); ok {
			return v, nil
		}
		if n, ok := asNumber(value); ok && (n == 0 || n == 1) {
			return n == 1, nil
		}
		return nil, invalid("true or false is expected")
	case TypeDatetime:
		var parsed time.Time
		var ok bool
		switch v := value.(type) {
		case string:
			parsed, ok = selector.ParseTime(strings.TrimSpace(v))
		default:
			var n float64
			if n, ok = asNumber(v); ok && math.Abs(n) < 1e11 {
				parsed = time.UnixMicro(int64(n * 1e6))
			}
		}
		if parsed = parsed.UTC(); ok && parsed.Year() >= 1 && parsed.Year() <= 9999 { // RFC 3339 allows no other years
			return parsed.Format(time.RFC3339), nil
		}
		return nil, invalid("a time is expected, such as 2026-01-02 or 2026-01-02T15:04:05Z")
	case TypeEmail:
		v, _ := value.(string)
		address, err := mailaddress.Parse(v)
		if err != nil || utf8.RuneCountInString(address) > maxText {
			return nil, invalid("a mail address is expected")
		}
		return address, nil
	case TypeURL:
		v, _ := value.(string)
		v = strings.TrimSpace(v)
		u, err := url.Parse(v)
		if err != nil || !text.IsLine(v) || len(v) > 1024 || strings.ContainsAny(v, " \\\"<>") || u.Scheme != "" &&
			u.Scheme != "http" && u.Scheme != "https" || (u.Scheme == "") != (u.Host == "") ||
			u.Scheme == "" && !strings.HasPrefix(v, "/") {
			return nil, invalid("an address is expected that begins with https://, http:// or /")
		}
		return v, nil
	case TypePage:
		return s.cleanList(f, value, func(v any) (any, error) {
			n, ok := asNumber(v)
			if !ok || n != math.Trunc(n) || n < 1 || n >= number53 {
				return nil, invalid("the id of a page is expected")
			}
			return n, nil
		})
	case TypeOptions:
		return s.cleanList(f, value, func(v any) (any, error) {
			if word, ok := v.(string); ok && slices.Contains(f.Settings.Options, word) {
				return v, nil
			}
			return nil, kernel.Invalid(f.Name, "unknown", f.Name+": one of "+
				text.Short(strings.Join(f.Settings.Options, ", "), 200)+" is expected")
		})
	case TypeFile:
		return cleanFiles(f, value, old)
	case TypeJSON:
		raw := encode(value)
		if len(raw) > maxJSON || depth(value) > jsonDepth {
			return nil, kernel.Invalid(f.Name, "length", fmt.Sprintf("%s: at most %d bytes and %d levels of JSON",
				f.Name, maxJSON, jsonDepth))
		}
		return value, nil
	case TypeBlocks:
		return s.cleanBlocks(f, value)
	}
	return nil, fmt.Errorf("field %s is of the type %q", f.Name, f.Type)
}

// asNumber converts a number from JSON or JavaScript to a float64. It returns false for other values, NaN and
// infinities.
func asNumber(value any) (float64, bool) {
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
		return nil, kernel.Invalid(f.Name, "many", f.Name+": one value is expected")
	}
	if len(list) > f.Settings.list() {
		return nil, kernel.Invalid(f.Name, "many", fmt.Sprintf("%s: at most %d values", f.Name, f.Settings.list()))
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
		return nil, nil //nolint:nilnil // no value
	case !f.Settings.Multiple:
		return result[0], nil
	}
	return result, nil
}

// cleanFiles returns the files of old that value refers to, in the order and with the descriptions of value. Only
// Attach adds new files.
func cleanFiles(f *Field, value, old any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, kernel.Invalid(f.Name, "type", f.Name+": a list of files is expected")
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
				f.Name+": files are sent to the page first, and named by their id then")
		}
		delete(oldFiles, id)
		updated := maps.Clone(file)
		if description, ok := entry["description"].(string); ok {
			if utf8.RuneCountInString(description) > maxText || !text.IsLine(description) {
				return nil, kernel.Invalid(f.Name, "length", f.Name+": a description is one line of at most 255 characters")
			}
			updated["description"] = description
		}
		result = append(result, updated)
	}
	if len(result) == 0 {
		return nil, nil //nolint:nilnil // no value
	}
	return result, nil
}

// cleanBlocks validates a list of blocks. In each block, the member type names the kind of block, and the other members
// are fields of that kind.
func (s *schema) cleanBlocks(f *Field, value any) (any, error) {
	list, ok := value.([]any)
	if !ok || len(list) > f.Settings.list() {
		return nil, kernel.Invalid(f.Name, "type", fmt.Sprintf("%s: a list of at most %d blocks is expected",
			f.Name, f.Settings.list()))
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
			in := *field
			in.Name = fmt.Sprintf("%s[%d].%s", f.Name, i, name)
			v, err := s.clean(&in, v, nil)
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
		return nil, nil //nolint:nilnil // no value
	}
	return result, nil
}

// copied is a searchable copy of a value.
type copied struct {
	text  string
	num   float64
	isNum bool
}

// copies returns the searchable copies of a value. For a list, these are the copies of all its entries.
func (s *schema) copies(f *Field, value any) (rows []copied) {
	switch v := value.(type) {
	case nil:
	case []any:
		for _, inner := range v {
			rows = append(rows, s.copies(f, inner)...)
		}
	case map[string]any: // a file or a block
		if f.Type == TypeFile {
			for _, name := range []string{"name", "description"} {
				if word, _ := v[name].(string); word != "" {
					rows = append(rows, copied{text: word})
				}
			}
			return rows
		}
		var texts []string
		for _, name := range f.Settings.Blocks[fmt.Sprint(v["type"])] {
			if inner := s.fields[name]; inner != nil && kinds[inner.Type] == selector.Text && inner.Type != TypeJSON {
				for _, row := range s.copies(inner, v[name]) {
					texts = append(texts, row.text)
				}
			}
		}
		if len(texts) > 0 {
			rows = append(rows, copied{text: strings.Join(texts, "\n")})
		}
	case bool:
		n := copied{isNum: true}
		if v {
			n.num = 1
		}
		rows = append(rows, n)
	case float64:
		rows = append(rows, copied{num: v, isNum: true})
	case string:
		if f.Type == TypeDatetime {
			parsed, _ := time.Parse(time.RFC3339, v)
			return []copied{{num: float64(parsed.UnixMicro()) / 1e6, isNum: true}}
		}
		rows = append(rows, copied{text: v})
	}
	return rows
}
