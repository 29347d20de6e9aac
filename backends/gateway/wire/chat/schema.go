package chat

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Limits on a schema after its references are replaced by the schemas to which they refer, since a small schema can
// expand to a huge one. maxSchema is the size of the result in bytes, maxSchemaDepth the depth of nesting.
// maxSchemaWork limits the bytes that are visited, for all schemas of a request together. A nested schema counts as the
// size of its text plus schemaWork bytes.
const (
	maxSchema      = 512 << 10
	maxSchemaDepth = 64
	maxSchemaWork  = 64 << 20
	schemaWork     = 512
)

// errSchema is the error for a schema that exceeds a limit.
var errSchema = errors.New("a JSON schema is too large for this provider once its references are resolved")

// subset writes a schema in the subset of JSON Schema that some providers support. The subset has no references, no
// boolean schemas, and none of the keywords for which unknownKeyword returns true.
type subset struct {
	dst   []byte
	start int                     // length of dst before the schema
	root  gjson.Result            // the whole schema, to which references refer
	refs  map[string]gjson.Result // resolved references
	work  *int                    // bytes visited so far, see appendSubset
}

// appendSubset appends schema to dst, reduced to the subset of JSON Schema that some providers support. work is the
// number of bytes visited so far for all schemas of the request. appendSubset adds to it. The error is errSchema if a
// limit is exceeded.
func appendSubset(dst []byte, schema string, work *int) ([]byte, error) {
	s := subset{dst: dst, start: len(dst), root: gjson.Parse(schema), work: work}
	err := s.value(s.root, nil, 0)
	return s.dst, err
}

// unknownKeyword reports whether the subset lacks the keyword key. It returns true for $ref and the keywords with
// definitions too, because references are resolved.
func unknownKeyword(key string) bool {
	switch key {
	case "$schema", "additionalProperties", "format", "exclusiveMinimum", "$defs", "definitions", "$ref":
		return true
	}
	return false
}

// value writes v, which is usually a schema. refs are the references that were followed to reach v. Following one of
// them again would never end. depth is the depth of nesting.
func (s *subset) value(v gjson.Result, refs []string, depth int) error {
	if depth > maxSchemaDepth || len(s.dst)-s.start > maxSchema {
		return errSchema
	}
	switch {
	case v.IsObject():
		s.dst = append(s.dst, '{')
		err := s.members(v, nil, refs, depth)
		s.dst = append(s.dst, '}')
		return err
	case v.IsBool(): // the subset has no boolean schemas
		s.dst = append(s.dst, "{}"...)
	default:
		s.dst = append(s.dst, v.Raw...)
	}
	return nil
}

// members writes the keywords of the schema v, except those that written contains. If v has a reference, members also
// writes the keywords of the referenced schema that v does not have. If the referenced schema is already being
// written (its reference is in refs), only its type is written, so that a recursive schema ends. refs and depth are
// the same as in value. The error is errSchema.
func (s *subset) members(v gjson.Result, written map[string]bool, refs []string, depth int) error {
	if *s.work += len(v.Raw) + schemaWork; *s.work > maxSchemaWork {
		return errSchema
	}
	ref := v.Get("$ref")
	// The set is needed only with a reference, whose schema may have the same keywords as v.
	if ref.Type == gjson.String && written == nil {
		written = make(map[string]bool)
	}
	var err error
	jsontext.Members(v, func(key string, value gjson.Result) bool {
		if unknownKeyword(key) || written[key] {
			return true
		}
		if written != nil {
			written[key] = true
		}
		s.key(key)
		err = s.keyword(key, value, refs, depth+1)
		return err == nil
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

// key writes the name of a field and the colon after it.
func (s *subset) key(key string) {
	if s.dst[len(s.dst)-1] != '{' {
		s.dst = append(s.dst, ',')
	}
	s.dst = append(jsontext.AppendQuoted(s.dst, key), ':')
}

// keyword writes v, the value of the keyword key. Schemas within v are reduced to the subset. refs and depth are the
// same as in value.
func (s *subset) keyword(key string, v gjson.Result, refs []string, depth int) (err error) {
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		if v.IsObject() {
			s.dst = append(s.dst, '{')
			jsontext.Members(v, func(key string, v gjson.Result) bool {
				s.key(key)
				err = s.value(v, refs, depth+1)
				return err == nil
			})
			s.dst = append(s.dst, '}')
			return err
		}
	case "items", "anyOf", "oneOf", "allOf", "prefixItems":
		if v.IsArray() {
			s.dst = append(s.dst, '[')
			jsontext.Elements(v, func(v gjson.Result) bool {
				if s.dst[len(s.dst)-1] != '[' {
					s.dst = append(s.dst, ',')
				}
				err = s.value(v, refs, depth+1)
				return err == nil
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

// resolve returns the schema to which ref, a value of $ref, refers. For a reference to another document, or to nothing,
// the result is empty: the gateway fetches no schemas. The error is errSchema if the search exceeds maxSchemaWork.
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

// child returns the value of the field key in object, or an empty result if there is no such field. It compares the
// names itself instead of calling object.Get, since Get would take a key such as "a.b" for a gjson path.
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
