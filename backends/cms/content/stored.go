package content

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values are stored under the keys of their fields, so that those of a field that was
// deleted are not taken for those of another one of its name. They are read and written
// in blocks likewise.

// numbered is the key of a field that shares its name with none that was before.
func numbered(name string, id int64) string { return name + "#" + strconv.FormatInt(id, 10) }

// keyed are values as they are stored.
func (s *schema) keyed(fields map[string]any) map[string]any {
	stored := make(map[string]any, len(fields))
	for name, value := range fields {
		f := s.fields[name]
		if f == nil { // of a revision: it stays what it was
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

// store writes values as they are stored.
func (s *schema) store(fields map[string]any) string { return encode(s.keyed(fields)) }

// named takes from stored values those that a template has fields for, by their names, and tells whether there were
// others, also in blocks.
func (s *schema) named(t *Template, stored map[string]any) (fields map[string]any, gone bool) {
	fields = make(map[string]any, len(stored))
	for key, value := range stored {
		f := s.keys[key]
		if f == nil || !slices.Contains(t.Fields, f.Name) || !f.fits(value) {
			gone = true
			continue
		}
		value, lost := s.inner(f, value)
		fields[f.Name], gone = value, gone || lost
	}
	return fields, gone
}

// inner is a stored value with the values in its blocks by their names, without those of fields that are no more, and
// tells whether there were any.
func (s *schema) inner(f *Field, value any) (named any, gone bool) {
	if f.Type != TypeBlocks {
		return value, false
	}
	return eachBlock(value, func(stored map[string]any) map[string]any {
		fields := make(map[string]any, len(stored))
		for key, value := range stored {
			if f := s.keys[key]; f != nil && f.fits(value) {
				fields[f.Name] = value
			} else {
				gone = true
			}
		}
		return fields
	}), gone
}

// fits reports whether a stored value can be of a field. Fields without a number may have those of another type, which
// a field of their name was of.
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

// lists is fits for a value in a list.
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

// blockType is the member of a block that says its kind.
const blockType = "type"

// eachBlock changes the values in blocks; their kinds stay.
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
			delete(values, blockType) // a field may be called so, too
			values = change(values)
			values[blockType] = block[blockType]
			made[i] = values
		}
	}
	return made
}

// was are the stored values of a revision. What was of a field that is no more has its name, unless another field has
// it now.
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
