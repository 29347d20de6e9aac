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

// reasoning reads thinking and output_config.effort (specification 11.1).
func (r *reader) reasoning(f *fields) error {
	value, err := member(f.output, "output_config", "effort")
	if err != nil {
		return err
	}
	effort, err := effort(value)
	if err != nil {
		return err
	}
	q := r.request
	q.Effort = effort
	ok, err := optionalObject(f.thinking, "thinking")
	if !ok || err != nil {
		return err
	}
	kind, err := text(f.thinking.Get("type"), "thinking.type")
	if err != nil {
		return err
	}
	otherwise := hub.EffortMedium
	switch kind {
	case "adaptive", "between_tools":
	case "enabled":
		if otherwise, err = r.budget(f.thinking.Get("budget_tokens")); err != nil {
			return err
		}
	case "disabled":
		q.Answer.Reasoning = false
		// The lowest effort without thinking is called minimal in other formats.
		if q.Effort = hub.EffortNone; effort == hub.EffortLow {
			q.Effort = hub.EffortMinimal
		}
		return nil
	default:
		return invalid("thinking.type", "must be one of adaptive, between_tools, enabled, disabled, it is %s",
			hub.Shown(kind))
	}
	if q.Effort == "" {
		q.Effort = otherwise
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

func effort(v gjson.Result) (hub.Effort, error) {
	const at = "output_config.effort"
	s, err := optionalText(v, at)
	if s == "" || err != nil {
		return "", err
	}
	known := hub.Efforts[slices.Index(hub.Efforts[:], hub.EffortLow):]
	if e := hub.Effort(s); slices.Contains(known, e) {
		return e, nil
	}
	return "", invalid(at, "must be one of low, medium, high, xhigh, max, it is %s", hub.Shown(s))
}

// budget returns the effort that a thinking budget stands for.
func (r *reader) budget(v gjson.Result) (hub.Effort, error) {
	const at = "thinking.budget_tokens"
	n, err := integer(v, at)
	switch limit := r.request.MaxTokens; {
	case err != nil:
		return "", err
	case n < minBudget:
		return "", invalid(at, "must be at least %d", minBudget)
	case limit > 0 && n >= limit:
		return "", invalid(at, "must be less than max_tokens")
	}
	return hub.BudgetEffort(n), nil
}

// config checks the members of output_config. The effort chooses the tier, so an upstream of this format must not find
// another one beside it.
func (r *reader) config(output gjson.Result) (err error) {
	if !given(output) {
		return nil
	}
	const at = "output_config.effort"
	efforts := 0
	jsontext.Members(output, func(key string, v gjson.Result) bool {
		switch {
		case key == "effort":
			if efforts++; efforts > 1 {
				err = invalid(at, "is given twice")
			}
		case wire.Lookalike([]byte(key), "effort"):
			err = invalid(at, "is spelled %s", hub.Shown(key))
		case key != "format" && given(v):
			r.drop("output_config." + listed(key))
		}
		return err == nil
	})
	return err
}

// format reads output_config.format and its former name output_format.
func (r *reader) format(f *fields) error {
	at := "output_config.format"
	v, err := member(f.output, "output_config", "format")
	if err != nil {
		return err
	}
	if err := r.config(f.output); err != nil {
		return err
	}
	if !given(v) {
		v, at = f.format, "output_format"
	}
	ok, err := optionalObject(v, at)
	if !ok || err != nil {
		return err
	}
	kind, err := text(v.Get("type"), at+".type")
	if err != nil {
		return err
	}
	if kind != "json_schema" {
		return invalid(at+".type", "must be json_schema, it is %s", hub.Shown(kind))
	}
	schema := v.Get("schema")
	if !schema.IsObject() {
		return wrongKind(at+".schema", "an object", schema)
	}
	r.request.Output = &hub.Output{Kind: "json_schema", Name: "output", Schema: schema.Raw, Strict: "true"}
	return nil
}
