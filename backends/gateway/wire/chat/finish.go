package chat

import "github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"

// finish is the end of a choice as the upstream states it.
type finish struct {
	reason   string
	sequence string // the stop sequence, if the upstream states it
}

// translate returns the finish reason in the common form. hasCalls reports whether the answer has tool calls. If it
// has, the result is FinishCalls, unless the upstream's reason means that the answer was cut off or filtered. An
// unknown reason becomes FinishStop in an answer without calls.
func (f *finish) translate(hasCalls bool) hub.Finish {
	switch f.reason {
	case "length", "max_tokens", "MAX_TOKENS":
		return hub.FinishLength
	case "model_length", "context_length_exceeded", "model_context_window_exceeded":
		return hub.FinishContext
	case "content_filter", "SAFETY", "RECITATION", "refusal":
		return hub.FinishRefusal
	}
	if hasCalls {
		return hub.FinishCalls
	}
	return hub.FinishStop
}

// finishReason returns the finish_reason of chat completions for f. FinishLength and FinishContext both become
// "length".
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
