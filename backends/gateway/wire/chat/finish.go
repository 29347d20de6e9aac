package chat

import "github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"

// finish is how a choice ended, in the upstream's words.
type finish struct {
	reason   string
	sequence string // the text that stopped the model, where it is told
}

// of translates the reason (specification 5). Cut short is cut short, whatever
// else the answer holds; calls outweigh all that says no more than that it ended.
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

// finishReason is the way back.
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
