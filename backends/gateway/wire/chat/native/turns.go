package native

import (
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// callTurn follows the tool calls of a conversation and their results, to detect histories that some upstreams refuse:
// each result must come right after the message with its call, and each call of a turn that is over needs one.
type callTurn struct {
	open []openCall // calls of the last message with calls
	next []openCall // calls of the message that is being read
	lost bool       // a result had no call; the rest is not checked
	// longest is the length of the longest id, in bytes.
	longest int
}

// openCall is a call with its id (the inside of a JSON string).
type openCall struct {
	id       []byte
	answered bool
}

// maxOpenCalls bounds the search for a result's call. Turns with more calls get TraitStray, and are checked where the
// request is read into the common form.
const maxOpenCalls = 128

// read scans the member tool_calls of a message and adds the ids of the calls to c.next.
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

// turn takes a message that was read. result is the tool_call_id of a tool message.
func (c *callTurn) turn(r *Request, role string, result []byte) {
	c.longest = max(c.longest, len(result))
	switch {
	case c.lost:
	case role == "tool":
		if c.lost = !c.answer(result); c.lost {
			r.Traits |= TraitStray
		}
	default:
		if !c.answered() {
			r.Traits |= TraitGaps
		}
		c.open, c.next = c.next, c.open
		if len(c.open) > maxOpenCalls {
			r.Traits |= TraitStray
			c.lost = true
		}
	}
}

// answer finds the call of a result. Results may come in any order.
func (c *callTurn) answer(result []byte) bool {
	for i := range c.open {
		if call := &c.open[i]; !call.answered && string(call.id) == string(result) {
			call.answered = true
			return true
		}
	}
	return false
}

func (c *callTurn) answered() bool {
	for i := range c.open {
		if !c.open[i].answered {
			return false
		}
	}
	return true
}

// end ends the last turn at the end of the messages. If some of its calls have results, the others count as gaps, as in
// an earlier turn.
func (c *callTurn) end(r *Request) {
	begun := false
	for i := range c.open {
		begun = begun || c.open[i].answered
	}
	if begun && !c.lost && !c.answered() {
		r.Traits |= TraitGaps
	}
	r.LongestCallID = c.longest
	*c = callTurn{}
}
