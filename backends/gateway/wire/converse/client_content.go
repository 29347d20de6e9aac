package converse

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// content reads a content block of a user message or tool result and returns it as parts of the common form. An empty
// text gives no parts. The error has status 400, for example for a block of an unknown type.
func (in *clientReader) content(block *fields.Object) ([]hub.Part, error) {
	for _, kind := range [...]struct {
		name string
		read func(*fields.Object) ([]hub.Part, error)
	}{
		{"image", in.image}, {"document", in.document}, {"audio", in.audio}, {"searchResult", in.searchResult},
	} {
		inner, ok, err := block.Optional(kind.name)
		if ok {
			return kind.read(&inner)
		}
		if err != nil {
			return nil, err
		}
	}
	guarded, isGuarded, err := block.Optional("guardContent")
	if err != nil {
		return nil, err
	}
	if image := guarded.Get("image"); isGuarded && image.Given() {
		return in.content(&guarded)
	}
	if text := block.Get("text"); !isGuarded && !text.Given() {
		return nil, unknown(block, "text, image, document, audio, searchResult, toolResult, cachePoint")
	}
	text, err := in.textOf(block)
	return hub.AppendText(nil, text, ""), err
}

// inlineData returns the value of source.bytes in o, which is base64. An error with status 400 means that o has no such
// value or refers to data elsewhere, in S3 for example.
func inlineData(o *fields.Object) (string, error) {
	var source fields.Object
	if err := source.Open(o.Get("source")); err != nil {
		return "", err
	}
	for _, name := range [...]string{"s3Location", "uri"} {
		if v := source.Get(name); v.Given() {
			return "", v.Unsupported("is not supported, because the gateway does not fetch files: send the content as bytes")
		}
	}
	return source.Name("bytes")
}

// mediaType returns the media type that belongs to the field format of o, and the value of this field. formats maps
// media types to values of the field. A value that is not in formats is an error with status 400.
func mediaType(o *fields.Object, formats map[string]string) (media, format string, err error) {
	if format, err = o.Name("format"); err != nil {
		return "", "", err
	}
	names := make([]string, 0, len(formats))
	for media, name := range formats {
		if name == format {
			return media, format, nil
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return "", "", o.Get("format").Invalid("must be one of %s, it is %s", strings.Join(names, ", "), hub.Shown(format))
}

// image reads the object of an image block.
func (in *clientReader) image(o *fields.Object) ([]hub.Part, error) {
	media, _, err := mediaType(o, imageFormats)
	if err != nil {
		return nil, err
	}
	data, err := inlineData(o)
	if err != nil {
		return nil, err
	}
	return []hub.Part{{Kind: hub.PartImage, URL: "data:" + media + ";base64," + data}}, nil
}

// audioFormats maps media types to the names of those audio formats that the other APIs accept too.
var audioFormats = map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}

// audio reads the object of an audio block.
func (in *clientReader) audio(o *fields.Object) ([]hub.Part, error) {
	_, format, err := mediaType(o, audioFormats)
	if err != nil {
		return nil, err
	}
	data, err := inlineData(o)
	return []hub.Part{{Kind: hub.PartAudio, Data: data, Detail: format}}, err
}

// document reads the object of a document block. If the document is text, the result is a text part with the
// document's name, its context and its text. Any other document becomes a file part. If such a document has a
// context, a text part with the context comes before the file part.
func (in *clientReader) document(o *fields.Object) ([]hub.Part, error) {
	name, err := o.Text("name")
	if err != nil {
		return nil, err
	}
	context, err := o.Text("context")
	if err != nil {
		return nil, err
	}
	if citations := o.Get("citations"); citations.Get("enabled").Bool() {
		in.q.DropOnce("messages[].content[].document.citations")
	}
	joined := hub.Joiner{Separator: "\n"}
	joined.Add(name, "")
	joined.Add(context, "")
	if written, err := writtenDocument(o, &joined); written || err != nil {
		return joined.End(""), err
	}
	media, format, err := mediaType(o, documentFormats)
	if err != nil {
		return nil, err
	}
	data, err := inlineData(o)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(media, "text/") {
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil || !utf8.Valid(text) {
			return nil, o.Get("source").Invalid("must have UTF-8 text in base64")
		}
		joined.Add(string(text), "")
		return joined.End(""), nil
	}
	if name == "" {
		name = "document"
	}
	file := hub.Part{Kind: hub.PartFile, Detail: name + "." + format, URL: "data:" + media + ";base64," + data}
	return append(hub.AppendText(nil, context, ""), file), nil
}

// writtenDocument adds a document's text to joiner if the source of o is a text or a list of text blocks. If the
// source is something else, such as bytes, it returns false.
func writtenDocument(o *fields.Object, joiner *hub.Joiner) (bool, error) {
	var source fields.Object
	if err := source.Open(o.Get("source")); err != nil {
		return false, err
	}
	if v := source.Get("text"); v.Given() {
		text, err := v.Text()
		joiner.Add(text, "")
		return true, err
	}
	content := source.Get("content")
	if !content.Given() {
		return false, nil
	}
	return true, texts(content, joiner)
}

// texts adds the texts of list, a list of text blocks, to joined.
func texts(list fields.Value, joined *hub.Joiner) error {
	return list.Each(func(v fields.Value) error {
		var block fields.Object
		if err := block.Open(v); err != nil {
			return err
		}
		text, err := block.Text("text")
		joined.Add(text, "")
		return err
	})
}

// searchResult reads the object of a searchResult block. The result is one text part: the line [title](source),
// followed by the texts of the search result.
func (in *clientReader) searchResult(o *fields.Object) ([]hub.Part, error) {
	title, err := o.Text("title")
	if err != nil {
		return nil, err
	}
	source, err := o.Text("source")
	if err != nil {
		return nil, err
	}
	joined := hub.Joiner{Separator: "\n"}
	joined.Add("["+title+"]("+source+")", "")
	err = texts(o.Get("content"), &joined)
	return joined.End(""), err
}
