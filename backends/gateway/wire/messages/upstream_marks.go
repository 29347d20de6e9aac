package messages

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// upstreamMark is the JSON text of a cache mark, to be inserted before a block's closing brace. The upstream caches the
// prompt up to the block with the mark.
const upstreamMark = `,"cache_control":{"type":"ephemeral"}`

// upstreamMarks are the offsets in the body where cache marks are inserted: at the closing braces of the last tool, the
// last block of the system prompt and the last block of the conversation. An offset of 0 means no mark.
type upstreamMarks struct{ system, message, tool int }

// write returns body, a complete request, with the cache marks inserted. Without marks the upstream would read, and
// bill, the whole conversation again in each turn.
func (m upstreamMarks) write(body []byte) []byte {
	offsets := []int{m.system, m.message, m.tool}
	slices.Sort(offsets) // the marks are inserted from the last to the first, so that no insertion moves the other offsets
	for _, offset := range slices.Backward(offsets) {
		if offset > 0 {
			body = slices.Insert(body, offset, []byte(upstreamMark)...)
		}
	}
	return body
}

// upstreamAddsMarks reports whether the gateway adds cache marks to a request. It does so if the target allows it, if
// the client's format is not messages, and if the client has not set any marks itself with fields of the messages
// format.
func upstreamAddsMarks(r *hub.Request, t *hub.Target) bool {
	if !t.CacheMarks || r.Format == hub.Messages || r.Param("cache_control") != "" {
		return false
	}
	marked := slices.ContainsFunc(r.Tools, func(t hub.Tool) bool { return t.Cache != "" })
	for i := range r.Messages {
		marked = marked || slices.ContainsFunc(r.Messages[i].Parts, func(p hub.Part) bool { return p.Cache != "" })
	}
	return !marked
}
