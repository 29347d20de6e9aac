package messages

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// result reads a tool_result block. The result becomes a separate message, which follows the message with the tool
// call. A message with the result's images and files comes after it.
func (r *reader) result(b *block) error {
	idValue := b.Get("tool_use_id")
	id, err := name(idValue)
	if err != nil {
		return err
	}
	switch known, waits := r.turns.Waits(id); {
	case !known:
		return idValue.Invalid("is %s, but no earlier tool_use block has this id", hub.Shown(id))
	case !waits:
		return idValue.Invalid("is %s, for which there already is a tool_result", hub.Shown(id))
	}
	failed, err := b.Get("is_error").Flag()
	if err != nil {
		return err
	}
	parts, attached, err := r.resultContent(b.Get("content"))
	if err != nil {
		return err
	}
	parts = r.turns.Result(id, parts, failed, attached)
	cache, err := cacheMark(&b.Object)
	if n := len(parts); n > 0 && cache != "" {
		parts[n-1].Cache = cache
	}
	return err
}

// resultContent reads the content of a tool result. parts is its text, and attachments are its images and files.
func (r *reader) resultContent(content fields.Value) (parts, attachments []hub.Part, err error) {
	switch {
	case !content.Given():
		return nil, nil, nil
	case content.Type == gjson.String:
		return hub.AppendText(nil, content.Str, ""), nil, nil
	case !content.IsArray():
		return nil, nil, content.Wrong("a string or an array")
	}
	joined := hub.Joiner{Separator: "\n"}
	err = content.Each(func(v fields.Value) error {
		if err := r.inner.read(v); err != nil {
			return err
		}
		parts, err := r.resultBlock(&r.inner)
		for _, p := range parts {
			switch p.Kind {
			case hub.PartImage:
				joined.Add("[image attached below]", "")
				attachments = append(attachments, p)
			case hub.PartFile:
				joined.Add("[document attached below]", "")
				attachments = append(attachments, p)
			default:
				joined.Add(p.Text, p.Cache)
			}
		}
		return err
	})
	return joined.End(""), attachments, err
}

// resultBlock reads a content block of a tool result.
func (r *reader) resultBlock(b *block) ([]hub.Part, error) {
	switch b.kind {
	case "text", "image", "document", "search_result":
		return r.contentParts(b)
	case "tool_reference":
		tool, err := name(b.Get("tool_name"))
		return hub.AppendText(nil, "tool available: "+tool, ""), err
	}
	r.request.RequireOwnFormat(b.invalidType("is %s, which is not supported in a tool_result", hub.Shown(b.kind)))
	return nil, nil
}
