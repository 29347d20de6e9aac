package messages

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// failure is the prefix of the text of a tool result that is an error.
const failure = "Error: "

// result reads a tool_result block. The result becomes a message of its own after the message with its call, followed
// by its images and files.
func (r *reader) result(b *block) error {
	id, err := name(b.callID, b.at+".tool_use_id")
	if err != nil {
		return err
	}
	p, known := r.calls[id]
	if !known {
		return invalid(b.at+".tool_use_id", "is %s, which is the id of no tool_use block before it", hub.Shown(id))
	}
	t := &r.turns[p.turn]
	if t.results[p.call].Role != 0 {
		return invalid(b.at+".tool_use_id", "is %s, which has a tool_result already", hub.Shown(id))
	}
	m := hub.Message{Role: hub.ToolResult, CallID: callID(id)}
	if m.Failed, err = optionalBool(b.failed, b.at+".is_error"); err != nil {
		return err
	}
	attached, err := r.resultContent(&m, b)
	if err != nil {
		return err
	}
	if m.Failed && (len(m.Parts) == 0 || !strings.HasPrefix(m.Parts[0].Text, failure)) {
		if len(m.Parts) == 0 {
			m.Parts = []hub.Part{{Kind: hub.PartText}}
		}
		m.Parts[0].Text = failure + m.Parts[0].Text
	}
	cache, err := mark(b.cache, b.at)
	if n := len(m.Parts); n > 0 && cache != "" {
		m.Parts[n-1].Cache = cache
	}
	t.results[p.call] = m
	t.attached = append(t.attached, attached...)
	return err
}

// resultContent reads the content into the text of a message, and returns the parts that cannot be in it.
func (r *reader) resultContent(m *hub.Message, b *block) (attached []hub.Part, err error) {
	at := b.at + ".content"
	switch {
	case !given(b.content):
		return nil, nil
	case b.content.Type == gjson.String:
		m.Parts = appendText(nil, b.content.Str, "")
		return nil, nil
	case !b.content.IsArray():
		return nil, wrongKind(at, "a string or an array", b.content)
	}
	j := joiner{separator: "\n"}
	err = each(b.content, at, func(v gjson.Result, at string) error {
		var inner block
		if err := inner.read(v, at); err != nil {
			return err
		}
		parts, err := r.resultBlock(&inner)
		for _, p := range parts {
			switch p.Kind {
			case hub.PartImage:
				j.add("[image attached below]", "")
				attached = append(attached, p)
			case hub.PartFile:
				j.add("[document attached below]", "")
				attached = append(attached, p)
			default:
				j.add(p.Text, p.Cache)
			}
		}
		return err
	})
	m.Parts = j.end("")
	return attached, err
}

func (r *reader) resultBlock(b *block) ([]hub.Part, error) {
	switch b.kind {
	case "text", "image", "document", "search_result":
		return r.visible(b)
	case "tool_reference":
		tool, err := name(b.reference, b.at+".tool_name")
		return appendText(nil, "tool available: "+tool, ""), err
	}
	r.own(invalid(b.at+".type", "is %s, which is not supported in a tool_result", hub.Shown(b.kind)))
	return nil, nil
}
