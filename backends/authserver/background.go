package authserver

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
)

const (
	// keysEvery is how often the keys are read anew, which another node may have rotated.
	keysEvery = 3 * time.Second
	// sweepEvery is how often what is of no more use is removed.
	sweepEvery = 10 * time.Minute
)

// ownJobs are the work in the background that is of no room alone.
func (s *Server) ownJobs() []jobs.Job {
	return []jobs.Job{
		{Name: "seed", Every: time.Hour, Run: s.seed()},
		{Name: "keys", Every: keysEvery, Run: func(ctx context.Context) (int, error) { return 0, s.rooms.keys.Reload(ctx) }},
		{Name: "sweep", Every: sweepEvery, Run: s.sweep},
	}
}

// seed stores the resources of the configuration, once.
func (s *Server) seed() func(ctx context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		if !s.seeding.Load() {
			return 0, nil
		}
		list, err := s.seeds()
		if err == nil {
			err = s.kernel.DB.WaitReady(ctx)
		}
		if err == nil {
			err = s.rooms.catalog.Seed(ctx, list)
		}
		s.seeding.Store(err != nil)
		return 0, err
	}
}

// seeds are the resources of the configuration as rows.
func (s *Server) seeds() ([]resources.Resource, error) {
	var list []resources.Resource
	text, err := json.Marshal(s.config.Resources)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("resources of the configuration: %w", err)
	}
	for i := range list {
		if list[i].Kind == "" {
			list[i].Kind = resources.Mint
		}
		if err := list[i].Check(); err != nil {
			return nil, fmt.Errorf("resources[%d]: %w", i, err)
		}
	}
	return list, nil
}

func (s *Server) sweep(ctx context.Context) (int, error) {
	n, err := s.rooms.tokens.Sweep(ctx)
	if err != nil {
		return n, err
	}
	events, err := s.rooms.audit.Sweep(ctx, s.config.Admin.AuditMaxLookback)
	if err != nil {
		return n + events, err
	}
	pushed, err := s.rooms.authorize.Sweep(ctx)
	if err != nil {
		return n + events + pushed, err
	}
	gone, err := s.rooms.keys.Sweep(ctx)
	return n + events + pushed + gone, err
}

// write begins to write what rooms gather. What it returns ends that, and waits until all
// is written.
func (s *Server) write() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.rooms.tokens.Run(ctx) })
	running.Go(func() { s.rooms.audit.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
