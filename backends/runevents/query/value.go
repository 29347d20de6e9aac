package query

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// kind is the JSON type of a value.
type kind int

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

// value is one JSON value of a query. PQL becomes values, too, so that both
// languages go through the same checks.
type value struct {
	kind    kind
	truth   bool
	text    string // of a string, or the digits of a number
	items   []*value
	members []member // of an object, in the order of the text
}

type member struct {
	key   string
	value *value
}

func textValue(s string) *value        { return &value{kind: kindString, text: s} }
func numberValue(s string) *value      { return &value{kind: kindNumber, text: s} }
func boolValue(b bool) *value          { return &value{kind: kindBool, truth: b} }
func listValue(items ...*value) *value { return &value{kind: kindList, items: items} }

func (v *value) isText() bool { return v != nil && v.kind == kindString }
func (v *value) isList() bool { return v != nil && v.kind == kindList }

// operator is the first word of a clause; empty: it has none.
func (v *value) operator() string {
	if v.isList() && len(v.items) > 0 && v.items[0].isText() {
		return v.items[0].text
	}
	return ""
}

// member returns the value under the key; nil: absent.
func (v *value) member(key string) *value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// canonical is the one spelling of the value that is stored and compared.
func (v *value) canonical() string {
	text, _ := CanonicalJSON(v.appendJSON(nil)) // it is JSON
	return text
}

func (v *value) appendJSON(b []byte) []byte {
	switch v.kind {
	case kindNull:
		return append(b, "null"...)
	case kindBool:
		return strconv.AppendBool(b, v.truth)
	case kindNumber:
		return append(b, v.text...)
	case kindString:
		return jsontext.AppendQuoted(b, v.text)
	case kindList:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.value.appendJSON(append(jsontext.AppendQuoted(b, m.key), ':'))
		}
		return append(b, '}')
	}
}

// notation writes a value as the error texts quote it: lists without commas,
// keys as keywords.
func (v *value) notation() string {
	b := v.appendNotation(nil)
	if len(b) > quotedMax {
		return strings.ToValidUTF8(string(b[:quotedMax]), "") + "..."
	}
	return string(b)
}

// quotedMax bounds what an error text repeats of the query.
const quotedMax = 1000

func (v *value) appendNotation(b []byte) []byte {
	if len(b) > quotedMax {
		return b
	}
	switch v.kind {
	case kindNull:
		return append(b, "nil"...)
	case kindList:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ' ')
			}
			b = item.appendNotation(b)
		}
		return append(b, ']')
	case kindObject:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(b, ':'), m.key...)
			b = m.value.appendNotation(append(b, ' '))
		}
		return append(b, '}')
	case kindNumber:
		return append(b, v.text...)
	case kindString:
		return jsontext.AppendQuoted(b, v.text)
	default:
		return strconv.AppendBool(b, v.truth)
	}
}

// plain writes a value inside a sentence: strings bare, the rest in notation.
func (v *value) plain() string {
	if v.isText() {
		return clip(v.text)
	}
	if v.kind == kindNull {
		return "null"
	}
	return v.notation()
}

func clip(s string) string {
	if len(s) <= quotedMax {
		return s
	}
	return strings.ToValidUTF8(s[:quotedMax], "") + "..."
}
