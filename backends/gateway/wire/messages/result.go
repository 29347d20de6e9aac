package messages

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// result reads a tool_result block. The result becomes a separate message, which follows the message with the tool
// call. A message with the result's images and files comes after it.
func (r *reader) result(b *block) error {
	id, err := name(b.callID, b.path+".tool_use_id")
	if err != nil {
		return err
	}
	known, waits := r.turns.Waits(id)
	if !known {
		return invalid(b.path+".tool_use_id", "is %s, but no earlier tool_use block has this id", hub.Shown(id))
	}
	if !waits {
		return invalid(b.path+".tool_use_id", "is %s, for which there already is a tool_result", hub.Shown(id))
	}
	failed, err := optionalBool(b.failed, b.path+".is_error")
	if err != nil {
		return err
	}
	parts, attached, err := r.resultContent(b)
	if err != nil {
		return err
	}
	parts = r.turns.Result(id, parts, failed, attached)
	cache, err := cacheMark(b.cache, b.path)
	if n := len(parts); n > 0 && cache != "" {
		parts[n-1].Cache = cache
	}
	return err
}

// resultContent reads the content of a tool result. parts is its text, attached are its images and files.
func (r *reader) resultContent(b *block) (parts, attached []hub.Part, err error) {
	path := b.path + ".content"
	switch {
	case !isPresent(b.content):
		return nil, nil, nil
	case b.content.Type == gjson.String:
		return hub.AppendText(nil, b.content.Str, ""), nil, nil
	case !b.content.IsArray():
		return nil, nil, wrongKind(path, "a string or an array", b.content)
	}
	j := hub.Joiner{Separator: "\n"}
	err = each(b.content, path, func(v gjson.Result, path string) error {
		var inner block
		if err := inner.read(v, path); err != nil {
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

// resultBlock reads a content block of a tool result.
func (r *reader) resultBlock(b *block) ([]hub.Part, error) {
	switch b.kind {
	case "text", "image", "document", "search_result":
		return r.contentParts(b)
	case "tool_reference":
		tool, err := name(b.reference, b.path+".tool_name")
		return hub.AppendText(nil, "tool available: "+tool, ""), err
	}
	r.requireOwnFormat(invalid(b.path+".type", "is %s, which is not supported in a tool_result", hub.Shown(b.kind)))
	return nil, nil
}
