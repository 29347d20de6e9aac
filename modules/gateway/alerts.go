package gateway

import (
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
)

// Tell says who is told of alerts. A module calls it while it is provisioned. All handlers share
// the gateway, so one of a configuration can say it.
func (a *App) Tell(o *alerts.Options) error {
	if a.alerts != nil {
		return errors.New("another handler has alerts, and all share one gateway: leave them to one")
	}
	o.Failing = a.failingKeys
	a.alerts = o
	return nil
}

// tell has alerts be told as this configuration says.
func (a *App) tell() { a.gateway.Load().Alerts.Use(a.alerts) }

// failingKeys returns the operator's keys that providers have not taken when they were asked last.
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
