package messages

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// minBudget is the smallest thinking budget, in tokens.
const minBudget = 1024

// reasoning reads thinking and output_config.effort.
func (r *reader) reasoning() error {
	config, _, err := r.top.Optional("output_config")
	if err != nil {
		return err
	}
	stated, err := effort(config.Get("effort"))
	if err != nil {
		return err
	}
	q := r.request
	q.Effort = stated
	thinking, ok, err := r.top.Optional("thinking")
	if !ok || err != nil {
		return err
	}
	kind, err := thinking.Required("type")
	if err != nil {
		return err
	}
	defaultEffort := hub.EffortMedium
	switch kind {
	case "adaptive", "between_tools":
	case "enabled":
		if defaultEffort, err = r.budget(thinking.Get("budget_tokens")); err != nil {
			return err
		}
	case "disabled":
		q.Answer.Reasoning = false
		q.Effort = hub.EffortNone
		if stated == hub.EffortLow { // without thinking, the lowest effort is "minimal" in other formats
			q.Effort = hub.EffortMinimal
		}
		return nil
	default:
		return thinking.Get("type").Invalid("must be one of adaptive, between_tools, enabled, disabled, it is %s",
			hub.Shown(kind))
	}
	if q.Effort == "" {
		q.Effort = defaultEffort
	}
	display, err := thinking.Text("display")
	switch display {
	case "", "summarized":
	case "omitted":
		q.Answer.HideReasoningText = true
	default:
		q.DropOnce("thinking.display")
	}
	return err
}

// effort returns the effort in v, the value of output_config.effort, or an empty effort if v is absent or null.
func effort(v fields.Value) (hub.Effort, error) {
	text, err := v.Text()
	if text == "" || err != nil {
		return "", err
	}
	known := hub.Efforts[slices.Index(hub.Efforts[:], hub.EffortLow):]
	if e := hub.Effort(text); slices.Contains(known, e) {
		return e, nil
	}
	return "", v.Invalid("must be one of low, medium, high, xhigh, max, it is %s", hub.Shown(text))
}

// budget returns the effort that corresponds to v, the value of thinking.budget_tokens. It returns an error if v is
// less than minBudget, or not less than max_tokens.
func (r *reader) budget(v fields.Value) (hub.Effort, error) {
	if !v.Given() {
		return "", v.Missing()
	}
	n, err := v.Integer(minBudget)
	if err != nil {
		return "", err
	}
	if limit := r.request.MaxTokens; limit > 0 && n >= limit {
		return "", v.Invalid("must be less than max_tokens")
	}
	return hub.BudgetEffort(n), nil
}

// checkOutputConfig returns an error if config, the object output_config, states the effort twice, or once more in
// another spelling such as "Effort". The gateway has chosen the tier by one of the two values, but an upstream of
// this format might use the other.
func checkOutputConfig(config *fields.Object) error {
	v := config.Get("effort")
	efforts := 0
	for _, m := range config.Members {
		switch {
		case m.Name == "effort":
			if efforts++; efforts > 1 {
				return v.Invalid("is given twice")
			}
		case wire.Lookalike([]byte(m.Name), "effort"):
			return v.Invalid("is spelled %s", hub.Shown(m.Name))
		}
	}
	return nil
}

// format reads output_config.format, or output_format, its former name.
func (r *reader) format() error {
	config, _, err := r.top.Optional("output_config")
	if err != nil {
		return err
	}
	if err := checkOutputConfig(&config); err != nil {
		return err
	}
	r.request.DropOnce(config.Others("effort", "format")...)
	format, ok, err := config.Optional("format")
	if !ok && err == nil {
		format, ok, err = r.top.Optional("output_format")
	}
	if !ok || err != nil {
		return err
	}
	kind, err := format.Required("type")
	if err != nil {
		return err
	}
	if kind != "json_schema" {
		return format.Get("type").Invalid("must be json_schema, it is %s", hub.Shown(kind))
	}
	schema := format.Get("schema")
	if err := schema.Object(); err != nil {
		return err
	}
	r.request.Output = &hub.Output{Kind: "json_schema", Name: "output", Schema: schema.Raw, Strict: "true"}
	return nil
}
