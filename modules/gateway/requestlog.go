package gateway

import (
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
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
		return spending.RequestsKept
	}
	return *a.kept
}

// cutRequests has the log cut as this configuration says.
func (a *App) cutRequests() { a.gateway.Load().retention.Keep(a.requestsKept()) }
