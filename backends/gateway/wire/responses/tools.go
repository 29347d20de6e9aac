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

// toolKey identifies a tool in the client's request.
type toolKey struct {
	kind                  hub.ToolKind
	namespace, clientName string
}

// flatName returns the name of a tool with its namespace as a prefix.
func (k toolKey) flatName() string {
	if k.namespace == "" {
		return k.clientName
	}
	return k.namespace + "__" + k.clientName
}

// upstreamName returns the name that upstreams get for a tool, even if the tool is not in the request.
func (in *reader) upstreamName(key toolKey) string {
	if name, known := in.names[key]; known {
		return name
	}
	return hub.LegalName(key.flatName())
}

// add adds a tool unless it was added before. If another tool has the same upstream name, the new tool's name becomes
// one with a hash. To make the hash different, NUL and more text are appended to the name; NUL does not occur in legal
// names.
func (in *reader) add(key toolKey, t hub.Tool) {
	if _, exists := in.names[key]; exists {
		return
	}
	fullName := key.flatName()
	t.Name = hub.LegalName(fullName)
	if in.taken(t.Name) {
		fullName += "\x00" + key.namespace + "\x00" + toolKinds[key.kind]
		for t.Name = hub.LegalName(fullName); in.taken(t.Name); t.Name = hub.LegalName(fullName) {
			fullName += "\x00"
		}
	}
	t.Kind, t.Namespace, t.ClientName = key.kind, key.namespace, key.clientName
	in.names[key] = t.Name
	in.flat[t.Name] = struct{}{}
	in.r.Tools = append(in.r.Tools, t)
	in.r.Needs |= wire.NeedTools
	in.count(t.Description)
	in.count(t.Parameters)
}

// taken reports whether a tool has the upstream name already.
func (in *reader) taken(name string) bool {
	_, found := in.flat[name]
	return found
}

// toolKinds are the types of tools in requests, indexed by hub.ToolKind. A tool of a kind after hub.ToolCustom has no
// name, so its type serves as its name.
var toolKinds = [...]string{
	hub.ToolFunction: "function", hub.ToolCustom: "custom", hub.ToolSearch: "tool_search",
	hub.ToolLocalShell: "local_shell", hub.ToolShell: "shell", hub.ToolApplyPatch: "apply_patch",
}

// tools reads the tools of the request and those that input items add.
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
			return in.itemTools(item)
		})
		if err != nil {
			return err
		}
	}
	if len(in.r.Tools) == 0 && in.hosted != "" { // without any tool the request would mean something else
		in.r.RequireOwnFormat(apierror.New(http.StatusBadRequest, "unsupported_parameter",
			"%s is %s, a tool that runs on its vendor's servers and is not available here: add a function tool, or leave tools out",
			in.hosted, hub.Shown(in.hostedKind)).With(in.hosted))
	}
	return nil
}

// itemTools reads the tools that the input item adds to the request.
func (in *reader) itemTools(item fields.Value) error {
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

// readTool reads a tool and adds it to the request, unless only the tool's vendor can run it.
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
		in.add(toolKey{kind: hub.ToolLocalShell, clientName: name}, hub.Tool{
			Description: "Runs a command on the user's computer.", Parameters: localShellSchema,
		})
	case "shell":
		environment := in.tool.Get("environment")
		if kind := environment.Get("type").Str; strings.HasPrefix(kind, "container") {
			in.hostedTool(v)
			return nil
		}
		in.add(toolKey{kind: hub.ToolShell, clientName: name}, hub.Tool{
			Description: "Runs shell commands on the user's computer.", Parameters: shellSchema,
		})
	case "apply_patch":
		in.add(toolKey{kind: hub.ToolApplyPatch, clientName: name}, hub.Tool{
			Description: "Creates, changes or deletes one file of the workspace.", Parameters: applyPatchSchema,
		})
	default: // run by the vendor, or not known yet
		in.hostedTool(v)
	}
	return nil
}

// hostedTool drops a tool that only its vendor can run. It records the path and type of the first such tool.
func (in *reader) hostedTool(v fields.Value) {
	path := v.String()
	in.r.DropOnce(path)
	if in.hosted == "" {
		in.hosted, in.hostedKind = path, in.tool.Get("type").Str
	}
}

// noParameters is the schema of a function without parameters.
const noParameters = `{"type":"object","properties":{}}`

// function reads the function tool in o and adds it. prefix is put before the tool's description.
func (in *reader) function(o *fields.Object, namespace, prefix string) error {
	key := toolKey{kind: hub.ToolFunction, namespace: namespace}
	t := hub.Tool{}
	var err error
	if key.clientName, err = o.Name("name"); err == nil {
		t.Description, err = o.Text("description")
	}
	if err == nil {
		t.Parameters, err = parameters(o)
	}
	if err == nil {
		t.Strict, err = o.Get("strict").RawFlag()
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

// parameters returns the JSON Schema in the field parameters of the tool in o, as JSON text, or noParameters if absent.
func parameters(o *fields.Object) (string, error) {
	v := o.Get("parameters")
	if !v.Given() {
		return noParameters, nil
	}
	return v.Raw, v.Object()
}

// customSchema is the input schema that represents a custom tool's free text.
const customSchema = `{"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool, as free text."}},"required":["input"],"additionalProperties":false}`

// custom reads the custom (free-text) tool in o and adds it. prefix is put before the tool's description. Other models
// cannot enforce the tool's grammar, so the grammar is appended to the description.
func (in *reader) custom(o *fields.Object, namespace, prefix string) error {
	key := toolKey{kind: hub.ToolCustom, namespace: namespace}
	t := hub.Tool{Parameters: customSchema}
	var err error
	if key.clientName, err = o.Name("name"); err == nil {
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

// namespace reads the namespace in in.tool. The tools in the namespace become separate tools of the request.
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

// search reads tool_search. A search that the client runs becomes a function. A search that the vendor runs is dropped,
// since the model gets all tools at once.
func (in *reader) search(v fields.Value) error {
	execution, err := in.tool.Text("execution")
	if err != nil {
		return err
	}
	if execution != "client" {
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
	in.add(toolKey{kind: hub.ToolSearch, clientName: toolKinds[hub.ToolSearch]}, t)
	return nil
}

// eachFoundTool calls fn with the upstream name of each tool in in.item, which is the result of a tool search.
func (in *reader) eachFoundTool(fn func(name string)) error {
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
		name, err := in.tool.Text("name")
		if err != nil {
			return err
		}
		switch kind {
		case "function":
			fn(in.upstreamName(toolKey{kind: hub.ToolFunction, clientName: name}))
		case "custom":
			fn(in.upstreamName(toolKey{kind: hub.ToolCustom, clientName: name}))
		case "namespace":
			members := in.tool.Get("tools")
			jsontext.Elements(members.Result, func(m gjson.Result) bool {
				key := toolKey{namespace: name, clientName: m.Get("name").Str} // a function unless the type is custom
				if m.Get("type").Str == "custom" {
					key.kind = hub.ToolCustom
				}
				fn(in.upstreamName(key))
				return true
			})
		}
		return nil
	})
}
