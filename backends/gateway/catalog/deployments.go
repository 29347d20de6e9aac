package catalog

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// models returns the models of the file d and those that the overrides add.
func (o *Options) models(d *data) ([]*Model, error) {
	models := d.models
	for _, code := range slices.Sorted(maps.Keys(o.Overrides)) {
		added := o.Overrides[code].Models
		for _, id := range slices.Sorted(maps.Keys(added)) {
			m, err := d.deployment(code, id, added[id])
			if err != nil {
				return nil, fmt.Errorf("provider %s: model %s: %w", code, clip(id), err)
			}
			models = append(slices.Clip(models), m) // Clip keeps append from writing to the slice of d
		}
		if len(models) > maxModels {
			return nil, fmt.Errorf("models: more than %d", maxModels)
		}
	}
	return models, nil
}

// deployment returns a model with the given id for the provider with the given code. The model is a copy, without the
// price and the dates, of another model of the file. entry (provider/model) is the name of that other model.
func (d *data) deployment(code, id, entry string) (*Model, error) {
	name := code + "/" + id
	var source *Model
	for _, m := range d.models {
		switch m.entry {
		case name:
			return nil, fmt.Errorf("%s is already a model of the catalog", clip(name))
		case entry:
			source = m
		}
	}
	if source == nil {
		return nil, fmt.Errorf("%q is not a model of the catalog such as openai/gpt-5.4-mini", clip(entry))
	}
	m := *source
	m.Provider, m.ID, m.entry = code, id, name
	m.Name = id
	if !m.Embeddings { // a model cannot read reasoning state of another provider
		m.Family = code + "/" + source.Family
	}
	m.Price = Price{}
	m.Retired, m.Deprecated, m.Retires = false, time.Time{}, time.Time{}
	if m.Reasoning && m.ReasoningEfforts == nil {
		// The copy must not take the efforts of the new provider.
		i := slices.IndexFunc(d.providers, func(p *Provider) bool { return p.Code == source.Provider })
		m.ReasoningEfforts = d.providers[i].Shape.ReasoningEfforts
	}
	return &m, checkModel(&m)
}
