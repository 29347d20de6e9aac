// Package modelaccess reports to operators which users can use a model of the gateway: which provider keys serve the
// model, and which teams and users have limits that exclude it.
package modelaccess

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Keys counts the keys of a provider that serve requests, by owner. Keys that the policy catalog.Catalog.OwnKeys
// excludes are not counted.
type Keys struct {
	// Operator reports whether the configuration has a key of the operator.
	Operator     bool  `json:"operator"`
	Organisation int64 `json:"organisation"`
	Teams        int64 `json:"teams"`
	Users        int64 `json:"users"`
}

// Team is a team whose members may not use a model.
type Team struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Access describes the users who may use a model.
type Access struct {
	Keys Keys `json:"keys"`
	// Organisation reports whether the limits on the organisation allow the model. If not, no user may use it.
	Organisation bool `json:"organisation"`
	// RefusedTeams are the teams whose limits exclude the model, ordered by name.
	RefusedTeams []Team `json:"refused_teams"`
	// RefusedUsers counts the users whose limits exclude the model.
	RefusedUsers int64 `json:"refused_users"`
}

// Lists holds the keys and limits that decide the access to all models, as read at one time. Its methods may be called
// by several goroutines.
type Lists struct {
	keys   map[string]*Keys    // by provider
	shared map[string][]string // ids of the keys of teams and of the organisation, by provider
	lists  []list              // ordered by team
}

// list is a list of allowed models that is imposed on a team, on the organisation, or on a number of users.
type list struct {
	kind   string          // keychain.OnOrganisation, OnTeam, OnTeamOwn or OnUser
	team   Team            // zero unless the list is imposed on a team
	users  int64           // the number of users with this list, if it is imposed on users
	limits keychain.Limits // only AllowedModels is set
}

// Read reads the provider keys and the imposed lists of models. A list in a raise that has not ended at the time now
// replaces the permanent list. Limits of single gateway keys are left out.
func Read(ctx context.Context, db *store.DB, cat *catalog.Catalog, now time.Time) (*Lists, error) {
	l := &Lists{keys: make(map[string]*Keys), shared: make(map[string][]string)}
	for _, p := range cat.Providers() {
		l.keyCounts(p.Code).Operator = p.APIKey != "" && cat.OwnKeys != catalog.OwnKeysOnly
	}
	err := db.Read(ctx, func(c store.Conn) (err error) {
		if err = l.readKeys(c, cat.OwnKeys); err == nil {
			l.lists, err = readLists(c, now)
		}
		return err
	})
	return l, err
}

// keyCounts returns the entry of l.keys for a provider. If the entry does not exist, keyCounts adds it. The caller
// may change the entry while Read runs.
func (l *Lists) keyCounts(provider string) *Keys {
	if l.keys[provider] == nil {
		l.keys[provider] = new(Keys)
	}
	return l.keys[provider]
}

// readKeys counts the stored keys that the policy allows. It records the ids of keys that belong to the organisation or
// to a team.
func (l *Lists) readKeys(c store.Conn, policy catalog.OwnKeys) error {
	// A keyRow describes one shared key, or it counts the keys that all users have for one provider. In the second case id
	// is empty.
	type keyRow struct {
		provider, owner, id string
		count               int64
	}
	rows, err := store.List(c, func(r store.Row) (k keyRow, err error) {
		return k, r.Scan(&k.provider, &k.owner, &k.id, &k.count)
	}, `SELECT provider, owner_kind, CASE WHEN owner_kind = 'user' THEN '' ELSE id END AS key_id, COUNT(*)
		FROM gateway_provider_keys GROUP BY provider, owner_kind, key_id ORDER BY provider, owner_kind, key_id`)
	if err != nil {
		return err
	}
	for _, k := range rows {
		ofUser := k.owner == keychain.OnUser
		if ofUser && policy == catalog.OwnKeysNever || !ofUser && policy == catalog.OwnKeysOnly {
			continue
		}
		switch k.owner {
		case keychain.OnUser:
			l.keyCounts(k.provider).Users += k.count
		case keychain.OnTeam:
			l.keyCounts(k.provider).Teams += k.count
		default:
			l.keyCounts(k.provider).Organisation += k.count
		}
		if !ofUser {
			l.shared[k.provider] = append(l.shared[k.provider], k.id)
		}
	}
	return nil
}

// readLists reads the imposed lists of models. Users with the same list are read as one row.
func readLists(c store.Conn, now time.Time) ([]list, error) {
	return store.List(c, func(r store.Row) (l list, err error) {
		var models, raised, name sql.NullString
		if err := r.Scan(&l.kind, &l.team.ID, &name, &models, &raised, &l.users); err != nil {
			return l, err
		}
		l.team.Name = name.String
		if models.Valid {
			if err := json.Unmarshal([]byte(models.String), &l.limits.AllowedModels); err != nil {
				return l, fmt.Errorf("reading the allowed models in limits of the kind %s: %w", l.kind, err)
			}
		}
		var raise keychain.Limits
		if raised.Valid {
			if err := json.Unmarshal([]byte(raised.String), &raise); err != nil {
				return l, fmt.Errorf("reading raised limits of the kind %s: %w", l.kind, err)
			}
		}
		if len(raise.AllowedModels) > 0 {
			l.limits.AllowedModels = raise.AllowedModels
		}
		return l, nil
	}, `SELECT q.kind, q.team, t.name, q.models, q.raise, COUNT(*) FROM (
			SELECT l.kind, CASE WHEN l.kind = 'user' THEN '' ELSE l.holder END AS team, l.allowed_models AS models,
				CASE WHEN l.raised_until > ? THEN l.raised END AS raise
			FROM gateway_limits AS l WHERE l.kind IN ('organisation', 'team', 'team_own', 'user')
				AND (l.allowed_models IS NOT NULL OR l.raised IS NOT NULL)
		) AS q LEFT JOIN gateway_teams AS t ON t.id = q.team
		GROUP BY q.kind, q.team, t.name, q.models, q.raise ORDER BY t.name, q.team, q.kind`, schema.Micros(now))
}

// To returns which users may use a model.
func (l *Lists) To(m *catalog.Model) Access {
	a := Access{Organisation: true, RefusedTeams: []Team{}}
	if keys := l.keys[m.Provider]; keys != nil {
		a.Keys = *keys
	}
	for i := range l.lists {
		list := &l.lists[i]
		if list.limits.AllowsModel(m) {
			continue
		}
		switch list.kind {
		case keychain.OnOrganisation:
			a.Organisation = false
		case keychain.OnUser:
			a.RefusedUsers += list.users
		default:
			// A team can have two lists, one set by the operator and one set by the team's administrators. In l.lists they
			// follow one another.
			if n := len(a.RefusedTeams); n == 0 || a.RefusedTeams[n-1].ID != list.team.ID {
				a.RefusedTeams = append(a.RefusedTeams, list.team)
			}
		}
	}
	return a
}

// SharedKeys returns the ids of the keys for a provider that belong to the organisation or to a team.
func (l *Lists) SharedKeys(provider string) []string { return l.shared[provider] }
