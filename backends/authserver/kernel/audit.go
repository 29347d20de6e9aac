package kernel

import "context"

// Event is an entry of the audit feed.
type Event struct {
	// Action is what happened, such as token.issued.
	Action string
	// Actor is who did it: the id of a user or of a client, or admin. It is empty if nobody is known.
	Actor string
	// Client is the client_id of the client that the event is about, or that was used.
	Client string
	// Address is where the request came from. Default: the address of the context, see From.
	Address string
	// Detail is a list of alternating names and values. It never contains a secret, a token or a code.
	Detail []string
}

type (
	addressKey struct{}
	agentKey   struct{}
)

// From returns a context that carries the client address of a request.
func From(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// FromBrowser returns a context that carries the client address and the User-Agent of a browser.
func FromBrowser(ctx context.Context, address, agent string) context.Context {
	return context.WithValue(From(ctx, address), agentKey{}, agent)
}

// AgentOf returns the User-Agent that FromBrowser stored, or "" if there is none.
func AgentOf(ctx context.Context) string {
	agent, _ := ctx.Value(agentKey{}).(string)
	return agent
}

// AddressOf returns the client address that From stored, or "" if there is none.
func AddressOf(ctx context.Context) string {
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}
