package converse

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
)

// maxToolName is the largest length of a tool's name, in bytes.
const maxToolName = 256

// tools reads toolConfig, which holds the tools and toolChoice.
func (in *clientReader) tools(o *fields.Object) error {
	config, ok, err := o.Optional("toolConfig")
	if !ok || err != nil {
		return err
	}
	list := config.Get("tools")
	if err := list.Each(in.tool); err != nil {
		return err
	}
	in.q.DropOnce(config.Others("tools", "toolChoice")...)
	choice, ok, err := config.Optional("toolChoice")
	if !ok || err != nil {
		return err
	}
	return in.choice(&choice)
}

// tool reads an element of toolConfig.tools and adds the tool to the request. If the element is a cache point, the tool
// before it gets a cache mark.
func (in *clientReader) tool(v fields.Value) error {
	var entry, spec, schema fields.Object
	if err := entry.Open(v); err != nil {
		return err
	}
	if point := entry.Get("cachePoint"); point.Given() {
		mark, err := cacheMark(&entry)
		if n := len(in.q.Tools); n > 0 {
			in.q.Tools[n-1].Cache = mark
		}
		return err
	}
	if system := entry.Get("systemTool"); system.Given() {
		return system.Unsupported(
			"is not supported, because the tool runs on its vendor's servers: use a tool that the client runs")
	}
	if err := spec.Open(entry.Get("toolSpec")); err != nil {
		return err
	}
	clientName, err := spec.Name("name")
	if err != nil {
		return err
	}
	name := spec.Get("name")
	if len(clientName) > maxToolName {
		return name.Invalid("must have at most %d bytes, it has %d", maxToolName, len(clientName))
	}
	t := hub.Tool{Name: hub.LegalName(clientName), ClientName: clientName}
	if in.defines(t.Name) {
		return name.Invalid("is %s, which is also the name of an earlier tool", hub.Shown(clientName))
	}
	if t.Description, err = spec.Text("description"); err != nil {
		return err
	}
	if err := schema.Open(spec.Get("inputSchema")); err != nil {
		return err
	}
	schemaJSON := schema.Get("json")
	if err := schemaJSON.Object(); err != nil {
		return err
	}
	t.Parameters = messages.ObjectSchema(schemaJSON.Result)
	if t.Strict, err = spec.Get("strict").RawFlag(); err != nil {
		return err
	}
	in.q.DropOnce(spec.Others("name", "description", "inputSchema", "strict")...)
	in.q.Tools = append(in.q.Tools, t)
	return nil
}

// choice reads toolChoice from o. Without tools in the request it is recorded as dropped.
func (in *clientReader) choice(o *fields.Object) error {
	anyTool, auto := o.Get("any"), o.Get("auto")
	switch {
	case anyTool.Given():
		in.q.Choice.Mode = "required"
	case auto.Given():
		in.q.Choice.Mode = "auto"
	default:
		var tool fields.Object
		if err := tool.Open(o.Get("tool")); err != nil {
			return err
		}
		clientName, err := tool.Name("name")
		if err != nil {
			return err
		}
		in.q.Choice = hub.Choice{Mode: "function", Name: hub.LegalName(clientName)}
		if !in.defines(in.q.Choice.Name) {
			return tool.Get("name").Invalid("is %s, which is not in toolConfig.tools", hub.Shown(clientName))
		}
	}
	if len(in.q.Tools) == 0 {
		in.q.Choice = hub.Choice{}
		in.q.DropOnce("toolConfig.toolChoice")
	}
	return nil
}

// defines reports whether the request defines a tool whose upstream name (hub.Tool.Name) is name.
func (in *clientReader) defines(name string) bool {
	for i := range in.q.Tools {
		if in.q.Tools[i].Name == name {
			return true
		}
	}
	return false
}
