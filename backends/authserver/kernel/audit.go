package kernel

// Event is something that happened, for the audit feed.
type Event struct {
	// Action is what, such as token.issued.
	Action string
	// Actor is who did it: the id of a user or of a client, or admin. Empty: nobody known.
	Actor string
	// Client is the client_id that it is about, or with which it was done.
	Client string
	// Address is where it came from.
	Address string
	// Detail is pairs of a name and a value: never a secret, a token or a code.
	Detail []string
}
