package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// Surroundings are the parts of the process and of the current configuration that a cascade uses.
type Surroundings struct {
	Catalog  func() *catalog.Catalog
	Counters func() counters.Store // those that all nodes share
	Memory   *memory.Budget        // for the bodies of requests and responses
	Logger   *zap.Logger
}

// Engine returns a cascade (which sends a request to one provider after another until one answers) with the given
// options. All cascades of a gateway share its Memory.
func (g *Gateway) Engine(s Surroundings, options cascade.Options) *cascade.Engine {
	return &cascade.Engine{
		Options: options, Memory: g.Memory, Budget: s.Memory, Catalog: s.Catalog,
		Providers: g.Providers, Custom: g.Custom, Mark: g.Mark, Logger: s.Logger, Now: time.Now,
		AdmitKey: func(ctx context.Context, key *keychain.Key, cost int64) (*keychain.KeyRefusal, error) {
			return g.Keychain.AdmitKey(ctx, s.Counters(), key, cost)
		},
	}
}

// probeMemory is the size limit for the bodies of a probe, in bytes.
const probeMemory = 32 << 20

// Probe sends one small request with a provider key of an owner. It does not check limits. It needs no Gateway, so a
// command can call it while a server is running; the server does not learn the outcome. provider is the code of the
// key's provider.
func Probe(
	ctx context.Context, service *keychain.Service, cat *catalog.Catalog, owner keychain.Owner, keyID string,
	logger *zap.Logger,
) (provider string, probe *cascade.Probe, err error) {
	candidate, key, err := service.ProbeOf(ctx, cat, owner, keyID, owner.ID)
	if err != nil {
		return "", nil, err
	}
	transport := cascade.NewTransport()
	defer transport.CloseIdleConnections()
	engine := &cascade.Engine{
		Memory: cascade.NewMemory(time.Now), Budget: memory.New(probeMemory), Catalog: func() *catalog.Catalog { return cat },
		Providers: transport, Custom: transport, Mark: cascade.NewMark(), Logger: logger, Now: time.Now,
	}
	probe, err = engine.Probe(ctx, owner.ID, candidate, key)
	return candidate.Provider.Code, probe, err
}

// FailingKeys returns the operator's keys in a catalog that providers refused at the last use.
func (g *Gateway) FailingKeys(cat *catalog.Catalog) (failing []alerts.FailingKey) {
	for _, p := range cat.Providers() {
		if p.APIKey == "" {
			continue
		}
		switch state := g.Memory.Health.Lookup(p.Code, p.KeyID, "").Status; state {
		case cascade.NoCredit, cascade.InvalidKey:
			failing = append(failing, alerts.FailingKey{Provider: p.Code, State: string(state)})
		case cascade.Untested, cascade.Active, cascade.CoolingDown: // not refused for a reason that needs the operator
		}
	}
	return failing
}
