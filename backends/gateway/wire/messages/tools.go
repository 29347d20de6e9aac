package messages

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxToolName is the length of the longest tool name, in bytes. MCP names have up to 128.
const maxToolName = 256

// toolFields are the field values of a tool that the reader evaluates.
type toolFields struct {
	kind, name, description, schema, strict, cache gjson.Result
	width, height                                  gjson.Result // size of a computer's screen
}

// tools reads the tools. If all tools of a request run on the vendor's servers, the request needs an upstream with
// these tools, since without tools its meaning would change.
func (r *reader) tools(f *fields) error {
	if !isPresent(f.tools) {
		return nil
	}
	names := map[string]struct{}{}
	servedPath, servedKind := "", "" // path and type of the first tool that is left out
	err := each(f.tools, "tools", func(v gjson.Result, path string) error {
		t, err := r.tool(v, path)
		if err != nil {
			return err
		}
		if t == nil { // left out
			if servedPath == "" {
				servedPath, servedKind = path, v.Get("type").String()
			}
			return nil
		}
		if _, exists := names[t.ClientName]; exists {
			return invalid(path+".name", "is %s, which is also the name of an earlier tool", hub.Shown(t.ClientName))
		}
		names[t.ClientName] = struct{}{}
		r.request.Tools = append(r.request.Tools, *t)
		return nil
	})
	if err == nil && len(r.request.Tools) == 0 && servedPath != "" {
		r.requireOwnFormat(unsupported(servedPath, "is %s, a tool that runs on its vendor's servers and that none of the "+
			"configured providers has: add a tool that the client runs, or leave tools out", hub.Shown(servedKind)))
	}
	return err
}

// tool reads one tool. It returns nil without an error for a tool that is left out, since it runs on the vendor's
// servers or its type is unknown.
func (r *reader) tool(v gjson.Result, path string) (*hub.Tool, error) {
	if !v.IsObject() {
		return nil, wrongKind(path, "an object", v)
	}
	var f toolFields
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		r.collectTool(&f, key, v)
		return true
	})
	kind, err := optionalText(f.kind, path+".type")
	if err != nil {
		return nil, err
	}
	clientName := ""
	if !strings.Contains(kind, "toolset") { // toolsets have no name
		if clientName, err = name(f.name, path+".name"); err != nil {
			return nil, err
		}
	}
	if len(clientName) > maxToolName {
		return nil, invalid(path+".name", "must have at most %d bytes, it has %d", maxToolName, len(clientName))
	}
	t := &hub.Tool{Name: hub.LegalName(clientName), ClientName: clientName}
	if t.Cache, err = cacheMark(f.cache, path); err != nil {
		return nil, err
	}
	switch {
	case kind == "" || kind == "custom":
		return t, custom(t, &f, path)
	case isServerTool(kind):
		if r.served == nil {
			r.served = map[string]struct{}{}
		}
		r.served[clientName] = struct{}{}
		r.drop(path)
		return nil, nil
	}
	if defineClientTool(t, kind, &f) {
		return t, nil
	}
	r.requireOwnFormat(invalid(path+".type",
		"is %s, which is not supported: define the tool as a custom tool with an input_schema", hub.Shown(kind)))
	return nil, nil
}

// collectTool stores v, the value of the field key of a tool, in f. It drops fields that other formats do not have.
func (r *reader) collectTool(f *toolFields, key string, v gjson.Result) {
	switch key {
	case "type":
		f.kind = v
	case "name":
		f.name = v
	case "description":
		f.description = v
	case "input_schema":
		f.schema = v
	case "strict":
		f.strict = v
	case "cache_control":
		f.cache = v
	case "display_width_px":
		f.width = v
	case "display_height_px":
		f.height = v
	case "defer_loading", "eager_input_streaming", "allowed_callers", "input_examples":
		if isPresent(v) && v.Type != gjson.False {
			r.drop("tools[]." + key)
		}
	}
}

// custom adds the description and the input schema in f to t, a tool that the client defines itself. path is the tool's
// JSON path.
func custom(t *hub.Tool, f *toolFields, path string) (err error) {
	if t.Description, err = optionalText(f.description, path+".description"); err != nil {
		return err
	}
	if !f.schema.IsObject() {
		return wrongKind(path+".input_schema", "an object", f.schema)
	}
	t.Parameters = ObjectSchema(f.schema)
	if isPresent(f.strict) {
		if !f.strict.IsBool() {
			return wrongKind(path+".strict", "a boolean", f.strict)
		}
		t.Strict = f.strict.Raw
	}
	return nil
}

// ObjectSchema returns a schema with added type and properties if they are missing, since some upstreams require them.
// The rest of the client's schema is kept byte for byte.
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
func (r *reader) choice(f *fields) error {
	ok, err := optionalObject(f.choice, "tool_choice")
	if !ok || err != nil {
		return err
	}
	const path = "tool_choice.type"
	kind, err := text(f.choice.Get("type"), path)
	if err != nil {
		return err
	}
	oneCall, err := optionalBool(f.choice.Get("disable_parallel_tool_use"), "tool_choice.disable_parallel_tool_use")
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
		choice.Mode, oneCall = "none", false
	case "tool":
		if choice, err = r.namedTool(f.choice.Get("name")); err != nil {
			return err
		}
	default:
		return invalid(path, "must be one of auto, any, tool, none, it is %s", hub.Shown(kind))
	}
	if len(r.request.Tools) == 0 {
		r.drop("tool_choice")
		return nil
	}
	r.request.Choice = choice
	if oneCall {
		r.param("parallel_tool_calls", "false")
	}
	return nil
}

// namedTool returns the choice for a tool_choice that requires a call of one named tool. v is the value of
// tool_choice.name. The choice is zero if the request does not have the tool but an upstream may have it.
func (r *reader) namedTool(v gjson.Result) (hub.Choice, error) {
	const path = "tool_choice.name"
	clientName, err := name(v, path)
	if err != nil {
		return hub.Choice{}, err
	}
	if _, served := r.served[clientName]; served {
		r.requireOwnFormat(unsupported(path,
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
	return hub.Choice{}, invalid(path, "is %s, which is not in tools", hub.Shown(clientName))
}
