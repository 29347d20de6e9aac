package native

import (
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// callTurn matches the tool calls of a conversation with their results, to detect histories that some upstreams refuse:
// each result must directly follow the message with its call, and each call needs a result before the next turn.
type callTurn struct {
	open  []openCall // calls of the last message with calls
	next  []openCall // calls of the message that is being read
	stray bool       // a result had no call; the rest is not checked
	// longest is the length of the longest call id, in bytes.
	longest int
}

// openCall is a call of the last turn. Its id is the inside of a JSON string.
type openCall struct {
	id       []byte
	answered bool
}

// maxOpenCalls limits the search for a result's call. Turns with more calls get TraitStray; they are checked when the
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

// turn processes a message that was read. result is the tool_call_id of a tool message.
func (c *callTurn) turn(r *Request, role string, result []byte) {
	c.longest = max(c.longest, len(result))
	switch {
	case c.stray:
	case role == "tool":
		if c.stray = !c.answer(result); c.stray {
			r.Traits |= TraitStray
		}
	default:
		if !c.answered() {
			r.Traits |= TraitGaps
		}
		c.open, c.next = c.next, c.open
		if len(c.open) > maxOpenCalls {
			r.Traits |= TraitStray
			c.stray = true
		}
	}
}

// answer marks the call of a result as answered. It reports false if there is no such call. Results may come in any
// order.
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

// end processes the end of the messages. If only some calls of the last turn have results, the missing ones count as
// gaps.
func (c *callTurn) end(r *Request) {
	begun := false
	for i := range c.open {
		begun = begun || c.open[i].answered
	}
	if begun && !c.stray && !c.answered() {
		r.Traits |= TraitGaps
	}
	r.LongestCallID = c.longest
	*c = callTurn{}
}
