package messages

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// upstreamMark ends a part of the prompt that the upstream keeps in its cache.
const upstreamMark = `,"cache_control":{"type":"ephemeral"}`

// upstreamMarks are the places of marks for the prompt cache: after the last tool, the last block of the system prompt
// and the last block of the conversation (specification 10). Each is the offset of the brace that closes the block. 0
// means that there is none.
type upstreamMarks struct{ system, message, tool int }

// write inserts the marks into a complete request. Without them the upstream reads, and charges for, the whole
// conversation again with each turn.
func (m upstreamMarks) write(body []byte) []byte {
	places := []int{m.system, m.message, m.tool}
	slices.Sort(places)
	for _, at := range slices.Backward(places) {
		if at > 0 {
			body = slices.Insert(body, at, []byte(upstreamMark)...)
		}
	}
	return body
}

// upstreamMarksOf reports whether a request gets marks: the format of its client has none, and the client has not set
// any with members of another API.
func upstreamMarksOf(r *hub.Request, t *hub.Target) bool {
	if !t.CacheMarks || r.Format == hub.Messages || r.Param("cache_control") != "" {
		return false
	}
	own := slices.ContainsFunc(r.Tools, func(t hub.Tool) bool { return t.Cache != "" })
	for i := range r.Messages {
		own = own || slices.ContainsFunc(r.Messages[i].Parts, func(p hub.Part) bool { return p.Cache != "" })
	}
	return !own
}
