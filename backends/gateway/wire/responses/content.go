package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// content reads the content of a message, which is a string or a list of parts. Empty texts are left out.
func (in *reader) content(v fields.Value) ([]hub.Part, error) {
	switch {
	case v.Type == gjson.String && v.Str != "":
		return in.textContent(v.Str), nil
	case v.Type == gjson.String || !v.Given():
		return nil, nil
	case !v.IsArray():
		return nil, v.Wrong("a string or an array")
	}
	var parts []hub.Part
	err := v.Each(func(element fields.Value) error {
		part, err := in.readPart(element)
		if err == nil && (part.Kind != hub.PartText || part.Text != "") {
			in.count(part.Text)
			parts = append(parts, part)
		}
		return err
	})
	return parts, err
}

// outputParts reads a tool's output in parts. text consists of the texts in the output, and of a note for each image,
// file or audio. attachments are the parts that are not text.
func (in *reader) outputParts(v fields.Value) (text string, attachments []hub.Part, err error) {
	var texts []string
	err = v.Each(func(element fields.Value) error {
		part, err := in.readPart(element)
		if err != nil {
			return err
		}
		switch part.Kind {
		case hub.PartText:
			if part.Text != "" {
				texts = append(texts, part.Text)
			}
			return nil
		case hub.PartImage:
			texts = append(texts, "[image attached below]")
		case hub.PartFile:
			texts = append(texts, "[file attached below]")
		case hub.PartOther: // only candidates of this format get it, and they need no note
		default:
			texts = append(texts, "[audio attached below]")
		}
		attachments = append(attachments, part)
		return nil
	})
	return strings.Join(texts, "\n"), attachments, err
}

// readPart reads a content part. A part of a type that the gateway does not know becomes a hub.PartOther.
func (in *reader) readPart(v fields.Value) (hub.Part, error) {
	kind, err := in.part.Typed(v)
	if err != nil {
		return hub.Part{}, err
	}
	switch kind {
	case "input_text", "output_text", "text":
		text, err := in.part.Text("text")
		return hub.Part{Kind: hub.PartText, Text: text}, err
	case "refusal":
		text, err := in.part.Text("refusal")
		return hub.Part{Kind: hub.PartText, Text: text}, err
	case "input_image":
		return in.image()
	case "input_file":
		return in.file()
	case "input_audio":
		return in.audio()
	}
	value := in.part.Get("type")
	in.r.RequireOwnFormat(value.Invalid(
		"must be one of input_text, output_text, refusal, input_image, input_file, input_audio, it is %s", hub.Shown(kind)))
	return hub.Part{Kind: hub.PartOther, Raw: v.Raw}, nil
}

// rejectUploaded rejects files that were uploaded before, since they belong to an account at a provider.
func (in *reader) rejectUploaded() error {
	if v := in.part.Get("file_id"); v.Given() {
		return v.Unsupported("is not supported, because files belong to a provider's account: send the content as a data URL")
	}
	return nil
}

// url returns the value of in.part's field with the given name. The value is a data URL or a web address, which must
// begin with one of the schemes. The result is empty if the field is absent. The gateway never fetches the address.
func (in *reader) url(name string, schemes ...string) (string, error) {
	v := in.part.Get(name)
	url, err := v.Text()
	if err != nil || url == "" {
		return "", err
	}
	for _, scheme := range schemes {
		if strings.HasPrefix(url, scheme) {
			return url, nil
		}
	}
	return "", v.Invalid("must begin with %s", strings.Join(schemes, " or "))
}

// image returns the image in in.part.
func (in *reader) image() (hub.Part, error) {
	in.r.Needs |= wire.NeedImage
	part := hub.Part{Kind: hub.PartImage}
	err := in.rejectUploaded()
	if err == nil {
		part.URL, err = in.url("image_url", "data:", "https://", "http://")
	}
	if err != nil {
		return part, err
	}
	if part.URL == "" {
		return part, in.part.Get("image_url").Missing()
	}
	v := in.part.Get("detail")
	part.Detail, err = v.Text()
	switch part.Detail {
	case "", "auto", "low", "high":
	case "original":
		part.Detail = "high"
	default:
		return part, v.Invalid("must be one of auto, low, high, original, it is %s", hub.Shown(part.Detail))
	}
	return part, err
}

// file returns the file in in.part.
func (in *reader) file() (hub.Part, error) {
	in.r.Needs |= wire.NeedFile
	part := hub.Part{Kind: hub.PartFile}
	err := in.rejectUploaded()
	if err == nil {
		part.Detail, err = in.part.Text("filename")
	}
	if err == nil {
		part.URL, err = in.url("file_data", "data:")
	}
	if err == nil && part.URL == "" {
		part.URL, err = in.url("file_url", "https://", "http://")
	}
	if err != nil {
		return part, err
	}
	if part.URL == "" {
		return part, in.part.Get("file_data").Missing()
	}
	if part.Detail == "" {
		part.Detail = "document.pdf"
	}
	return part, nil
}

// audio returns the audio in in.part.
func (in *reader) audio() (hub.Part, error) {
	in.r.Needs |= wire.NeedAudio
	part := hub.Part{Kind: hub.PartAudio}
	if err := in.inner.Open(in.part.Get("input_audio")); err != nil {
		return part, err
	}
	var err error
	if part.Data, err = in.inner.Name("data"); err == nil {
		part.Detail, err = in.inner.Name("format")
	}
	return part, err
}
