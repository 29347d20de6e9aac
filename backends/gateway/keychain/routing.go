package keychain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// Candidate is a model that a request can be sent to.
type Candidate struct {
	// Entry is the name in the user's model table, in the form provider/model.
	Entry    string
	Provider *catalog.Provider
	Model    *catalog.Model
	Tier     catalog.Tier
	// Keys has at least one element. The user's keys come first, then those of the team, of the organisation and of the
	// operator.
	Keys   []Key
	Custom bool // whether this is a custom model
	// Place is the number of the candidate's group within the tier; lower numbers are tried earlier. The user's
	// preferences and priorities make no difference between the candidates of a group.
	Place int
	// Shadows reports that the name of this custom model begins with the code of a catalog provider.
	Shadows bool
}

// Group returns the number of consecutive keys, beginning at the index start, that have the same owner. The load is
// shared among these keys.
func (c *Candidate) Group(start int) (n int) {
	for _, k := range c.Keys[start:] {
		if k.Owner != c.Keys[start].Owner {
			break
		}
		n++
	}
	return n
}

// ModelName returns the name by which users know the model: the catalog's name, or the entry name of a custom model.
func (c *Candidate) ModelName() string {
	if c.Custom {
		return c.Entry
	}
	return c.Model.ID
}

// Efforts returns the reasoning efforts that the candidate accepts.
func (c *Candidate) Efforts() []string {
	switch {
	case !c.Model.Reasoning:
		return nil
	case c.Model.ReasoningEfforts != nil:
		return c.Model.ReasoningEfforts
	}
	return c.Provider.Shape.ReasoningEfforts
}

// Routing holds the candidates of an Account in the order in which they are tried. They are chosen from the models of a
// catalog and from the user's own models.
type Routing struct {
	catalog *catalog.Catalog
	// Connected reports that a key serves the user, or that the user has an enabled custom model.
	Connected bool
	// tiers holds the candidates of each tier in the order in which they are tried.
	tiers   [catalog.High + 1][]*Candidate
	entries map[string]*Candidate
	// named holds the catalog's entries by the ids of their models, in the order of the tiers. If an id has a slash, the
	// entry is also listed under the part after the last slash.
	named   map[string][]*Candidate
	aliases map[string]string
}

// Tier returns the candidates of one tier in the order in which they are tried. The caller must not change the list.
func (r *Routing) Tier(t catalog.Tier) []*Candidate { return r.tiers[t] }

// Entry returns the enabled entry with the given name. It reports false if there is no such entry, or if no key for its
// provider serves the user.
func (r *Routing) Entry(name string) (*Candidate, bool) {
	c, ok := r.entries[name]
	return c, ok
}

// Named returns the candidates for models of the catalog with the given id, which may also be only the part of the id
// after its last slash. They are in the order in which they are tried. Custom models are left out. The caller must not
// change the list.
func (r *Routing) Named(id string) []*Candidate { return r.named[id] }

// Entries returns the names of all candidates, sorted.
func (r *Routing) Entries() []string {
	return slices.Sorted(maps.Keys(r.entries))
}

// RoutingFor returns the account's candidates, chosen from the models of a catalog and the user's own. They are for
// requests that count for a team and may use its keys. An empty team, and a team that does not serve the user, means no
// team. The result is computed once per team and catalog.
func (a *Account) RoutingFor(cat *catalog.Catalog, team string) *Routing {
	if !slices.Contains(a.teams, team) {
		team = ""
	}
	if r, ok := a.routing.Load(team); ok && r.(*Routing).catalog == cat {
		return r.(*Routing)
	}
	r := a.route(cat, team)
	a.routing.Store(team, r)
	return r
}

// KeysFor returns the keys that serve requests of a team, by provider code. The keys of each provider are ordered by
// owner: user, team, organisation, operator.
func (a *Account) KeysFor(cat *catalog.Catalog, team string) map[string][]Key {
	keys := make(map[string][]Key)
	owners := []Owner{{OnUser, a.UserID}, {OnTeam, team}, TheOrganisation}
	switch cat.OwnKeys {
	case catalog.OwnKeysFirst: // all owners, the user first
	case catalog.OwnKeysOnly:
		owners = owners[:1]
	case catalog.OwnKeysNever:
		owners = owners[1:]
	}
	for _, owner := range owners {
		for i := range a.keys {
			k := &a.keys[i]
			if _, ok := cat.Provider(k.Provider); ok && k.owner == owner {
				keys[k.Provider] = append(keys[k.Provider], k.key(a.UserID))
			}
		}
	}
	for _, p := range cat.Providers() {
		if key, ok := a.OperatorKey(p); ok && cat.OwnKeys != catalog.OwnKeysOnly {
			keys[p.Code] = append(keys[p.Code], key)
		}
	}
	return keys
}

// route computes RoutingFor.
func (a *Account) route(cat *catalog.Catalog, team string) *Routing {
	r := &Routing{
		catalog: cat, entries: make(map[string]*Candidate), named: make(map[string][]*Candidate),
		aliases: a.aliasesFor(cat, team),
	}
	keys := a.KeysFor(cat, team)
	r.Connected = len(keys) > 0
	custom := make(map[string]*modelRow)
	for i := range a.models {
		if m := &a.models[i]; m.Custom {
			custom[m.Entry] = m
			r.Connected = r.Connected || m.Enabled
		}
	}
	place, previous := 0, ModelEntry{} // see Candidate.Place: the table has the entries of a group side by side
	for _, e := range a.table(cat, team) {
		if e.Priority != previous.Priority || a.rank(e.Provider) != a.rank(previous.Provider) {
			place++
		}
		previous = e
		if !e.Enabled || !e.ProviderConnected ||
			slices.Contains(a.preferences.ExcludedProviders, e.Provider) ||
			slices.Contains(a.preferences.ExcludedModels, e.Entry) {
			continue
		}
		c := r.entries[e.Entry] // not nil if the model is also in another tier
		if c == nil {
			code, id, _ := strings.Cut(e.Entry, "/")
			provider, known := cat.Provider(code)
			if e.IsCustom {
				c = a.customCandidate(custom[e.Entry])
				c.Shadows = known
			} else {
				model, _ := cat.Model(code, id)
				c = &Candidate{Entry: e.Entry, Provider: provider, Model: model, Keys: keys[code]}
				r.addNamed(id, c)
			}
			c.Tier = e.Tier
			r.entries[e.Entry] = c
		}
		if e.Tier == 0 {
			c.Tier = catalog.High // without a tier, an entry is reached by its name only; High has the longest time limit
			continue
		}
		inTier := c
		if c.Tier != e.Tier { // the model is in several tiers
			copied := *c
			copied.Tier = e.Tier
			inTier = &copied
		}
		inTier.Place = place
		r.tiers[e.Tier] = append(r.tiers[e.Tier], inTier)
	}
	return r
}

// addNamed adds a candidate to r.named under the id of its model. If the id has a slash, addNamed also adds the
// candidate under the part after the last slash. This part lacks the prefix of the model's maker.
func (r *Routing) addNamed(id string, c *Candidate) {
	r.named[id] = append(r.named[id], c)
	if slash := strings.LastIndexByte(id, '/'); slash >= 0 {
		r.named[id[slash+1:]] = append(r.named[id[slash+1:]], c)
	}
}

// messagesVersion is a version header of the messages format that every server knows.
var messagesVersion = map[string]string{"Anthropic-Version": "2023-06-01"}

// customCandidate describes a custom model as a provider with this one model. Its abilities are not known, so all are
// assumed.
func (a *Account) customCandidate(m *modelRow) *Candidate {
	provider := &catalog.Provider{
		Code: CustomProvider, Name: m.Entry, BaseURL: m.BaseURL,
		Shape: catalog.Shape{MaxTokensField: "max_tokens", StreamUsage: true},
	}
	if m.Wire != "" {
		provider.Wires, provider.PreferWire, provider.NativeTools = []string{m.Wire}, m.Wire, true
	}
	if m.Wire == catalog.WireMessages {
		provider.Auth, provider.Headers, provider.PinnedHeaders = catalog.AuthXAPIKey, messagesVersion, true
	}
	return &Candidate{
		Entry:    m.Entry,
		Custom:   true,
		Provider: provider,
		Model: &catalog.Model{
			Provider: CustomProvider, ID: m.Model, Name: m.Entry,
			Modalities: []string{"text", "image", "file", "audio"}, Tools: true, JSONSchema: true, Prefill: true,
		},
		Keys: []Key{ownKey(m.ID, a.customKeys[m.ID])},
	}
}

// table returns the effective model table for requests of a team, from the high tier down; models without a tier come
// last. Within a tier the user's preferred providers come first, in their order, and then the priority decides. Models
// that are still equal keep the order of the catalog, followed by the custom models in the order in which they were
// added. A custom model hides a catalog model of the same name.
func (a *Account) table(cat *catalog.Catalog, team string) []ModelEntry {
	keys := a.KeysFor(cat, team)
	rows := make(map[string]*modelRow, len(a.models))
	for i := range a.models {
		rows[a.models[i].Entry] = &a.models[i]
	}
	var table []ModelEntry
	addCatalogModel := func(m *catalog.Model, tier catalog.Tier) {
		e := ModelEntry{
			ID: m.EntryID(), Entry: m.EntryID(), Provider: m.Provider,
			Tier: tier, Enabled: true, ProviderConnected: len(keys[m.Provider]) > 0,
		}
		if row := rows[e.Entry]; row != nil {
			if row.Custom { // hides the catalog model
				return
			}
			e.ID, e.Enabled = row.ID, row.Enabled
			if row.Priority != nil {
				e.Priority = *row.Priority
			}
		}
		table = append(table, e)
	}
	sort := func(part []ModelEntry) {
		slices.SortStableFunc(part, func(x, y ModelEntry) int {
			return cmp.Or(cmp.Compare(a.rank(x.Provider), a.rank(y.Provider)), cmp.Compare(x.Priority, y.Priority))
		})
	}
	for _, t := range catalog.Tiers() {
		start := len(table)
		for _, m := range cat.Tier(t) {
			addCatalogModel(m, t)
		}
		for i := range a.models {
			if m := &a.models[i]; m.Custom && m.Tier == t.String() {
				table = append(table, m.entry())
			}
		}
		sort(table[start:])
	}
	start := len(table)
	for _, p := range cat.Providers() {
		for _, m := range cat.Models(p.Code) {
			if len(m.Tiers) == 0 {
				addCatalogModel(m, 0)
			}
		}
	}
	sort(table[start:])
	return table
}

// rank returns the index of a provider among the preferred providers. All other providers get the same, higher number.
func (a *Account) rank(provider string) int {
	if index := slices.Index(a.preferences.PreferredProviders, provider); index >= 0 {
		return index
	}
	return len(a.preferences.PreferredProviders)
}
