package messages

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ForeignRedacted is the prefix of hub.Reasoning.Foreign for a redacted_thinking block. It distinguishes the block's
// data from the signature of a thinking block, which never contains a colon.
const ForeignRedacted = "redacted_thinking:"

// block is a content block, or another object with a type.
type block struct {
	fields.Object
	kind string // type
	raw  string // JSON text
}

// read stores the fields of the block v in b and discards those of an earlier block. It returns an error if v is not
// an object or has no type.
func (b *block) read(v fields.Value) (err error) {
	if err := b.Open(v); err != nil {
		return err
	}
	b.raw = v.Raw
	b.kind, err = b.Required("type")
	return err
}

// invalidType returns the error with status 400 for a block whose type is not allowed. The message is the path of the
// type, followed by the formatted text.
func (b *block) invalidType(format string, args ...any) error {
	return b.Get("type").Invalid(format, args...)
}

// cacheMark returns the value of cache_control in o as JSON text, or "" if it is absent or null. It returns an error
// for any other value that is not an object.
func cacheMark(o *fields.Object) (string, error) { return o.Get("cache_control").RawObject() }

// name returns the string in v. It returns an error if v is absent, empty or not a string.
func name(v fields.Value) (string, error) {
	text, err := v.Required()
	if err == nil && text == "" {
		err = v.Invalid("must not be empty")
	}
	return text, err
}

// userBlock reads the block b of the user message m.
func (r *reader) userBlock(m *hub.Message, b *block) error {
	switch b.kind {
	case "tool_result":
		return r.result(b)
	case "text", "image", "document", "search_result":
		parts, err := r.contentParts(b)
		m.Parts = append(m.Parts, parts...)
		return err
	case "compaction":
		if compaction(m, b) {
			return nil
		}
		fallthrough // without a summary the block cannot be sent to other upstreams
	case "container_upload", "browser_state":
		if r.lastTurnError == nil {
			r.lastTurnError = b.invalidType("is %s, which is not supported in the last user turn", b.kind)
		}
		r.request.DropOnce("messages[].content[]." + b.kind)
		return nil
	case "tool_use", "thinking", "redacted_thinking":
		return b.invalidType("is %s, which only an assistant message may have", b.kind)
	}
	return r.serverResult(m, b)
}

// assistantBlock reads the block b of the assistant message m and adds what the block contains to m.
func (r *reader) assistantBlock(m *hub.Message, b *block) error {
	switch b.kind {
	case "text":
		text, cache, err := b.onlyText()
		m.Parts = hub.AppendText(m.Parts, text, cache)
		return err
	case "tool_use":
		return r.call(m, b)
	case "thinking":
		return r.thinking(m, b)
	case "redacted_thinking":
		data, err := b.Required("data")
		if err == nil {
			r.addReasoning(m, "", data, ForeignRedacted)
		}
		return err
	case "document":
		if r.strict {
			return b.Get("type").Unsupported("is document, which anthropic-version %s does not allow in an assistant message",
				noSampling)
		}
		r.request.DropOnce("messages[].content[].document")
		return nil
	case "server_tool_use", "mcp_tool_use":
		return nil // serverResult reads the result of the call, which follows
	case "compaction":
		if compaction(m, b) {
			return nil
		}
		fallthrough // without a summary the block cannot be sent to other upstreams
	case "container_upload", "browser_state", "fallback", "mcp_tool_listing":
		r.request.DropOnce("messages[].content[]." + b.kind)
		return nil
	case "image", "search_result", "tool_result":
		return b.invalidType("is %s, which only a user message may have", b.kind)
	}
	return r.serverResult(m, b)
}

// compaction reads a compaction block, which contains a summary of the conversation before it, and adds the summary to
// m. It reports whether the block has a summary. The vendor's models get the summary instead of the earlier messages;
// other upstreams get it in addition to them.
func compaction(m *hub.Message, b *block) bool {
	summary := b.Get("content")
	if summary.Type != gjson.String || summary.Str == "" {
		return false
	}
	m.Parts = hub.AppendText(m.Parts, "[summary of the conversation so far]\n"+summary.Str, "")
	return true
}

// thinking reads a thinking block and adds it to m as reasoning. The thinking text never becomes part of the message's
// content.
func (r *reader) thinking(m *hub.Message, b *block) error {
	text, err := b.Required("thinking")
	if err != nil {
		return err
	}
	signature, err := b.Text("signature")
	if err != nil {
		return err
	}
	r.addReasoning(m, text, signature, "")
	return nil
}

// addReasoning adds reasoning with the given text to m. token is the block's signature or data. If token is not a token
// of the gateway, it is stored in Reasoning.Foreign after foreignPrefix.
func (r *reader) addReasoning(m *hub.Message, text, token, foreignPrefix string) {
	reasoning := hub.Reasoning{Text: text}
	if state, isToken := r.options.Token(token); isToken {
		reasoning.State = &state
		if state.Form == hub.FormThought {
			r.thought = reasoning.State
		}
	} else if token != "" {
		reasoning.Foreign = foreignPrefix + token
	}
	m.Reasoning = append(m.Reasoning, reasoning)
}

// serverResult reads the result of a tool that the vendor ran. The result's text stays in the history as a note, since
// no upstream can run the tool again. A block of an unknown type is kept for upstreams of this format only.
func (r *reader) serverResult(m *hub.Message, b *block) error {
	tool, ok := strings.CutSuffix(b.kind, "_tool_result")
	if !ok || tool == "" {
		r.request.RequireOwnFormat(b.invalidType("is %s, which is not supported", hub.Shown(b.kind)))
		m.Parts = append(m.Parts, hub.Part{Kind: hub.PartOther, Raw: b.raw})
		return nil
	}
	if note := resultNote(b.Get("content").Result); note != "" {
		m.Parts = hub.AppendText(m.Parts, "[result of "+tool+"]\n"+note, "")
	} else {
		r.request.DropOnce("messages[].content[]." + fields.Listed(b.kind))
	}
	return nil
}

// resultNote returns the text in the result of a tool that the vendor ran. It is empty for other content (encrypted
// pages, files).
func resultNote(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var lines []string
	addLine := func(v gjson.Result) {
		if v.Type == gjson.String && v.Str != "" {
			lines = append(lines, v.Str)
		}
	}
	if content.IsArray() {
		jsontext.Elements(content, func(v gjson.Result) bool {
			addLine(v.Get("text"))
			return true
		})
		return strings.Join(lines, "\n")
	}
	addLine(content.Get("stdout"))
	addLine(content.Get("stderr"))
	if source := content.Get("content.source"); source.Get("type").Str == "text" {
		addLine(source.Get("data"))
	}
	return strings.Join(lines, "\n")
}
