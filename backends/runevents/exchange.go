package runevents

import "context"

// Exchange is the outcome of a submitted command, for logs and metrics.
type Exchange struct {
	// Command is the name of the command, or empty if the command is not known.
	Command  string
	Certname string
	Outcome  Outcome
}

// Outcome is the outcome of a submitted command.
type Outcome string

// The outcomes.
const (
	outcomeStored      Outcome = "stored"      // or had been stored before
	outcomeRejected    Outcome = "rejected"    // added to the list of rejected commands
	outcomeRefused     Outcome = "refused"     // the request is invalid
	outcomeBusy        Outcome = "busy"        // too many commands are waiting
	outcomeUnavailable Outcome = "unavailable" // the database is not available
	outcomeTimedOut    Outcome = "timed_out"   // processing goes on, but the client no longer waits
	outcomeFailed      Outcome = "failed"
)

type exchangeKey struct{}

// WithExchange returns a context in which the outcome of a submission is recorded in e.
func WithExchange(ctx context.Context, e *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// exchange returns the Exchange of the context, or a new one that nobody reads.
func exchange(ctx context.Context) *Exchange {
	if e, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return e
	}
	return new(Exchange)
}
