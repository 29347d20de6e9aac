package declared

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
)

// present is the state of the gateway before changes. Provider keys, aliases and prices are read separately.
type present struct {
	teams               []keychain.Team                       // sorted by name
	teamIDs             map[string]string                     // by the name of the team
	members             map[string]map[string]keychain.Member // by team id and user id
	organisation        keychain.Limits                       // limits on the organisation; zero if there are none
	organisationLimited bool                                  // whether there are limits on the organisation
	teamLimits          map[string]keychain.Limits            // by team id
	userLimits          map[string]keychain.Limits            // by user id
	suspended           map[string]bool                       // by user id
}

// readPresent reads the current state.
func readPresent(ctx context.Context, s *keychain.Service) (p *present, err error) {
	p = &present{
		teamIDs: make(map[string]string), members: make(map[string]map[string]keychain.Member),
		suspended: make(map[string]bool),
	}
	p.teams, err = keychain.AllPages(
		func(lastKey string, limit int) ([]keychain.Team, error) { return s.Teams(ctx, lastKey, limit) },
		func(t keychain.Team) string { return t.Name })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(p.teams, func(a, b keychain.Team) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range p.teams {
		p.teamIDs[t.Name], p.members[t.ID] = t.ID, make(map[string]keychain.Member)
		members, err := keychain.AllPages(
			func(lastKey string, limit int) ([]keychain.Member, error) {
				return s.Members(ctx, t.ID, lastKey, limit)
			},
			func(m keychain.Member) string { return m.UserID })
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			p.members[t.ID][m.UserID] = m
		}
	}
	limitsByHolder := func(kind string) (map[string]keychain.Limits, error) {
		holders, err := keychain.AllPages(
			func(lastKey string, limit int) ([]keychain.Holder, error) {
				return s.LimitedHolders(ctx, kind, lastKey, limit)
			},
			func(h keychain.Holder) string { return h.ID })
		limits := make(map[string]keychain.Limits, len(holders))
		for _, h := range holders {
			limits[h.ID] = h.Limits
		}
		return limits, err
	}
	onOrganisation, err := limitsByHolder(keychain.OnOrganisation)
	if err != nil {
		return nil, err
	}
	p.organisation, p.organisationLimited = onOrganisation[keychain.Organisation]
	if p.teamLimits, err = limitsByHolder(keychain.OnTeam); err != nil {
		return nil, err
	}
	if p.userLimits, err = limitsByHolder(keychain.OnUser); err != nil {
		return nil, err
	}
	users, err := keychain.AllPages(
		func(lastKey string, limit int) ([]keychain.User, error) { return s.SuspendedUsers(ctx, lastKey, limit) },
		func(u keychain.User) string { return u.ID })
	for _, u := range users {
		p.suspended[u.ID] = true
	}
	return p, err
}

// Export returns the current state as a file. The file does not contain references to the texts of provider keys. Once
// these are added, applying the file to an empty gateway recreates the state. Users with limits and suspended users are
// listed in Users; other users appear only as members of their teams.
func Export(ctx context.Context, s *keychain.Service) (f *File, err error) {
	p, err := readPresent(ctx, s)
	if err != nil {
		return nil, err
	}
	f = new(File)
	if p.organisationLimited {
		f.Organisation = &Limits{Limits: p.organisation}
	}
	if f.ProviderKeys, err = exportKeys(ctx, s, keychain.TheOrganisation); err != nil {
		return nil, err
	}
	if f.Aliases, err = exportAliases(ctx, s, keychain.TheOrganisation); err != nil {
		return nil, err
	}
	for _, t := range p.teams {
		team := Team{Name: t.Name, Limits: limitsIn(p.teamLimits, t.ID)}
		owner := keychain.Owner{Kind: keychain.OnTeam, ID: t.ID}
		if team.ProviderKeys, err = exportKeys(ctx, s, owner); err != nil {
			return nil, err
		}
		if team.Aliases, err = exportAliases(ctx, s, owner); err != nil {
			return nil, err
		}
		for _, user := range slices.Sorted(maps.Keys(p.members[t.ID])) {
			m := p.members[t.ID][user]
			team.Members = append(team.Members, Member{User: m.UserID, Role: m.Role, Default: m.Default})
		}
		f.Teams = append(f.Teams, team)
	}
	prices, err := ownprices.List(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(prices) > 0 {
		f.Prices = new(Prices)
		for _, e := range prices {
			f.Prices.List = append(f.Prices.List, Price{Entry: e})
		}
	}
	listed := maps.Clone(p.suspended) // ids of users
	for id := range p.userLimits {
		listed[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		user := User{ID: id, Limits: limitsIn(p.userLimits, id)}
		if p.suspended[id] {
			user.Suspended = new(true)
		}
		f.Users = append(f.Users, user)
	}
	return f, nil
}

// limitsIn returns the limits of an id, or nil if the id has no limits.
func limitsIn(limits map[string]keychain.Limits, id string) *Limits {
	if l, ok := limits[id]; ok {
		return &Limits{Limits: l}
	}
	return nil
}
