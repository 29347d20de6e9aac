package chat

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// customSchema is the parameter schema that upstreams get for a tool of the type custom. Such a tool takes free text.
// For upstreams it becomes a function with the single argument input.
const customSchema = `{"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool."}},"required":["input"],"additionalProperties":false}`

// readTools reads v, the field tools.
func (r *request) readTools(v fields.Value) error {
	if !v.Given() {
		return nil
	}
	return v.Each(func(element fields.Value) error {
		tool, err := r.readTool(element)
		if err != nil {
			return err
		}
		r.Tools = append(r.Tools, tool)
		r.Needs |= wire.NeedTools
		r.TextBytes += int64(len(element.Raw))
		return nil
	})
}

// readTool reads an element of tools.
func (r *request) readTool(v fields.Value) (tool hub.Tool, err error) {
	kind, err := r.element.Typed(v)
	if err != nil {
		return tool, err
	}
	if kind != "function" && kind != "custom" {
		return tool, r.element.Get("type").Invalid("must be function or custom, it is %s", hub.Shown(kind))
	}
	if err := r.inner.Open(r.element.Get(kind)); err != nil {
		return tool, err
	}
	if tool.ClientName, err = r.inner.Name("name"); err != nil {
		return tool, err
	}
	tool.Name = hub.LegalName(tool.ClientName)
	if tool.Description, err = r.inner.Text("description"); err != nil {
		return tool, err
	}
	if mark := r.element.Get("cache_control"); mark.IsObject() {
		tool.Cache = mark.Raw
	}
	if kind == "custom" {
		return tool, r.makeCustom(&tool)
	}
	if tool.Parameters, err = r.inner.Get("parameters").RawObject(); err != nil {
		return tool, err
	}
	tool.Strict, err = r.inner.Get("strict").RawFlag()
	return tool, err
}

// makeCustom changes t, which was read from the field custom in r.inner, into a function whose argument is a text.
// Models do not enforce a grammar for such a text, so the grammar is appended to the description.
func (r *request) makeCustom(t *hub.Tool) error {
	t.Kind, t.Parameters = hub.ToolCustom, customSchema
	format := r.inner.Get("format")
	switch grammar := format.Get("grammar.definition"); grammar.Type {
	case gjson.String:
		if grammar.Str != "" {
			t.Description += "\n\nThe input must follow this grammar:\n" + grammar.Str
		}
	case gjson.Null:
	default:
		return format.Invalid("has a grammar whose definition is not a string")
	}
	return nil
}

// toolChoice reads tool_choice into r.Choice, or ignores it if the request has no tools. Since tool_choice may come
// before tools in the JSON, it is read after all other fields.
func (r *request) toolChoice() error {
	v := r.top.Get("tool_choice")
	switch {
	case !v.Given() || len(r.Tools) == 0:
		return nil
	case v.Type == gjson.String:
		return r.choiceMode(v, v.Str)
	case !v.IsObject():
		return v.Wrong("a string or an object")
	}
	kind, err := r.element.Typed(v)
	if err != nil {
		return err
	}
	switch kind {
	case "function", "custom":
		if err := r.inner.Open(r.element.Get(kind)); err != nil {
			return err
		}
		named, err := r.inner.Name("name")
		r.Choice = hub.Choice{Mode: "function", Name: hub.LegalName(named)}
		return err
	case "allowed_tools":
		return r.allowedTools(r.element.Get("allowed_tools"))
	}
	return r.element.Get("type").Invalid("must be function, custom or allowed_tools, it is %s", hub.Shown(kind))
}

// choiceMode sets r.Choice.Mode to mode, the client's word in v.
func (r *request) choiceMode(v fields.Value, mode string) error {
	switch mode {
	case "auto", "none", "required":
		r.Choice.Mode = mode
	case "any": // Mistral's word
		r.Choice.Mode = "required"
	default:
		return v.Invalid("must be auto, none or required, it is %s", hub.Shown(mode))
	}
	return nil
}

// allowedTools reads v, the object allowed_tools in tool_choice. It removes all tools that the object does not name
// from the request, and sets r.Choice from the object's mode. It returns an error if no tool would remain.
func (r *request) allowedTools(v fields.Value) error {
	var o, tool fields.Object // not r.element, which contains v
	if err := o.Open(v); err != nil {
		return err
	}
	mode, err := o.Name("mode")
	if err != nil {
		return err
	}
	list := o.Get("tools")
	allowed := make(map[string]bool)
	err = list.Each(func(element fields.Value) error {
		if err := tool.Open(element); err != nil {
			return err
		}
		kind := "function"
		if tool.Get("type").Str == "custom" {
			kind = "custom"
		}
		if err := r.inner.Open(tool.Get(kind)); err != nil {
			return err
		}
		clientName, err := r.inner.Name("name")
		allowed[clientName] = true
		return err
	})
	if err != nil {
		return err
	}
	r.Tools = slices.DeleteFunc(r.Tools, func(t hub.Tool) bool { return !allowed[t.ClientName] })
	if len(r.Tools) == 0 {
		return list.Invalid("must name at least one of the request's tools")
	}
	return r.choiceMode(o.Get("mode"), mode)
}
