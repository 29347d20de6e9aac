package converse

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// additionalFields reads additionalModelRequestFields, which holds parameters of the models' vendors. It stores the
// parameters that other formats have too. Parameters that make the vendor run tools are errors. All other parameters
// are left out and recorded as dropped.
func (in *clientReader) additionalFields(o *fields.Object) error {
	extra, ok, err := o.Optional("additionalModelRequestFields")
	if !ok || err != nil {
		return err
	}
	for _, name := range [...]string{"tools", "tool_choice", "mcp_servers", "container"} {
		if v := extra.Get(name); v.Given() {
			return v.Unsupported("is not supported: list tools that the client runs in toolConfig.tools")
		}
	}
	if v := extra.Get("top_k"); v.Given() {
		if _, err := v.Integer(0); err != nil {
			return err
		}
		in.q.AddParam("top_k", v.Raw)
	}
	for _, step := range [...]func(*fields.Object) error{in.claude, in.nova, in.effort} {
		if err := step(&extra); err != nil {
			return err
		}
	}
	in.q.DropOnce(extra.Others(
		"top_k", "thinking", "output_config", "reasoningConfig", "reasoning", "reasoning_effort")...)
	return nil
}

// claude reads thinking and output_config, the parameters of Claude models, from extra. They have the same form as in
// the messages format.
func (in *clientReader) claude(extra *fields.Object) error {
	config, _, err := extra.Optional("output_config")
	if err != nil {
		return err
	}
	if err := in.setEffort(config.Get("effort")); err != nil {
		return err
	}
	in.q.DropOnce(config.Others("effort", "format")...)
	format, ok, err := config.Optional("format")
	if err != nil {
		return err
	}
	if ok {
		schema := format.Get("schema")
		if err := schema.Object(); err != nil {
			return err
		}
		if err := in.schema(&format, schema.Raw); err != nil {
			return err
		}
	}
	thinking, ok, err := extra.Optional("thinking")
	if !ok || err != nil {
		return err
	}
	kind, err := thinking.Name("type")
	if err != nil {
		return err
	}
	return in.readThinking(&thinking, kind, "budget_tokens")
}

// nova reads reasoningConfig, the parameter of Nova models, from extra.
func (in *clientReader) nova(extra *fields.Object) error {
	config, ok, err := extra.Optional("reasoningConfig")
	if !ok || err != nil {
		return err
	}
	if err := in.setEffort(config.Get("maxReasoningEffort")); err != nil {
		return err
	}
	kind, err := config.Text("type")
	if kind == "" || err != nil {
		return err
	}
	return in.readThinking(&config, kind, "budgetTokens")
}

// effort reads the reasoning effort from the parameters of other vendors in extra, which are reasoning_effort and
// reasoning.effort.
func (in *clientReader) effort(extra *fields.Object) error {
	reasoning, _, err := extra.Optional("reasoning")
	if err != nil {
		return err
	}
	if err := in.setEffort(reasoning.Get("effort")); err != nil {
		return err
	}
	in.q.DropOnce(reasoning.Others("effort")...)
	return in.setEffort(extra.Get("reasoning_effort"))
}

// setEffort sets the request's reasoning effort to v, unless v is absent or empty. An unknown effort is an error.
func (in *clientReader) setEffort(v fields.Value) error {
	text, err := v.Text()
	if text == "" || err != nil {
		return err
	}
	if e := hub.Effort(text); slices.Contains(hub.Efforts[:], e) {
		in.q.Effort = e
		return nil
	}
	return v.Invalid("is %s, which is not a known reasoning effort", hub.Shown(text))
}

// readThinking reads a vendor's object that switches thinking on or off. kind is the value of its field type:
// "enabled", "adaptive" or "disabled". budget is the name of its field with the number of thinking tokens. If thinking
// is on and the request has no effort yet, readThinking sets an effort that fits the budget. If it is off, it sets
// EffortNone.
func (in *clientReader) readThinking(o *fields.Object, kind, budget string) error {
	q := in.q
	switch kind {
	case "enabled", "adaptive":
		tokens := o.Get(budget)
		n, err := tokens.Integer(1)
		if err != nil {
			return err
		}
		if q.MaxTokens > 0 && n >= q.MaxTokens {
			return tokens.Invalid("must be less than inferenceConfig.maxTokens")
		}
		switch {
		case q.Effort != "":
		case n > 0:
			q.Effort = hub.BudgetEffort(n)
		default:
			q.Effort = hub.EffortMedium
		}
	case "disabled":
		q.Answer.Reasoning, q.Effort = false, hub.EffortNone
	default:
		return o.Get("type").Invalid("must be one of enabled, adaptive, disabled, it is %s", hub.Shown(kind))
	}
	display, err := o.Text("display")
	q.Answer.HideReasoningText = q.Answer.HideReasoningText || display == "omitted"
	return err
}
