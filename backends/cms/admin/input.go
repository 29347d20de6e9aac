package admin

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// prefix is prepended to the names of inputs, so that the fields of a template do not collide with other inputs of
// the form.
const prefix = "f-"

// browserTime is the layout in which browsers format a time.
const browserTime = "2006-01-02T15:04:05"

// input is the form element in which a field of a page is edited. Which of its values are set depends on the type of
// the field.
type input struct {
	*content.Field
	Input  string       // name of the form element
	Text   string       // value of a text input; for references to pages, their IDs
	On     bool         // whether the checkbox of a bool is checked
	Choose pages.Select // the options of a field of type options
	Files  []fileRow
	Pages  []pageRef // pages to which the field refers
	Blocks []block
	Kinds  pages.Select // the kinds of blocks that can be added
}

// fileRow is a file in a field.
type fileRow struct {
	ID                      int64
	Name, Description, Type string
	Size                    int64 // in bytes
}

// pageRef is a page to which a field refers.
type pageRef struct {
	ID    int64
	Title string // empty if the user may not see the page
}

// block is a block in a field, with the inputs for its fields.
type block struct {
	Kind   string
	At     int // position in the field, from 0
	Fields []*input
}

// Caption returns the field's label or, if there is none, its name.
func (i *input) Caption() string {
	if i.Label != "" {
		return i.Label
	}
	return i.Name
}

// Kind returns the type attribute of the HTML element.
func (i *input) Kind() string {
	switch i.Type {
	case content.TypeInt, content.TypeFloat:
		return "number"
	case content.TypeDatetime:
		return "datetime-local"
	case content.TypeEmail:
		return "email"
	}
	return "text"
}

// Rows returns the height of a textarea in lines, from 4 to 30.
func (i *input) Rows() int { return min(max(strings.Count(i.Text, "\n")+2, 4), 30) }

// schema holds the fields by name.
type schema map[string]*content.Field

// schema returns the fields that the user may see.
func (c *call) schema() (schema, error) {
	list, err := c.Content.Fields(c.ctx(), c.user)
	if err != nil {
		return nil, err
	}
	s := make(schema, len(list))
	for _, f := range list {
		s[f.Name] = f
	}
	return s, nil
}

// inputs returns the inputs for the named fields with their values. The name of each input begins with namePrefix.
func (s schema) inputs(names []string, values map[string]any, namePrefix string) (list []*input) {
	for _, name := range names {
		if f := s[name]; f != nil {
			list = append(list, s.input(f, namePrefix+name, values[name]))
		}
	}
	return list
}

// input returns the form element for a field with its stored value. name is the name of the HTML element; in a block,
// it begins with the names of the blocks that contain the field.
func (s schema) input(f *content.Field, name string, value any) *input {
	i := &input{Field: f, Input: name}
	switch f.Type {
	case content.TypeBool:
		i.On, _ = value.(bool)
	case content.TypeOptions:
		chosen := asList(value)
		if !f.Settings.Multiple && !f.Required {
			i.Choose.Add("", "–", len(chosen) == 0)
		}
		for _, option := range f.Settings.Options {
			i.Choose.Add(option, option, slices.Contains(chosen, any(option)))
		}
	case content.TypeDatetime:
		if text, ok := value.(string); ok {
			i.Text = text
			if parsed, err := time.Parse(time.RFC3339Nano, text); err == nil {
				i.Text = parsed.UTC().Format(browserTime)
			}
		}
	case content.TypePage:
		var ids []string
		for _, item := range asList(value) {
			if id, ok := item.(float64); ok {
				ids = append(ids, strconv.FormatFloat(id, 'f', -1, 64))
				i.Pages = append(i.Pages, pageRef{ID: int64(id)})
			}
		}
		i.Text = strings.Join(ids, " ")
	case content.TypeFile:
		for _, item := range asList(value) {
			if file, ok := item.(map[string]any); ok {
				i.Files = append(i.Files, rowOf(file))
			}
		}
	case content.TypeJSON:
		if value != nil {
			text, _ := json.MarshalIndent(value, "", "  ") // it was read as JSON
			i.Text = string(text)
		}
	case content.TypeBlocks:
		i.Kinds.Add("", "none", true)
		for _, kind := range slices.Sorted(maps.Keys(f.Settings.Blocks)) {
			i.Kinds.Add(kind, kind, false)
		}
		for index, item := range asList(value) {
			values, _ := item.(map[string]any)
			kind, _ := values["type"].(string)
			inputs := s.inputs(f.Settings.Blocks[kind], values, name+"."+strconv.Itoa(index)+".")
			i.Blocks = append(i.Blocks, block{kind, index, inputs})
		}
	default:
		i.Text = plainText(value)
	}
	return i
}

// rowOf returns the row for the stored value of a file.
func rowOf(file map[string]any) fileRow {
	id, _ := file["id"].(float64)
	size, _ := file["size"].(float64)
	row := fileRow{ID: int64(id), Size: int64(size)}
	row.Name, _ = file["name"].(string)
	row.Type, _ = file["type"].(string)
	row.Description, _ = file["description"].(string)
	return row
}

// asList returns a list unchanged, and any other value as a list with this one element.
func asList(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}

// plainText formats a stored value as the text of an input.
func plainText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	text, _ := json.Marshal(value) // it was read as JSON
	return string(text)
}

// reader reads the values of a form.
type reader struct {
	*call
	schema schema
	faults []error // what refuse has recorded
}

// refuse records an error message for the field with the given name.
func (r *reader) refuse(name, message string) {
	r.faults = append(r.faults, kernel.Invalid(name, "form", message))
}

// values returns the values of the named fields from the form. old holds the stored values of the page.
func (r *reader) values(names []string, old map[string]any, namePrefix string) map[string]any {
	result := make(map[string]any, len(names))
	for _, name := range names {
		if f := r.schema[name]; f != nil {
			result[name] = r.value(f, namePrefix+name, old[name])
		}
	}
	return result
}

// value returns the value of a field from the form, as content.Edit expects it, or nil for an empty input. old is the
// stored value, from which the list of files is taken. If the text is not a valid number or JSON, value records an
// error for the field with refuse.
func (r *reader) value(f *content.Field, name string, old any) any {
	text := strings.ReplaceAll(r.Form.Text(name), "\r\n", "\n")
	switch f.Type {
	case content.TypeBool:
		return r.Form.Flag(name)
	case content.TypeFile:
		return r.files(name, old)
	case content.TypeBlocks:
		return r.blocks(f, name)
	case content.TypeOptions:
		if f.Settings.Multiple { // otherwise text is the chosen option, or empty
			return anyList(r.Form.Values(name))
		}
	case content.TypePage:
		return r.pages(f, strings.Fields(text))
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	switch f.Type {
	case content.TypeInt, content.TypeFloat:
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			r.refuse(f.Name, f.Name+": this is not a number")
			return nil
		}
		return n
	case content.TypeDatetime:
		for _, layout := range []string{browserTime, "2006-01-02T15:04", time.RFC3339Nano} {
			if parsed, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
				return parsed.UTC().Format(time.RFC3339Nano)
			}
		}
		return text
	case content.TypeJSON:
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			r.refuse(f.Name, f.Name+": this is not JSON: "+err.Error())
		}
		return value
	case content.TypeTextarea:
		return text
	}
	return strings.TrimSpace(text)
}

// anyList returns texts as a []any, or nil if there are none.
func anyList(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = pages.Valid(text)
	}
	return items
}

// pages returns the IDs of pages for a list of IDs and paths, in the stored form of field f, or nil for an empty list.
func (r *reader) pages(f *content.Field, words []string) any {
	var ids []any
	for _, word := range words {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			page, err := r.Content.At(r.ctx(), r.user, word)
			if err != nil {
				r.refuse(f.Name, f.Name+": there is no page "+strconv.Quote(word))
				return nil
			}
			id = page.ID
		}
		ids = append(ids, float64(id))
	}
	switch {
	case len(ids) == 0:
		return nil
	case len(ids) == 1 && !f.Settings.Multiple:
		return ids[0]
	}
	return ids
}

// files returns the files in the stored value old, without those that the form removes, and with the descriptions from
// the form.
func (r *reader) files(name string, old any) any {
	removed := r.Form.Values(name + ".gone")
	var remaining []any
	for _, item := range asList(old) {
		file, ok := item.(map[string]any)
		if !ok {
			continue
		}
		id := plainText(file["id"])
		if slices.Contains(removed, id) {
			continue
		}
		file = maps.Clone(file)
		if field := name + ".about." + id; r.Form.Has(field) {
			file["description"] = strings.TrimSpace(r.Form.Text(field))
		}
		remaining = append(remaining, file)
	}
	if remaining == nil {
		return nil
	}
	return remaining
}

// maxBlocks limits how many blocks of a field are read from a form.
const maxBlocks = 1000

// blocks returns the blocks in the form, sorted by their typed positions. It leaves out the blocks that the form
// removes. The block that the form adds, if any, comes last.
func (r *reader) blocks(f *content.Field, name string) any {
	type formBlock struct {
		position int64 // the typed position, by which the blocks are sorted
		value    map[string]any
	}
	var found []formBlock
	for i := range maxBlocks {
		blockPrefix := name + "." + strconv.Itoa(i) + "."
		if !r.Form.Has(blockPrefix + "type") {
			break
		}
		if r.Form.Flag(blockPrefix + "gone") {
			continue
		}
		kind := r.Form.Text(blockPrefix + "type")
		value := r.values(f.Settings.Blocks[kind], nil, blockPrefix)
		maps.DeleteFunc(value, func(_ string, v any) bool { return v == nil })
		value["type"] = kind
		found = append(found, formBlock{r.Form.Number(blockPrefix + "at"), value})
	}
	slices.SortStableFunc(found, func(a, b formBlock) int { return int(a.position - b.position) })
	var ordered []any
	for _, block := range found {
		ordered = append(ordered, block.value)
	}
	if kind := r.Form.Text(name + ".add"); kind != "" {
		ordered = append(ordered, map[string]any{"type": kind})
	}
	if ordered == nil { // an untyped nil, as for any other empty input
		return nil
	}
	return ordered
}
