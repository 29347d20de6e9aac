package chat

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// customSchema is the parameter schema that upstreams get for a tool of the type custom. Such a tool takes free text.
// For upstreams it becomes a function with the single argument input.
const customSchema = `{"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool."}},"required":["input"],"additionalProperties":false}`

// readTools reads the field tools.
func (r *request) readTools(value gjson.Result) error {
	if value.Type == gjson.Null {
		return nil
	}
	if !value.IsArray() {
		return wrongType("tools", "an array", value)
	}
	return elements(value, func(i int, value gjson.Result) error {
		tool, err := readTool(value)
		if err != nil {
			return prefixPath(err, "tools[%d]", i)
		}
		r.Tools = append(r.Tools, tool)
		r.Needs |= wire.NeedTools
		r.TextBytes += int64(len(value.Raw))
		return nil
	})
}

// readTool reads an element of tools.
func readTool(value gjson.Result) (hub.Tool, error) {
	if !value.IsObject() {
		return hub.Tool{}, wrongType("", "an object", value)
	}
	kind, err := text("type", value.Get("type"))
	if err != nil {
		return hub.Tool{}, err
	}
	var tool hub.Tool
	switch kind {
	case "function":
		tool, err = readFunction(value.Get("function"))
		err = prefixPath(err, "function")
	case "custom":
		tool, err = readCustom(value.Get("custom"))
		err = prefixPath(err, "custom")
	case "":
		err = missing("type")
	default:
		err = invalid("type", "must be function or custom, it is %s", quote(kind))
	}
	tool.Name = hub.LegalName(tool.ClientName)
	if mark := value.Get("cache_control"); mark.IsObject() {
		tool.Cache = mark.Raw
	}
	return tool, err
}

// readFunction reads value, the object in the field function of a tool.
func readFunction(value gjson.Result) (tool hub.Tool, err error) {
	if !value.IsObject() {
		return tool, wrongType("", "an object", value)
	}
	err = each(value, func(key string, value gjson.Result) (err error) {
		switch key {
		case "name":
			tool.ClientName, err = name(key, value)
		case "description":
			tool.Description, err = text(key, value)
		case "parameters":
			tool.Parameters, err = object(key, value)
		case "strict":
			tool.Strict, err = boolean(key, value)
		}
		return err
	})
	if err == nil && tool.ClientName == "" {
		err = missing("name")
	}
	return tool, err
}

// readCustom reads value, the object in the field custom of a tool. The tool becomes a function with a text as its
// argument. Models do not enforce a grammar for such a text, so the grammar is appended to the description.
func readCustom(value gjson.Result) (tool hub.Tool, err error) {
	if !value.IsObject() {
		return tool, wrongType("", "an object", value)
	}
	tool = hub.Tool{Kind: hub.ToolCustom, Parameters: customSchema}
	if tool.ClientName, err = name("name", value.Get("name")); err != nil {
		return tool, err
	}
	if tool.Description, err = text("description", value.Get("description")); err != nil {
		return tool, err
	}
	grammar, err := text("format.grammar.definition", value.Get("format.grammar.definition"))
	if grammar != "" {
		tool.Description += "\n\nThe input must follow this grammar:\n" + grammar
	}
	return tool, err
}

// toolChoice reads tool_choice into r.Choice, or ignores it if the request has no tools. Since tool_choice may come
// before tools in the JSON, it is read after all other fields.
func (r *request) toolChoice() error {
	value := r.choice
	switch {
	case value.Type == gjson.Null || len(r.Tools) == 0:
		return nil
	case value.Type == gjson.String:
		return r.choiceMode("tool_choice", value.Str)
	case !value.IsObject():
		return wrongType("tool_choice", "a string or an object", value)
	}
	kind, err := text("tool_choice.type", value.Get("type"))
	if err != nil {
		return err
	}
	switch kind {
	case "function", "custom":
		named, err := name("tool_choice."+kind+".name", value.Get(kind).Get("name"))
		r.Choice = hub.Choice{Mode: "function", Name: hub.LegalName(named)}
		return err
	case "allowed_tools":
		return prefixPath(r.allowedTools(value.Get("allowed_tools")), "tool_choice.allowed_tools")
	}
	return invalid("tool_choice.type", "must be function, custom or allowed_tools, it is %s", quote(kind))
}

// choiceMode sets r.Choice.Mode. mode is the client's word, path the path of its value for the error.
func (r *request) choiceMode(path, mode string) error {
	switch mode {
	case "auto", "none", "required":
		r.Choice.Mode = mode
	case "any": // Mistral's word
		r.Choice.Mode = "required"
	default:
		return invalid(path, "must be auto, none or required, it is %s", quote(mode))
	}
	return nil
}

// allowedTools reads value, the object allowed_tools in tool_choice. It removes all tools that the object does not name
// from the request, and sets r.Choice from the object's mode. It returns a fault if no tool would remain.
func (r *request) allowedTools(value gjson.Result) error {
	if !value.IsObject() {
		return wrongType("", "an object", value)
	}
	mode, err := name("mode", value.Get("mode"))
	if err != nil {
		return err
	}
	list := value.Get("tools")
	if !list.IsArray() {
		return wrongType("tools", "an array", list)
	}
	allowed := make(map[string]bool)
	err = elements(list, func(i int, value gjson.Result) error {
		if !value.IsObject() {
			return prefixPath(wrongType("", "an object", value), "tools[%d]", i)
		}
		kind := "function"
		if value.Get("type").Str == "custom" {
			kind = "custom"
		}
		clientName, err := name(kind+".name", value.Get(kind).Get("name"))
		allowed[clientName] = true
		return prefixPath(err, "tools[%d]", i)
	})
	if err != nil {
		return err
	}
	r.Tools = slices.DeleteFunc(r.Tools, func(t hub.Tool) bool { return !allowed[t.ClientName] })
	if len(r.Tools) == 0 {
		return invalid("tools", "must name at least one of the request's tools")
	}
	return r.choiceMode("mode", mode)
}
