package responses

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// choice reads tool_choice.
func (in *reader) choice() error {
	v := in.fields.Get("tool_choice")
	switch {
	case !v.Given():
		return nil
	case v.Type == gjson.String:
		switch v.Str {
		case "auto", "none", "required":
			in.choose(v, hub.Choice{Mode: v.Str})
			return nil
		}
		return v.Invalid("must be one of auto, none, required, or an object, it is %s", hub.Shown(v.Str))
	}
	if err := v.Object(); err != nil {
		return v.Wrong("a string or an object")
	}
	kind, err := in.tool.Typed(v)
	if err != nil {
		return err
	}
	if kind == "allowed_tools" {
		return in.keepAllowed(v)
	}
	key, offered, err := in.namedTool(&in.tool, kind)
	if err != nil {
		return err
	}
	if !offered {
		value := in.tool.Get("type")
		in.r.RequireOwnFormat(value.Unsupported("is %s, a tool that runs on its vendor's servers and is not available here",
			hub.Shown(kind)))
		return nil
	}
	name, known := in.names[key]
	if !known && len(in.r.Tools) > 0 {
		return v.Invalid("names the tool %s, which is not in tools", hub.Shown(key.flatName()))
	}
	in.choose(v, hub.Choice{Mode: "function", Name: name})
	return nil
}

// choose sets the tool choice c if the request has tools. Without tools, a choice that requires a call is dropped. v is
// the value of tool_choice.
func (in *reader) choose(v fields.Value, c hub.Choice) {
	switch {
	case len(in.r.Tools) > 0:
		in.r.Choice = c
	case c.Mode == "required" || c.Mode == "function":
		in.r.DropOnce(v.String())
	}
}

// namedTool returns the key of the tool that the object o in tool_choice names. kind is the object's type. offered is
// false if the tool runs on its vendor's servers. The gateway does not offer such tools.
func (in *reader) namedTool(o *fields.Object, kind string) (key toolKey, offered bool, err error) {
	switch kind {
	case "function", "custom":
		if kind == "custom" {
			key.kind = hub.ToolCustom
		}
		if key.clientName, err = o.Name("name"); err == nil {
			key.namespace, err = o.Text("namespace")
		}
		return key, true, err
	}
	for k := hub.ToolSearch; k <= hub.ToolApplyPatch; k++ {
		if toolKinds[k] == kind {
			key = toolKey{kind: k, clientName: kind}
			// A tool of this type may also be one that the vendor runs, so the type alone does not tell whether it is offered.
			_, offered = in.names[key]
			return key, offered, nil
		}
	}
	return key, false, nil
}

// keepAllowed removes all tools except those that the object in in.tool lists. v is the value of tool_choice.
func (in *reader) keepAllowed(v fields.Value) error {
	value := in.tool.Get("mode")
	mode, err := value.Text()
	switch {
	case err != nil:
		return err
	case mode == "":
		mode = "auto"
	case mode != "auto" && mode != "required":
		return value.Invalid("must be auto or required, it is %s", hub.Shown(mode))
	}
	list := in.tool.Get("tools")
	keep := make(map[string]bool)
	err = list.Each(func(element fields.Value) error { return in.allowTool(element, keep) })
	if err != nil {
		return err
	}
	if len(keep) == 0 {
		in.r.RequireOwnFormat(list.Unsupported("must list at least one tool that is available here"))
		return nil
	}
	// The tools keep their order, since caches depend on it.
	tools := make([]hub.Tool, 0, len(keep))
	for _, t := range in.r.Tools {
		if keep[t.Name] {
			tools = append(tools, t)
		}
	}
	in.r.Tools = tools
	in.choose(v, hub.Choice{Mode: mode})
	return nil
}

// allowTool sets keep for the upstream name of the tool that element names. If element names a namespace, it sets keep
// for all tools of the namespace. It returns an error if the request does not have the tool or namespace.
func (in *reader) allowTool(element fields.Value, keep map[string]bool) error {
	kind, err := in.inner.Typed(element)
	if err != nil {
		return err
	}
	if kind == "namespace" {
		return in.allowNamespace(element, keep)
	}
	key, offered, err := in.namedTool(&in.inner, kind)
	if err != nil {
		return err
	}
	if !offered {
		in.r.DropOnce(element.String())
		return nil
	}
	name, known := in.names[key]
	if !known {
		return element.Invalid("names the tool %s, which is not in tools", hub.Shown(key.flatName()))
	}
	keep[name] = true
	return nil
}

// allowNamespace sets keep for the upstream names of all tools in the namespace that in.inner names. It returns an
// error if there are none. v is the value that names the namespace.
func (in *reader) allowNamespace(v fields.Value, keep map[string]bool) error {
	name, err := in.inner.Name("name")
	if err != nil {
		return err
	}
	found := false
	for _, t := range in.r.Tools {
		if t.Namespace == name {
			keep[t.Name], found = true, true
		}
	}
	if !found {
		return v.Invalid("names the namespace %s, which is not in tools", hub.Shown(name))
	}
	return nil
}
