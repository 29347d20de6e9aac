package messages

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxToolName is the length of the longest tool name, in bytes. MCP names have up to 128.
const maxToolName = 256

// tools reads the tools. If all tools of a request run on the vendor's servers, the request needs an upstream with
// these tools, since without tools its meaning would change.
func (r *reader) tools() error {
	list := r.top.Get("tools")
	if !list.Given() {
		return nil
	}
	names := map[string]struct{}{}
	var leftOut fields.Value // the first tool that is left out
	var tool fields.Object
	err := list.Each(func(v fields.Value) error {
		if err := tool.Open(v); err != nil {
			return err
		}
		t, err := r.tool(&tool)
		if err != nil {
			return err
		}
		if t == nil {
			if !leftOut.Given() {
				leftOut = v
			}
			return nil
		}
		if _, exists := names[t.ClientName]; exists {
			return tool.Get("name").Invalid("is %s, which is also the name of an earlier tool", hub.Shown(t.ClientName))
		}
		names[t.ClientName] = struct{}{}
		r.request.Tools = append(r.request.Tools, *t)
		return nil
	})
	if err == nil && len(r.request.Tools) == 0 && leftOut.Given() {
		r.request.RequireOwnFormat(leftOut.Unsupported("is %s, a tool that runs on its vendor's servers and that none of "+
			"the configured providers has: add a tool that the client runs, or leave tools out",
			hub.Shown(leftOut.Get("type").String())))
	}
	return err
}

// tool reads the tool in o. It returns nil without an error for a tool that is left out, since it runs on the vendor's
// servers or its type is unknown.
func (r *reader) tool(o *fields.Object) (*hub.Tool, error) {
	r.dropToolSettings(o)
	kind, err := o.Text("type")
	if err != nil {
		return nil, err
	}
	clientName := ""
	if !strings.Contains(kind, "toolset") { // toolsets have no name
		if clientName, err = name(o.Get("name")); err != nil {
			return nil, err
		}
	}
	if len(clientName) > maxToolName {
		return nil, o.Get("name").Invalid("must have at most %d bytes, it has %d", maxToolName, len(clientName))
	}
	t := &hub.Tool{Name: hub.LegalName(clientName), ClientName: clientName}
	if t.Cache, err = cacheMark(o); err != nil {
		return nil, err
	}
	switch {
	case kind == "" || kind == "custom":
		return t, custom(t, o)
	case isServerTool(kind):
		if r.served == nil {
			r.served = map[string]struct{}{}
		}
		r.served[clientName] = struct{}{}
		r.request.DropOnce(o.String())
		return nil, nil
	}
	if defineClientTool(t, kind, o) {
		return t, nil
	}
	r.request.RequireOwnFormat(o.Get("type").Invalid(
		"is %s, which is not supported: define the tool as a custom tool with an input_schema", hub.Shown(kind)))
	return nil, nil
}

// dropToolSettings records as dropped those fields of the tool in o that other formats do not have.
func (r *reader) dropToolSettings(o *fields.Object) {
	for _, m := range o.Members {
		switch m.Name {
		case "defer_loading", "eager_input_streaming", "allowed_callers", "input_examples":
			if m.Type != gjson.Null && m.Type != gjson.False {
				r.request.DropOnce("tools[]." + m.Name)
			}
		}
	}
}

// custom adds the description and the input schema in o to t, a tool that the client defines itself.
func custom(t *hub.Tool, o *fields.Object) (err error) {
	if t.Description, err = o.Text("description"); err != nil {
		return err
	}
	schema := o.Get("input_schema")
	if err := schema.Object(); err != nil {
		return err
	}
	t.Parameters = ObjectSchema(schema.Result)
	t.Strict, err = o.Get("strict").RawFlag()
	return err
}

// ObjectSchema returns a schema that has the keywords type and properties. It adds them if they are missing, since
// some upstreams require them. The rest of the client's schema is kept byte for byte.
func ObjectSchema(schema gjson.Result) string {
	empty, kind, properties := true, `"type":"object",`, `"properties":{},`
	jsontext.Members(schema, func(key string, _ gjson.Result) bool {
		empty = false
		switch key {
		case "type":
			kind = ""
		case "properties":
			properties = ""
		}
		return true
	})
	switch added := kind + properties; {
	case added == "":
		return schema.Raw
	case empty:
		return "{" + strings.TrimSuffix(added, ",") + "}"
	default:
		return "{" + added + schema.Raw[1:]
	}
}

// choice reads tool_choice. It is called after the tools were read.
func (r *reader) choice() error {
	o, ok, err := r.top.Optional("tool_choice")
	if !ok || err != nil {
		return err
	}
	kind, err := o.Required("type")
	if err != nil {
		return err
	}
	oneCall, err := o.Get("disable_parallel_tool_use").Flag()
	if err != nil {
		return err
	}
	var choice hub.Choice
	switch kind {
	case "auto":
		choice.Mode = "auto"
	case "any":
		choice.Mode = "required"
	case "none":
		choice.Mode, oneCall = "none", false // without calls the flag has no meaning
	case "tool":
		if choice, err = r.namedTool(o.Get("name")); err != nil {
			return err
		}
	default:
		return o.Get("type").Invalid("must be one of auto, any, tool, none, it is %s", hub.Shown(kind))
	}
	if len(r.request.Tools) == 0 {
		r.request.DropOnce("tool_choice")
		return nil
	}
	r.request.Choice = choice
	if oneCall {
		r.request.AddParam("parallel_tool_calls", "false")
	}
	return nil
}

// namedTool returns the choice for a tool_choice that requires a call of one named tool. v is the value of
// tool_choice.name. The choice is zero if the request does not have the tool but an upstream may have it.
func (r *reader) namedTool(v fields.Value) (hub.Choice, error) {
	clientName, err := name(v)
	if err != nil {
		return hub.Choice{}, err
	}
	if _, served := r.served[clientName]; served {
		r.request.RequireOwnFormat(v.Unsupported(
			"is %s, a tool that runs on its vendor's servers and is not available here: choose another tool",
			hub.Shown(clientName)))
		return hub.Choice{}, nil
	}
	for i := range r.request.Tools {
		if r.request.Tools[i].ClientName == clientName {
			return hub.Choice{Mode: "function", Name: r.request.Tools[i].Name}, nil
		}
	}
	if len(r.request.Tools) == 0 || r.request.Needs&wire.NeedOwnFormat != 0 {
		return hub.Choice{}, nil // the tool is dropped, or may be in a toolset
	}
	return hub.Choice{}, v.Invalid("is %s, which is not in tools", hub.Shown(clientName))
}
