package responses

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// toolKey identifies a tool as the client does.
type toolKey struct {
	kind           hub.ToolKind
	namespace, own string
}

// The tools that are known by their type: their names, and the member of a call item that holds what they are asked to
// do.
var (
	toolNames = [...]string{
		hub.ToolSearch: "tool_search", hub.ToolLocalShell: "local_shell",
		hub.ToolShell: "shell", hub.ToolApplyPatch: "apply_patch",
	}
	bodyNames = [...]string{
		hub.ToolSearch: "arguments", hub.ToolLocalShell: "action", hub.ToolShell: "action", hub.ToolApplyPatch: "operation",
	}
)

// flatName returns the name of a tool with its namespace as a prefix (specification 7.4.1).
func (k toolKey) flatName() string {
	if k.namespace == "" {
		return k.own
	}
	return k.namespace + "__" + k.own
}

// upstreamName returns the name of a tool for upstreams, even if it is not among the tools of the request.
func (in *reader) upstreamName(key toolKey) string {
	if name, known := in.names[key]; known {
		return name
	}
	return hub.LegalName(key.flatName())
}

// add adds a tool the first time that it occurs. Two tools that would get the same name get a hash instead. NUL does
// not occur in legal names, so it is hashed with the rest.
func (in *reader) add(key toolKey, t hub.Tool) {
	if _, twice := in.names[key]; twice {
		return
	}
	full := key.flatName()
	t.Name = hub.LegalName(full)
	if in.taken(t.Name) {
		full += "\x00" + key.namespace + "\x00" + toolKinds[key.kind]
		for t.Name = hub.LegalName(full); in.taken(t.Name); t.Name = hub.LegalName(full) {
			full += "\x00"
		}
	}
	t.Kind, t.Namespace, t.ClientName = key.kind, key.namespace, key.own
	in.names[key] = t.Name
	in.flat[t.Name] = struct{}{}
	in.r.Tools = append(in.r.Tools, t)
	in.r.Needs |= wire.NeedTools
	in.count(t.Description)
	in.count(t.Parameters)
}

// taken reports whether another tool has the name for upstreams already.
func (in *reader) taken(name string) bool {
	_, taken := in.flat[name]
	return taken
}

// toolKinds are the kinds as spelled in the type of a tool.
var toolKinds = [...]string{
	hub.ToolFunction: "function", hub.ToolCustom: "custom", hub.ToolSearch: "tool_search",
	hub.ToolLocalShell: "local_shell", hub.ToolShell: "shell", hub.ToolApplyPatch: "apply_patch",
}

// tools reads the tools of the request and those that items of the input add.
func (in *reader) tools() error {
	v := in.fields.Get("tools")
	if v.Given() {
		if err := v.Each(in.readTool); err != nil {
			return err
		}
	}
	if input := in.fields.Get("input"); input.IsArray() {
		err := input.Each(func(item fields.Value) error {
			in.items = append(in.items, item)
			return in.moreTools(item)
		})
		if err != nil {
			return err
		}
	}
	if len(in.r.Tools) == 0 && in.hosted != "" {
		in.own(apierror.New(http.StatusBadRequest, "unsupported_parameter",
			"%s is %s, which is run by its vendor and not offered here: give a function tool too, or no tools",
			in.hosted, hub.Shown(in.hostedKind)).With(in.hosted))
	}
	return nil
}

// moreTools reads the tools that an item adds.
func (in *reader) moreTools(item fields.Value) error {
	switch item.Get("type").Str {
	case "additional_tools", "tool_search_output":
	default:
		return nil
	}
	if err := in.item.Open(item); err != nil {
		return err
	}
	v := in.item.Get("tools")
	if !v.Given() {
		return nil
	}
	return v.Each(in.readTool)
}

// readTool reads a tool (specification 7.4).
func (in *reader) readTool(v fields.Value) error {
	name, err := in.tool.Typed(v)
	if err != nil {
		return err
	}
	switch name {
	case "function":
		return in.function(&in.tool, "", "")
	case "custom":
		return in.custom(&in.tool, "", "")
	case "namespace":
		return in.namespace()
	case "tool_search":
		return in.search(v)
	case "local_shell":
		in.add(toolKey{kind: hub.ToolLocalShell, own: name}, hub.Tool{
			Description: "Runs a command on the user's computer.", Parameters: localShellSchema,
		})
	case "shell":
		environment := in.tool.Get("environment")
		if where := environment.Get("type").Str; strings.HasPrefix(where, "container") {
			in.hostedTool(v)
			return nil
		}
		in.add(toolKey{kind: hub.ToolShell, own: name}, hub.Tool{
			Description: "Runs shell commands on the user's computer.", Parameters: shellSchema,
		})
	case "apply_patch":
		in.add(toolKey{kind: hub.ToolApplyPatch, own: name}, hub.Tool{
			Description: "Creates, changes or deletes one file of the workspace.", Parameters: applyPatchSchema,
		})
	default: // run by the vendor, or not known yet
		in.hostedTool(v)
	}
	return nil
}

// hostedTool drops a tool that only its vendor can run, and remembers the first one.
func (in *reader) hostedTool(v fields.Value) {
	at := v.String()
	in.drop(at)
	if in.hosted == "" {
		in.hosted, in.hostedKind = at, in.tool.Get("type").Str
	}
}

// noParameters is the schema of a function without parameters.
const noParameters = `{"type":"object","properties":{}}`

// function reads the function in o. prefix is put before its description.
func (in *reader) function(o *fields.Object, namespace, prefix string) error {
	key := toolKey{kind: hub.ToolFunction, namespace: namespace}
	t := hub.Tool{}
	var err error
	if key.own, err = o.Name("name"); err == nil {
		t.Description, err = o.Text("description")
	}
	if err == nil {
		t.Parameters, err = parameters(o)
	}
	if err == nil {
		t.Strict, err = strict(o)
	}
	if err != nil {
		return err
	}
	if t.Strict != "true" {
		t.Strict = ""
	}
	t.Description = prefix + t.Description
	in.add(key, t)
	return nil
}

// parameters returns the schema of a tool.
func parameters(o *fields.Object) (string, error) {
	v := o.Get("parameters")
	if !v.Given() {
		return noParameters, nil
	}
	return v.Raw, v.Object()
}

// customSchema is the schema for the free text of a custom tool.
const customSchema = `{"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool, as free text."}},"required":["input"],"additionalProperties":false}`

// custom reads a tool that takes free text. Other models cannot be held to a grammar, so it is described to them.
func (in *reader) custom(o *fields.Object, namespace, prefix string) error {
	key := toolKey{kind: hub.ToolCustom, namespace: namespace}
	t := hub.Tool{Parameters: customSchema}
	var err error
	if key.own, err = o.Name("name"); err == nil {
		t.Description, err = o.Text("description")
	}
	if err != nil {
		return err
	}
	t.Description = prefix + t.Description
	format := o.Get("format")
	if format.Given() {
		if err := in.part.Open(format); err != nil {
			return err
		}
		definition, err := in.part.Text("definition")
		if err != nil {
			return err
		}
		syntax, err := in.part.Text("syntax")
		if err != nil {
			return err
		}
		if definition != "" {
			t.Description = strings.TrimLeft(t.Description+"\n\nThe input must follow this "+strings.TrimLeft(
				syntax+" grammar:\n", " ")+definition, "\n")
		}
	}
	in.add(key, t)
	return nil
}

// namespace reads the namespace in in.tool, whose members become separate tools.
func (in *reader) namespace() error {
	name, err := in.tool.Name("name")
	if err != nil {
		return err
	}
	prefix, err := in.tool.Text("description")
	if err != nil {
		return err
	}
	if prefix != "" {
		prefix += "\n\n"
	}
	members := in.tool.Get("tools")
	return members.Each(func(v fields.Value) error {
		if err := in.inner.Open(v); err != nil {
			return err
		}
		kind, err := in.inner.Name("type")
		if err != nil {
			return err
		}
		switch kind {
		case "function":
			err = in.function(&in.inner, name, prefix)
		case "custom":
			err = in.custom(&in.inner, name, prefix)
		default:
			in.hostedTool(v)
			return nil
		}
		prefix = ""
		return err
	})
}

// search reads tool_search. A search by the client is a function. A search by the vendor is not needed, since all tools
// are given at once.
func (in *reader) search(v fields.Value) error {
	how, err := in.tool.Text("execution")
	if err != nil {
		return err
	}
	if how != "client" {
		in.hostedTool(v)
		return nil
	}
	t := hub.Tool{}
	if t.Description, err = in.tool.Text("description"); err == nil {
		t.Parameters, err = parameters(&in.tool)
	}
	if err != nil {
		return err
	}
	if t.Description == "" {
		t.Description = "Searches for more tools."
	}
	in.add(toolKey{kind: hub.ToolSearch, own: toolNames[hub.ToolSearch]}, t)
	return nil
}

// eachFound calls do with the names for upstreams of the tools in in.item.
func (in *reader) eachFound(do func(name string)) error {
	v := in.item.Get("tools")
	if !v.Given() {
		return nil
	}
	return v.Each(func(element fields.Value) error {
		if err := in.tool.Open(element); err != nil {
			return err
		}
		kind, err := in.tool.Text("type")
		if err != nil {
			return err
		}
		own, err := in.tool.Text("name")
		if err != nil {
			return err
		}
		switch kind {
		case "function":
			do(in.upstreamName(toolKey{kind: hub.ToolFunction, own: own}))
		case "custom":
			do(in.upstreamName(toolKey{kind: hub.ToolCustom, own: own}))
		case "namespace":
			members := in.tool.Get("tools")
			jsontext.Elements(members.Result, func(m gjson.Result) bool {
				key := toolKey{namespace: own, own: m.Get("name").Str}
				if m.Get("type").Str == "custom" {
					key.kind = hub.ToolCustom
				}
				do(in.upstreamName(key))
				return true
			})
		}
		return nil
	})
}
