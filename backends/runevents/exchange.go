package runevents

import "context"

// Exchange is what became of a submission, for logs and metrics.
type Exchange struct {
	// Command is the name of a known command; empty: it is none.
	Command  string
	Certname string
	Outcome  Outcome
}

// Outcome is what became of a command.
type Outcome string

// The outcomes.
const (
	outcomeStored      Outcome = "stored"      // or there already
	outcomeRejected    Outcome = "rejected"    // on the list of rejected commands
	outcomeRefused     Outcome = "refused"     // for what is wrong with the request
	outcomeBusy        Outcome = "busy"        // too much is being written
	outcomeUnavailable Outcome = "unavailable" // the database is away
	outcomeTimedOut    Outcome = "timed_out"   // it goes on, but the client does not wait longer
	outcomeFailed      Outcome = "failed"
)

type exchangeKey struct{}

// WithExchange has the answer to a submission noted in e.
func WithExchange(ctx context.Context, e *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

func exchange(ctx context.Context) *Exchange {
	if e, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return e
	}
	return new(Exchange)
}
