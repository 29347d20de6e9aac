package cascade

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TagsHeader is the header with the tags of a request, separated by commas. It is not passed on to providers.
const TagsHeader = "X-Gateway-Tags"

// Bounds of labels.
const (
	maxTags    = 10
	maxTagSize = 64  // bytes
	maxEndUser = 128 // bytes
)

// Label sets Tags and EndUser from the client's request. Tags come from the header and from metadata.tags, which is a
// text with commas or a list of texts. The end user comes from the first of metadata.user_id, safety_identifier and
// user that the body has. The body must have been accepted by Read or ReadEmbeddings. The error, an *apierror.Error
// with status 400, is for a header with too many tags or with one that is too long. Excess tags in a body are left out
// without an error, since bodies are for providers.
func (q *Request) Label(header http.Header, body []byte) error {
	for _, line := range header.Values(TagsHeader) {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "" || slices.Contains(q.Tags, tag) {
				continue
			}
			if len(q.Tags) == maxTags || !isTag(tag) {
				return apierror.New(http.StatusBadRequest, "invalid_value",
					"the header %s has at most %d tags between commas, each of at most %d bytes of text", strings.ToLower(TagsHeader),
					maxTags, maxTagSize).
					With(strings.ToLower(TagsHeader))
			}
			q.Tags = append(q.Tags, strings.Clone(tag))
		}
	}
	metadata, safety, user := q.labels(body)
	if tags := metadata.Get("tags"); tags.IsArray() {
		for _, tag := range tags.Array() {
			q.tag(tag)
		}
	} else {
		q.tag(tags)
	}
	for _, name := range []gjson.Result{metadata.Get("user_id"), safety, user} {
		if name.Type == gjson.String && name.Str != "" {
			q.EndUser = short(name.Str, maxEndUser)
			break
		}
	}
	return nil
}

// tag adds the tags in a text of a body.
func (q *Request) tag(text gjson.Result) {
	if text.Type != gjson.String {
		return
	}
	for tag := range strings.SplitSeq(text.Str, ",") {
		if tag = strings.TrimSpace(tag); isTag(tag) && len(q.Tags) < maxTags && !slices.Contains(q.Tags, tag) {
			q.Tags = append(q.Tags, strings.Clone(tag))
		}
	}
}

// labels returns the members of a body that hold labels. For chat clients they were found when the body was parsed.
func (q *Request) labels(body []byte) (metadata, safety, user gjson.Result) {
	if q.Chat != nil {
		parse := func(name string) gjson.Result { return gjson.ParseBytes(q.Chat.Field(name)) }
		return parse("metadata"), parse("safety_identifier"), parse("user")
	}
	if !bytes.Contains(body, []byte(`"metadata"`)) && !bytes.Contains(body, []byte(`"safety_identifier"`)) &&
		!bytes.Contains(body, []byte(`"user"`)) {
		return metadata, safety, user
	}
	gjson.ParseBytes(body).ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "metadata":
			metadata = value
		case "safety_identifier":
			safety = value
		case "user":
			user = value
		}
		return true
	})
	return metadata, safety, user
}

// isTag reports whether a text can be a tag.
func isTag(tag string) bool {
	return tag != "" && len(tag) <= maxTagSize && utf8.ValidString(tag) && !strings.ContainsFunc(tag, func(r rune) bool {
		return r < ' ' || r == 0x7f
	})
}

// short returns at most limit bytes of the beginning of a text, without control characters.
func short(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), limit)], ""))
}
