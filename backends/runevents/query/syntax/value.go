package syntax

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Kind is the JSON type of a value.
type Kind int

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

// Value is a JSON value in a query. A PQL query is translated to a Value, too, so both languages are checked by the
// same code.
type Value struct {
	Kind    Kind
	Truth   bool     // of a boolean
	Text    string   // of a string, or the notation of a number
	Items   []*Value // of a list
	Members []Member // of an object, in the order of the text
}

// Member is a member of an object.
type Member struct {
	Key   string
	Value *Value
}

// TextValue returns a string value.
func TextValue(s string) *Value { return &Value{Kind: String, Text: s} }

// ListValue returns a list value.
func ListValue(items ...*Value) *Value { return &Value{Kind: List, Items: items} }

func numberValue(s string) *Value { return &Value{Kind: Number, Text: s} }
func boolValue(b bool) *Value     { return &Value{Kind: Bool, Truth: b} }

// IsText reports whether v is not nil and a string.
func (v *Value) IsText() bool { return v != nil && v.Kind == String }

// IsList reports whether v is not nil and a list.
func (v *Value) IsList() bool { return v != nil && v.Kind == List }

// Operator returns the operator of a clause, which is the first element of the list. It returns an empty string if v is
// not a list that begins with a string.
func (v *Value) Operator() string {
	if v.IsList() && len(v.Items) > 0 && v.Items[0].IsText() {
		return v.Items[0].Text
	}
	return ""
}

// IsPaging reports whether v is an order_by, limit or offset clause.
func (v *Value) IsPaging() bool {
	switch v.Operator() {
	case "order_by", "limit", "offset":
		return true
	}
	return false
}

// Member returns the value of the member with the given key, or nil if there is no such member.
func (v *Value) Member(key string) *Value {
	for _, m := range v.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Canonical returns the canonical form of the value; see the function Canonical.
func (v *Value) Canonical() string {
	text, _ := Canonical(v.AppendJSON(nil)) // a Value is always valid JSON
	return text
}

// AppendJSON appends the value as JSON.
func (v *Value) AppendJSON(b []byte) []byte {
	switch v.Kind {
	case Null:
		return append(b, "null"...)
	case Bool:
		return strconv.AppendBool(b, v.Truth)
	case Number:
		return append(b, v.Text...)
	case String:
		return jsontext.AppendQuoted(b, v.Text)
	case List:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.Value.AppendJSON(append(jsontext.AppendQuoted(b, m.Key), ':'))
		}
		return append(b, '}')
	}
}

// Notation returns the value as error texts quote it: ["=" "status" nil] for a list, and {:field "status"} for an
// object. A long value is shortened.
func (v *Value) Notation() string {
	b := v.appendNotation(nil)
	if len(b) > quotedMax {
		return strings.ToValidUTF8(string(b[:quotedMax]), "") + "..."
	}
	return string(b)
}

// quotedMax limits the length of a quotation from a query in an error text, in bytes.
const quotedMax = 1000

// appendNotation appends the notation of the value to b. It stops when b is longer than quotedMax.
func (v *Value) appendNotation(b []byte) []byte {
	if len(b) > quotedMax {
		return b
	}
	switch v.Kind {
	case Null:
		return append(b, "nil"...)
	case List:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ' ')
			}
			b = item.appendNotation(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(b, ':'), m.Key...)
			b = m.Value.appendNotation(append(b, ' '))
		}
		return append(b, '}')
	default: // a number, a string or a boolean
		return v.AppendJSON(b)
	}
}

// Plain returns a value for use in a sentence: a string without quotes, null as "null", and any other value as in
// Notation. A long value is shortened.
func (v *Value) Plain() string {
	if v.IsText() {
		return Clip(v.Text)
	}
	if v.Kind == Null {
		return "null"
	}
	return v.Notation()
}

// Clip shortens a quotation from a query to at most quotedMax bytes and an ellipsis, for an error text.
func Clip(s string) string {
	if len(s) <= quotedMax {
		return s
	}
	return strings.ToValidUTF8(s[:quotedMax], "") + "..."
}
