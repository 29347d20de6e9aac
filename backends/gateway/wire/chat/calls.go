package chat

import (
	"bytes"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// calls holds the tool calls of one answer.
type calls struct {
	list     []*call // in the order in which they began
	begun    int     // number of calls already emitted
	held     int     // bytes of arguments in calls without a name
	chunk    int     // number of the current chunk, counting only chunks with calls
	separate bool    // each entry of tool_calls is a new call, as in a whole answer
}

// call is one tool call.
type call struct {
	index     int    // the upstream's index; unindexed if it sent none
	id        string // the upstream's id, cut at maxID; empty until it is known
	emittedID string // the id that is emitted
	name      string
	number    int          // hub.Delta.Call; notBegun before the call was emitted
	chunk     int          // the last chunk in which the call's name occurred
	signature []byte       // Gemini's thought signature, stored until the call is emitted
	held      []byte       // arguments that arrived before the name
	arguments wire.Repeats // finds arguments that the upstream repeats
}

const (
	notBegun  = -1 // value of call.number
	unindexed = -2 // value of call.index
)

// call processes p, an entry of tool_calls, and appends the resulting deltas to r.deltas. In a stream an entry may be a
// piece of a call that an earlier entry began. The error wraps wire.ErrBroken: there are too many calls, a name is too
// long, or too many arguments wait for a name.
func (r *reader) call(p *callPiece) error {
	c := r.calls.find(p)
	if c == nil {
		if len(r.calls.list) == maxCalls {
			return broken("the answer has too many tool calls")
		}
		c = r.calls.open(p)
	}
	if c.id == "" {
		c.id = string(p.id[:min(len(p.id), maxID)])
	}
	if len(p.name) > maxName {
		return broken("the name of a tool call is too long")
	}
	if len(p.name) > 0 {
		c.chunk = r.calls.chunk // for beginsNew: two names in one chunk are two calls
		if c.name == "" {
			c.name = string(p.name)
		}
	}
	if r.state == hub.FormThought && len(p.signature) > 0 {
		if c.number != notBegun {
			r.thought(p.signature)
		} else if len(p.signature) <= maxState {
			c.signature = bytes.Clone(p.signature)
		}
	}
	arguments := c.arguments.Rest(p.text())
	if c.number == notBegun {
		if c.name == "" {
			return r.calls.hold(c, arguments)
		}
		r.beginCall(c)
	}
	if len(arguments) > 0 {
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: c.number, Text: arguments})
	}
	return nil
}

// beginCall appends the DeltaCall that begins c to r.deltas, followed by the arguments that were held back until the
// name of c was known.
func (r *reader) beginCall(c *call) {
	r.flushDetails()
	r.thought(c.signature)
	c.number, c.emittedID = r.calls.begun, r.legalID(c.id)
	r.calls.begun++
	r.proof = true
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaCall, Call: c.number, ID: c.emittedID, Name: c.name})
	if len(c.held) > 0 {
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: c.number, Text: c.held})
	}
	r.calls.held -= len(c.held)
	c.signature, c.held = nil, nil
}

// legalID returns the id that the client gets for a call. This is id, the upstream's id of the call, if its
// characters and its length are allowed and no other call of the answer uses it. Otherwise legalID returns a new id.
func (r *reader) legalID(id string) string {
	if wire.LegalID(id) && !r.calls.used(id) {
		return id
	}
	return r.newID("call_")
}

// used reports whether id was emitted as the id of a call.
func (c *calls) used(id string) bool {
	for _, other := range c.list {
		if other.emittedID == id {
			return true
		}
	}
	return false
}

// completeCalls checks all calls at the end of the answer. A call with a name but without arguments gets the arguments
// "{}". A call with arguments but without a name is an error that wraps wire.ErrBroken.
func (r *reader) completeCalls() error {
	for _, c := range r.calls.list {
		switch {
		case c.number == notBegun && c.arguments.Size() > 0:
			return broken("a tool call has no name")
		case c.number != notBegun && c.arguments.Size() == 0:
			r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: c.number, Text: noArguments})
		}
	}
	return nil
}

var noArguments = []byte("{}")

// find returns the call that the entry p continues, or nil if p begins a new call.
func (c *calls) find(p *callPiece) *call {
	if c.separate || len(c.list) == 0 {
		return nil
	}
	last := c.list[len(c.list)-1]
	switch {
	case p.indexed:
		existing := c.last(func(k *call) bool { return k.index == p.index })
		if existing == nil && len(p.id) > 0 { // the call may have begun with an entry without an index
			existing = c.last(func(k *call) bool { return k.index == unindexed && k.hasID(p.id) })
		}
		if existing != nil && c.beginsNew(existing, p) {
			return nil
		}
		return existing
	case len(p.id) > 0:
		if existing := c.last(func(k *call) bool { return k.hasID(p.id) }); existing != nil {
			return existing
		}
		if last.id == "" && len(p.name) == 0 { // some upstreams send the id after the beginning of the call
			return last
		}
		return nil
	case len(p.name) == 0 || last.name == "": // neither index nor id: only a second name begins a new call
		return last
	}
	return nil
}

// last returns the latest call for which fits returns true, or nil if there is no such call.
func (c *calls) last(fits func(*call) bool) *call {
	for _, k := range slices.Backward(c.list) {
		if fits(k) {
			return k
		}
	}
	return nil
}

// beginsNew reports whether the entry p begins a new call although existing, an earlier call, has the same index. Some
// upstreams give every call the index 0.
func (c *calls) beginsNew(existing *call, p *callPiece) bool {
	if len(p.name) == 0 || existing.name == "" || (len(p.id) > 0 && existing.hasID(p.id)) {
		return false
	}
	if existing.chunk == c.chunk || len(p.id) > 0 && existing.id != "" { // two names in one chunk, or different ids
		return true
	}
	// Without ids, a new name with new arguments begins a new call.
	return existing.name != string(p.name) && existing.arguments.Size() > 0 && bytes.HasPrefix(p.arguments, []byte("{"))
}

// open adds a new call, which the entry p begins, to the list and returns the call.
func (c *calls) open(p *callPiece) *call {
	n := &call{index: unindexed, number: notBegun}
	if p.indexed {
		n.index = p.index
	}
	c.list = append(c.list, n)
	return n
}

// hold stores arguments of the call k until the name of k is known. If more than maxHeld bytes of arguments wait in all
// calls together, it returns an error that wraps wire.ErrBroken.
func (c *calls) hold(k *call, arguments []byte) error {
	if c.held += len(arguments); c.held > maxHeld {
		return broken("the arguments of tool calls without a name are too long")
	}
	k.held = append(k.held, arguments...)
	return nil
}

// hasID reports whether id is the id that the upstream gave the call. Only the first maxID bytes are compared.
func (c *call) hasID(id []byte) bool { return c.id != "" && c.id == string(id[:min(len(id), maxID)]) }

// text returns the arguments as the text between the quotes of a JSON string, still escaped. For an empty object it
// returns nil, as if there were no arguments, since a later entry may bring the real ones.
func (p *callPiece) text() []byte {
	if !p.object {
		return p.arguments
	}
	if len(bytes.TrimSpace(p.arguments[1:len(p.arguments)-1])) == 0 {
		return nil
	}
	return jsontext.AppendEscaped(nil, p.arguments)
}
