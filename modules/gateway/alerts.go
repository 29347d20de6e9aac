package gateway

import (
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
)

// Tell sets who is notified of alerts. A module calls it while it is provisioned. All handlers share the gateway, so
// only one of a configuration may call it; the second call returns an error.
func (a *App) Tell(o *alerts.Options) error {
	if a.alerts != nil {
		return errors.New("another handler has alerts, and all share one gateway: leave them to one")
	}
	o.Failing = func() []alerts.FailingKey { return a.gateway.Load().FailingKeys(a.Catalog()) }
	a.alerts = o
	return nil
}

// tell applies the alert options of this configuration.
func (a *App) tell() { a.gateway.Load().Alerts.Use(a.alerts) }
