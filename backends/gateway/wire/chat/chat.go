// Package chat carries chat completions to and from the common form of package
// hub: requests of chat clients, requests for chat upstreams, the answers of
// those, and the answers for chat clients.
//
// A chat client and a chat upstream need none of it, see package native.
package chat

// The bounds of what an upstream can make a reader keep.
const (
	maxCalls = 1024
	maxID    = 256      // bytes of an id, before it is replaced
	maxName  = 512      // bytes of a tool's name
	maxHeld  = 8 << 20  // bytes of arguments that wait: for a name, or for their end
	maxState = 64 << 10 // bytes of reasoning state; more makes no token (specification 11.3)
	maxStop  = 1 << 10  // bytes of the stop sequence that an upstream reports
)
