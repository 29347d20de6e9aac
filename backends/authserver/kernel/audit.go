package kernel

import "context"

// Event is something that happened, for the audit feed.
type Event struct {
	// Action is what, such as token.issued.
	Action string
	// Actor is who did it: the id of a user or of a client, or admin. Empty: nobody known.
	Actor string
	// Client is the client_id that it is about, or with which it was done.
	Client string
	// Address is where it came from. Default: that of the context, see From.
	Address string
	// Detail is pairs of a name and a value: never a secret, a token or a code.
	Detail []string
}

type (
	addressKey struct{}
	agentKey   struct{}
)

// From is a context of what an address asks for.
func From(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// FromBrowser is From with the User-Agent of a browser.
func FromBrowser(ctx context.Context, address, agent string) context.Context {
	return context.WithValue(From(ctx, address), agentKey{}, agent)
}

// AgentOf returns the User-Agent of FromBrowser. It is empty where that is not known.
func AgentOf(ctx context.Context) string {
	agent, _ := ctx.Value(agentKey{}).(string)
	return agent
}

// AddressOf is where what is done in a context came from; empty: it is not known.
func AddressOf(ctx context.Context) string {
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}
