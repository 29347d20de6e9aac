package keychain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeyLimits limit the use of a provider key. The zero value limits nothing.
type KeyLimits struct {
	// RateLimitPerMinute bounds the requests to the provider. It is at least 1. Nil means unlimited.
	RateLimitPerMinute *int64 `json:"rate_limit_per_minute"`
	// ExpiresAt is the time at which the use of the key ends. Nil means never.
	ExpiresAt *time.Time `json:"expires_at"`
	Budgets   Budgets    `json:"budgets"`
}

// OwnedKey is a provider key with its limits and the amounts spent through it, as shown to its owner.
type OwnedKey struct {
	ProviderKey
	Limits KeyLimits `json:"limits"`
	Today  KeySpend  `json:"today"`      // in the UTC day
	Month  KeySpend  `json:"this_month"` // in the UTC month
}

// KeySpend holds the amounts spent through a provider key.
type KeySpend struct {
	Tokens int64             `json:"tokens"`
	USD    spending.MicroUSD `json:"usd"`
}

// KeysOf returns the provider keys of an owner, oldest first. The error has status 404 if the owner does not exist.
func (s *Service) KeysOf(ctx context.Context, owner Owner) ([]OwnedKey, error) {
	if err := s.db.Read(ctx, func(c store.Conn) error { return s.requireHolder(c, owner.Kind, owner.ID) }); err != nil {
		return nil, err
	}
	rows, err := s.keysOf(ctx, owner)
	if err != nil {
		return nil, err
	}
	keys := make([]OwnedKey, len(rows))
	for i := range rows {
		if keys[i], err = s.owned(ctx, &rows[i]); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// SharedKey is a provider key of the organisation or of a team.
type SharedKey struct {
	Owner Owner
	// Team is the name of the team that owns the key. It is empty for a key of the organisation.
	Team string
	Key  OwnedKey
}

// SharedKeys returns the provider keys of the organisation, then those of all teams, ordered by the names of the teams.
// The keys of one owner are ordered by age, oldest first.
func (s *Service) SharedKeys(ctx context.Context) ([]SharedKey, error) {
	rows, err := read(ctx, s, scanProviderKey, selectKeyRows+`k.owner_kind IN ('organisation', 'team')
		ORDER BY CASE k.owner_kind WHEN 'team' THEN 1 ELSE 0 END, k.created_at, k.id`)
	if err != nil {
		return nil, err
	}
	names, err := read(ctx, s, func(row store.Row) (t Team, err error) { return t, row.Scan(&t.ID, &t.Name) },
		`SELECT id, name FROM gateway_teams WHERE id IN (SELECT owner FROM gateway_provider_keys WHERE owner_kind = 'team')`)
	if err != nil {
		return nil, err
	}
	teams := make(map[string]string, len(names))
	for i := range names {
		teams[names[i].ID] = names[i].Name
	}
	keys := make([]SharedKey, len(rows))
	for i := range rows {
		keys[i] = SharedKey{Owner: rows[i].Owner, Team: teams[rows[i].Owner.ID]}
		if keys[i].Key, err = s.owned(ctx, &rows[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(keys, func(a, b SharedKey) int {
		return cmp.Or(cmp.Compare(a.Team, b.Team), cmp.Compare(a.Owner.ID, b.Owner.ID))
	})
	return keys, nil
}

// owned returns a stored key with its limits and the amounts spent through it.
func (s *Service) owned(ctx context.Context, row *providerKeyRow) (OwnedKey, error) {
	sums, err := s.ledger.Spent(ctx, "", spending.Purse{On: OnProviderKey, ID: row.ID}, false, s.now())
	spend := func(w spending.Window) KeySpend { return KeySpend{sums[w].Tokens, spending.MicroUSD(sums[w].Micros)} }
	return OwnedKey{
		ProviderKey: row.ProviderKey, Today: spend(spending.InDay), Month: spend(spending.InMonth),
		Limits: row.storedLimits.OfKey(),
	}, err
}

// OfKey returns those of the limits that a provider key can have.
func (l *Limits) OfKey() KeyLimits { return KeyLimits{l.RateLimitPerMinute, l.ExpiresAt, l.Budgets} }

// All returns the limits in the form that other holders have, too.
func (l *KeyLimits) All() Limits {
	return Limits{RateLimitPerMinute: l.RateLimitPerMinute, ExpiresAt: l.ExpiresAt, Budgets: l.Budgets}
}

// LimitKey replaces the limits of a provider key of an owner. The error has status 404 if the owner has no such key.
func (s *Service) LimitKey(ctx context.Context, owner Owner, id string, limits KeyLimits) (OwnedKey, error) {
	row, err := s.limitKey(ctx, owner, id, limits)
	if err != nil {
		return OwnedKey{}, err
	}
	return s.owned(ctx, &row)
}

// limitKey replaces the limits of a provider key and returns its row. The error has status 404 if the owner has no such
// key.
func (s *Service) limitKey(
	ctx context.Context, owner Owner, id string, limits KeyLimits,
) (row providerKeyRow, err error) {
	all := limits.All()
	all.tidy()
	if err := all.check(s.now()); err != nil {
		return row, err
	}
	err = s.changeKeysOf(ctx, owner, func(c store.Conn) (err error) {
		if row, err = s.findKey(c, owner, id); err != nil {
			return err
		}
		row.storedLimits = all
		if err := s.impose(c, OnProviderKey, id, &all); err != nil {
			return err
		}
		return s.auditOf(ctx, c, owner.team(), "provider_key.limited", id, limits)
	})
	return row, err
}

// The reasons for which AdmitKey refuses a provider key.
const (
	KeySpent   = "budget_spent"
	KeyBusy    = "rate_limited"
	KeyExpired = "expired"
)

// KeyRefusal tells why, and until when, a provider key must not be used.
type KeyRefusal struct {
	Reason string    // KeySpent, KeyBusy or KeyExpired
	Until  time.Time // zero means without end
}

// AdmitKey checks the limits of a provider key. It returns nil if the key may be used now, and the reason otherwise.
// Requests per minute are counted in counterStore. The cost is the number of requests to count: 1, or 0 for a check
// only. Without limits on the key AdmitKey costs nothing. Sums are as exact as those of Admit. The error wraps
// store.ErrUnavailable while the database cannot be reached, and counters.ErrUnavailable while the counters cannot.
func (s *Service) AdmitKey(
	ctx context.Context, counterStore counters.Store, key *Key, cost int64,
) (*KeyRefusal, error) {
	l := key.Limits
	if l == nil {
		return nil, nil // a nil refusal admits the key
	}
	now := s.now()
	if l.ExpiresAt != nil && !now.Before(*l.ExpiresAt) {
		return &KeyRefusal{Reason: KeyExpired}, nil
	}
	if !l.Budgets.empty() {
		spent, err := s.admitBudget(ctx, "", budget{spending.Purse{On: OnProviderKey, ID: key.ID}, &l.Budgets, ByOperator})
		if err != nil {
			return nil, err
		}
		if spent != nil {
			return &KeyRefusal{Reason: KeySpent, Until: spent.renewed}, nil
		}
	}
	if l.RateLimitPerMinute == nil {
		return nil, nil // a nil refusal admits the key
	}
	state, err := counterStore.Take(ctx, "gateway/"+OnProviderKey+"/"+key.ID+"/requests", cost, *l.RateLimitPerMinute,
		time.Minute)
	if err != nil {
		return nil, err
	}
	if !state.Allowed || cost == 0 && state.Remaining == 0 { // a cost of 0 is always allowed
		return &KeyRefusal{Reason: KeyBusy, Until: now.Add(max(state.Reset, time.Second))}, nil
	}
	return nil, nil // a nil refusal admits the key
}
