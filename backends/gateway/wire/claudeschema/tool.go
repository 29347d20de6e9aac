package claudeschema

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Tool returns the schema of a tool in the form that the messages format requires: JSON Schema draft 2020-12, of type
// object, and without anyOf, oneOf and allOf at the top. A schema of that form is returned unchanged.
func Tool(schema string) string {
	v := gjson.Parse(schema)
	if !v.IsObject() {
		return `{"type":"object","properties":{}}`
	}
	var m schemaMender
	if m.schema(v); m.changed {
		v = gjson.ParseBytes(m.dst)
	}
	if hasChoice(v) {
		return withoutChoice(v)
	}
	switch kind := v.Get("type"); {
	case kind.IsArray(): // such as object or null
		return withoutChoice(v)
	case kind.Exists():
		return v.Raw
	}
	if members := strings.TrimLeft(v.Raw[1:], " \t\r\n"); members != "}" {
		return `{"type":"object",` + members
	}
	return `{"type":"object"}`
}

// schemaMender rewrites a schema. Keywords of earlier drafts get their spelling in draft 2020-12.
type schemaMender struct {
	dst     []byte
	changed bool
}

// The keywords whose values are schemas: one schema, a list of schemas, or an object of schemas.
var (
	schemaKeywords = []string{
		"items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains",
		"propertyNames", "not", "if", "then", "else", "anyOf", "oneOf", "allOf", "prefixItems",
	}
	schemaMapKeywords = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// schema writes the schema v. A value that is not an object (true or false) is written unchanged.
func (m *schemaMender) schema(v gjson.Result) {
	if !v.IsObject() {
		m.dst = append(m.dst, v.Raw...)
		return
	}
	old := map[string]gjson.Result{} // see member
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		switch key {
		case "exclusiveMinimum", "exclusiveMaximum", "minimum", "maximum", "items":
			old[key] = v
		}
		return true
	})
	m.dst = append(m.dst, '{')
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		m.member(old, key, v)
		return true
	})
	m.dst = append(m.dst, '}')
}

// member writes the keyword key with the value v, in the spelling of draft 2020-12. draftKeywords holds those
// keywords of the schema whose meaning depends on the draft.
func (m *schemaMender) member(draftKeywords map[string]gjson.Result, key string, v gjson.Result) {
	name := key
	switch key {
	case "exclusiveMinimum", "exclusiveMaximum": // in draft 4 a flag of the other keyword
		if v.IsBool() {
			m.changed = true
			limit := draftKeywords[limitOf(key)]
			if draftKeywords[key].Type != gjson.True || limit.Type != gjson.Number {
				return
			}
			v = limit
		}
	case "minimum", "maximum": // written under the exclusive keyword if that is true
		if draftKeywords[exclusiveOf(key)].Type == gjson.True {
			m.changed = true
			return
		}
	case "items": // up to draft 2019-09 a list, for the elements by position
		if v.IsArray() {
			name, m.changed = "prefixItems", true
		}
	case "additionalItems":
		if draftKeywords["items"].IsArray() {
			name, m.changed = "items", true
		}
	case "required": // in draft 3 a flag of a property
		if v.IsBool() {
			m.changed = true
			return
		}
	}
	m.key(name)
	switch {
	case slices.Contains(schemaKeywords, key) && v.IsArray():
		m.dst = append(m.dst, '[')
		jsontext.Elements(v, func(v gjson.Result) bool {
			if m.dst[len(m.dst)-1] != '[' {
				m.dst = append(m.dst, ',')
			}
			m.schema(v)
			return true
		})
		m.dst = append(m.dst, ']')
	case slices.Contains(schemaKeywords, key):
		m.schema(v)
	case slices.Contains(schemaMapKeywords, key) && v.IsObject():
		m.dst = append(m.dst, '{')
		jsontext.Members(v, func(key string, v gjson.Result) bool {
			m.key(key)
			m.schema(v)
			return true
		})
		m.dst = append(m.dst, '}')
	default:
		m.dst = append(m.dst, v.Raw...)
	}
}

// limitOf returns the keyword minimum for exclusiveMinimum, and maximum for exclusiveMaximum.
func limitOf(exclusive string) string { return "m" + strings.TrimPrefix(exclusive, "exclusiveM") }

// exclusiveOf returns the keyword exclusiveMinimum for minimum, and exclusiveMaximum for maximum.
func exclusiveOf(limit string) string { return "exclusiveM" + limit[1:] }

// key writes the name of a field, after a comma if it is not the first field of its object.
func (m *schemaMender) key(name string) {
	if m.dst[len(m.dst)-1] != '{' {
		m.dst = append(m.dst, ',')
	}
	m.dst = append(jsontext.AppendQuoted(m.dst, name), ':')
}

// choiceKeywords are the keywords that are refused at the top of a tool's schema.
var choiceKeywords = [...]string{"anyOf", "oneOf", "allOf"}

// hasChoice reports whether a schema has one of choiceKeywords at its top.
func hasChoice(v gjson.Result) bool {
	return slices.ContainsFunc(choiceKeywords[:], func(name string) bool { return v.Get(name).IsArray() })
}

// withoutChoice returns an object schema with the properties of all branches of v's choices (anyOf, oneOf, allOf). A
// property is required if every branch requires it. The choices themselves are quoted in the description.
func withoutChoice(v gjson.Result) string {
	var all properties
	required := all.gather(v, v, 0).names
	var m schemaMender
	m.dst = append(m.dst, `{"type":"object"`...)
	description := ""
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		switch key {
		case "type", "properties", "required", "$ref": // replaced by what gather found
		case "description": // goes before the choices, which may have come first
			description = strings.TrimLeft(v.Str+"\n\n"+description, "\n")
		case choiceKeywords[0], choiceKeywords[1], choiceKeywords[2]:
			description = strings.TrimLeft(description+"\n\n{"+key+": "+v.Raw+"}", "\n")
		default:
			m.key(key)
			m.dst = append(m.dst, v.Raw...)
		}
		return true
	})
	if description = strings.TrimRight(description, "\n"); description != "" {
		m.key("description")
		m.dst = jsontext.AppendQuoted(m.dst, description)
	}
	m.key("properties")
	m.dst = all.append(m.dst)
	if len(required) > 0 {
		m.key("required")
		m.dst = append(m.dst, '[')
		for i, name := range required {
			if i > 0 {
				m.dst = append(m.dst, ',')
			}
			m.dst = jsontext.AppendQuoted(m.dst, name)
		}
		m.dst = append(m.dst, ']')
	}
	return string(append(m.dst, '}'))
}

// properties collects the properties of several schemas. For each property it holds all schemas that the property may
// have.
type properties struct {
	names     []string            // in the order in which they were found
	schemas   map[string][]string // schemas of each property, without duplicates
	known     map[property]bool
	branches  int // number of schemas that gather has visited
	bytesRead int // see mayRead
}

// property is a property's name with one of its schemas.
type property struct{ name, schema string }

// maxBranches, maxBranchDepth and maxBranchBytes limit the schemas that are collected and the text that is read, since
// references may be circular or refer to the same schema many times.
const (
	maxBranches    = 1024
	maxBranchDepth = 32
	maxBranchBytes = 64 << 20
)

// gather adds the properties of the schema v, including those in its choices and references, and returns the names of
// the required ones. root is the whole schema, and depth is the depth of nesting. If one of the limits (maxBranches,
// maxBranchDepth, maxBranchBytes) is exceeded, gather adds and returns nothing.
func (p *properties) gather(root, v gjson.Result, depth int) (required nameList) {
	if p.branches++; p.branches > maxBranches || depth > maxBranchDepth || !p.mayRead(v) {
		return required
	}
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		switch key {
		case "$ref":
			if p.mayRead(root) { // the search for the definition may read the whole schema
				if target, ok := definition(root, v.Str); ok {
					required.add(p.gather(root, target, depth+1).names...)
				}
			}
		case "properties":
			jsontext.Members(v, func(name string, v gjson.Result) bool { p.add(name, v.Raw); return true })
		case "required":
			jsontext.Elements(v, func(v gjson.Result) bool { required.add(v.Str); return true })
		case "allOf":
			jsontext.Elements(v, func(v gjson.Result) bool {
				required.add(p.gather(root, v, depth+1).names...)
				return true
			})
		case "anyOf", "oneOf":
			required.add(p.common(root, v, depth+1)...)
		}
		return true
	})
	return required
}

// mayRead returns false if the number of bytes read so far exceeds maxBranchBytes. Otherwise it adds the length of v to
// that number and returns true.
func (p *properties) mayRead(v gjson.Result) bool {
	if p.bytesRead > maxBranchBytes {
		return false
	}
	p.bytesRead += len(v.Raw)
	return true
}

// common adds the properties of all branches of a choice (anyOf, oneOf or allOf). It returns the names of the
// properties that every branch requires. root is the whole schema.
func (p *properties) common(root, branches gjson.Result, depth int) (required []string) {
	first := true
	jsontext.Elements(branches, func(v gjson.Result) bool {
		names := p.gather(root, v, depth)
		if first {
			first, required = false, names.names
			return true
		}
		required = slices.DeleteFunc(required, func(name string) bool { return !names.known[name] })
		return true
	})
	return required
}

// add adds a schema of a property, unless the property already has this schema.
func (p *properties) add(name, schema string) {
	if p.known[property{name, schema}] {
		return
	}
	if p.known == nil {
		p.schemas, p.known = map[string][]string{}, map[property]bool{}
	}
	p.known[property{name, schema}] = true
	if p.schemas[name] == nil {
		p.names = append(p.names, name)
	}
	p.schemas[name] = append(p.schemas[name], schema)
}

// nameList is a list of names without duplicates, in the order in which they were added.
type nameList struct {
	names []string
	known map[string]bool
}

// add appends those names that are not in the list yet.
func (l *nameList) add(names ...string) {
	for _, name := range names {
		if l.known[name] {
			continue
		}
		if l.known == nil {
			l.known = map[string]bool{}
		}
		l.known[name] = true
		l.names = append(l.names, name)
	}
}

// append appends a JSON object with each property's name and schema to dst.
func (p *properties) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range p.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendQuoted(dst, name), ':')
		schemas := strings.Join(p.schemas[name], ",")
		if len(p.schemas[name]) > 1 {
			schemas = `{"anyOf":[` + schemas + `]}`
		}
		dst = append(dst, schemas...)
	}
	return append(dst, '}')
}

// definition returns the schema within root to which the reference ref (such as #/$defs/name) points. ok is false if
// there is no such schema.
func definition(root gjson.Result, ref string) (found gjson.Result, ok bool) {
	steps := strings.Split(ref, "/")
	if len(steps) < 2 || steps[0] != "#" {
		return found, false
	}
	found = root
	for _, step := range steps[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		ok = false
		jsontext.Members(found, func(key string, v gjson.Result) bool {
			if key == step {
				found, ok = v, true
			}
			return !ok
		})
		if !ok {
			return found, false
		}
	}
	return found, true
}
