// Package catalog holds the providers and models that a gateway can reach: addresses, the changes that each provider
// needs in a request, what each model can do and costs, and which tiers it serves.
//
// All of it is data. A file is built into the binary, and a newer one can take its place without a rebuild; see
// README.md beside it. No code depends on a model id.
package catalog

import (
	_ "embed"
	"fmt"
	"sync"
)

//go:embed catalog.json
var embedded []byte

// Catalog is the content of a data file with options applied. It never changes, so it may be used by any number of
// goroutines. The slices, providers and models that it returns are shared and must not be changed either.
type Catalog struct {
	// Updated is the date of the data, as 2006-01-02.
	Updated string
	// OwnKeys is the policy for users' own provider keys.
	OwnKeys OwnKeys

	all       *data
	providers []*Provider
	byCode    map[string]*Provider
	models    map[string][]*Model
	byID      map[modelKey]*Model
	tiers     [High + 1][]*Model
	aliases   map[string]string
}

// data is the content of a whole file, including what is not enabled.
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

// Embedded returns the catalog built into the binary, without alternates.
func Embedded() *Catalog { return parseEmbedded() }

// newCatalog indexes the given providers, which are the enabled ones in the order of the file.
func newCatalog(d *data, models []*Model, enabled []*Provider) *Catalog {
	c := &Catalog{
		Updated:   d.updated,
		all:       d,
		providers: enabled,
		byCode:    make(map[string]*Provider, len(enabled)),
		models:    make(map[string][]*Model, len(enabled)),
		byID:      make(map[modelKey]*Model, len(models)),
	}
	for _, p := range enabled {
		c.byCode[p.Code] = p
	}
	for _, m := range models {
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

// Providers returns the enabled providers in the order of the file. Without options these are all that are not
// alternates.
func (c *Catalog) Providers() []*Provider { return c.providers }

// Provider returns an enabled provider.
func (c *Catalog) Provider(code string) (*Provider, bool) {
	p, ok := c.byCode[code]
	return p, ok
}

// Models returns the models of an enabled provider that are not retired, in
// the order of the file.
func (c *Catalog) Models(provider string) []*Model { return c.models[provider] }

// Model returns a model of an enabled provider. It also finds retired models.
func (c *Catalog) Model(provider, id string) (*Model, bool) {
	m, ok := c.byID[modelKey{provider, id}]
	return m, ok
}

// Tier returns the models that serve a tier, in the order of the file, which is the default order of a cascade within
// the tier. Retired models are left out.
func (c *Catalog) Tier(t Tier) []*Model {
	if t < Low || t > High {
		return nil
	}
	return c.tiers[t]
}
