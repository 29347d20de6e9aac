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

// TagsHeader has the tags of a request, between commas. No provider gets it.
const TagsHeader = "X-Gateway-Tags"

// Bounds of labels.
const (
	maxTags    = 10
	maxTagSize = 64  // bytes
	maxEndUser = 128 // bytes
)

// Label reads what the client calls a request and whom it is for: tags from the header and from
// metadata.tags, a text with commas or a list of texts, and the end user from metadata.user_id,
// safety_identifier or user, whichever the body has first in this order. The body is one that
// Read or ReadEmbeddings has taken. The error, an *apierror.Error with status 400, is of a header
// with too many tags or with one that is too long; what is too much in a body is left out, since
// bodies are for providers.
func (q *Request) Label(header http.Header, body []byte) error {
	for _, line := range header.Values(TagsHeader) {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "" || slices.Contains(q.Tags, tag) {
				continue
			}
			if len(q.Tags) == maxTags || !isTag(tag) {
				return apierror.New(http.StatusBadRequest, "invalid_value",
					"the header %s has at most %d tags between commas, each of at most %d bytes of text", strings.ToLower(TagsHeader), maxTags, maxTagSize).
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

// tag adds the tags of a text in a body.
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

// labels returns the members of a body that have labels. Most bodies of chat clients have none,
// and were read already.
func (q *Request) labels(body []byte) (metadata, safety, user gjson.Result) {
	if q.Chat != nil {
		parse := func(name string) gjson.Result { return gjson.ParseBytes(q.Chat.Field(name)) }
		return parse("metadata"), parse("safety_identifier"), parse("user")
	}
	if !bytes.Contains(body, []byte(`"metadata"`)) && !bytes.Contains(body, []byte(`"safety_identifier"`)) && !bytes.Contains(body, []byte(`"user"`)) {
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
	return tag != "" && len(tag) <= maxTagSize && utf8.ValidString(tag) && !strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// short returns the beginning of a text that has at most so many bytes, without control characters.
func short(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), most)], ""))
}
