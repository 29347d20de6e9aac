package keychain

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// Probe finds what a try of one provider key asks: the provider's first model
// of the lowest tier that it has. id may also be that of a custom entry.
func (a *Account) Probe(cat *catalog.Catalog, id string) (*Candidate, Key, error) {
	for i := range a.models {
		if m := &a.models[i]; m.Custom && m.ID == id {
			c := a.customCandidate(m)
			c.Tier = catalog.High // the one that has the most time
			return c, c.Keys[0], nil
		}
	}
	for _, k := range a.keys {
		if k.ID != id {
			continue
		}
		provider, ok := cat.Provider(k.Provider)
		if !ok {
			return nil, Key{}, invalid("key_id", "the provider %q of this key is not enabled here", k.Provider)
		}
		model := cheapest(cat, k.Provider)
		if model == nil {
			return nil, Key{}, invalid("key_id", "the provider %q has no model to try here", k.Provider)
		}
		key := ownKey(k.ID, k.secret)
		return &Candidate{Entry: model.EntryID(), Provider: provider, Model: model, Tier: catalog.High, Keys: []Key{key}}, key, nil
	}
	return nil, Key{}, notFound("provider key", id)
}

// cheapest is a provider's first model of the lowest tier that gives answers; nil: it has none.
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
