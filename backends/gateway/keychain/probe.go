package keychain

import (
	"context"
	"fmt"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// Probe returns what a test of one of the user's provider keys asks: the provider's first model of the lowest tier that
// it has. The id may also be that of a custom entry. The error has status 404 if the user has neither.
func (a *Account) Probe(cat *catalog.Catalog, id string) (*Candidate, Key, error) {
	for i := range a.models {
		if m := &a.models[i]; m.Custom && m.ID == id {
			c := a.customCandidate(m)
			c.Tier = catalog.High // the tier with the most time
			return c, c.Keys[0], nil
		}
	}
	for i := range a.keys {
		k := &a.keys[i]
		if k.ID == id && k.owner.Kind == OnUser {
			return k.probe(cat, a.UserID)
		}
	}
	return nil, Key{}, notFound("provider key", id)
}

// ProbeOf is like Probe, for a key of an owner and a user who may manage it.
func (s *Service) ProbeOf(
	ctx context.Context, cat *catalog.Catalog, owner Owner, id, userID string,
) (*Candidate, Key, error) {
	row, err := s.ownedKey(ctx, owner, id)
	if err != nil {
		return nil, Key{}, err
	}
	secret, err := s.ring.Open(ctx, row.sealed, row.associated())
	if err != nil {
		return nil, Key{}, fmt.Errorf("opening the provider key %s: %w", id, err)
	}
	key := accountKey{ID: row.ID, Provider: row.Provider, secret: string(secret), owner: owner}
	return key.probe(cat, userID)
}

func (k *accountKey) probe(cat *catalog.Catalog, userID string) (*Candidate, Key, error) {
	provider, ok := cat.Provider(k.Provider)
	if !ok {
		return nil, Key{}, invalid("key_id", "the provider %q of this key is not enabled here", k.Provider)
	}
	model := cheapest(cat, k.Provider)
	if model == nil {
		return nil, Key{}, invalid("key_id", "the provider %q has no model to try here", k.Provider)
	}
	key := k.key(userID)
	return &Candidate{Entry: model.EntryID(), Provider: provider, Model: model, Tier: catalog.High, Keys: []Key{key}},
		key, nil
}

// cheapest returns a provider's first model of the lowest tier that gives answers, or nil if the provider has none.
func cheapest(cat *catalog.Catalog, provider string) (best *catalog.Model) {
	rank := func(m *catalog.Model) catalog.Tier {
		lowest := catalog.High + 1
		for _, t := range m.Tiers {
			lowest = min(lowest, t)
		}
		return lowest
	}
	for _, m := range cat.Models(provider) {
		if !m.Retired && !m.Embeddings && (best == nil || rank(m) < rank(best)) {
			best = m
		}
	}
	return best
}
