package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strings"
)

// Versions of what clients read and change (RFC 9110, 8.8.3 and 13.1): a read
// tells an entity tag, and a write that sends it back is refused when something
// else is there by now.

// ETag is the strong entity tag of a representation: the same for the same
// content, on every node.
func ETag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// Match is what a write has to find: whether the entity tag of what is there is
// one that it was made of. nil: whatever is there.
type Match func(tag string) bool

// Check refuses a write, 412, that was made of something else.
func (m Match) Check(tag string) error {
	if m == nil || m(tag) {
		return nil
	}
	return refuse(http.StatusPreconditionFailed, "precondition_failed", "", "this has changed since you read it: read it again, and send the ETag of that as If-Match")
}

// Match is the condition of the header If-Match; nil where there is none. As the
// tags are compared strongly, a weak one never matches. What is no list of tags
// is refused.
func (c *Call) Match() (Match, error) {
	lines, given := c.R.Header["If-Match"]
	if !given {
		return nil, nil
	}
	tags, ok := parseTags(strings.Join(lines, ","))
	if !ok {
		return nil, refuse(http.StatusBadRequest, "bad_request", "If-Match", `If-Match must be * or ETags between commas, such as "0123abcd"`)
	}
	for tag := range maps.Clone(tags.strong) {
		tags.strong[Uncoded(tag)] = true
	}
	return func(tag string) bool { return tags.any || tags.strong[tag] }, nil
}

// Uncoded is an entity tag without what a compressing handler in front of a service adds to
// it ("5-gzip"): Caddy takes that out of If-None-Match alone, and who reads a compressed
// answer has no other tag to make a change of.
func Uncoded(tag string) string {
	for _, coding := range []string{"gzip", "zstd", "br"} {
		if bare, ok := strings.CutSuffix(tag, "-"+coding+`"`); ok {
			return bare + `"`
		}
	}
	return tag
}

// Tell tells the version of what is read. Where the client has it already, by
// If-None-Match, the answer is 304.
func (c *Call) Tell(tag string) {
	c.W.Header().Set("ETag", tag)
	c.unchanged = unchanged(c.R, tag)
}

// unchanged reports whether a read tells that the client has what a tag is of.
func unchanged(r *http.Request, tag string) bool {
	lines, given := r.Header["If-None-Match"]
	if !given || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	tags, ok := parseTags(strings.Join(lines, ","))
	return ok && (tags.any || tags.strong[tag] || tags.weak[tag])
}

// entityTags are those of a condition, in quotes and without W/.
type entityTags struct {
	any          bool // *
	strong, weak map[string]bool
}

// parseTags reads * or a list of entity tags, in which elements may be empty.
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
		into := tags.strong
		if rest, weak := strings.CutPrefix(text, "W/"); weak {
			text, into = rest, tags.weak
		}
		if text == "" || text[0] != '"' {
			return tags, false
		}
		end := 1
		for end < len(text) && text[end] != '"' {
			if b := text[end]; b < '!' || b == 0x7f {
				return tags, false
			}
			end++
		}
		if end == len(text) {
			return tags, false
		}
		into[text[:end+1]] = true
		text = strings.TrimLeft(text[end+1:], space)
		if text != "" && text[0] != ',' {
			return tags, false
		}
	}
}
