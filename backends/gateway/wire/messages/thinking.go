package messages

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// minBudget is the smallest thinking budget, in tokens.
const minBudget = 1024

// reasoning reads thinking and output_config.effort.
func (r *reader) reasoning(f *fields) error {
	value, err := member(f.output, "output_config", "effort")
	if err != nil {
		return err
	}
	stated, err := effort(value)
	if err != nil {
		return err
	}
	q := r.request
	q.Effort = stated
	ok, err := optionalObject(f.thinking, "thinking")
	if !ok || err != nil {
		return err
	}
	kind, err := text(f.thinking.Get("type"), "thinking.type")
	if err != nil {
		return err
	}
	defaultEffort := hub.EffortMedium
	switch kind {
	case "adaptive", "between_tools":
	case "enabled":
		if defaultEffort, err = r.budget(f.thinking.Get("budget_tokens")); err != nil {
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
		return invalid("thinking.type", "must be one of adaptive, between_tools, enabled, disabled, it is %s",
			hub.Shown(kind))
	}
	if q.Effort == "" {
		q.Effort = defaultEffort
	}
	display, err := optionalText(f.thinking.Get("display"), "thinking.display")
	switch display {
	case "", "summarized":
	case "omitted":
		q.Answer.HideReasoningText = true
	default:
		r.drop("thinking.display")
	}
	return err
}

// effort returns the effort in v, the value of output_config.effort, or an empty effort if v is absent or null.
func effort(v gjson.Result) (hub.Effort, error) {
	const path = "output_config.effort"
	s, err := optionalText(v, path)
	if s == "" || err != nil {
		return "", err
	}
	known := hub.Efforts[slices.Index(hub.Efforts[:], hub.EffortLow):]
	if e := hub.Effort(s); slices.Contains(known, e) {
		return e, nil
	}
	return "", invalid(path, "must be one of low, medium, high, xhigh, max, it is %s", hub.Shown(s))
}

// budget returns the effort that corresponds to v, the value of thinking.budget_tokens. It returns an error if v is
// less than minBudget, or not less than max_tokens.
func (r *reader) budget(v gjson.Result) (hub.Effort, error) {
	const path = "thinking.budget_tokens"
	n, err := integer(v, path)
	switch limit := r.request.MaxTokens; {
	case err != nil:
		return "", err
	case n < minBudget:
		return "", invalid(path, "must be at least %d", minBudget)
	case limit > 0 && n >= limit:
		return "", invalid(path, "must be less than max_tokens")
	}
	return hub.BudgetEffort(n), nil
}

// checkOutputConfig checks the fields of output_config, the object output. It returns an error if the effort occurs
// twice, or once more in another spelling such as "Effort": the gateway has chosen the tier by the first one, but an
// upstream of this format might use the other. Unknown fields are dropped.
func (r *reader) checkOutputConfig(output gjson.Result) (err error) {
	if !isPresent(output) {
		return nil
	}
	const path = "output_config.effort"
	efforts := 0
	jsontext.Members(output, func(key string, v gjson.Result) bool {
		switch {
		case key == "effort":
			if efforts++; efforts > 1 {
				err = invalid(path, "is given twice")
			}
		case wire.Lookalike([]byte(key), "effort"):
			err = invalid(path, "is spelled %s", hub.Shown(key))
		case key != "format" && isPresent(v):
			r.drop("output_config." + listed(key))
		}
		return err == nil
	})
	return err
}

// format reads output_config.format, or output_format, its former name.
func (r *reader) format(f *fields) error {
	path := "output_config.format"
	v, err := member(f.output, "output_config", "format")
	if err != nil {
		return err
	}
	if err := r.checkOutputConfig(f.output); err != nil {
		return err
	}
	if !isPresent(v) {
		v, path = f.format, "output_format"
	}
	ok, err := optionalObject(v, path)
	if !ok || err != nil {
		return err
	}
	kind, err := text(v.Get("type"), path+".type")
	if err != nil {
		return err
	}
	if kind != "json_schema" {
		return invalid(path+".type", "must be json_schema, it is %s", hub.Shown(kind))
	}
	schema := v.Get("schema")
	if !schema.IsObject() {
		return wrongKind(path+".schema", "an object", schema)
	}
	r.request.Output = &hub.Output{Kind: "json_schema", Name: "output", Schema: schema.Raw, Strict: "true"}
	return nil
}
