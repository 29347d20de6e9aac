package chat

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Limits of a schema with its references resolved, since a small schema can expand to a huge one. maxSchemaWork is in
// bytes visited, for all schemas of a request. Each nested schema counts schemaWork bytes in addition.
const (
	maxSchema      = 512 << 10
	maxSchemaDepth = 64
	maxSchemaWork  = 64 << 20
	schemaWork     = 512
)

var errSchema = errors.New("a JSON schema is too large for this provider once its references are resolved")

// subset writes the subset of JSON Schema that some providers support: no references, and no keywords for which
// unknownKeyword returns true.
type subset struct {
	dst  []byte
	from int
	root gjson.Result
	refs map[string]gjson.Result // resolved references
	work *int
}

// appendSubset appends a schema, reduced to the subset. work is the work done so far for all schemas of the request.
func appendSubset(dst []byte, schema string, work *int) ([]byte, error) {
	s := subset{dst: dst, from: len(dst), root: gjson.Parse(schema), work: work}
	err := s.value(s.root, nil, 0)
	return s.dst, err
}

func unknownKeyword(key string) bool {
	switch key {
	case "$schema", "additionalProperties", "format", "exclusiveMinimum", "$defs", "definitions", "$ref":
		return true
	}
	return false
}

// value writes a schema. refs are the enclosing references that are being resolved.
func (s *subset) value(v gjson.Result, refs []string, depth int) error {
	if depth > maxSchemaDepth || len(s.dst)-s.from > maxSchema {
		return errSchema
	}
	switch {
	case v.IsObject():
		s.dst = append(s.dst, '{')
		err := s.members(v, nil, refs, depth)
		s.dst = append(s.dst, '}')
		return err
	case v.IsBool(): // true and false have no other form here
		s.dst = append(s.dst, "{}"...)
	default:
		s.dst = append(s.dst, v.Raw...)
	}
	return nil
}

// members writes the members of a schema except those in written. If the schema has a reference, the members of the
// referenced schema follow.
func (s *subset) members(v gjson.Result, written map[string]bool, refs []string, depth int) error {
	if *s.work += len(v.Raw) + schemaWork; *s.work > maxSchemaWork {
		return errSchema
	}
	ref := v.Get("$ref")
	if ref.Type == gjson.String && written == nil {
		written = make(map[string]bool)
	}
	err := each(v, func(key string, value gjson.Result) error {
		if unknownKeyword(key) || written[key] {
			return nil
		}
		if written != nil {
			written[key] = true
		}
		s.key(key)
		return s.keyword(key, value, refs, depth+1)
	})
	if err != nil || ref.Type != gjson.String {
		return err
	}
	target, err := s.resolve(ref.Str)
	if err != nil {
		return err
	}
	if slices.Contains(refs, ref.Str) || len(refs) == maxSchemaDepth { // recursive schemas end here
		if kind := target.Get("type"); kind.Exists() && !written["type"] {
			s.key("type")
			s.dst = append(s.dst, kind.Raw...)
		}
		return nil
	}
	return s.members(target, written, append(slices.Clip(refs), ref.Str), depth)
}

func (s *subset) key(key string) {
	if s.dst[len(s.dst)-1] != '{' {
		s.dst = append(s.dst, ',')
	}
	s.dst = append(jsontext.AppendQuoted(s.dst, key), ':')
}

// keyword writes the value of a keyword, which may contain schemas.
func (s *subset) keyword(key string, v gjson.Result, refs []string, depth int) error {
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		if v.IsObject() {
			s.dst = append(s.dst, '{')
			err := each(v, func(key string, v gjson.Result) error {
				s.key(key)
				return s.value(v, refs, depth+1)
			})
			s.dst = append(s.dst, '}')
			return err
		}
	case "items", "anyOf", "oneOf", "allOf", "prefixItems":
		if v.IsArray() {
			s.dst = append(s.dst, '[')
			err := elements(v, func(i int, v gjson.Result) error {
				if i > 0 {
					s.dst = append(s.dst, ',')
				}
				return s.value(v, refs, depth+1)
			})
			s.dst = append(s.dst, ']')
			return err
		}
		return s.value(v, refs, depth)
	case "not", "contains", "propertyNames", "if", "then", "else":
		return s.value(v, refs, depth)
	}
	s.dst = append(s.dst, v.Raw...)
	return nil
}

// resolve returns the part of the schema to which ref points. For a reference to another document the result is empty,
// since the gateway fetches no schemas.
func (s *subset) resolve(ref string) (gjson.Result, error) {
	if known, ok := s.refs[ref]; ok {
		return known, nil
	}
	target := gjson.Result{}
	if path, ok := strings.CutPrefix(ref, "#"); ok {
		target = s.root
		for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			if path == "" {
				break
			}
			if *s.work += len(target.Raw); *s.work > maxSchemaWork {
				return target, errSchema
			}
			target = child(target, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}
	}
	if s.refs == nil {
		s.refs = make(map[string]gjson.Result)
	}
	s.refs[ref] = target
	return target, nil
}

// child returns a member of an object. It compares keys directly, since a key comes from the client and might be a
// gjson path.
func child(object gjson.Result, key string) (found gjson.Result) {
	if object.IsObject() {
		object.ForEach(func(k, v gjson.Result) bool {
			if k.Str == key {
				found = v
			}
			return k.Str != key
		})
	}
	return found
}
