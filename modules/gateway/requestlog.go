package gateway

import (
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// KeepRequests sets how long single requests stay in the gateway's log; 0 keeps them for ever. A module calls it while
// it is provisioned. All modules share one log, so a second call with a different value returns an error.
func (a *App) KeepRequests(d time.Duration) error {
	if a.requestLog != nil && *a.requestLog != d {
		return errors.New("another handler sets a different time, but all handlers share one log")
	}
	a.requestLog = &d
	return nil
}

// requestLogTime returns the value set by KeepRequests, or the default.
func (a *App) requestLogTime() time.Duration {
	if a.requestLog == nil {
		return spending.RequestsKept
	}
	return *a.requestLog
}

// applyRequestLog applies the retention of this configuration to the log.
func (a *App) applyRequestLog() { a.gateway.Load().KeepRequests(a.requestLogTime()) }
