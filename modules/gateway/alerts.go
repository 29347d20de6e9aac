package gateway

import (
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
)

// SetAlerts sets the recipients and conditions of alerts. A module calls it while it is provisioned. All handlers of a
// configuration share one gateway, so a second call returns an error.
func (a *App) SetAlerts(o *alerts.Options) error {
	if a.alerts != nil {
		return errors.New("another handler has alerts already: since all handlers share one gateway, only one can have them")
	}
	o.Failing = func() []alerts.FailingKey { return a.gateway.Load().FailingKeys(a.Catalog()) }
	a.alerts = o
	return nil
}

// applyAlerts applies the alert options of this configuration.
func (a *App) applyAlerts() { a.gateway.Load().Alerts.Use(a.alerts) }
