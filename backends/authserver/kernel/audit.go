package kernel

import "context"

// Event is an entry of the audit feed.
type Event struct {
	// Action is the kind of event, such as token.issued.
	Action string
	// Actor is the id of the user or client that acted, or "admin". It is empty if the actor is unknown.
	Actor string
	// Client is the client_id of the client that the event is about, or through which the actor acted.
	Client string
	// Address is the client address of the request. Default: the address that From or FromBrowser stored in the
	// context.
	Address string
	// Detail is a list of alternating names and values. It never contains a secret, a token or a code.
	Detail []string
}

type (
	addressKey struct{}
	agentKey   struct{}
)

// From returns a context that carries the client address of a request, for AddressOf.
func From(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// FromBrowser returns a context that carries the client address and the User-Agent of a browser's request.
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
