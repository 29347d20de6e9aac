package messages

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ForeignRedacted is the prefix of hub.Reasoning.Foreign for a redacted_thinking block. It distinguishes the block's
// data from the signature of a thinking block, which never contains a colon.
const ForeignRedacted = "redacted_thinking:"

// block holds the field values of a content block, found in one pass over the block. The method field maps the names
// of the JSON fields to the fields of the struct.
type block struct {
	raw                                         string // the block's JSON text
	path, kind                                  string // JSON path and type of the block
	text, source, title, context, content       gjson.Result
	citations, id, name, input, callID, failed  gjson.Result
	thinking, signature, data, cache, reference gjson.Result
}

// read stores the field values of the block v in b. path is the block's JSON path. It returns an error if v is not an
// object or has no type.
func (b *block) read(v gjson.Result, path string) (err error) {
	if !v.IsObject() {
		return wrongKind(path, "an object", v)
	}
	b.path, b.raw = path, v.Raw
	var kind gjson.Result
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		if key == "type" {
			kind = v
		} else if field := b.field(key); field != nil {
			*field = v
		}
		return true
	})
	b.kind, err = text(kind, path+".type")
	return err
}

// field returns a pointer to the field of b that stores the value of the JSON field key, or nil for a JSON field that
// the reader ignores.
func (b *block) field(key string) *gjson.Result {
	switch key {
	case "text":
		return &b.text
	case "source":
		return &b.source
	case "title":
		return &b.title
	case "context":
		return &b.context
	case "content":
		return &b.content
	case "citations":
		return &b.citations
	case "id":
		return &b.id
	case "name":
		return &b.name
	case "input":
		return &b.input
	case "tool_use_id":
		return &b.callID
	case "is_error":
		return &b.failed
	case "thinking":
		return &b.thinking
	case "signature":
		return &b.signature
	case "data":
		return &b.data
	case "cache_control":
		return &b.cache
	case "tool_name":
		return &b.reference
	}
	return nil
}

// cacheMark returns v as JSON text. v is the value of cache_control in the object at path. The text is empty if v is
// absent or null. It returns an error if v is any other value that is not an object.
func cacheMark(v gjson.Result, path string) (string, error) {
	ok, err := optionalObject(v, path+".cache_control")
	if !ok || err != nil {
		return "", err
	}
	return v.Raw, nil
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
		if r.compaction(m, b) {
			return nil
		}
		fallthrough
	case "container_upload", "browser_state":
		if r.lastTurnError == nil {
			r.lastTurnError = invalid(b.path+".type", "is %s, which is not supported in the last user turn", b.kind)
		}
		r.drop("messages[].content[]." + b.kind)
		return nil
	case "tool_use", "thinking", "redacted_thinking":
		return invalid(b.path+".type", "is %s, which only an assistant message may have", b.kind)
	}
	return r.serverResult(m, b)
}

// assistantBlock reads the block b of the assistant message m and adds what the block contains to m.
func (r *reader) assistantBlock(m *hub.Message, b *block) error {
	switch b.kind {
	case "text":
		s, err := text(b.text, b.path+".text")
		if err != nil {
			return err
		}
		cache, err := cacheMark(b.cache, b.path)
		m.Parts = hub.AppendText(m.Parts, s, cache)
		return err
	case "tool_use":
		return r.call(m, b)
	case "thinking":
		return r.thinking(m, b)
	case "redacted_thinking":
		return r.redacted(m, b)
	case "document":
		if r.strict {
			return unsupported(b.path+".type", "is document, which anthropic-version %s does not allow in an assistant message",
				noSampling)
		}
		r.drop("messages[].content[].document")
		return nil
	case "server_tool_use", "mcp_tool_use":
		return nil // serverResult reads the result of the call, which follows
	case "compaction":
		if r.compaction(m, b) {
			return nil
		}
		fallthrough
	case "container_upload", "browser_state", "fallback", "mcp_tool_listing":
		r.drop("messages[].content[]." + b.kind)
		return nil
	case "image", "search_result", "tool_result":
		return invalid(b.path+".type", "is %s, which only a user message may have", b.kind)
	}
	return r.serverResult(m, b)
}

// compaction reads a compaction block, which contains a summary of the conversation before it, and adds the summary to
// m. It reports whether the block has a summary. The vendor's models get the summary instead of the earlier messages;
// other upstreams get it in addition to them.
func (r *reader) compaction(m *hub.Message, b *block) bool {
	if b.content.Type != gjson.String || b.content.Str == "" {
		return false
	}
	m.Parts = hub.AppendText(m.Parts, "[summary of the conversation so far]\n"+b.content.Str, "")
	return true
}

// thinking reads a thinking block and adds it to m as reasoning. The thinking text never becomes part of the message's
// content.
func (r *reader) thinking(m *hub.Message, b *block) error {
	s, err := text(b.thinking, b.path+".thinking")
	if err != nil {
		return err
	}
	signature, err := optionalText(b.signature, b.path+".signature")
	if err != nil {
		return err
	}
	r.addReasoning(m, s, signature, "")
	return nil
}

// redacted reads a redacted_thinking block and adds it to m as reasoning without text.
func (r *reader) redacted(m *hub.Message, b *block) error {
	data, err := text(b.data, b.path+".data")
	if err != nil {
		return err
	}
	r.addReasoning(m, "", data, ForeignRedacted)
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
// no upstream can run the tool again.
func (r *reader) serverResult(m *hub.Message, b *block) error {
	tool, ok := strings.CutSuffix(b.kind, "_tool_result")
	if !ok || tool == "" {
		r.requireOwnFormat(invalid(b.path+".type", "is %s, which is not supported", hub.Shown(b.kind)))
		m.Parts = append(m.Parts, hub.Part{Kind: hub.PartOther, Raw: b.raw})
		return nil
	}
	if note := resultNote(b.content); note != "" {
		m.Parts = hub.AppendText(m.Parts, "[result of "+tool+"]\n"+note, "")
	} else {
		r.drop("messages[].content[]." + listed(b.kind))
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
	if content.IsArray() {
		jsontext.Elements(content, func(v gjson.Result) bool {
			if s := v.Get("text"); s.Type == gjson.String && s.Str != "" {
				lines = append(lines, s.Str)
			}
			return true
		})
		return strings.Join(lines, "\n")
	}
	for _, path := range [...]string{"stdout", "stderr", "content.source.data"} {
		if path == "content.source.data" && content.Get("content.source.type").Str != "text" {
			continue
		}
		if s := content.Get(path); s.Type == gjson.String && s.Str != "" {
			lines = append(lines, s.Str)
		}
	}
	return strings.Join(lines, "\n")
}
