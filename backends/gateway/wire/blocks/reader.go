package blocks

import (
	"fmt"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// maxCalls limits the number of tool calls in an answer.
const maxCalls = 1024

// noArguments are the arguments of a call without arguments.
var noArguments = []byte("{}")

// Deltas collects the deltas of an answer that an upstream sends in content blocks. Texts are those between the quotes
// of JSON strings, still escaped. Blocks are identified by their index in a stream. In a whole answer each block is
// complete before the next begins, so the reader may give all of them the index 0.
type Deltas struct {
	// List holds the deltas since the last Reset.
	List []hub.Delta
	ids  []string   // ids of all calls so far
	open []openCall // calls whose block has not ended
}

// openCall is a tool call whose block has not ended.
type openCall struct {
	block        int64  // index of the block
	call         int    // hub.Delta.Call
	hasArguments bool   // some of its arguments are in a delta
	input        []byte // the arguments at the start of the block, which are used if no others follow
}

// Reset removes the deltas of the previous event.
func (d *Deltas) Reset() { d.List = d.List[:0] }

// HasCalls reports whether the answer has a tool call.
func (d *Deltas) HasCalls() bool { return len(d.ids) > 0 }

// Text adds a delta with the given kind and text, unless text is empty.
func (d *Deltas) Text(kind hub.DeltaKind, text []byte) {
	if len(text) > 0 {
		d.List = append(d.List, hub.Delta{Kind: kind, Text: text})
	}
}

// State adds a delta with reasoning state, unless data is empty.
func (d *Deltas) State(form hub.Form, data string) {
	if data != "" {
		d.List = append(d.List, hub.Delta{Kind: hub.DeltaState, State: hub.State{Form: form, Data: data}})
	}
}

// Call begins the tool call in a block. An id that not all APIs accept, or that another call of the answer has, is
// replaced. input holds the arguments that the start of the block states, or nil. The errors wrap wire.ErrBroken: the
// call has no name, or there are too many calls.
func (d *Deltas) Call(block int64, id, name string, input []byte) error {
	if len(d.ids) == maxCalls {
		return fmt.Errorf("%w: more than %d tool calls", wire.ErrBroken, maxCalls)
	}
	if name == "" {
		return fmt.Errorf("%w: a tool call without a name", wire.ErrBroken)
	}
	if !wire.LegalID(id) || slices.Contains(d.ids, id) {
		id = wire.NewID("call_")
	}
	call := len(d.ids)
	d.ids = append(d.ids, id)
	d.open = append(d.open, openCall{block: block, call: call, input: input})
	d.List = append(d.List, hub.Delta{Kind: hub.DeltaCall, Call: call, ID: id, Name: name})
	return nil
}

// Arguments adds a piece of the arguments of the call in a block. It ignores an empty piece. It also ignores a block
// without an open call, because such a block belongs to a tool that the upstream runs.
func (d *Deltas) Arguments(block int64, piece []byte) {
	if i := d.find(block); i >= 0 && len(piece) > 0 {
		d.open[i].hasArguments = true
		d.List = append(d.List, hub.Delta{Kind: hub.DeltaArguments, Call: d.open[i].call, Text: piece})
	}
}

// find returns the index in d.open of the call in a block, or -1 if the block has no open call. Some upstreams give
// several calls the same block without ending the earlier ones; the latest call then counts.
func (d *Deltas) find(block int64) int {
	for i := range slices.Backward(d.open) {
		if d.open[i].block == block {
			return i
		}
	}
	return -1
}

// Close ends the call in a block, if the block has an open call. If no delta had arguments for the call, Close adds
// the arguments of the block's start, or "{}" if the start has none.
func (d *Deltas) Close(block int64) {
	i := d.find(block)
	if i < 0 {
		return
	}
	if c := d.open[i]; !c.hasArguments {
		text := c.input
		if len(text) == 0 {
			text = noArguments
		}
		d.List = append(d.List, hub.Delta{Kind: hub.DeltaArguments, Call: c.call, Text: text})
	}
	d.open = slices.Delete(d.open, i, i+1)
}

// CloseAll ends the calls that are still open.
func (d *Deltas) CloseAll() {
	for len(d.open) > 0 {
		d.Close(d.open[0].block)
	}
}

// End ends the calls that are still open and adds DeltaEnd.
func (d *Deltas) End(end hub.End) {
	d.CloseAll()
	d.List = append(d.List, hub.Delta{Kind: hub.DeltaEnd, End: end})
}
