package jsontext

import (
	"math/bits"
	"strconv"

	"github.com/tidwall/gjson"
)

// Members calls member with each member of a JSON object until member returns false. For any other value it calls
// nothing. Members and Elements replace gjson's ForEach for text that a Scanner has validated: they examine less of the
// text and copy a string with escapes only once.
func Members(object gjson.Result, member func(key string, v gjson.Result) bool) {
	if !object.IsObject() {
		return
	}
	json := object.Raw
	for i := next(json, 1); i < len(json) && json[i] == '"'; i = next(json, i) {
		keyEnd := stringEnd(json, i)
		key := unquoted(json[i+1 : max(i+1, keyEnd-1)])
		valueStart := next(json, keyEnd)
		i = valueEnd(json, valueStart)
		if !member(key, valueOf(json[valueStart:i])) {
			return
		}
	}
}

// Elements calls element with each element of a JSON array until element returns false. See Members.
func Elements(array gjson.Result, element func(v gjson.Result) bool) {
	if !array.IsArray() {
		return
	}
	json := array.Raw
	for start := next(json, 1); start < len(json) && json[start] != ']'; {
		end := valueEnd(json, start)
		if end == start || !element(valueOf(json[start:end])) {
			return
		}
		start = next(json, end)
	}
}

// KindOf returns the kind of a value. A missing value has the kind Null.
func KindOf(v gjson.Result) Kind {
	switch v.Type {
	case gjson.String:
		return String
	case gjson.Number:
		return Number
	case gjson.True, gjson.False:
		return Bool
	case gjson.JSON:
		if v.IsArray() {
			return Array
		}
		return Object
	case gjson.Null:
	}
	return Null
}

// next returns the offset of the first byte at or after i that belongs to a value or closes one.
func next(json string, i int) int {
	for i < len(json) {
		switch json[i] {
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		default:
			return i
		}
	}
	return i
}

// valueEnd returns the offset after the value that begins at i.
func valueEnd(json string, i int) int {
	if i >= len(json) {
		return i
	}
	switch json[i] {
	case '"':
		return stringEnd(json, i)
	case '{', '[':
		return nestedEnd(json, i)
	}
	for i < len(json) {
		switch json[i] {
		case ' ', '\t', '\n', '\r', ',', ']', '}':
			return i
		}
		i++
	}
	return i
}

// stringEnd returns the offset after the string whose opening quote is at i.
func stringEnd(json string, i int) int {
	for i++; i < len(json); {
		if i+8 <= len(json) {
			w := load(json, i)
			marks := special(w)
			if marks == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(marks) / 8
		}
		switch json[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
	return len(json)
}

// nestedEnd returns the offset after the object or array that begins at i.
func nestedEnd(json string, i int) int {
	for depth := 0; i < len(json); {
		switch json[i] {
		case '"':
			i = stringEnd(json, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(json)
}

// valueOf returns the gjson.Result for the text of one value.
func valueOf(raw string) gjson.Result {
	v := gjson.Result{Raw: raw}
	if raw == "" {
		return v
	}
	switch raw[0] {
	case '"':
		v.Type, v.Str = gjson.String, unquoted(raw[1:max(1, len(raw)-1)])
	case '{', '[':
		v.Type = gjson.JSON
	case 't':
		v.Type = gjson.True
	case 'f':
		v.Type = gjson.False
	case 'n': // gjson.Null is the zero type
	default:
		v.Type = gjson.Number
		v.Num, _ = strconv.ParseFloat(raw, 64) // infinite if it is too large
	}
	return v
}
