package keychain

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Alias is another name for a model or a tier. Permissions are checked on the models that serve a request, so an alias
// does not circumvent limits.
type Alias struct {
	Name string `json:"alias"`
	// Target is provider/model, the id of a model, or the name of a tier such as keychain-low.
	Target    string    `json:"target"`
	CreatedAt time.Time `json:"created_at"`
}

// maxAliases bounds the aliases of one owner.
const maxAliases = 200

// SetAlias creates an alias of an owner or changes its target. The error has status 400 for an invalid name or target
// (see catalog.CheckAlias), 404 if the owner does not exist, and 409 if the owner has maxAliases aliases already.
func (s *Service) SetAlias(ctx context.Context, cat *catalog.Catalog, owner Owner, name, target string) (Alias, error) {
	entries, err := s.ownEntries(ctx, owner)
	if err != nil {
		return Alias{}, err
	}
	if slices.Contains(entries, name) {
		return Alias{}, invalid("alias", "the alias %q would hide the user's own model of that name", name)
	}
	target, err = cat.CheckAlias(name, target, func(entry string) bool { return slices.Contains(entries, entry) })
	if err != nil {
		return Alias{}, invalid("target", "%v", err)
	}
	a := Alias{Name: name, Target: target, CreatedAt: s.now().UTC().Truncate(time.Microsecond)}
	err = s.changeKeysOf(ctx, owner, func(c store.Conn) error {
		if err := s.requireHolder(c, owner.Kind, owner.ID); err != nil {
			return err
		}
		if err := change(c, tooMany("the %s can have at most %d aliases, remove one first", owner.Kind, maxAliases),
			`INSERT INTO gateway_aliases (owner_kind, owner, name, target, created_at)
			SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
			WHERE (SELECT count(*) FROM gateway_aliases WHERE owner_kind = ? AND owner = ? AND name <> ?) < ?
			ON CONFLICT (owner_kind, owner, name) DO UPDATE SET target = excluded.target`,
			owner.Kind, owner.ID, name, target, schema.Micros(a.CreatedAt), owner.Kind, owner.ID, name, maxAliases); err != nil {
			return err
		}
		return s.auditKey(ctx, c, "alias.set", owner, name, map[string]string{"target": target})
	})
	return a, err
}

// ownEntries returns the entry names (provider/model) of the owner's custom models. Only users have custom models.
func (s *Service) ownEntries(ctx context.Context, owner Owner) (entries []string, err error) {
	if owner.Kind != OnUser {
		return nil, nil
	}
	account, err := s.Account(ctx, owner.ID)
	if err != nil {
		return nil, err
	}
	for i := range account.models {
		if account.models[i].Custom {
			entries = append(entries, account.models[i].Entry)
		}
	}
	return entries, nil
}

// RemoveAlias removes an alias of an owner. The error has status 404 if the owner has no alias of that name.
func (s *Service) RemoveAlias(ctx context.Context, owner Owner, name string) error {
	return s.changeKeysOf(ctx, owner, func(c store.Conn) error {
		if !schema.StorableID(owner.ID) || !schema.StorableID(name) {
			return notFound("alias", name)
		}
		if err := change(c, notFound("alias", name),
			`DELETE FROM gateway_aliases WHERE owner_kind = ? AND owner = ? AND name = ?`, owner.Kind, owner.ID,
			name); err != nil {
			return err
		}
		return s.auditKey(ctx, c, "alias.removed", owner, name, map[string]string{})
	})
}

// Aliases returns the aliases of an owner, ordered by name. The error has status 404 if the owner does not exist.
func (s *Service) Aliases(ctx context.Context, owner Owner) ([]Alias, error) {
	if !schema.StorableID(owner.ID) {
		return nil, notFound(owner.Kind, owner.ID)
	}
	var list []Alias
	err := s.read(ctx, func(c store.Conn) (err error) {
		if err = s.requireHolder(c, owner.Kind, owner.ID); err != nil {
			return err
		}
		list, err = store.List(c, func(row store.Row) (a Alias, err error) {
			var created int64
			err = row.Scan(&a.Name, &a.Target, &created)
			a.CreatedAt = schema.Moment(created)
			return a, err
		}, `SELECT name, target, created_at FROM gateway_aliases WHERE owner_kind = ? AND owner = ? ORDER BY name LIMIT ?`,
			owner.Kind, owner.ID, maxAliases)
		return err
	})
	return list, err
}

// ownedAlias is an alias with its owner.
type ownedAlias struct {
	owner        Owner
	name, target string
}

// aliasesServing reads the aliases of a user, of their teams and of the organisation.
func (s *Service) aliasesServing(ctx context.Context, userID string) ([]ownedAlias, error) {
	return read(ctx, s, func(row store.Row) (a ownedAlias, err error) {
		err = row.Scan(&a.owner.Kind, &a.owner.ID, &a.name, &a.target)
		return a, err
	}, `SELECT owner_kind, owner, name, target FROM gateway_aliases WHERE owner_kind = 'user' AND owner = ? OR owner_kind = 'organisation'
		OR owner_kind = 'team' AND owner IN (`+teamsServing+`)`, userID, userID, userID)
}

// aliasesFor returns the aliases that apply to requests of a team, as a map from name to target. If several owners
// have an alias of the same name, the first of these owners wins: the user, the team, the organisation, the
// configuration.
func (a *Account) aliasesFor(cat *catalog.Catalog, team string) map[string]string {
	aliases := cat.Aliases()
	if len(a.aliases) == 0 {
		return aliases
	}
	aliases = maps.Clone(aliases)
	if aliases == nil {
		aliases = make(map[string]string)
	}
	for _, owner := range [...]Owner{TheOrganisation, {OnTeam, team}, {OnUser, a.UserID}} {
		for i := range a.aliases {
			if a.aliases[i].owner == owner {
				aliases[a.aliases[i].name] = a.aliases[i].target
			}
		}
	}
	return aliases
}

// Claude is a prefix that clients may put before any name, as in claude-keychain-low and claude-openai/gpt-5.4-mini.
// Some clients list only names that begin with this prefix.
const Claude = "claude-"

// Resolve returns the target of an alias, and any other name unchanged. The name of an entry is never taken for an
// alias. If the name has the prefix Claude, Resolve resolves the rest of the name: it returns the rest itself for an
// entry or a tier, and the target for an alias. A suffix [1m], which some clients add, is ignored.
func (r *Routing) Resolve(name string) string {
	if _, ok := r.entries[name]; ok {
		return name
	}
	withoutSuffix := strings.TrimSuffix(name, "[1m]")
	if target, ok := r.aliases[withoutSuffix]; ok {
		return target
	}
	inner, ok := strings.CutPrefix(withoutSuffix, Claude)
	if !ok {
		return name
	}
	if _, isEntry := r.entries[inner]; isEntry || strings.HasPrefix(inner, catalog.TierPrefix) {
		return inner
	}
	if target, ok := r.aliases[inner]; ok {
		return target
	}
	return name
}

// Aliases returns the names of the aliases, sorted.
func (r *Routing) Aliases() []string { return slices.Sorted(maps.Keys(r.aliases)) }

// CandidateFor returns a candidate for a model of a provider, with the keys that serve the requests of a team. The
// model need not be in the catalog. The result is nil if the provider is not available or has no key, or if the user's
// preferences exclude the provider.
func (a *Account) CandidateFor(cat *catalog.Catalog, team, provider, model string) *Candidate {
	p, available := cat.Provider(provider)
	if !slices.Contains(a.teams, team) {
		team = ""
	}
	keys := a.KeysFor(cat, team)[provider]
	if !available || len(keys) == 0 || slices.Contains(a.preferences.ExcludedProviders, provider) {
		return nil
	}
	m := &catalog.Model{Provider: provider, ID: model, Name: model, Family: model}
	return &Candidate{Entry: m.EntryID(), Provider: p, Model: m, Tier: catalog.High, Keys: keys}
}
