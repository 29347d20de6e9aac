package keychain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

// Account is what routing needs of a user, read together and kept for at most
// CacheTTL. It is never changed after it was read.
type Account struct {
	UserID      string
	keys        []accountKey
	models      []modelRow
	customKeys  map[string]string // model row id -> key
	preferences Preferences
	standing    standing
	team        string   // by default; empty: none
	teams       []string // all whose keys serve the user
	aliases     []ownedAlias

	next    atomic.Uint32 // rotates the keys of a provider, from a random one on
	routing sync.Map      // the *Routing of each of the teams and of none, by their ids
}

// accountKey is a decrypted provider key that serves the user.
type accountKey struct {
	ID, Provider, secret string
	owner                Owner
	limits               *Limits // nil: none
}

// key returns the key as a user has it.
func (k *accountKey) key(userID string) Key {
	key := Key{ID: k.ID, Secret: k.secret, Mine: k.ID, Owner: k.owner.Kind, Limits: k.limits}
	if key.Owner != OnUser {
		key.Mine += " " + userID
	}
	return key
}

// Key is a credential of a candidate.
type Key struct {
	// ID names the key in the health table; custom entries without a key have
	// the entry's id.
	ID string
	// Secret is sent to the provider; empty: none.
	Secret string
	// Mine names in the health table what this user alone has met through the key:
	// as ID does, but for a key that others use too.
	Mine string
	// Owner is OnUser, OnTeam, OnOrganisation or OperatorKey.
	Owner string
	// Limits bound what the key is used for. Nil means that nothing does.
	Limits *Limits
}

// OperatorKey is what users know the operator's key of any provider by.
const OperatorKey = "operator"

// OfOperator reports whether the key is the operator's.
func (k *Key) OfOperator() bool { return k.Owner == OperatorKey }

// Shared reports whether others use the key, too.
func (k *Key) Shared() bool { return k.Mine != k.ID }

// PublicID names the key to users and in the usage log.
func (k *Key) PublicID() string {
	if k.OfOperator() {
		return OperatorKey
	}
	return k.ID
}

// ownKey is a key of the user's own.
func ownKey(id, secret string) Key { return Key{ID: id, Secret: secret, Mine: id, Owner: OnUser} }

// OperatorKey is the key that a provider has for every user, as this user has it.
func (a *Account) OperatorKey(p *catalog.Provider) (key Key, ok bool) {
	return Key{ID: p.KeyID, Secret: p.APIKey, Mine: p.KeyID + " " + a.UserID, Owner: OperatorKey}, p.APIKey != ""
}

// Candidate is a model that a request can be sent to.
type Candidate struct {
	// Entry is provider/model as the user's table has it.
	Entry    string
	Provider *catalog.Provider
	Model    *catalog.Model
	Tier     catalog.Tier
	// Keys has at least one element: those of the user, of their team, of the organisation and
	// of the operator, in this order.
	Keys   []Key
	Custom bool
	// Place numbers, within the tier, the groups of candidates that the user's preferences and
	// priorities leave equal.
	Place int
	// Shadows reports that the user's own model has a name of a provider of the catalog.
	Shadows bool
}

// Group returns how many keys from the one at a place on have the same owner. They share load.
func (c *Candidate) Group(from int) (n int) {
	for _, k := range c.Keys[from:] {
		if k.Owner != c.Keys[from].Owner {
			break
		}
		n++
	}
	return n
}

// ModelName is what users know the model by: its name in the catalog, or the
// entry that they gave it.
func (c *Candidate) ModelName() string {
	if c.Custom {
		return c.Entry
	}
	return c.Model.ID
}

// Routing is an Account over a catalog, ordered.
type Routing struct {
	catalog *catalog.Catalog
	// Connected: the user has a provider key, or an entry that needs none, or the
	// operator has a key for all.
	Connected bool
	// tiers holds the candidates of each tier in the order of trial.
	tiers   [catalog.High + 1][]*Candidate
	entries map[string]*Candidate
	// named holds the entries of the catalog by the ids of their models, in that order, and by what
	// stands behind the last slash of them.
	named   map[string][]*Candidate
	aliases map[string]string
}

// Tier lists the candidates of one tier in the order of trial.
func (r *Routing) Tier(t catalog.Tier) []*Candidate { return r.tiers[t] }

// Entry finds an enabled entry of a connected provider by its name.
func (r *Routing) Entry(name string) (*Candidate, bool) {
	c, ok := r.entries[name]
	return c, ok
}

// Named lists the enabled entries of connected providers whose model has exactly this id in
// the catalog, or this behind the last slash of its id, in the order of trial. Models of the user's own servers are not among them.
// The caller must not change the list.
func (r *Routing) Named(id string) []*Candidate { return r.named[id] }

// Entries lists the names of all candidates, sorted.
func (r *Routing) Entries() []string {
	names := make([]string, 0, len(r.entries))
	for name := range r.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Team is the default team of the user; empty: none.
func (a *Account) Team() string { return a.team }

// NextKey counts the requests of the account, so that they rotate over the
// keys of a provider.
func (a *Account) NextKey() uint32 { return a.next.Add(1) }

// Account reads what routing needs of the user, or takes it from the cache. An
// unknown user has an empty account.
func (s *Service) Account(ctx context.Context, userID string) (*Account, error) {
	if !schema.StorableID(userID) {
		return &Account{UserID: userID}, nil
	}
	if account, ok := s.accts.Get(userID); ok {
		return account, nil
	}
	before := s.changes.current()
	found, err := s.reads.Do(ctx, fmt.Sprint("account/", before, "/", userID), func(ctx context.Context) (any, error) {
		account, err := s.readAccount(ctx, userID)
		if err != nil {
			return nil, err
		}
		s.changes.mu.Lock()
		if s.changes.n == before {
			s.accts.SetWithTTL(userID, account, 1, s.ttl)
		}
		s.changes.mu.Unlock()
		return account, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*Account), nil
}

// forgetAccount is forgetKey for accounts.
func (s *Service) forgetAccount(userID string) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.accts.Wait()
	s.accts.Del(userID)
}

func (s *Service) readAccount(ctx context.Context, userID string) (*Account, error) {
	a := &Account{UserID: userID}
	a.next.Store(rand.Uint32()) //nolint:gosec // a turn, no secret; else who asks less often than it is read anew would use the first key only
	rows, err := s.keysServing(ctx, userID)
	if err != nil {
		return nil, err
	}
	users, err := read(ctx, s, scanUser, selectUsers+`WHERE id = ?`, userID)
	if err != nil {
		return nil, err
	}
	for i := range users {
		a.standing, a.team = users[i].standing(), users[i].TeamID
	}
	if a.teams, err = read(ctx, s, schema.Text, teamsServing, userID, userID); err != nil {
		return nil, err
	}
	if a.models, err = s.selectModels(ctx, userID); err != nil {
		return nil, err
	}
	if a.aliases, err = s.aliasesServing(ctx, userID); err != nil {
		return nil, err
	}
	if a.preferences, err = s.selectPreferences(ctx, userID); err != nil {
		return nil, err
	}
	for i := range rows {
		secret, err := s.ring.Open(ctx, rows[i].sealed, rows[i].associated())
		if err != nil && !errors.Is(err, keyring.ErrOpen) {
			return nil, err // not without the user's keys
		}
		if err != nil { // one bad key must not take the others down
			s.logger.Error("provider key cannot be opened, it is left out; check the keyring",
				zap.String("key_id", rows[i].ID), zap.String("provider", rows[i].Provider), zap.Error(err))
			continue
		}
		a.keys = append(a.keys, accountKey{ID: rows[i].ID, Provider: rows[i].Provider, secret: string(secret), owner: rows[i].Owner, limits: rows[i].limits()})
	}
	for i := range a.models {
		if m := &a.models[i]; m.Sealed != "" {
			secret, err := s.ring.Open(ctx, m.Sealed, m.associated())
			if err != nil && !errors.Is(err, keyring.ErrOpen) {
				return nil, err
			}
			if err != nil {
				s.logger.Error("key of a custom model cannot be opened, the model is used without; check the keyring",
					zap.String("model_id", m.ID), zap.Error(err))
				continue
			}
			if a.customKeys == nil {
				a.customKeys = make(map[string]string)
			}
			a.customKeys[m.ID] = string(secret)
		}
	}
	return a, nil
}

// Routing is RoutingFor the default team of the user.
func (a *Account) Routing(cat *catalog.Catalog) *Routing { return a.RoutingFor(cat, a.team) }

// RoutingFor orders the account's candidates over a catalog (specification 13.1) for requests
// that count for a team, whose keys serve them; empty: for none. It is computed once for each
// team and catalog.
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

// KeysFor returns the keys that serve requests which count for a team, by their providers, in
// the order in which their owners are asked.
func (a *Account) KeysFor(cat *catalog.Catalog, team string) map[string][]Key {
	keys := make(map[string][]Key)
	owners := []Owner{{OnUser, a.UserID}, {OnTeam, team}, TheOrganisation}
	switch cat.OwnKeys {
	case catalog.OwnKeysFirst:
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

func (a *Account) route(cat *catalog.Catalog, team string) *Routing {
	r := &Routing{catalog: cat, entries: make(map[string]*Candidate), named: make(map[string][]*Candidate), aliases: a.aliasesFor(cat, team)}
	keys := a.KeysFor(cat, team)
	r.Connected = len(keys) > 0
	custom := make(map[string]*modelRow)
	for i := range a.models {
		if m := &a.models[i]; m.Custom {
			custom[m.Entry] = m
			r.Connected = r.Connected || m.Enabled
		}
	}
	place, before := 0, ModelEntry{}
	for _, e := range a.table(cat, team) {
		if e.Priority != before.Priority || a.rank(e.Provider) != a.rank(before.Provider) {
			place++
		}
		before = e
		if !e.Enabled || !e.ProviderConnected ||
			slices.Contains(a.preferences.ExcludedProviders, e.Provider) ||
			slices.Contains(a.preferences.ExcludedModels, e.Entry) {
			continue
		}
		c := r.entries[e.Entry] // a model may stand in several tiers
		if c == nil {
			if m := custom[e.Entry]; m != nil && e.IsCustom {
				c = a.customCandidate(m)
				code, _, _ := strings.Cut(m.Entry, "/")
				_, c.Shadows = cat.Provider(code)
			} else {
				code, id, _ := strings.Cut(e.Entry, "/")
				provider, _ := cat.Provider(code)
				model, _ := cat.Model(code, id)
				c = &Candidate{Entry: e.Entry, Provider: provider, Model: model, Keys: keys[code]}
				r.named[id] = append(r.named[id], c)
				if at := strings.LastIndexByte(id, '/'); at >= 0 { // without the name of its maker
					r.named[id[at+1:]] = append(r.named[id[at+1:]], c)
				}
			}
			c.Tier = e.Tier
			r.entries[e.Entry] = c
		}
		if e.Tier == 0 {
			c.Tier = catalog.High // the one that has the most time; only its name leads to it
			continue
		}
		inTier := c
		if c.Tier != e.Tier {
			other := *c
			other.Tier = e.Tier
			inTier = &other
		}
		inTier.Place = place
		r.tiers[e.Tier] = append(r.tiers[e.Tier], inTier)
	}
	return r
}

// messagesVersion is the version of the messages format that every server of it knows.
var messagesVersion = map[string]string{"Anthropic-Version": "2023-06-01"}

// customCandidate describes a model of the user's own as a provider that has
// this one model. Its abilities are not known, so none is ruled out.
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

// table is the effective model table: high tier first; inside a tier preferred
// providers in their order, then priority, then the order of the catalog, with
// the user's own models in the order they were added behind it; at last the
// models of no tier. A model of the user's own hides one of the catalog that has
// the same name.
func (a *Account) table(cat *catalog.Catalog, team string) []ModelEntry {
	keys := a.KeysFor(cat, team)
	rows := make(map[string]*modelRow, len(a.models))
	for i := range a.models {
		rows[a.models[i].Entry] = &a.models[i]
	}
	var table []ModelEntry
	add := func(m *catalog.Model, tier catalog.Tier) {
		e := ModelEntry{
			ID: m.EntryID(), Entry: m.EntryID(), Provider: m.Provider,
			Tier: tier, Enabled: true, ProviderConnected: len(keys[m.Provider]) > 0,
		}
		if row := rows[e.Entry]; row != nil {
			if row.Custom {
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
		from := len(table)
		for _, m := range cat.Tier(t) {
			add(m, t)
		}
		for i := range a.models {
			if m := &a.models[i]; m.Custom && m.Tier == t.String() {
				table = append(table, m.entry())
			}
		}
		sort(table[from:])
	}
	from := len(table)
	for _, p := range cat.Providers() {
		for _, m := range cat.Models(p.Code) {
			if len(m.Tiers) == 0 {
				add(m, 0)
			}
		}
	}
	sort(table[from:])
	return table
}

// rank is the place of a provider among the preferred ones, the rest last.
func (a *Account) rank(provider string) int {
	if at := slices.Index(a.preferences.PreferredProviders, provider); at >= 0 {
		return at
	}
	return len(a.preferences.PreferredProviders)
}
