package sanitize

import (
	"maps"
	"slices"
	"strings"
)

// list returns a list unchanged, and any other value as a list with this one item. For null and an empty text, the list
// is empty.
func list(value any) []any {
	switch v := value.(type) {
	case nil:
		return []any{}
	case []any:
		return v
	case string:
		if v == "" {
			return []any{}
		}
	}
	return []any{value}
}

// split is like list, but splits a text at | or, if the text has no |, at commas.
func split(value any) []any {
	s, ok := value.(string)
	if !ok {
		return list(value)
	}
	separator := ","
	if strings.Contains(s, "|") {
		separator = "|"
	}
	items := []any{}
	for item := range strings.SplitSeq(str(s), separator) {
		if item = trim(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// cutList returns the first limit items.
func cutList(items []any, limit int) []any { return items[:min(len(items), limit)] }

// array returns a value as a list; it splits texts.
func array(value any, o options) any { return cutList(split(value), o.limit) }

// arrayVal returns a value as a list; a text is a single item.
func arrayVal(value any, o options) any { return cutList(list(value), o.limit) }

// ints returns the items as unsigned integers.
func ints(items []any) any {
	result := make([]any, len(items))
	for i, item := range items {
		result[i] = unsigned(item, options{})
	}
	return result
}

// intArray is like array, with unsigned integers as items.
func intArray(value any, o options) any { return ints(cutList(split(value), o.limit)) }

// intArrayVal is like arrayVal, with unsigned integers as items.
func intArrayVal(value any, o options) any { return ints(cutList(list(value), o.limit)) }

// flatArray returns one flat list with all values in nested lists and objects; see flatten.
func flatArray(value any, o options) any {
	return cutList(flatten([]any{}, value), o.limit)
}

// flatten appends a scalar, or all scalars in a list or an object at any depth, to flat. Members of objects are in the
// order of their names.
func flatten(flat []any, value any) []any {
	switch v := value.(type) {
	case nil:
		return flat
	case []any:
		for _, item := range v {
			if item == nil {
				flat = append(flat, nil)
				continue
			}
			flat = flatten(flat, item)
		}
		return flat
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			flat = flatten(flat, v[key])
		}
		return flat
	}
	return append(flat, value)
}

// minArray removes null and empty texts, lists and objects from a list. It keeps 0 and false.
func minArray(value any, o options) any {
	return cutList(slices.DeleteFunc(slices.Clone(list(value)), isEmpty), o.limit)
}

// isEmpty reports whether a value is null, or a text, list or object that is empty.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// allowedValues returns the values that the sanitizers "option" and "options" allow, as texts. nil means that all
// values except null, lists and objects are allowed.
func (o options) allowedValues() map[string]bool {
	if len(o.arguments) == 0 {
		return nil
	}
	allowed := make(map[string]bool)
	for _, argument := range o.arguments {
		for _, item := range list(argument) {
			allowed[str(item)] = true
		}
	}
	return allowed
}

// isAllowed reports whether a value is among the allowed values; see allowedValues.
func isAllowed(allowed map[string]bool, value any) bool {
	switch value.(type) {
	case nil, []any, map[string]any:
		return false
	}
	return allowed == nil || allowed[str(value)]
}

// option returns the value if it is one of the arguments of the sanitizer, and null otherwise.
func option(value any, o options) any {
	if !isAllowed(o.allowedValues(), value) {
		return nil
	}
	return value
}

// optionsOf returns the items of a list that are among the arguments of the sanitizer.
func optionsOf(value any, o options) any {
	allowed := o.allowedValues()
	result := []any{}
	for _, item := range split(value) {
		if isAllowed(allowed, item) {
			result = append(result, item)
		}
	}
	return cutList(result, o.limit)
}

// wordsArray returns the words of a text, or of all items of a list, at most o.limit words in total.
func wordsArray(value any, o options) any {
	found := []any{}
	for _, item := range list(value) {
		for _, word := range wordsOf(str(item), o.limit-len(found)) {
			found = append(found, word)
		}
	}
	return found
}
