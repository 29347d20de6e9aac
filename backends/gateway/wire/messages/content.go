package messages

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// attribution is the prefix of a system block by which a client attributes usage to its user. Such blocks are left out:
// they differ from request to request, which would make every prompt cache useless.
const attribution = "x-anthropic-billing-header:"

// textParts reads the content of a system message: a text or an array of text blocks. inline is set if the system
// message stands among the other messages. Such a system message may also add and remove tools.
func (r *reader) textParts(content fields.Value, inline bool) ([]hub.Part, error) {
	if content.Type == gjson.String {
		if strings.HasPrefix(content.Str, attribution) {
			return nil, nil
		}
		return hub.AppendText(nil, content.Str, ""), nil
	}
	if !content.IsArray() {
		return nil, content.Wrong("a string or an array")
	}
	joined := hub.Joiner{Separator: "\n\n"}
	b := &r.block
	err := content.Each(func(v fields.Value) error {
		if err := b.read(v); err != nil {
			return err
		}
		if inline && (b.kind == "tool_addition" || b.kind == "tool_removal") {
			r.request.RequireOwnFormat(b.invalidType("is %s, which is not supported: list all tools in tools", b.kind))
			return nil
		}
		text, cache, err := b.onlyText()
		if err == nil && !strings.HasPrefix(text, attribution) {
			joined.Add(text, cache)
		}
		return err
	})
	return joined.End(""), err
}

// onlyText returns the text of b and its cache_control as JSON text, which is empty if absent. It returns an error if b
// is not a text block.
func (b *block) onlyText() (text, cache string, err error) {
	if b.kind != "text" {
		return "", "", b.invalidType("must be text, it is %s", hub.Shown(b.kind))
	}
	if text, err = b.Required("text"); err != nil {
		return "", "", err
	}
	cache, err = cacheMark(&b.Object)
	return text, cache, err
}

// contentParts returns the content of b, a text, image, document or search_result block of a user message or tool
// result.
func (r *reader) contentParts(b *block) (parts []hub.Part, err error) {
	switch b.kind {
	case "text":
		if citations := b.Get("citations"); r.strict && citations.IsArray() && citations.Get("0").Exists() {
			return nil, citations.Unsupported("is not allowed in a user message with anthropic-version %s: leave it out",
				noSampling)
		}
		text, cache, err := b.onlyText()
		return hub.AppendText(nil, text, cache), err
	case "image":
		parts, err = image(b)
	case "document":
		parts, err = r.document(b)
	case "search_result":
		parts, err = searchResult(b)
	}
	if err != nil {
		return nil, err
	}
	cache, err := cacheMark(&b.Object)
	if len(parts) > 0 && cache != "" {
		parts[len(parts)-1].Cache = cache
	}
	return parts, err
}

// link returns source, the source of an image or document, as a URL: a data URL for base64 data, or the URL that the
// client sent. media are the allowed media types.
func link(source *block, media ...string) (string, error) {
	switch source.kind {
	case "base64":
		kind, err := source.Required("media_type")
		if err != nil {
			return "", err
		}
		data, err := name(source.Get("data"))
		if err != nil {
			return "", err
		}
		if slices.Contains(media, kind) {
			return "data:" + kind + ";base64," + data, nil
		}
		return "", source.Get("media_type").Invalid("must be one of %s, it is %s", strings.Join(media, ", "), hub.Shown(kind))
	case "url":
		url, err := source.Required("url")
		if err != nil {
			return "", err
		}
		for _, scheme := range [...]string{"https://", "http://", "data:"} {
			if strings.HasPrefix(url, scheme) {
				return url, nil
			}
		}
		return "", source.Get("url").Invalid("must begin with https://")
	case "file":
		return "", source.Get("type").Unsupported(
			"is file, which is not supported, because files belong to a vendor's account: send the content as base64")
	}
	return "", source.invalidType("is %s, which is not supported: use base64 or url", hub.Shown(source.kind))
}

// image reads an image block.
func image(b *block) ([]hub.Part, error) {
	var source block
	if err := source.read(b.Get("source")); err != nil {
		return nil, err
	}
	url, err := link(&source, "image/jpeg", "image/png", "image/gif", "image/webp")
	if err != nil {
		return nil, err
	}
	return []hub.Part{{Kind: hub.PartImage, URL: url}}, nil
}

// document reads a document block. It returns a file, or a text that begins with the document's title and context.
func (r *reader) document(b *block) ([]hub.Part, error) {
	title, err := b.Text("title")
	if err != nil {
		return nil, err
	}
	context, err := b.Text("context")
	if err != nil {
		return nil, err
	}
	if b.Get("citations").Get("enabled").Type == gjson.True {
		r.request.DropOnce("messages[].content[].citations")
	}
	var source block
	if err := source.read(b.Get("source")); err != nil {
		return nil, err
	}
	joined := hub.Joiner{Separator: "\n"}
	joined.Add(title, "")
	joined.Add(context, "")
	switch source.kind {
	case "text":
		data, err := source.Required("data")
		if err != nil {
			return nil, err
		}
		joined.Add(data, "")
		return joined.End(""), nil
	case "content":
		images, err := documentContent(source.Get("content"), &joined)
		return append(joined.End(""), images...), err
	}
	url, err := link(&source, "application/pdf")
	if err != nil {
		return nil, err
	}
	file := hub.Part{Kind: hub.PartFile, Detail: title, URL: url}
	if title == "" {
		file.Detail = "document.pdf"
	}
	return append(hub.AppendText(nil, context, ""), file), nil
}

// documentContent reads the content of a document, which is a text or a list of text and image blocks. It adds the
// texts to joiner and returns the images.
func documentContent(content fields.Value, joiner *hub.Joiner) (images []hub.Part, err error) {
	if content.Type == gjson.String {
		joiner.Add(content.Str, "")
		return nil, nil
	}
	var b block
	err = content.Each(func(v fields.Value) error {
		if err := b.read(v); err != nil {
			return err
		}
		if b.kind == "image" {
			parts, err := image(&b)
			images = append(images, parts...)
			return err
		}
		text, _, err := b.onlyText()
		joiner.Add(text, "")
		return err
	})
	return images, err
}

// searchResult reads a search_result block. It returns one text: the line [title](source), followed by the texts of the
// result.
func searchResult(b *block) ([]hub.Part, error) {
	title, err := b.Required("title")
	if err != nil {
		return nil, err
	}
	source, err := b.Required("source")
	if err != nil {
		return nil, err
	}
	joined := hub.Joiner{Separator: "\n"}
	joined.Add("["+title+"]("+source+")", "")
	var inner block
	err = b.Get("content").Each(func(v fields.Value) error {
		if err := inner.read(v); err != nil {
			return err
		}
		text, _, err := inner.onlyText()
		joined.Add(text, "")
		return err
	})
	return joined.End(""), err
}
