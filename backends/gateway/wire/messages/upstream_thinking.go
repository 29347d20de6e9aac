package messages

import (
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// upstreamThinking is the thinking mode of a request.
type upstreamThinking uint8

const (
	upstreamUnset    upstreamThinking = iota // the request states no effort, so the model decides
	upstreamOff                              // "disabled"
	upstreamAdaptive                         // "adaptive"
	upstreamBudget                           // "enabled", with a budget in tokens
)

// The thinking budgets for models without an effort parameter, in tokens.
const (
	upstreamLowBudget    = 2048
	upstreamMediumBudget = 8192
	upstreamHighBudget   = 24576
	upstreamLeastBudget  = 1024 // models refuse a smaller one
)

// decideThinking sets w.thinking, w.effort and w.budget: it converts the request's effort to settings that the model
// supports.
func (w *upstreamWriter) decideThinking() {
	level := w.Request.Effort
	if level == "" {
		return
	}
	if !w.Target.Model.Reasoning || w.Target.Refuses("reasoning_effort") {
		w.dropped = append(w.dropped, "reasoning_effort")
		return
	}
	switch level {
	case hub.EffortNone:
		w.thinking = upstreamOff
		return
	case hub.EffortMinimal:
		w.thinking, level = upstreamOff, hub.EffortLow // the lowest effort of output_config
	default:
		w.thinking = upstreamAdaptive
	}
	if len(w.Target.Efforts()) > 0 { // the model has an effort parameter
		w.effort = string(w.Target.Effort(level, hub.EffortLow))
	} else if w.thinking == upstreamAdaptive {
		// The budget must be less than the token limit.
		w.thinking, w.budget = upstreamBudget, min(upstreamBudgetOf(w.Request.Effort), w.maxTokens-1)
	}
	if w.forbidsThinking() || w.thinking == upstreamBudget && w.budget < upstreamLeastBudget {
		w.thinking = upstreamOff
	}
}

// upstreamBudgetOf returns the thinking budget for an effort, in tokens.
func upstreamBudgetOf(effort hub.Effort) int64 {
	switch effort {
	case hub.EffortLow:
		return upstreamLowBudget
	case hub.EffortMedium:
		return upstreamMediumBudget
	default:
		return upstreamHighBudget
	}
}

// forbidsThinking reports whether the request cannot be sent with thinking on. This is so if it forces a tool, if its
// last message is to be continued, or if its last assistant turn has calls but no signed thinking from which the model
// could continue.
func (w *upstreamWriter) forbidsThinking() bool {
	if len(w.Request.Tools) > 0 && (w.Request.Choice.Mode == "required" || w.Request.Choice.Mode == "function") {
		return true
	}
	if w.Request.Needs&wire.NeedPrefill != 0 {
		return true
	}
	for i := len(w.Request.Messages) - 1; i >= 0; i-- {
		if m := &w.Request.Messages[i]; m.Role == hub.Assistant {
			return len(m.Calls) > 0 && !slices.ContainsFunc(m.Reasoning, func(x hub.Reasoning) bool {
				return blocks.Restores(&x, w.Target)
			})
		}
	}
	return false
}

// reasoning writes thinking and output_config.
func (w *upstreamWriter) reasoning() {
	switch w.thinking {
	case upstreamOff:
		w.Dst = append(w.Dst, `,"thinking":{"type":"disabled"}`...)
	case upstreamAdaptive:
		display := "omitted"
		if w.Request.Answer.Reasoning && !w.Request.Answer.HideReasoningText {
			display = "summarized" // without it newer models send signatures only
		}
		w.Dst = jsontext.AppendAll(w.Dst, `,"thinking":{"type":"adaptive","display":"`, display, `"}`)
	case upstreamBudget:
		w.Dst = append(w.Dst, `,"thinking":{"type":"enabled","budget_tokens":`...)
		w.Dst = append(strconv.AppendInt(w.Dst, w.budget, 10), '}')
	case upstreamUnset: // the field is not sent
	}
	hasFormat := w.grammar != ""
	if w.effort == "" && !hasFormat {
		return
	}
	w.Dst = append(w.Dst, `,"output_config":{`...)
	if w.effort != "" {
		w.Dst = jsontext.AppendAll(w.Dst, `"effort":"`, w.effort, `"`)
	}
	if hasFormat {
		if w.effort != "" {
			w.Dst = append(w.Dst, ',')
		}
		w.Dst = jsontext.AppendAll(w.Dst, `"format":{"type":"json_schema","schema":`, w.grammar, `}`)
	}
	w.Dst = append(w.Dst, '}')
}
