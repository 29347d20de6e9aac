package messages

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Grammar returns a schema in the form that Claude and its hosts require for answers that are held to it: with the
// keywords for which it has a grammar, with closed objects, and with the other keywords listed in the description. A
// schema without other keywords is returned unchanged. ok is false for a schema whose meaning would change: open
// objects, "anything", circular references.
func Grammar(schema string) (_ string, ok bool) {
	g := grammar{fits: true}
	g.schema(gjson.Parse(schema))
	switch {
	case !g.fits || g.circles():
		return "", false
	case !g.changed:
		return schema, true
	}
	return string(g.dst), true
}

type grammar struct {
	dst           []byte
	fits, changed bool
	// at is the definition that is being written. uses lists the references within each definition.
	at   string
	uses map[string][]string
	refs int
}

// maxRefs bounds the references that are followed to detect a circle.
const maxRefs = 4096

// upstreamFormats are the string formats that have a grammar.
var upstreamFormats = []string{
	"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
}

// grammarNode is a schema that is being written.
type grammarNode struct {
	names   []string
	members map[string]gjson.Result
	first   bool
}

// take removes a member, which is then written unchanged or converted, and returns it.
func (n *grammarNode) take(name string) gjson.Result {
	v := n.members[name]
	if at := slices.Index(n.names, name); at >= 0 {
		n.names = slices.Delete(n.names, at, at+1)
	}
	return v
}

func (g *grammar) key(n *grammarNode, name string) {
	if !n.first {
		g.dst = append(g.dst, ',')
	}
	n.first = false
	g.dst = append(jsontext.AppendQuoted(g.dst, name), ':')
}

func (g *grammar) raw(n *grammarNode, name string, v gjson.Result) {
	if v.Exists() {
		g.key(n, name)
		g.dst = append(g.dst, v.Raw...)
	}
}

func (g *grammar) schema(v gjson.Result) {
	if g.fits = g.fits && v.IsObject(); !g.fits {
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

func (g *grammar) node(n *grammarNode) {
	for _, name := range [...]string{"$defs", "definitions"} {
		g.schemas(n, name, n.take(name), "#/"+name+"/")
	}
	if ref := n.take("$ref"); ref.Type == gjson.String {
		if g.uses == nil {
			g.uses = map[string][]string{}
		}
		g.uses[g.at] = append(g.uses[g.at], ref.Str)
		g.refs++
		g.fits = g.fits && strings.HasPrefix(ref.Str, "#/") && g.refs <= maxRefs
		g.raw(n, "$ref", ref)
		g.changed = g.changed || len(n.names) > 0 // a reference has no other members beside it
		return
	}
	kind := n.members["type"]
	switch literal := g.literals(n); {
	case g.choices(n):
		if kind.Exists() {
			n.take("type")
			g.changed = true
		}
	case kind.Exists():
		g.raw(n, "type", n.take("type"))
		g.typed(n, kind)
	default:
		g.fits = g.fits && literal
	}
	if n.take("$schema").Exists() {
		g.changed = true
	}
	g.raw(n, "title", n.take("title"))
	g.describe(n, n.take("description"))
}

// literals writes enum and const if they have plain values.
func (g *grammar) literals(n *grammarNode) (any bool) {
	for _, name := range [...]string{"enum", "const"} {
		v := n.members[name]
		plain := v.Exists() && v.Type != gjson.JSON
		if v.IsArray() {
			plain = name == "enum"
			jsontext.Elements(v, func(v gjson.Result) bool { plain = plain && v.Type != gjson.JSON; return plain })
		}
		if plain {
			g.raw(n, name, n.take(name))
			any = true
		}
	}
	return any
}

// choices writes anyOf or allOf, and oneOf as anyOf.
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
			return g.fits
		})
		g.dst = append(g.dst, ']')
		return true
	}
	return false
}

// schemas writes a member that contains schemas by name.
func (g *grammar) schemas(n *grammarNode, name string, v gjson.Result, path string) {
	if !v.Exists() {
		return
	}
	g.fits = g.fits && v.IsObject()
	g.key(n, name)
	g.dst = append(g.dst, '{')
	inner := &grammarNode{first: true}
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		previous := g.at
		if path != "" {
			g.at = path + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		}
		g.key(inner, key)
		g.schema(v)
		g.at = previous
		return g.fits
	})
	g.dst = append(g.dst, '}')
}

// typed writes the keywords that belong to a type.
func (g *grammar) typed(n *grammarNode, kind gjson.Result) {
	is := func(name string) bool {
		found := kind.Str == name
		if kind.IsArray() {
			jsontext.Elements(kind, func(v gjson.Result) bool { found = found || v.Str == name; return true })
		}
		return found
	}
	if is("object") {
		properties, open := n.take("properties"), n.take("additionalProperties")
		// An object with other members is left to the model: a closed object could not have them.
		if open.Exists() && open.Type != gjson.False || !open.Exists() && !properties.Exists() {
			g.fits = false
		}
		g.schemas(n, "properties", properties, "")
		g.changed = g.changed || !open.Exists()
		g.key(n, "additionalProperties")
		g.dst = append(g.dst, "false"...)
		g.raw(n, "required", n.take("required"))
	}
	if is("array") {
		if items := n.take("items"); items.Exists() {
			g.key(n, "items")
			g.schema(items)
		}
		if least := n.members["minItems"]; least.Raw == "0" || least.Raw == "1" {
			g.raw(n, "minItems", n.take("minItems"))
		}
	}
	if format := n.members["format"]; is("string") && slices.Contains(upstreamFormats, format.Str) {
		g.raw(n, "format", n.take("format"))
	}
}

// describe writes the description, with the keywords that have no grammar added to it.
func (g *grammar) describe(n *grammarNode, v gjson.Result) {
	text := []byte(v.Str)
	if len(n.names) > 0 {
		g.changed = true
		if len(text) > 0 {
			text = append(text, "\n\n"...)
		}
		for i, name := range n.names {
			text = jsontext.AppendAll(text, [...]string{"{", ", "}[min(i, 1)], name, ": ", n.members[name].Raw)
		}
		text = append(text, '}')
	}
	if len(text) > 0 {
		g.key(n, "description")
		g.dst = jsontext.AppendQuoted(g.dst, string(text))
	}
}

// circles reports whether a definition contains itself.
func (g *grammar) circles() bool {
	const open, closed = 1, 2
	state := map[string]int{}
	var walk func(at string) bool
	walk = func(at string) bool {
		if state[at] != 0 {
			return state[at] == open
		}
		state[at] = open
		if slices.ContainsFunc(g.uses[at], walk) {
			return true
		}
		state[at] = closed
		return false
	}
	for at := range g.uses {
		if walk(at) {
			return true
		}
	}
	return false
}
