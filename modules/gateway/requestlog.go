package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// KeepRequests says how long single requests stay in the gateway's log; 0: for
// ever. A module calls it while it is provisioned. There is one log, so all that
// call it must say the same.
func (a *App) KeepRequests(d time.Duration) error {
	if a.kept != nil && *a.kept != d {
		return errors.New("another handler has another one, and all share one log")
	}
	a.kept = &d
	return nil
}

// requestsKept is what KeepRequests was told.
func (a *App) requestsKept() time.Duration {
	if a.kept == nil {
		return keychain.RequestsKept
	}
	return *a.kept
}

// cutAfter is how long a configuration has to last before it deletes anything.
const cutAfter = 3 * time.Second

// cutRequests has the log cut as this configuration says. A reload may still be
// refused, by another app that does not start: what it would have deleted is not its.
func (a *App) cutRequests(ctx context.Context, g *Gateway) {
	select {
	case <-ctx.Done():
	case <-time.After(cutAfter):
		g.retention.Keep(a.requestsKept())
	}
}
