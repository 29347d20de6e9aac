package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strings"
)

// Reads and writes use versions (RFC 9110, sections 8.8.3 and 13.1). A read returns an entity tag. A write may send the
// tag back, and is refused if the resource has changed since.

// ETag returns the strong entity tag of a representation. The tag depends only on the content, so it is the same on
// every node.
func ETag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// Match reports whether a resource's current entity tag is among the tags that a write was based on. A nil Match
// accepts any.
type Match func(tag string) bool

// Check returns an error with status 412 if the write was based on another version.
func (m Match) Check(tag string) error {
	if m == nil || m(tag) {
		return nil
	}
	return refuse(http.StatusPreconditionFailed, "precondition_failed", "",
		"this has changed since you read it: read it again, and send its new ETag as If-Match")
}

// Match returns the condition of the header If-Match, or nil without that header. Tags are compared strongly, so a weak
// tag never matches. A header that is not a list of tags is an error.
func (c *Call) Match() (Match, error) {
	lines, present := c.R.Header["If-Match"]
	if !present {
		return nil, nil
	}
	tags, ok := parseTags(strings.Join(lines, ","))
	if !ok {
		return nil, refuse(http.StatusBadRequest, "bad_request", "If-Match",
			`If-Match must be * or ETags between commas, such as "0123abcd"`)
	}
	for tag := range maps.Clone(tags.strong) { // the loop adds tags
		tags.strong[Uncoded(tag)] = true
	}
	return func(tag string) bool { return tags.any || tags.strong[tag] }, nil
}

// Uncoded removes the suffix that a compressing handler in front of a service adds to an entity tag ("5-gzip"). Caddy
// removes the suffix only from If-None-Match. A client that read a compressed answer, however, sends the same tag as
// If-Match.
func Uncoded(tag string) string {
	for _, coding := range []string{"gzip", "zstd", "br"} {
		if bare, ok := strings.CutSuffix(tag, "-"+coding+`"`); ok {
			return bare + `"`
		}
	}
	return tag
}

// Tell sets the ETag of the resource that is read. If the client has that version already, according to If-None-Match,
// the answer becomes 304.
func (c *Call) Tell(tag string) {
	c.W.Header().Set("ETag", tag)
	c.unchanged = unchanged(c.R, tag)
}

// unchanged reports whether the header If-None-Match of a read shows that the client has the version with the given
// tag.
func unchanged(r *http.Request, tag string) bool {
	lines, present := r.Header["If-None-Match"]
	if !present || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	tags, ok := parseTags(strings.Join(lines, ","))
	return ok && (tags.any || tags.strong[tag] || tags.weak[tag])
}

// entityTags are the tags of a condition, in quotes and without W/.
type entityTags struct {
	any          bool // the condition is *
	strong, weak map[string]bool
}

// parseTags parses * or a list of entity tags, in which elements may be empty. ok is false for any other text.
func parseTags(text string) (tags entityTags, ok bool) {
	const space = " \t"
	if strings.Trim(text, space) == "*" {
		return entityTags{any: true}, true
	}
	tags = entityTags{strong: make(map[string]bool), weak: make(map[string]bool)}
	for {
		text = strings.TrimLeft(text, space+",")
		if text == "" {
			return tags, true
		}
		list := tags.strong
		if tag, weak := strings.CutPrefix(text, "W/"); weak {
			text, list = tag, tags.weak
		}
		if text == "" || text[0] != '"' {
			return tags, false
		}
		tag, rest, closed := strings.Cut(text[1:], `"`)
		if !closed || strings.ContainsFunc(tag, func(r rune) bool { return r < '!' || r == 0x7f }) {
			return tags, false
		}
		list[`"`+tag+`"`] = true
		if text = strings.TrimLeft(rest, space); text != "" && text[0] != ',' {
			return tags, false
		}
	}
}
