// Package claudeschema converts JSON Schemas to the forms that the messages format and other hosts of Claude accept.
package claudeschema

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Grammar returns a schema in the form that Claude and its hosts require when they enforce it: with only the keywords
// that their grammar supports, and with closed objects. Other keywords are listed in the description. A schema that has
// this form already is returned unchanged. ok is false if the meaning of the schema would change: for open objects,
// schemas that accept anything, and circular references.
func Grammar(schema string) (_ string, ok bool) {
	g := grammar{expressible: true}
	g.schema(gjson.Parse(schema))
	switch {
	case !g.expressible || g.circular():
		return "", false
	case !g.changed:
		return schema, true
	}
	return string(g.dst), true
}

// grammar writes a schema with only the supported keywords.
type grammar struct {
	dst []byte
	// expressible is false once a part of the schema was found whose meaning would change. Then the content of dst is
	// meaningless.
	expressible bool
	// changed is set once dst differs from the schema.
	changed bool
	// current is the reference to the definition that is being written, such as "#/$defs/name". It is empty outside of
	// definitions. uses lists the references within each definition, and those outside of definitions under "".
	current string
	uses    map[string][]string
	refs    int // number of references so far
}

// maxRefs limits the references that are followed to detect circles.
const maxRefs = 4096

// stringFormats are the string formats that the grammar supports.
var stringFormats = []string{
	"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
}

// grammarNode is a schema that is being written. Keywords that are not taken (see take) end up in the description.
type grammarNode struct {
	names   []string                // keywords that were not taken
	members map[string]gjson.Result // values of all keywords
	first   bool                    // no keyword was written yet
}

// take removes the keyword with the given name from n and returns its value, which the caller writes unchanged or
// converted.
func (n *grammarNode) take(name string) gjson.Result {
	v := n.members[name]
	if index := slices.Index(n.names, name); index >= 0 {
		n.names = slices.Delete(n.names, index, index+1)
	}
	return v
}

// key writes the name of a field of n, after a comma if it is not the first one.
func (g *grammar) key(n *grammarNode, name string) {
	if !n.first {
		g.dst = append(g.dst, ',')
	}
	n.first = false
	g.dst = append(jsontext.AppendQuoted(g.dst, name), ':')
}

// member writes the keyword with the given name and the value v, unchanged. It writes nothing if v does not exist.
func (g *grammar) member(n *grammarNode, name string, v gjson.Result) {
	if v.Exists() {
		g.key(n, name)
		g.dst = append(g.dst, v.Raw...)
	}
}

// schema writes the schema v, which must be an object.
func (g *grammar) schema(v gjson.Result) {
	g.expressible = g.expressible && v.IsObject()
	if !g.expressible {
		return
	}
	n := &grammarNode{members: map[string]gjson.Result{}, first: true}
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		if _, twice := n.members[key]; !twice {
			n.names = append(n.names, key)
		}
		n.members[key] = v
		return true
	})
	g.dst = append(g.dst, '{')
	g.node(n)
	g.dst = append(g.dst, '}')
}

// node writes the keywords of the schema n.
func (g *grammar) node(n *grammarNode) {
	for _, name := range [...]string{"$defs", "definitions"} {
		g.schemas(n, name, n.take(name), "#/"+name+"/")
	}
	if ref := n.take("$ref"); ref.Type == gjson.String {
		if g.uses == nil {
			g.uses = map[string][]string{}
		}
		g.uses[g.current] = append(g.uses[g.current], ref.Str)
		g.refs++
		g.expressible = g.expressible && strings.HasPrefix(ref.Str, "#/") && g.refs <= maxRefs
		g.member(n, "$ref", ref)
		g.changed = g.changed || len(n.names) > 0 // members beside a reference do not count
		return
	}
	kind := n.members["type"]
	switch hasLiterals := g.literals(n); {
	case g.choices(n):
		if kind.Exists() {
			n.take("type")
			g.changed = true
		}
	case kind.Exists():
		g.member(n, "type", n.take("type"))
		g.typeKeywords(n, kind)
	default: // neither choices nor a type: only literals restrict the value
		g.expressible = g.expressible && hasLiterals
	}
	if n.take("$schema").Exists() {
		g.changed = true
	}
	g.member(n, "title", n.take("title"))
	g.describe(n, n.take("description"))
}

// literals writes enum and const if their values are neither arrays nor objects. It reports whether it wrote any.
func (g *grammar) literals(n *grammarNode) (wrote bool) {
	for _, name := range [...]string{"enum", "const"} {
		v := n.members[name]
		plain := v.Exists() && v.Type != gjson.JSON
		if v.IsArray() {
			plain = name == "enum"
			jsontext.Elements(v, func(v gjson.Result) bool { plain = plain && v.Type != gjson.JSON; return plain })
		}
		if plain {
			g.member(n, name, n.take(name))
			wrote = true
		}
	}
	return wrote
}

// choices writes anyOf or allOf, and oneOf as anyOf. It reports whether the schema has one of them.
func (g *grammar) choices(n *grammarNode) bool {
	for _, name := range [...]string{"anyOf", "oneOf", "allOf"} {
		v := n.members[name]
		if !v.IsArray() {
			continue
		}
		n.take(name)
		if name == "oneOf" {
			name, g.changed = "anyOf", true
		}
		g.key(n, name)
		g.dst = append(g.dst, '[')
		first := true
		jsontext.Elements(v, func(v gjson.Result) bool {
			if !first {
				g.dst = append(g.dst, ',')
			}
			first = false
			g.schema(v)
			return g.expressible
		})
		g.dst = append(g.dst, ']')
		return true
	}
	return false
}

// schemas writes the keyword with the given name and the value v, an object whose values are schemas. If path is not
// empty, the schemas are definitions, and references to them begin with path.
func (g *grammar) schemas(n *grammarNode, name string, v gjson.Result, path string) {
	if !v.Exists() {
		return
	}
	g.expressible = g.expressible && v.IsObject()
	g.key(n, name)
	g.dst = append(g.dst, '{')
	inner := &grammarNode{first: true}
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		previous := g.current
		if path != "" {
			g.current = path + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		}
		g.key(inner, key)
		g.schema(v)
		g.current = previous
		return g.expressible
	})
	g.dst = append(g.dst, '}')
}

// typeKeywords writes the keywords that belong to schemas of the type kind.
func (g *grammar) typeKeywords(n *grammarNode, kind gjson.Result) {
	hasType := func(name string) bool {
		found := kind.Str == name
		if kind.IsArray() {
			jsontext.Elements(kind, func(v gjson.Result) bool { found = found || v.Str == name; return true })
		}
		return found
	}
	if hasType("object") {
		properties, additional := n.take("properties"), n.take("additionalProperties")
		// An object that may have other fields is not expressible. The grammar has only closed objects, which cannot have
		// other fields.
		if additional.Exists() && additional.Type != gjson.False || !additional.Exists() && !properties.Exists() {
			g.expressible = false
		}
		g.schemas(n, "properties", properties, "")
		g.changed = g.changed || !additional.Exists() // the next line adds the field
		g.key(n, "additionalProperties")
		g.dst = append(g.dst, "false"...)
		g.member(n, "required", n.take("required"))
	}
	if hasType("array") {
		if items := n.take("items"); items.Exists() {
			g.key(n, "items")
			g.schema(items)
		}
		if minimum := n.members["minItems"]; minimum.Raw == "0" || minimum.Raw == "1" {
			g.member(n, "minItems", n.take("minItems"))
		}
	}
	if format := n.members["format"]; hasType("string") && slices.Contains(stringFormats, format.Str) {
		g.member(n, "format", n.take("format"))
	}
}

// describe writes the description v, extended by the keywords that the grammar does not support.
func (g *grammar) describe(n *grammarNode, v gjson.Result) {
	text := []byte(v.Str)
	if len(n.names) > 0 {
		g.changed = true
		if len(text) > 0 {
			text = append(text, "\n\n"...)
		}
		separator := "{"
		for _, name := range n.names {
			text = jsontext.AppendAll(text, separator, name, ": ", n.members[name].Raw)
			separator = ", "
		}
		text = append(text, '}')
	}
	if len(text) > 0 {
		g.key(n, "description")
		g.dst = jsontext.AppendQuoted(g.dst, string(text))
	}
}

// circular reports whether a definition contains itself. It visits the definitions depth first. If it reaches a
// definition again before it has left it, the definition contains itself.
func (g *grammar) circular() bool {
	const open, closed = 1, 2
	state := map[string]int{} // 0 for a definition that was not reached yet
	var walk func(name string) bool
	walk = func(name string) bool {
		if state[name] != 0 {
			return state[name] == open
		}
		state[name] = open
		if slices.ContainsFunc(g.uses[name], walk) {
			return true
		}
		state[name] = closed
		return false
	}
	for name := range g.uses {
		if walk(name) {
			return true
		}
	}
	return false
}
