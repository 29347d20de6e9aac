package authserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
)

const (
	// keysEvery is how often the signing keys are read again, since another node may have rotated them.
	keysEvery = 3 * time.Second
	// sweepEvery is how often expired rows are removed.
	sweepEvery = 10 * time.Minute
)

// ownJobs returns the background jobs that do not belong to one package alone.
func (s *Server) ownJobs() []jobs.Job {
	return []jobs.Job{
		{Name: "seed", Every: time.Hour, Run: s.seed()},
		{Name: "keys", Every: keysEvery, Run: func(ctx context.Context) (int, error) { return 0, s.rooms.keys.Refresh(ctx) }},
		{Name: "sweep", Every: sweepEvery, Run: s.sweep},
		{Name: "unused", Every: sweepEvery, Run: s.rooms.clients.SweepUnused},
		// Anybody may push requests, so that they pile up quickly.
		{Name: "pushed", Every: time.Minute, Run: s.rooms.authorize.Sweep},
		{Name: "secrets", Every: 24 * time.Hour, Run: s.warn},
	}
}

// seed returns a job that stores the clients, providers and resources of the configuration until it has succeeded once.
func (s *Server) seed() func(ctx context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		if !s.seeding.Load() {
			return 0, nil
		}
		known, err := s.seedClients()
		if err != nil {
			return 0, err
		}
		list, err := s.seedResources()
		if err == nil {
			err = s.kernel.DB.WaitReady(ctx)
		}
		if err == nil {
			err = errors.Join(s.rooms.clients.Seed(ctx, known), s.seedBrokers(ctx, list))
		}
		if err == nil {
			err = s.rooms.catalog.Seed(ctx, list)
		}
		s.seeding.Store(err != nil)
		return 0, err
	}
}

// seedBrokers stores the providers of the configuration and sets the provider ids of the resources that name one.
func (s *Server) seedBrokers(ctx context.Context, list []resources.Resource) error {
	providers := make([]brokers.Provider, len(s.config.BrokerProviders))
	for i, p := range s.config.BrokerProviders {
		providers[i] = brokers.Provider{Slug: p.Slug, DisplayName: p.DisplayName, Protocol: p.Protocol, Config: p.ConfigData}
	}
	if err := s.rooms.brokers.Seed(ctx, providers); err != nil {
		return err
	}
	var faults []error
	for i, r := range s.config.Resources {
		if r.BackendKind != resources.Broker {
			continue
		}
		p, err := s.rooms.brokers.Find(ctx, cmp.Or(r.BrokerProviderSlug, r.BrokerProviderID))
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
		rules := make([]claims.Rule, len(c.Claims))
		for i, rule := range c.Claims {
			rules[i] = claims.Rule(rule)
		}
		client, err := s.rooms.clients.Client(&clients.Registration{
			Name: c.Name, Redirects: c.Redirects, Grants: c.Grants, Responses: c.Responses, AuthMethod: c.AuthMethod,
			Agent: c.Agent, AgentText: c.AgentText,
			Metadata: clients.Metadata{
				JWKS: c.JWKS, Logout: c.Logout, BackchannelLogout: c.BackchannelLogoutURI, FirstParty: c.FirstParty,
				Claims: rules,
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
	var list []resources.Resource
	text, err := json.Marshal(s.config.Resources)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("resources of the configuration: %w", err)
	}
	var faults []error
	for i := range list {
		if list[i].Kind == "" {
			list[i].Kind = resources.Mint
		}
		if err := list[i].Check(); err != nil {
			faults = append(faults, fmt.Errorf("resources[%d]: %w", i, err))
		}
	}
	return list, errors.Join(faults...)
}

// sweep removes expired rows everywhere. The failure of one package does not keep the others from being swept.
func (s *Server) sweep(ctx context.Context) (total int, err error) {
	r := &s.rooms
	for _, one := range [...]func(ctx context.Context) (int, error){
		r.tokens.Sweep, func(ctx context.Context) (int, error) { return r.audit.Sweep(ctx, s.config.Admin.AuditMaxLookback) },
		r.connected.Sweep, r.clients.Sweep, r.keys.Sweep, s.sweepOnce,
	} {
		n, fault := one(ctx)
		total, err = total+n, errors.Join(err, fault)
	}
	return total, err
}

func (s *Server) sweepOnce(ctx context.Context) (int, error) {
	if s.once == nil {
		return 0, nil
	}
	return s.once.Sweep(ctx)
}

// write starts the goroutines that write what the packages have batched. The returned function stops them and waits
// until everything is written.
func (s *Server) write() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.rooms.tokens.Run(ctx) })
	running.Go(func() { s.rooms.clients.Run(ctx) })
	running.Go(func() { s.rooms.audit.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
