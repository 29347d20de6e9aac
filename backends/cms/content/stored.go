package content

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values are stored under the keys of their fields, so that values of a deleted field are not mistaken for those of
// a newer field with the same name. The same holds for the values inside of blocks.

// numbered returns the key of a field whose name may have belonged to another field before.
func numbered(name string, id int64) string { return name + "#" + strconv.FormatInt(id, 10) }

// keyed returns values by the keys under which they are stored.
func (s *schema) keyed(fields map[string]any) map[string]any {
	stored := make(map[string]any, len(fields))
	for name, value := range fields {
		f := s.fields[name]
		if f == nil { // from a revision; it keeps its key
			stored[name] = value
			continue
		}
		if f.Type == TypeBlocks {
			value = eachBlock(value, s.keyed)
		}
		stored[f.key] = value
	}
	return stored
}

// store returns values in their stored form.
func (s *schema) store(fields map[string]any) string { return encode(s.keyed(fields)) }

// named returns those stored values that belong to a field of the template, by field name. It reports in dropped
// whether there were others, also within blocks.
func (s *schema) named(t *Template, stored map[string]any) (fields map[string]any, dropped bool) {
	fields = make(map[string]any, len(stored))
	for key, value := range stored {
		f := s.keys[key]
		if f == nil || !slices.Contains(t.Fields, f.Name) || !f.fits(value) {
			dropped = true
			continue
		}
		value, lost := s.inner(f, value)
		fields[f.Name], dropped = value, dropped || lost
	}
	return fields, dropped
}

// inner replaces the keys by field names within the blocks of a stored value, and drops the values of fields that
// no longer exist. It reports in dropped whether it dropped any.
func (s *schema) inner(f *Field, value any) (named any, dropped bool) {
	if f.Type != TypeBlocks {
		return value, false
	}
	named = eachBlock(value, func(stored map[string]any) map[string]any {
		fields := make(map[string]any, len(stored))
		for key, value := range stored {
			if f := s.keys[key]; f != nil && f.fits(value) {
				fields[f.Name] = value
			} else {
				dropped = true
			}
		}
		return fields
	})
	return named, dropped
}

// fits reports whether a stored value is of the type of a field. It need not be: values of fields without a number are
// stored under the field's name, so they may come from a removed field of the same name and another type.
func (f *Field) fits(value any) bool {
	switch v := value.(type) {
	case string:
		switch f.Type {
		case TypeText, TypeTextarea, TypeEmail, TypeURL, TypeOptions, TypeJSON:
			return true
		case TypeDatetime:
			_, err := time.Parse(time.RFC3339, v)
			return err == nil
		}
		return false
	case float64:
		return f.Type == TypeInt || f.Type == TypeFloat || f.Type == TypePage || f.Type == TypeJSON
	case bool:
		return f.Type == TypeBool || f.Type == TypeJSON
	case []any:
		return f.Type == TypeJSON || !slices.ContainsFunc(v, func(one any) bool { return !f.lists(one) })
	}
	return f.Type == TypeJSON
}

// lists reports whether value has the stored form of an element of f, whose type is that of a list. It returns false
// for other types.
func (f *Field) lists(value any) bool {
	is := false
	switch f.Type {
	case TypePage:
		_, is = value.(float64)
	case TypeOptions:
		_, is = value.(string)
	case TypeFile:
		file, _ := value.(map[string]any)
		_, is = file["id"].(float64)
	case TypeBlocks:
		block, _ := value.(map[string]any)
		_, is = block[blockType].(string)
	}
	return is
}

// blockType is the member of a block that names its kind.
const blockType = "type"

// eachBlock returns a copy of a list of blocks in which change has replaced the values of each block; their kinds
// stay.
func eachBlock(value any, change func(fields map[string]any) map[string]any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	made := make([]any, len(list))
	for i, one := range list {
		made[i] = one
		if block, ok := one.(map[string]any); ok {
			values := maps.Clone(block)
			delete(values, blockType) // a field may have this name, too
			values = change(values)
			values[blockType] = block[blockType]
			made[i] = values
		}
	}
	return made
}

// was returns the stored values of a revision by field name. A value of a field that no longer exists keeps the
// field's name, unless another field has this name now.
func (s *schema) was(stored map[string]any) map[string]any {
	fields := make(map[string]any, len(stored))
	for key, value := range stored {
		if f := s.keys[key]; f != nil {
			if f.fits(value) {
				fields[f.Name], _ = s.inner(f, value)
			}
			continue
		}
		if name, _, _ := strings.Cut(key, "#"); s.fields[name] == nil {
			fields[name] = value
		}
	}
	return fields
}
