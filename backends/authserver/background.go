package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
)

const (
	// keysEvery is the interval at which the signing keys are read again, since another node may have rotated them.
	keysEvery = 3 * time.Second
	// sweepEvery is the interval at which expired rows are removed.
	sweepEvery = 10 * time.Minute
)

// ownJobs returns the background jobs that involve several packages.
func (s *Server) ownJobs() []jobs.Job {
	return []jobs.Job{
		{Name: "seed", Every: time.Hour, Run: s.seed},
		{
			Name:  "keys",
			Every: keysEvery,
			Run:   func(ctx context.Context) (int, error) { return 0, s.components.keys.Refresh(ctx) },
		},
		{Name: "sweep", Every: sweepEvery, Run: s.sweep},
		{Name: "unused", Every: sweepEvery, Run: s.components.clients.SweepUnused},
		// Anybody may push authorization requests, so their rows accumulate quickly.
		{Name: "pushed", Every: time.Minute, Run: s.components.authorize.Sweep},
		{Name: "secrets", Every: 24 * time.Hour, Run: s.warn},
	}
}

// seed stores the clients, providers and resources of the configuration, as a job. Once it has succeeded, further runs
// do nothing.
func (s *Server) seed(ctx context.Context) (int, error) {
	if !s.seeding.Load() {
		return 0, nil
	}
	clientRows, err := s.seedClients()
	if err != nil {
		return 0, err
	}
	resourceRows, err := s.seedResources()
	if err != nil {
		return 0, err
	}
	if err := s.kernel.DB.WaitReady(ctx); err != nil {
		return 0, err
	}
	err = errors.Join(s.components.clients.Seed(ctx, clientRows), s.seedBrokers(ctx, resourceRows))
	if err != nil {
		return 0, err
	}
	if err := s.components.catalog.Seed(ctx, resourceRows); err != nil {
		return 0, err
	}
	s.seeding.Store(false)
	return 0, nil
}

// seedBrokers stores the broker providers of the configuration. It also sets the provider id of each broker resource
// in list, which holds the resources of the configuration.
func (s *Server) seedBrokers(ctx context.Context, list []resources.Resource) error {
	providers := make([]brokers.Provider, len(s.config.BrokerProviders))
	for i, p := range s.config.BrokerProviders {
		providers[i] = brokers.Provider{Slug: p.Slug, DisplayName: p.DisplayName, Protocol: p.Protocol, Config: p.ConfigData}
	}
	if err := s.components.brokers.Seed(ctx, providers); err != nil {
		return err
	}
	var faults []error
	for i, r := range s.config.Resources {
		if r.BackendKind != resources.Broker {
			continue
		}
		p, err := s.components.brokers.Find(ctx, cmp.Or(r.BrokerProviderSlug, r.BrokerProviderID))
		if err != nil {
			faults = append(faults, fmt.Errorf("resources[%d] %q: broker_provider_slug: %w", i, r.Slug, err))
			continue
		}
		list[i].Provider = p.ID
	}
	return errors.Join(faults...)
}

// seedClients returns the clients of the configuration as rows.
func (s *Server) seedClients() ([]*clients.Client, error) {
	list := make([]*clients.Client, len(s.config.Clients))
	var faults []error
	for i, c := range s.config.Clients {
		client, err := s.components.clients.Client(&clients.Registration{
			Name: c.Name, Redirects: c.Redirects, Grants: c.Grants, Responses: c.Responses, AuthMethod: c.AuthMethod,
			Agent: c.Agent, AgentText: c.AgentText,
			Metadata: clients.Metadata{
				JWKS: c.JWKS, Logout: c.Logout, BackchannelLogout: c.BackchannelLogoutURI, FirstParty: c.FirstParty,
				Claims: c.Claims,
			},
		}, clients.Admin)
		if err == nil {
			client.Scope, err = resources.ParseScope(c.Scope)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("clients[%d] %q: %w", i, c.ID, err))
			continue
		}
		client.ID, list[i] = c.ID, client
	}
	return list, errors.Join(faults...)
}

// seedResources returns the resources of the configuration as rows.
func (s *Server) seedResources() ([]resources.Resource, error) {
	list := make([]resources.Resource, len(s.config.Resources))
	var faults []error
	for i, r := range s.config.Resources {
		list[i] = resources.Resource{
			Slug: r.Slug, URI: r.URI, Kind: cmp.Or(r.BackendKind, resources.Mint), DisplayName: r.DisplayName,
			Scopes: r.Scopes, Provider: r.BrokerProviderID, Policy: r.Policy, Claims: r.Claims,
		}
		if err := list[i].Check(); err != nil {
			faults = append(faults, fmt.Errorf("resources[%d]: %w", i, err))
		}
	}
	return list, errors.Join(faults...)
}

// sweep removes expired rows of all packages, and returns their number. If one package fails, the rows of the other
// packages are still removed.
func (s *Server) sweep(ctx context.Context) (total int, err error) {
	r := &s.components
	for _, remove := range [...]func(ctx context.Context) (int, error){
		r.tokens.Sweep, func(ctx context.Context) (int, error) { return r.audit.Sweep(ctx, s.config.Admin.AuditMaxLookback) },
		r.connected.Sweep, r.clients.Sweep, r.keys.Sweep, s.sweepUsedValues,
	} {
		n, fault := remove(ctx)
		total, err = total+n, errors.Join(err, fault)
	}
	return total, err
}

// sweepUsedValues removes expired marks of values that may be used only once. It does nothing if the marks are not in
// the database.
func (s *Server) sweepUsedValues(ctx context.Context) (int, error) {
	if s.once == nil {
		return 0, nil
	}
	return s.once.Sweep(ctx)
}

// write starts the goroutines that write the rows queued by the packages; see kernel.Batch. The returned function
// writes all remaining rows and stops the goroutines.
func (s *Server) write() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.components.tokens.Run(ctx) })
	running.Go(func() { s.components.clients.Run(ctx) })
	running.Go(func() { s.components.audit.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
