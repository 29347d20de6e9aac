package messages

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// result reads a tool_result block. The result becomes a message of its own after the message with its call, followed
// by its images and files.
func (r *reader) result(b *block) error {
	id, err := name(b.callID, b.at+".tool_use_id")
	if err != nil {
		return err
	}
	known, waits := r.turns.Waits(id)
	if !known {
		return invalid(b.at+".tool_use_id", "is %s, which is the id of no tool_use block before it", hub.Shown(id))
	}
	if !waits {
		return invalid(b.at+".tool_use_id", "is %s, which has a tool_result already", hub.Shown(id))
	}
	failed, err := optionalBool(b.failed, b.at+".is_error")
	if err != nil {
		return err
	}
	parts, attached, err := r.resultContent(b)
	if err != nil {
		return err
	}
	parts = r.turns.Result(id, parts, failed, attached)
	cache, err := mark(b.cache, b.at)
	if n := len(parts); n > 0 && cache != "" {
		parts[n-1].Cache = cache
	}
	return err
}

// resultContent reads the content into text, and returns the parts that cannot be in it.
func (r *reader) resultContent(b *block) (parts, attached []hub.Part, err error) {
	at := b.at + ".content"
	switch {
	case !given(b.content):
		return nil, nil, nil
	case b.content.Type == gjson.String:
		return hub.AppendText(nil, b.content.Str, ""), nil, nil
	case !b.content.IsArray():
		return nil, nil, wrongKind(at, "a string or an array", b.content)
	}
	j := hub.Joiner{Separator: "\n"}
	err = each(b.content, at, func(v gjson.Result, at string) error {
		var inner block
		if err := inner.read(v, at); err != nil {
			return err
		}
		parts, err := r.resultBlock(&inner)
		for _, p := range parts {
			switch p.Kind {
			case hub.PartImage:
				j.Add("[image attached below]", "")
				attached = append(attached, p)
			case hub.PartFile:
				j.Add("[document attached below]", "")
				attached = append(attached, p)
			default:
				j.Add(p.Text, p.Cache)
			}
		}
		return err
	})
	return j.End(""), attached, err
}

func (r *reader) resultBlock(b *block) ([]hub.Part, error) {
	switch b.kind {
	case "text", "image", "document", "search_result":
		return r.visible(b)
	case "tool_reference":
		tool, err := name(b.reference, b.at+".tool_name")
		return hub.AppendText(nil, "tool available: "+tool, ""), err
	}
	r.own(invalid(b.at+".type", "is %s, which is not supported in a tool_result", hub.Shown(b.kind)))
	return nil, nil
}
