package gateway

import (
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
)

// SetAlerts sets the recipients and conditions of alerts. A module calls it while it is provisioned. All handlers of a
// configuration share one gateway, so a second call returns an error.
func (a *App) SetAlerts(o *alerts.Options) error {
	if a.alerts != nil {
		return errors.New("another handler has alerts, and all share one gateway: leave them to one")
	}
	o.Failing = a.failingKeys
	a.alerts = o
	return nil
}

// applyAlerts applies the alert options of this configuration.
func (a *App) applyAlerts() { a.gateway.Load().Alerts.Use(a.alerts) }

// failingKeys returns the operator's keys that their providers refused at the last use.
func (a *App) failingKeys() (failing []alerts.FailingKey) {
	g := a.gateway.Load()
	for _, p := range a.Catalog().Providers() {
		if p.APIKey == "" {
			continue
		}
		switch state := g.Memory.Health.Lookup(p.Code, p.KeyID, "").Status; state {
		case cascade.NoCredit, cascade.InvalidKey:
			failing = append(failing, alerts.FailingKey{Provider: p.Code, State: string(state)})
		case cascade.Untested, cascade.Active, cascade.CoolingDown:
		}
	}
	return failing
}
