// Package chat converts chat completions from and to the common form of package hub: requests of chat clients, requests
// for chat upstreams, the answers of upstreams, and the answers for chat clients.
//
// Between a chat client and a chat upstream no conversion is needed, see package native.
package chat

// Limits on the data from an upstream that a reader stores.
const (
	maxCalls = 1024
	maxID    = 256      // bytes of an id, before it is replaced
	maxName  = 512      // bytes of a tool's name
	maxHeld  = 8 << 20  // bytes of arguments that wait for a name or for their end
	maxState = 64 << 10 // bytes of reasoning state; larger state gets no token
	maxStop  = 1 << 10  // bytes of the stop sequence that an upstream reports
)
