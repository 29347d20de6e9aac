package chat

import "github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"

// finish is how a choice ended, in the upstream's words.
type finish struct {
	reason   string
	sequence string // the text that stopped the model, if the upstream states it
}

// of translates the reason (specification 5). An answer that was cut short counts as such, whatever else it contains.
// Calls take precedence over reasons that say only that the answer ended.
func (f *finish) of(calls bool) hub.Finish {
	switch f.reason {
	case "length", "max_tokens", "MAX_TOKENS":
		return hub.FinishLength
	case "model_length", "context_length_exceeded", "model_context_window_exceeded":
		return hub.FinishContext
	case "content_filter", "SAFETY", "RECITATION", "refusal":
		return hub.FinishRefusal
	}
	if calls {
		return hub.FinishCalls
	}
	return hub.FinishStop
}

// finishReason returns the finish_reason of chat completions for a reason. It reverses finish.of.
func finishReason(f hub.Finish) string {
	switch f {
	case hub.FinishCalls:
		return "tool_calls"
	case hub.FinishLength, hub.FinishContext:
		return "length"
	case hub.FinishRefusal:
		return "content_filter"
	default:
		return "stop"
	}
}
