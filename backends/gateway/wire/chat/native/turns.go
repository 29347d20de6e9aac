package native

import (
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// callTurn matches the tool calls in a request's messages with their results, to detect requests that some upstreams
// refuse. These upstreams require that each result directly follows the message with its call, and that each call has a
// result before the next message.
type callTurn struct {
	open  []openCall // calls of the last message other than a tool result
	next  []openCall // calls of the message that is being read
	stray bool       // a result had no call, or there were too many calls; later messages are not checked
	// longest is the length of the longest call id, in bytes.
	longest int
}

// openCall is a tool call. id is its id, still escaped for a JSON string.
type openCall struct {
	id       []byte
	answered bool // its result was read
}

// maxOpenCalls limits the calls of a message among which the call of a result is searched for. A request with more
// calls in a message gets TraitStray. It is then checked by package chat, which reads the request into the common form.
const maxOpenCalls = 128

// read scans the value of the field tool_calls of a message and adds the ids of the calls to c.next.
func (c *callTurn) read(s *jsontext.Scanner) error {
	return s.Array(func(int) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		var call openCall
		err := s.Object(func(key []byte) (err error) {
			if string(key) != "id" {
				return s.Skip()
			}
			call.id, err = s.Inside()
			c.longest = max(c.longest, len(call.id))
			return err
		})
		if len(c.next) <= maxOpenCalls {
			c.next = append(c.next, call)
		}
		return err
	})
}

// addMessage processes a message that was read and sets traits of r. role is the message's role. callID is the
// message's tool_call_id, still escaped, if it is a tool result.
func (c *callTurn) addMessage(r *Request, role string, callID []byte) {
	c.longest = max(c.longest, len(callID))
	switch {
	case c.stray:
	case role == "tool":
		if !c.answer(callID) {
			r.Traits |= TraitStray
			c.stray = true
		}
	default:
		if !c.allAnswered() {
			r.Traits |= TraitGaps
		}
		c.open, c.next = c.next, c.open
		if len(c.open) > maxOpenCalls {
			r.Traits |= TraitStray
			c.stray = true
		}
	}
}

// answer marks the call with the id callID as answered. It returns false if no open call without a result has this id.
// Results may come in another order than the calls.
func (c *callTurn) answer(callID []byte) bool {
	for i := range c.open {
		if call := &c.open[i]; !call.answered && string(call.id) == string(callID) {
			call.answered = true
			return true
		}
	}
	return false
}

// allAnswered reports whether all open calls have results.
func (c *callTurn) allAnswered() bool {
	for i := range c.open {
		if !c.open[i].answered {
			return false
		}
	}
	return true
}

// end stores the traits of the calls in r. It is called after the last message. The traits are LongestCallID and, if
// some but not all calls of the last message with calls have results, TraitGaps.
func (c *callTurn) end(r *Request) {
	anyAnswered := false
	for i := range c.open {
		anyAnswered = anyAnswered || c.open[i].answered
	}
	if anyAnswered && !c.stray && !c.allAnswered() {
		r.Traits |= TraitGaps
	}
	r.LongestCallID = c.longest
	*c = callTurn{}
}
