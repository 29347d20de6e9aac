package messages

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// attribution is the prefix of a system block by which a client attributes usage to its user. Such blocks are left out:
// they differ from request to request, which would make every prompt cache useless.
const attribution = "x-anthropic-billing-header:"

// textParts reads the content of a system message: a text or an array of text blocks. inline is set for a system
// message among the messages, which may also add and remove tools.
func (r *reader) textParts(content gjson.Result, path string, inline bool) ([]hub.Part, error) {
	if content.Type == gjson.String {
		if strings.HasPrefix(content.Str, attribution) {
			return nil, nil
		}
		return hub.AppendText(nil, content.Str, ""), nil
	}
	if !content.IsArray() {
		return nil, wrongKind(path, "a string or an array", content)
	}
	j := hub.Joiner{Separator: "\n\n"}
	err := each(content, path, func(v gjson.Result, path string) error {
		var b block
		if err := b.read(v, path); err != nil {
			return err
		}
		if inline && (b.kind == "tool_addition" || b.kind == "tool_removal") {
			r.requireOwnFormat(invalid(b.path+".type", "is %s, which is not supported: list all tools in tools", b.kind))
			return nil
		}
		s, cache, err := b.onlyText()
		if err == nil && !strings.HasPrefix(s, attribution) {
			j.Add(s, cache)
		}
		return err
	})
	return j.End(""), err
}

// onlyText returns the text of b and its cache_control as JSON text, which is empty if absent. It returns an error if b
// is not a text block.
func (b *block) onlyText() (s, cache string, err error) {
	if b.kind != "text" {
		return "", "", invalid(b.path+".type", "must be text, it is %s", hub.Shown(b.kind))
	}
	if s, err = text(b.text, b.path+".text"); err != nil {
		return "", "", err
	}
	cache, err = cacheMark(b.cache, b.path)
	return s, cache, err
}

// contentParts returns the content of b, a text, image, document or search_result block of a user message or tool
// result.
func (r *reader) contentParts(b *block) (parts []hub.Part, err error) {
	switch b.kind {
	case "text":
		if r.strict && b.citations.IsArray() && b.citations.Get("0").Exists() {
			return nil, unsupported(b.path+".citations",
				"is not allowed in a user message with anthropic-version %s: leave it out", noSampling)
		}
		s, cache, err := b.onlyText()
		return hub.AppendText(nil, s, cache), err
	case "image":
		parts, err = r.image(b)
	case "document":
		parts, err = r.document(b)
	case "search_result":
		parts, err = searchResult(b)
	}
	if err != nil {
		return nil, err
	}
	cache, err := cacheMark(b.cache, b.path)
	if len(parts) > 0 && cache != "" {
		parts[len(parts)-1].Cache = cache
	}
	return parts, err
}

// source is the source of an image or a document.
type source struct {
	path, kind                string
	media, data, url, content gjson.Result
}

// readSource reads the block's field source.
func (b *block) readSource() (s source, err error) {
	s.path = b.path + ".source"
	if !b.source.IsObject() {
		return s, wrongKind(s.path, "an object", b.source)
	}
	var kind gjson.Result
	jsontext.Members(b.source, func(key string, v gjson.Result) bool {
		switch key {
		case "type":
			kind = v
		case "media_type":
			s.media = v
		case "data":
			s.data = v
		case "url":
			s.url = v
		case "content":
			s.content = v
		}
		return true
	})
	s.kind, err = text(kind, s.path+".type")
	return s, err
}

// link returns the source as a URL: a data URL for base64 data, or the URL that the client sent. media are the allowed
// media types.
func (s *source) link(media ...string) (string, error) {
	switch s.kind {
	case "base64":
		kind, err := text(s.media, s.path+".media_type")
		if err != nil {
			return "", err
		}
		data, err := name(s.data, s.path+".data")
		if err != nil {
			return "", err
		}
		if slices.Contains(media, kind) {
			return "data:" + kind + ";base64," + data, nil
		}
		return "", invalid(s.path+".media_type", "must be one of %s, it is %s", strings.Join(media, ", "), hub.Shown(kind))
	case "url":
		url, err := text(s.url, s.path+".url")
		if err != nil {
			return "", err
		}
		for _, scheme := range [...]string{"https://", "http://", "data:"} {
			if strings.HasPrefix(url, scheme) {
				return url, nil
			}
		}
		return "", invalid(s.path+".url", "must begin with https://")
	case "file":
		return "", unsupported(s.path+".type",
			"is file, which is not supported, because files belong to a vendor's account: send the content as base64")
	}
	return "", invalid(s.path+".type", "is %s, which is not supported: use base64 or url", hub.Shown(s.kind))
}

// image reads an image block.
func (r *reader) image(b *block) ([]hub.Part, error) {
	s, err := b.readSource()
	if err != nil {
		return nil, err
	}
	url, err := s.link("image/jpeg", "image/png", "image/gif", "image/webp")
	if err != nil {
		return nil, err
	}
	return []hub.Part{{Kind: hub.PartImage, URL: url}}, nil
}

// document reads a document block. It returns a file, or a text that begins with the document's title and context.
func (r *reader) document(b *block) ([]hub.Part, error) {
	title, err := optionalText(b.title, b.path+".title")
	if err != nil {
		return nil, err
	}
	context, err := optionalText(b.context, b.path+".context")
	if err != nil {
		return nil, err
	}
	if b.citations.Get("enabled").Type == gjson.True {
		r.drop("messages[].content[].citations")
	}
	s, err := b.readSource()
	if err != nil {
		return nil, err
	}
	j := hub.Joiner{Separator: "\n"}
	j.Add(title, "")
	j.Add(context, "")
	switch s.kind {
	case "text":
		data, err := text(s.data, s.path+".data")
		if err != nil {
			return nil, err
		}
		j.Add(data, "")
		return j.End(""), nil
	case "content":
		images, err := r.documentContent(&s, &j)
		return append(j.End(""), images...), err
	}
	url, err := s.link("application/pdf")
	if err != nil {
		return nil, err
	}
	file := hub.Part{Kind: hub.PartFile, Detail: title, URL: url}
	if title == "" {
		file.Detail = "document.pdf"
	}
	return append(hub.AppendText(nil, context, ""), file), nil
}

// documentContent reads the content blocks of a document. It adds the texts to j and returns the images.
func (r *reader) documentContent(s *source, j *hub.Joiner) (images []hub.Part, err error) {
	path := s.path + ".content"
	if s.content.Type == gjson.String {
		j.Add(s.content.Str, "")
		return nil, nil
	}
	err = each(s.content, path, func(v gjson.Result, path string) error {
		var b block
		if err := b.read(v, path); err != nil {
			return err
		}
		if b.kind == "image" {
			parts, err := r.image(&b)
			images = append(images, parts...)
			return err
		}
		text, _, err := b.onlyText()
		j.Add(text, "")
		return err
	})
	return images, err
}

// searchResult reads a search_result block. It returns one text: the line [title](source), followed by the texts of the
// result.
func searchResult(b *block) ([]hub.Part, error) {
	title, err := text(b.title, b.path+".title")
	if err != nil {
		return nil, err
	}
	source, err := text(b.source, b.path+".source")
	if err != nil {
		return nil, err
	}
	j := hub.Joiner{Separator: "\n"}
	j.Add("["+title+"]("+source+")", "")
	err = each(b.content, b.path+".content", func(v gjson.Result, path string) error {
		var inner block
		if err := inner.read(v, path); err != nil {
			return err
		}
		s, _, err := inner.onlyText()
		j.Add(s, "")
		return err
	})
	return j.End(""), err
}
