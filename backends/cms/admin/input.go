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

// input is the form element in which a field of a page is edited.
type input struct {
	*content.Field
	Input  string // its name in the form
	Text   string
	On     bool
	Choose pages.Select
	Files  []fileRow
	Pages  []pageRef
	Blocks []block
	Kinds  pages.Select
}

type fileRow struct {
	ID                      int64
	Name, Description, Type string
	Size                    int64
}

type pageRef struct {
	ID    int64
	Title string
}

type block struct {
	Kind   string
	At     int
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
		chosen := each(value)
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
		for _, item := range each(value) {
			if id, ok := item.(float64); ok {
				ids = append(ids, strconv.FormatFloat(id, 'f', -1, 64))
				i.Pages = append(i.Pages, pageRef{ID: int64(id)})
			}
		}
		i.Text = strings.Join(ids, " ")
	case content.TypeFile:
		for _, item := range each(value) {
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
		i.Kinds.Add("", "no more", true)
		for _, kind := range slices.Sorted(maps.Keys(f.Settings.Blocks)) {
			i.Kinds.Add(kind, kind, false)
		}
		for index, item := range each(value) {
			values, _ := item.(map[string]any)
			kind, _ := values["type"].(string)
			i.Blocks = append(i.Blocks, block{kind, index, s.inputs(f.Settings.Blocks[kind], values, name+"."+strconv.Itoa(index)+
				".")})
		}
	default:
		i.Text = plainText(value)
	}
	return i
}

func rowOf(file map[string]any) fileRow {
	id, _ := file["id"].(float64)
	size, _ := file["size"].(float64)
	row := fileRow{ID: int64(id), Size: int64(size)}
	row.Name, _ = file["name"].(string)
	row.Type, _ = file["type"].(string)
	row.Description, _ = file["description"].(string)
	return row
}

// each returns a list unchanged, and any other value as a list with this one element.
func each(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}

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
	faults []error
}

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
		if f.Settings.Multiple {
			return list(r.Form.Values(name))
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

func list(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = pages.Valid(text)
	}
	return items
}

// pages parses a list of IDs and paths of pages.
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

// files returns the files in the stored value old, without those that the form removes.
func (r *reader) files(name string, old any) any {
	removed := r.Form.Values(name + ".gone")
	var remaining []any
	for _, item := range each(old) {
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

// blocks returns the blocks in the form in their order, without the blocks that the form removes, followed by the block
// that the form adds, if any.
func (r *reader) blocks(f *content.Field, name string) any {
	type placed struct {
		position int64
		value    map[string]any
	}
	var found []placed
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
		found = append(found, placed{r.Form.Number(blockPrefix + "at"), value})
	}
	slices.SortStableFunc(found, func(a, b placed) int { return int(a.position - b.position) })
	var ordered []any
	for _, block := range found {
		ordered = append(ordered, block.value)
	}
	if kind := r.Form.Text(name + ".add"); kind != "" {
		ordered = append(ordered, map[string]any{"type": kind})
	}
	if ordered == nil {
		return nil
	}
	return ordered
}
