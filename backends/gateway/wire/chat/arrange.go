package chat

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// arrangedMessages returns the request's messages in the order and with the roles that the provider accepts. It does
// not change the request's own messages.
func (w *body) arrangedMessages() []hub.Message {
	messages := w.request.Messages
	if rule := w.outputRule(); rule != "" {
		index := leadingSystem(messages)
		messages = slices.Insert(slices.Clip(messages), index, systemMessage(rule))
	}
	if w.shape.SystemFirst {
		messages = systemFirst(messages)
	}
	isEmpty := func(m hub.Message) bool { return w.isEmpty(&m) }
	switch {
	case w.shape.Alternation:
		messages = alternating(slices.DeleteFunc(slices.Clone(messages), isEmpty))
	case w.shape.CallsAnswered && slices.ContainsFunc(messages, hasCalls):
		messages = answeredCalls(slices.DeleteFunc(slices.Clone(messages), isEmpty))
	}
	return messages
}

// systemMessage returns a system message with the given text.
func systemMessage(text string) hub.Message {
	return hub.Message{Role: hub.System, Parts: []hub.Part{{Kind: hub.PartText, Text: text}}}
}

func isSystem(m *hub.Message) bool { return m.Role == hub.System || m.Role == hub.Developer }

// leadingSystem returns the number of system and developer messages at the start of messages.
func leadingSystem(messages []hub.Message) int {
	for i := range messages {
		if !isSystem(&messages[i]) {
			return i
		}
	}
	return len(messages)
}

// systemFirst merges the leading system messages into one message. Each later system message becomes a user message
// whose text is in <system-reminder> tags, at the same position: moving the text to the start would change its meaning
// and break the prompt cache.
func systemFirst(messages []hub.Message) []hub.Message {
	n := leadingSystem(messages)
	out := make([]hub.Message, 0, len(messages))
	if n > 0 {
		first := hub.Message{Role: hub.System, Extra: messages[0].Extra}
		for i := range messages[:n] {
			first.Parts = appendText(first.Parts, "\n\n", messages[i].Parts)
		}
		out = append(out, first)
	}
	for i := range messages[n:] {
		m := messages[n+i]
		if isSystem(&m) {
			reminder := appendText(nil, "\n\n", m.Parts)
			for j := range reminder {
				reminder[j].Text = hub.Reminder(reminder[j].Text)
			}
			m = hub.Message{Role: hub.User, Parts: reminder, Extra: m.Extra}
		}
		out = append(out, m)
	}
	return out
}

// appendText appends the texts of parts to the text of dst[0], with gap before each appended text. If dst is empty it
// first gets a text part. Parts that are not text are ignored: systemFirst uses appendText for system messages, in
// which these providers accept only text.
func appendText(dst []hub.Part, gap string, parts []hub.Part) []hub.Part {
	for i := range parts {
		switch {
		case !isText(&parts[i]) || parts[i].Text == "": // ignored
		case len(dst) == 0:
			dst = append(dst, hub.Part{Kind: hub.PartText, Text: parts[i].Text})
		default:
			dst[0].Text += gap + parts[i].Text
		}
	}
	return dst
}

// Texts that take the place of a missing tool result and of a missing user message.
const (
	noResult     = "[no result]"
	continueText = "Continue."
)

// alternating returns messages in which user and assistant messages alternate, beginning with a user message. It merges
// adjacent messages of the same role, adds a user message before an assistant message that comes first, and adds
// missing tool results in the same way as answeredCalls.
func alternating(messages []hub.Message) []hub.Message {
	out := make([]hub.Message, 0, len(messages)+2)
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		n := len(out)
		switch {
		case m.Role == hub.Assistant && (n == 0 || isSystem(&out[n-1])):
			out = append(out, hub.Message{Role: hub.User, Parts: []hub.Part{{Kind: hub.PartText, Text: continueText}}}, m)
		case n > 0 && m.Role == out[n-1].Role && (m.Role == hub.User || m.Role == hub.Assistant):
			merge(&out[n-1], &m)
		default:
			out = append(out, m)
		}
		if hasCalls(out[len(out)-1]) {
			results := resultsAt(messages[i+1:])
			i += len(results) // appendResults appends them
			out = appendResults(out, results, i+1 < len(messages))
		}
	}
	return out
}

func hasCalls(m hub.Message) bool { return len(m.Calls) > 0 }

// answeredCalls returns messages in which each tool call has a result directly after the call's message. A missing
// result is replaced by a placeholder text. If the last message has calls, these calls stay without results.
func answeredCalls(messages []hub.Message) []hub.Message {
	out := make([]hub.Message, 0, len(messages)+2)
	for i := 0; i < len(messages); i++ {
		out = append(out, messages[i])
		if hasCalls(messages[i]) {
			results := resultsAt(messages[i+1:])
			i += len(results)
			out = appendResults(out, results, i+1 < len(messages))
		}
	}
	return out
}

// merge appends the content of m to previous, the message before m. If previous ends with a text and m begins with a
// text, the two become one text part, since some of these providers accept only strings as content.
func merge(previous, m *hub.Message) {
	previous.Parts = slices.Clone(previous.Parts)
	parts := m.Parts
	if n := len(previous.Parts); n > 0 && len(parts) > 0 && isText(&previous.Parts[n-1]) && isText(&parts[0]) {
		previous.Parts[n-1].Text += "\n\n" + parts[0].Text
		parts = parts[1:]
	}
	previous.Parts = append(previous.Parts, parts...)
	previous.Calls = slices.Concat(previous.Calls, m.Calls)
	previous.Reasoning = slices.Concat(previous.Reasoning, m.Reasoning)
	for _, p := range m.Extra {
		if !hasParam(previous.Extra, p.Name) {
			previous.Extra = append(slices.Clip(previous.Extra), p)
		}
	}
}

// resultsAt returns the tool results at the start of messages, up to the first other message.
func resultsAt(messages []hub.Message) []hub.Message {
	for i := range messages {
		if messages[i].Role != hub.ToolResult {
			return messages[:i]
		}
	}
	return messages
}

// appendResults appends the results of the calls in the last message of out, in the order of the calls. A call whose
// result is not in results gets a placeholder result. continues is set if other messages follow the results. If results
// is empty and continues is not set, appendResults returns out unchanged.
func appendResults(out, results []hub.Message, continues bool) []hub.Message {
	if len(results) == 0 && !continues {
		return out
	}
	for _, call := range out[len(out)-1].Calls {
		index := slices.IndexFunc(results, func(m hub.Message) bool { return m.CallID == call.ID })
		if index >= 0 {
			out = append(out, results[index])
			continue
		}
		out = append(out, hub.Message{
			Role: hub.ToolResult, CallID: call.ID, Parts: []hub.Part{{Kind: hub.PartText, Text: noResult}},
		})
	}
	return out
}
