package messages

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// attribution is the prefix of the system block by which a client attributes usage to its user. It differs from request
// to request, which would defeat every prompt cache.
const attribution = "x-anthropic-billing-header:"

// prose reads a text or an array of text blocks, which system messages are. inline reports that it is among the
// messages, where it may also change the tools.
func (r *reader) prose(content gjson.Result, at string, inline bool) ([]hub.Part, error) {
	if content.Type == gjson.String {
		if strings.HasPrefix(content.Str, attribution) {
			return nil, nil
		}
		return hub.AppendText(nil, content.Str, ""), nil
	}
	if !content.IsArray() {
		return nil, wrongKind(at, "a string or an array", content)
	}
	j := hub.Joiner{Separator: "\n\n"}
	err := each(content, at, func(v gjson.Result, at string) error {
		var b block
		if err := b.read(v, at); err != nil {
			return err
		}
		if inline && (b.kind == "tool_addition" || b.kind == "tool_removal") {
			r.own(invalid(b.at+".type", "is %s, which is not supported: give the tools in tools", b.kind))
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

// onlyText returns the text of a block that must be a text block.
func (b *block) onlyText() (s, cache string, err error) {
	if b.kind != "text" {
		return "", "", invalid(b.at+".type", "must be text, it is %s", hub.Shown(b.kind))
	}
	if s, err = text(b.text, b.at+".text"); err != nil {
		return "", "", err
	}
	cache, err = mark(b.cache, b.at)
	return s, cache, err
}

// visible reads a block that a user or a tool shows to the model.
func (r *reader) visible(b *block) (parts []hub.Part, err error) {
	switch b.kind {
	case "text":
		if r.strict && b.citations.IsArray() && b.citations.Get("0").Exists() {
			return nil, unsupported(b.at+".citations",
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
	cache, err := mark(b.cache, b.at)
	if len(parts) > 0 && cache != "" {
		parts[len(parts)-1].Cache = cache
	}
	return parts, err
}

// source is the source of an image or a document.
type source struct {
	at, kind                 string
	media, data, url, inside gjson.Result
}

// readSource reads the member source of a block.
func (b *block) readSource() (s source, err error) {
	s.at = b.at + ".source"
	if !b.source.IsObject() {
		return s, wrongKind(s.at, "an object", b.source)
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
			s.inside = v
		}
		return true
	})
	s.kind, err = text(kind, s.at+".type")
	return s, err
}

// link returns a data URL of base64 data, or the URL that the client gave.
func (s *source) link(media ...string) (string, error) {
	switch s.kind {
	case "base64":
		kind, err := text(s.media, s.at+".media_type")
		if err != nil {
			return "", err
		}
		data, err := name(s.data, s.at+".data")
		if err != nil {
			return "", err
		}
		if slices.Contains(media, kind) {
			return "data:" + kind + ";base64," + data, nil
		}
		return "", invalid(s.at+".media_type", "must be one of %s, it is %s", strings.Join(media, ", "), hub.Shown(kind))
	case "url":
		url, err := text(s.url, s.at+".url")
		if err != nil {
			return "", err
		}
		for _, scheme := range [...]string{"https://", "http://", "data:"} {
			if strings.HasPrefix(url, scheme) {
				return url, nil
			}
		}
		return "", invalid(s.at+".url", "must begin with https://")
	case "file":
		return "", unsupported(s.at+".type", "is file: files belong to an account of the vendor, send the content as base64")
	}
	return "", invalid(s.at+".type", "is %s, which is not supported: use base64 or url", hub.Shown(s.kind))
}

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

// document returns a file, or a text with its title and context before it.
func (r *reader) document(b *block) ([]hub.Part, error) {
	title, err := optionalText(b.title, b.at+".title")
	if err != nil {
		return nil, err
	}
	context, err := optionalText(b.context, b.at+".context")
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
		data, err := text(s.data, s.at+".data")
		if err != nil {
			return nil, err
		}
		j.Add(data, "")
		return j.End(""), nil
	case "content":
		pictures, err := r.inside(&s, &j)
		return append(j.End(""), pictures...), err
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

// inside reads the content of a document. Its texts are added to j, its images are returned.
func (r *reader) inside(s *source, j *hub.Joiner) (pictures []hub.Part, err error) {
	at := s.at + ".content"
	if s.inside.Type == gjson.String {
		j.Add(s.inside.Str, "")
		return nil, nil
	}
	err = each(s.inside, at, func(v gjson.Result, at string) error {
		var b block
		if err := b.read(v, at); err != nil {
			return err
		}
		if b.kind == "image" {
			picture, err := r.image(&b)
			pictures = append(pictures, picture...)
			return err
		}
		text, _, err := b.onlyText()
		j.Add(text, "")
		return err
	})
	return pictures, err
}

// searchResult returns the line [title](source) followed by the texts of the result.
func searchResult(b *block) ([]hub.Part, error) {
	title, err := text(b.title, b.at+".title")
	if err != nil {
		return nil, err
	}
	from, err := text(b.source, b.at+".source")
	if err != nil {
		return nil, err
	}
	j := hub.Joiner{Separator: "\n"}
	j.Add("["+title+"]("+from+")", "")
	err = each(b.content, b.at+".content", func(v gjson.Result, at string) error {
		var inner block
		if err := inner.read(v, at); err != nil {
			return err
		}
		s, _, err := inner.onlyText()
		j.Add(s, "")
		return err
	})
	return j.End(""), err
}
