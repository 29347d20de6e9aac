package chat

import (
	"errors"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// The reasons why a request cannot be sent to a chat candidate.
var (
	errRemoteImage = errors.New("the provider accepts images only as data URLs, and the gateway does not fetch images")
	errRemoteFile  = errors.New("chat completions accept files only as data URLs, and the gateway does not fetch files")
	errOwnPart     = errors.New("a part of the content exists only in the client's API")
	errNoMessages  = errors.New("no message has content")
)

// messages writes the field messages. Messages without content are left out. The error is errNoMessages if no message
// remains, or the error of content.
func (w *body) messages() error {
	messages := w.arrangedMessages()
	for n := len(messages); n > 0 && w.isEmpty(&messages[n-1]); n-- {
		messages = messages[:n-1]
	}
	lastUser := lastUserMessage(messages)
	w.name("messages")
	n := 0 // number of messages written
	for i := range messages {
		m := &messages[i]
		if w.isEmpty(m) {
			continue
		}
		w.dst = append(w.dst, separator(n))
		n++
		if err := w.message(m, i > lastUser, i == len(messages)-1); err != nil {
			return err
		}
	}
	if n == 0 {
		return errNoMessages
	}
	w.dst = append(w.dst, ']')
	return nil
}

// lastUserMessage returns the index of the last user message, or -1 if there is no user message.
func lastUserMessage(messages []hub.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == hub.User {
			return i
		}
	}
	return -1
}

// chatClient reports whether the client uses chat completions. Fields that no other format has may be passed on only
// from such a client, since it knows them.
func (w *body) chatClient() bool { return w.request.Format == hub.Chat }

// isEmpty reports whether m has no content: no text or other part, no tool calls, and no content in other fields of the
// chat format. A tool result is never empty.
func (w *body) isEmpty(m *hub.Message) bool {
	if m.Role == hub.ToolResult || len(m.Calls) > 0 || (w.chatClient() && hasChatOnlyContent(m)) {
		return false
	}
	return !slices.ContainsFunc(m.Parts, func(p hub.Part) bool {
		return (p.Kind != hub.PartText && p.Kind != hub.PartRefusal) || p.Text != ""
	})
}

// message writes the message m. afterUser is set if m comes after the last user message, and last is set if m is the
// last message. The error is that of content.
func (w *body) message(m *hub.Message, afterUser, last bool) error {
	w.dst = jsontext.AppendAll(w.dst, `{"role":"`, w.role(m.Role), `"`)
	if m.Role == hub.ToolResult {
		w.dst = append(w.dst, `,"tool_call_id":`...)
		w.dst = w.appendID(w.dst, m.CallID)
	}
	if err := w.content(m); err != nil {
		return err
	}
	if m.Role == hub.Assistant {
		w.calls(m)
		w.reasoning(m, afterUser)
		if last && w.shape.PrefillField != "" && len(m.Calls) == 0 && !hasParam(m.Extra, w.shape.PrefillField) {
			w.dst = append(w.dst, ',')
			w.dst = append(jsontext.AppendQuoted(w.dst, w.shape.PrefillField), ":true"...)
		}
	}
	if w.chatClient() {
		w.extra(m.Extra)
	}
	w.dst = append(w.dst, '}')
	return nil
}

// role returns the provider's name for a role: "system" instead of "developer" if the provider does not know
// "developer".
func (w *body) role(role hub.Role) string {
	if role == hub.Developer && !w.shape.DeveloperRole {
		role = hub.System
	}
	return role.String()
}

// hasChatOnlyContent reports whether m is an assistant message with content in a field that only the chat format has,
// such as audio.
func hasChatOnlyContent(m *hub.Message) bool {
	return m.Role == hub.Assistant && slices.ContainsFunc(m.Extra, func(p hub.Param) bool {
		return p.Value != "null" && p.Name != "name" && p.Name != "annotations" && !hub.IsStateField(p.Name)
	})
}

// extra writes members unchanged. They are the fields of a message or tool call that only the chat format has. Fields
// with reasoning state are left out unless the provider expects the state in this field.
func (w *body) extra(members []hub.Param) {
	for i := range members {
		if hub.IsStateField(members[i].Name) && !w.takesState(members[i].Name) {
			continue
		}
		w.dst = append(w.dst, ',')
		w.dst = append(jsontext.AppendQuoted(w.dst, members[i].Name), ':')
		w.dst = append(w.dst, members[i].Value...)
	}
}

// hasParam reports whether members contain a field with the given name.
func hasParam(members []hub.Param, name string) bool {
	return slices.ContainsFunc(members, func(p hub.Param) bool { return p.Name == name })
}

// hasExtra reports whether the client uses chat completions and the given fields of its message or tool call contain
// one with the given name.
func (w *body) hasExtra(members []hub.Param, name string) bool {
	return w.chatClient() && hasParam(members, name)
}

// content writes the field content of m. The value is a string if m has a single text, or texts that may be joined (see
// textSeparator), and otherwise a list of parts. A text with a cache mark is always a part of a list if the upstream
// supports cache marks. The error means that the upstream does not accept one of the parts.
func (w *body) content(m *hub.Message) error {
	if len(m.Parts) == 0 {
		w.noContent(m)
		return nil
	}
	w.dst = append(w.dst, `,"content":`...)
	onlyText := !slices.ContainsFunc(m.Parts, func(p hub.Part) bool { return !isText(&p) })
	needsParts := w.cacheMarks && slices.ContainsFunc(m.Parts, marked) // only a part can have a mark
	gap := w.textSeparator(m)
	if onlyText && !needsParts && (len(m.Parts) == 1 || gap != notJoined) {
		w.dst = append(w.dst, '"')
		for i := range m.Parts {
			if i > 0 {
				w.dst = append(w.dst, gap...)
			}
			w.dst = jsontext.AppendEscaped(w.dst, m.Parts[i].Text)
		}
		w.dst = append(w.dst, '"')
		return nil
	}
	for i := range m.Parts {
		w.dst = append(w.dst, separator(i)) // an opening bracket before the first part
		if err := w.part(&m.Parts[i]); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, ']')
	return nil
}

// marked reports whether p is a text with a cache mark.
func marked(p hub.Part) bool { return isText(&p) && p.Cache != "" }

func isText(p *hub.Part) bool { return p.Kind == hub.PartText || p.Kind == hub.PartRefusal }

// notJoined is the result of textSeparator for texts that must stay separate parts.
const notJoined = "-"

// textSeparator returns the separator with which the texts of m are joined to one string. It is already escaped for a
// JSON string. The result is notJoined if the texts must not be joined.
func (w *body) textSeparator(m *hub.Message) string {
	switch {
	case m.Role == hub.Assistant:
		return ""
	case m.Role == hub.ToolResult:
		return `\n`
	case (m.Role == hub.System || m.Role == hub.Developer) && !w.chatClient():
		return `\n\n`
	}
	return notJoined
}

// noContent writes the field content of m, which has no content. The value is "" unless m is an assistant message. For
// an assistant message the value depends on the provider's Shape.EmptyToolContent: "", no field at all, or else null.
func (w *body) noContent(m *hub.Message) {
	switch {
	case m.Role != hub.Assistant, w.shape.EmptyToolContent == catalog.ContentEmpty:
		w.dst = append(w.dst, `,"content":""`...)
	case w.shape.EmptyToolContent != catalog.ContentOmit:
		w.dst = append(w.dst, `,"content":null`...)
	}
}

// part writes p as an element of a list of content parts.
func (w *body) part(p *hub.Part) error {
	switch p.Kind {
	case hub.PartText, hub.PartRefusal:
		w.dst = jsontext.AppendMember(w.dst, `{"type":"text","text":`, p.Text)
		if w.cacheMarks && p.Cache != "" {
			w.dst = append(append(w.dst, `,"cache_control":`...), p.Cache...)
		}
	case hub.PartImage:
		if w.shape.DataURLImages && !isData(p.URL) {
			return errRemoteImage
		}
		w.dst = jsontext.AppendMember(w.dst, `{"type":"image_url","image_url":{"url":`, p.URL)
		if p.Detail != "" {
			w.dst = jsontext.AppendMember(w.dst, `,"detail":`, p.Detail)
		}
		w.dst = append(w.dst, '}')
	case hub.PartFile:
		if !isData(p.URL) && !w.chatClient() {
			return errRemoteFile
		}
		w.dst = append(w.dst, `{"type":"file","file":{`...)
		if p.Detail != "" {
			w.dst = append(jsontext.AppendMember(w.dst, `"filename":`, p.Detail), ',')
		}
		w.dst = append(jsontext.AppendMember(w.dst, `"file_data":`, p.URL), '}')
	case hub.PartAudio:
		w.dst = jsontext.AppendMember(w.dst, `{"type":"input_audio","input_audio":{"data":`, p.Data)
		w.dst = append(jsontext.AppendMember(w.dst, `,"format":`, p.Detail), '}')
	default:
		if !w.chatClient() || p.Raw == "" {
			return errOwnPart
		}
		w.dst = append(w.dst, p.Raw...)
		return nil
	}
	w.dst = append(w.dst, '}')
	return nil
}

// isData reports whether url is a data URL, which contains the data itself.
func isData(url string) bool { return len(url) >= 5 && strings.EqualFold(url[:5], "data:") }

// calls writes the field tool_calls of m, if m has calls.
func (w *body) calls(m *hub.Message) {
	for i := range m.Calls {
		c := &m.Calls[i]
		if i == 0 {
			w.dst = append(w.dst, `,"tool_calls":[`...)
		} else {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, `{"id":`...)
		w.dst = w.appendID(w.dst, c.ID)
		w.dst = jsontext.AppendMember(w.dst, `,"type":"function","function":{"name":`, c.Name)
		w.dst = append(w.dst, `,"arguments":`...)
		if c.Arguments == "" {
			w.dst = append(w.dst, `"{}"`...)
		} else {
			w.dst = jsontext.AppendQuoted(w.dst, c.Arguments)
		}
		w.dst = append(w.dst, '}')
		w.thought(m, c, i == 0)
		if w.chatClient() {
			w.extra(c.Extra)
		}
		w.dst = append(w.dst, '}')
	}
	if len(m.Calls) > 0 {
		w.dst = append(w.dst, ']')
	}
}
