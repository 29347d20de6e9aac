// Package catalog holds the providers and models that a gateway can reach: addresses, the changes that each provider
// needs in a request, the abilities and prices of each model, and the tiers that the model serves. An entry is a model
// of a provider, named provider/model. A wire is a format of the requests and responses of a provider. The cascade
// sends a request to one model of a tier after another until one answers.
//
// All of this is data. A file is built into the binary, and a newer file can replace it without a rebuild; see
// README.md in this folder. No code depends on a model id.
package catalog

import (
	_ "embed"
	"fmt"
	"sync"
)

//go:embed catalog.json
var embedded []byte

// Catalog is the content of a data file with options applied. It is immutable and may be used by any number of
// goroutines. The slices, providers and models that it returns are shared and must not be changed either.
type Catalog struct {
	// Updated is the date of the data, as 2006-01-02.
	Updated string
	// OwnKeys is the policy for users' own provider keys.
	OwnKeys OwnKeys

	all       *data                // the whole file, without options
	providers []*Provider          // the enabled providers
	byCode    map[string]*Provider // the enabled providers
	models    map[string][]*Model  // by provider, without retired models
	byID      map[modelKey]*Model  // including retired models
	tiers     [High + 1][]*Model   // without retired models
	aliases   map[string]string    // targets by name
}

// data is the content of a whole file, including providers that are not enabled.
type data struct {
	updated   string
	providers []*Provider
	models    []*Model
}

type modelKey struct{ provider, id string }

// parseEmbedded parses the file in the binary, once.
var parseEmbedded = sync.OnceValue(func() *Catalog {
	c, err := Parse(embedded)
	if err != nil {
		panic(fmt.Sprintf("built-in catalog: %v", err)) // a test parses it, so this does not happen in a release
	}
	return c
})

// Embedded returns the catalog built into the binary, without alternate providers.
func Embedded() *Catalog { return parseEmbedded() }

// newCatalog returns a catalog of the enabled providers and their models. d is the whole file. allModels are the
// models of all providers, with the options applied. Models of providers that are not enabled are left out of the
// catalog. All lists are in the order of the file.
func newCatalog(d *data, allModels []*Model, enabled []*Provider) *Catalog {
	c := &Catalog{
		Updated:   d.updated,
		all:       d,
		providers: enabled,
		byCode:    make(map[string]*Provider, len(enabled)),
		models:    make(map[string][]*Model, len(enabled)),
		byID:      make(map[modelKey]*Model, len(allModels)),
	}
	for _, p := range enabled {
		c.byCode[p.Code] = p
	}
	for _, m := range allModels {
		if _, ok := c.byCode[m.Provider]; !ok {
			continue
		}
		c.byID[modelKey{m.Provider, m.ID}] = m
		if m.Retired {
			continue
		}
		c.models[m.Provider] = append(c.models[m.Provider], m)
		for _, t := range m.Tiers {
			c.tiers[t] = append(c.tiers[t], m)
		}
	}
	return c
}

// Providers returns the enabled providers in the order of the file. Without options, these are all providers except
// the alternates.
func (c *Catalog) Providers() []*Provider { return c.providers }

// Provider returns the enabled provider with a code. It reports false if there is none.
func (c *Catalog) Provider(code string) (*Provider, bool) {
	p, ok := c.byCode[code]
	return p, ok
}

// Models returns the models of an enabled provider, without retired ones, in the order of the file.
func (c *Catalog) Models(provider string) []*Model { return c.models[provider] }

// Model returns a model of an enabled provider, even if the model is retired. It reports false if there is no such
// model.
func (c *Catalog) Model(provider, id string) (*Model, bool) {
	m, ok := c.byID[modelKey{provider, id}]
	return m, ok
}

// Tier returns the models that serve a tier, without retired ones, in the order of the file. This is the default order
// in which a cascade tries them.
func (c *Catalog) Tier(t Tier) []*Model {
	if t < Low || t > High {
		return nil
	}
	return c.tiers[t]
}
