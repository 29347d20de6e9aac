package hub

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ErrSchema is the error of a whole answer that does not match the request's schema. It occurs only with candidates
// that do not support schemas themselves.
var ErrSchema = errors.New("the answer does not match the JSON schema")

// Checked returns a Writer that accepts a whole answer only if its text matches o. Streams are not checked, since they
// have reached the client before the check is possible.
func Checked(w Writer, o *Output) Writer { return &checked{w, o} }

// checked is the Writer that the function Checked returns.
type checked struct {
	Writer
	output *Output
}

// Whole implements Writer. It returns ErrSchema for a text that does not match the schema.
func (c *checked) Whole(deltas []Delta) ([]byte, error) {
	var text []byte
	for i := range deltas {
		switch d := &deltas[i]; d.Kind {
		case DeltaText:
			text = append(text, d.Text...)
		case DeltaCall, DeltaRefusal: // the model did something other than writing the output
			return c.Writer.Whole(deltas)
		case DeltaEnd:
			if d.End.Finish != FinishStop {
				return c.Writer.Whole(deltas)
			}
		case DeltaReasoning, DeltaArguments, DeltaState: // not a part of the text
		}
	}
	text = jsontext.AppendUnquoted(nil, text)
	if !IsObject(text) || !matches(c.output.Schema, string(text)) {
		return nil, ErrSchema
	}
	return c.Writer.Whole(deltas)
}

// The limits of a check: the number of bytes visited, and the depth of nested schemas. A value that exceeds them is
// accepted.
const (
	maxSchemaWork  = 64 << 20
	maxSchemaDepth = 256
)

// matches reports whether a JSON text is valid under a schema. It supports the keywords that strict schemas may have
// and ignores all others.
func matches(schema, text string) bool {
	s := schemaCheck{root: gjson.Parse(schema)}
	return s.valid(s.root, gjson.Parse(text)) || s.work > maxSchemaWork
}

// schemaCheck is one check of a value, with the bytes visited and the depth reached so far.
type schemaCheck struct {
	root        gjson.Result
	work, depth int
}

// members calls member for each field of a JSON object, until member returns false or the limit on work is reached.
func (s *schemaCheck) members(object gjson.Result, member func(key string, v gjson.Result) bool) {
	if s.spend(object) {
		jsontext.Members(object, member)
	}
}

// elements calls element for each element of an array, until element returns false or the limit on work is reached.
func (s *schemaCheck) elements(array gjson.Result, element func(v gjson.Result) bool) {
	if s.spend(array) {
		jsontext.Elements(array, element)
	}
}

// spend adds the length of v to the number of visited bytes. It returns false if the number then exceeds the limit on
// work.
func (s *schemaCheck) spend(v gjson.Result) bool {
	s.work += len(v.Raw)
	return s.work <= maxSchemaWork
}

// valid reports whether the value v is valid under schema.
func (s *schemaCheck) valid(schema, v gjson.Result) bool {
	if s.depth++; s.depth > maxSchemaDepth {
		s.work = maxSchemaWork + 1 // ends the check, see matches
	}
	defer func() { s.depth-- }()
	if schema.Type == gjson.False {
		return false
	}
	ok := true
	s.members(schema, func(key string, rule gjson.Result) bool {
		ok = s.satisfies(schema, key, rule, v)
		return ok
	})
	return ok
}

// satisfies reports whether v satisfies one keyword of a schema. key is the keyword and rule its value.
func (s *schemaCheck) satisfies(schema gjson.Result, key string, rule, v gjson.Result) bool {
	switch key {
	case "$ref":
		target, found := s.resolve(rule.Str)
		return !found || s.valid(target, v) // a reference that cannot be resolved accepts all values
	case "type":
		return s.anyElement(rule, func(name gjson.Result) bool { return hasType(v, name.Str) })
	case "enum":
		return s.anyElement(rule, func(choice gjson.Result) bool { return s.equal(choice, v) })
	case "const":
		return s.equal(rule, v)
	case "anyOf", "oneOf":
		return !rule.IsArray() || s.anyElement(rule, func(choice gjson.Result) bool { return s.valid(choice, v) })
	case "allOf":
		return !s.anyElement(rule, func(part gjson.Result) bool { return !s.valid(part, v) })
	case "required":
		return !v.IsObject() || !rule.IsArray() ||
			!s.anyElement(rule, func(name gjson.Result) bool { return !s.has(v, name.Str) })
	case "properties":
		return s.properties(rule, v)
	case "additionalProperties":
		return s.additional(schema, rule, v)
	case "items":
		return !v.IsArray() || !rule.IsObject() || !s.anyElement(v, func(element gjson.Result) bool {
			return !s.valid(rule, element)
		})
	}
	return true
}

// properties reports whether the fields of the object v are valid. rule is the value of the keyword properties: an
// object with a schema for each field name.
func (s *schemaCheck) properties(rule, v gjson.Result) bool {
	ok := true
	s.members(v, func(key string, member gjson.Result) bool {
		if subschema, found := s.get(rule, key); found {
			ok = s.valid(subschema, member)
		}
		return ok
	})
	return ok
}

// additional reports whether those fields of v that the schema does not name are valid under rule, the value of
// additionalProperties. If the schema has patternProperties all of these fields are accepted.
func (s *schemaCheck) additional(schema, rule, v gjson.Result) bool {
	known, _ := s.get(schema, "properties")
	if _, patterns := s.get(schema, "patternProperties"); patterns {
		return true
	}
	ok := true
	s.members(v, func(key string, member gjson.Result) bool {
		ok = s.has(known, key) || s.valid(rule, member)
		return ok
	})
	return ok
}

// resolve returns the part of the schema to which ref points. ref is a JSON pointer (RFC 6901) in a fragment.
func (s *schemaCheck) resolve(ref string) (gjson.Result, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	value := s.root
	if !ok || pointer == "" {
		return value, ok
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if value.IsArray() {
			n, err := strconv.Atoi(step)
			list := value.Array()
			if err != nil || n < 0 || n >= len(list) {
				return value, false
			}
			value = list[n]
		} else if value, ok = s.get(value, step); !ok {
			return value, false
		}
	}
	return value, true
}

// anyElement reports whether holds returns true for at least one element of list. If list is not an array, anyElement
// calls holds for list itself.
func (s *schemaCheck) anyElement(list gjson.Result, holds func(gjson.Result) bool) bool {
	if !list.IsArray() {
		return holds(list)
	}
	found := false
	s.elements(list, func(v gjson.Result) bool {
		found = holds(v)
		return !found
	})
	return found
}

// get returns the value of the first field with the given name in an object. ok is false if the object has no such
// field.
func (s *schemaCheck) get(object gjson.Result, name string) (found gjson.Result, ok bool) {
	s.members(object, func(key string, v gjson.Result) bool {
		if ok = key == name; ok {
			found = v
		}
		return !ok
	})
	return found, ok
}

// has reports whether an object has a field with the given name.
func (s *schemaCheck) has(object gjson.Result, name string) bool {
	_, ok := s.get(object, name)
	return ok
}

// hasType reports whether a value has the given JSON Schema type. It accepts any value for an unknown type.
func hasType(v gjson.Result, name string) bool {
	switch name {
	case "object":
		return v.IsObject()
	case "array":
		return v.IsArray()
	case "string":
		return v.Type == gjson.String
	case "boolean":
		return v.IsBool()
	case "null":
		return v.Type == gjson.Null
	case "number":
		return v.Type == gjson.Number
	case "integer":
		return v.Type == gjson.Number && v.Num == float64(int64(v.Num))
	}
	return true
}

// equal reports whether two JSON values are equal. Arrays and objects are compared by their text without white space.
func (s *schemaCheck) equal(a, b gjson.Result) bool {
	switch {
	case a.Type != b.Type:
		return false
	case a.Type == gjson.String:
		return a.Str == b.Str
	case a.Type == gjson.Number:
		return a.Num == b.Num
	case a.Type == gjson.JSON:
		if !s.spend(a) || !s.spend(b) {
			return true // the result does not matter beyond the limit
		}
		return slices.Equal([]byte(a.Get("@ugly").Raw), []byte(b.Get("@ugly").Raw))
	}
	return true
}
