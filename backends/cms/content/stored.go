package content

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values are stored under keys that are unique to their fields, also within blocks. Therefore values of a deleted field
// are not mistaken for values of a newer field with the same name. The key of a field is its name, or the result of
// uniqueKey.

// uniqueKey returns the key of the field with the given name and ID. It is for a field whose name another field may
// have had before.
func uniqueKey(name string, id int64) string { return name + "#" + strconv.FormatInt(id, 10) }

// byKey returns values with their field names replaced by the fields' keys.
func (s *schema) byKey(fields map[string]any) map[string]any {
	stored := make(map[string]any, len(fields))
	for name, value := range fields {
		f := s.fields[name]
		if f == nil { // from a revision; the key is kept
			stored[name] = value
			continue
		}
		if f.Type == TypeBlocks {
			value = eachBlock(value, s.byKey)
		}
		stored[f.key] = value
	}
	return stored
}

// encodeFields returns the values as JSON text for the database.
func (s *schema) encodeFields(fields map[string]any) string { return encode(s.byKey(fields)) }

// byName returns the stored values of the template's fields by field name. dropped reports whether there were values of
// other fields, also within blocks.
func (s *schema) byName(t *Template, stored map[string]any) (fields map[string]any, dropped bool) {
	fields = make(map[string]any, len(stored))
	for key, value := range stored {
		f := s.fieldsByKey[key]
		if f == nil || !slices.Contains(t.Fields, f.Name) || !f.fits(value) {
			dropped = true
			continue
		}
		value, innerDropped := s.namedBlocks(f, value)
		fields[f.Name], dropped = value, dropped || innerDropped
	}
	return fields, dropped
}

// namedBlocks returns a stored value of f. In blocks, it replaces keys by field names, and drops the values of fields
// that no longer exist; dropped reports whether there were such values.
func (s *schema) namedBlocks(f *Field, value any) (named any, dropped bool) {
	if f.Type != TypeBlocks {
		return value, false
	}
	named = eachBlock(value, func(stored map[string]any) map[string]any {
		fields := make(map[string]any, len(stored))
		for key, value := range stored {
			if f := s.fieldsByKey[key]; f != nil && f.fits(value) {
				fields[f.Name] = value
			} else {
				dropped = true
			}
		}
		return fields
	})
	return named, dropped
}

// fits reports whether a stored value has the type of the field f. If the key of f is just its name, the value may come
// from a removed field with the same name and another type.
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
		return f.Type == TypeJSON || !slices.ContainsFunc(v, func(element any) bool { return !f.isListElement(element) })
	}
	return f.Type == TypeJSON
}

// isListElement reports whether value is a valid element of a stored list in field f. It returns false if f does not
// have lists.
func (f *Field) isListElement(value any) bool {
	ok := false
	switch f.Type {
	case TypePage:
		_, ok = value.(float64)
	case TypeOptions:
		_, ok = value.(string)
	case TypeFile:
		file, _ := value.(map[string]any)
		_, ok = file["id"].(float64)
	case TypeBlocks:
		block, _ := value.(map[string]any)
		_, ok = block[blockType].(string)
	}
	return ok
}

// blockType is the member of a block that names the block's kind.
const blockType = "type"

// eachBlock returns a copy of a list of blocks in which the values of each block are replaced by the result of change.
// The kinds of the blocks do not change.
func eachBlock(value any, change func(fields map[string]any) map[string]any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	result := make([]any, len(list))
	for i, element := range list {
		result[i] = element
		if block, ok := element.(map[string]any); ok {
			values := maps.Clone(block)
			delete(values, blockType) // the function change must not mistake the kind of the block for a field of that name
			values = change(values)
			values[blockType] = block[blockType]
			result[i] = values
		}
	}
	return result
}

// fieldsOfRevision returns the stored values of a revision by field name. A value whose field no longer exists is
// returned under the name that the field had, unless another field has this name now.
func (s *schema) fieldsOfRevision(stored map[string]any) map[string]any {
	fields := make(map[string]any, len(stored))
	for key, value := range stored {
		if f := s.fieldsByKey[key]; f != nil {
			if f.fits(value) {
				fields[f.Name], _ = s.namedBlocks(f, value)
			}
			continue
		}
		if name, _, _ := strings.Cut(key, "#"); s.fields[name] == nil {
			fields[name] = value
		}
	}
	return fields
}
