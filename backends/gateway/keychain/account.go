package keychain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

// Account holds a user's keys, models, aliases and preferences, from which requests are routed. It is read in one go,
// cached for at most CacheTTL and immutable.
type Account struct {
	UserID      string
	keys        []accountKey      // of the user, their teams and the organisation; oldest first
	models      []modelRow        // the user's changes of catalog models and their custom models
	customKeys  map[string]string // the API keys of custom models, by the id of the model's row
	preferences Preferences
	standing    standing     // the reasons for refusing the user, if any
	team        string       // the default team; empty if there is none
	teams       []string     // all teams whose keys serve the user
	aliases     []ownedAlias // of the user, their teams and the organisation

	next    atomic.Uint32 // the request counter of NextKey
	routing sync.Map      // *Routing by the team's id; empty means no team
}

// accountKey is a decrypted provider key that serves the user.
type accountKey struct {
	ID, Provider, secret string
	owner                Owner
	limits               *Limits // nil means unlimited
}

// key returns the key in the form for a candidate of the given user. If the user does not own the key, other users
// may share it. Mine then also contains the user's id.
func (k *accountKey) key(userID string) Key {
	key := Key{ID: k.ID, Secret: k.secret, Mine: k.ID, Owner: k.owner.Kind, Limits: k.limits}
	if key.Owner != OnUser {
		key.Mine += " " + userID
	}
	return key
}

// Key is a provider key with which a candidate can be called.
type Key struct {
	// ID identifies the key in the cascade's health table. For a custom model without a key it is the id of the model's
	// entry.
	ID string
	// Secret is sent to the provider. It is empty if the provider needs none.
	Secret string
	// Mine identifies the key in the health table for failures that concern only this user. It equals ID unless other
	// users share the key.
	Mine string
	// Owner is OnUser, OnTeam, OnOrganisation or OperatorKey.
	Owner string
	// Limits bound the use of the key. Nil means unlimited.
	Limits *Limits
}

// OperatorKey is the public id of every key of the operator, whichever provider it is for, and the Owner of such a Key.
const OperatorKey = "operator"

// OfOperator reports whether the key is the operator's.
func (k *Key) OfOperator() bool { return k.Owner == OperatorKey }

// Shared reports whether other users use the key, too.
func (k *Key) Shared() bool { return k.Mine != k.ID }

// PublicID returns the key's name in the usage log and in everything that users see.
func (k *Key) PublicID() string {
	if k.OfOperator() {
		return OperatorKey
	}
	return k.ID
}

// ownKey returns a Key that belongs to the user.
func ownKey(id, secret string) Key { return Key{ID: id, Secret: secret, Mine: id, Owner: OnUser} }

// OperatorKey returns the operator's key for a provider, for use by this user. ok is false if there is no such key.
func (a *Account) OperatorKey(p *catalog.Provider) (key Key, ok bool) {
	return Key{ID: p.KeyID, Secret: p.APIKey, Mine: p.KeyID + " " + a.UserID, Owner: OperatorKey}, p.APIKey != ""
}

// Team returns the default team of the user, or an empty string.
func (a *Account) Team() string { return a.team }

// NextKey increments the account's request counter and returns it. Callers use it to rotate over a provider's keys.
func (a *Account) NextKey() uint32 { return a.next.Add(1) }

// Account returns the account of a user, from the cache or the database. An unknown user has an empty account.
func (s *Service) Account(ctx context.Context, userID string) (*Account, error) {
	if !schema.StorableID(userID) {
		return &Account{UserID: userID}, nil
	}
	if account, ok := s.accounts.Get(userID); ok {
		return account, nil
	}
	version := s.changes.current()
	found, err := s.reads.Do(ctx, fmt.Sprint("account/", version, "/", userID), func(ctx context.Context) (any, error) {
		account, err := s.readAccount(ctx, userID)
		if err != nil {
			return nil, err
		}
		s.changes.mu.Lock()
		// An account without keys and models is not cached. Its first key or model may be added on another node, and the
		// notice of the addition arrives a moment after that node has confirmed it.
		if s.changes.n == version && len(account.keys)+len(account.models) > 0 {
			s.accounts.SetWithTTL(userID, account, 1, s.ttl)
		}
		s.changes.mu.Unlock()
		return account, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*Account), nil
}

// forgetAccount discards a user's cached account. As in forgetKey, reads under way do not cache their results either.
func (s *Service) forgetAccount(userID string) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.accounts.Wait()
	s.accounts.Del(userID)
}

// readAccount reads a user's account from the database and decrypts its keys. Keys that cannot be decrypted are logged
// and left out. The error wraps store.ErrUnavailable or comes from the keyring.
func (s *Service) readAccount(ctx context.Context, userID string) (*Account, error) {
	a := &Account{UserID: userID}
	// The counter begins at a random number. Otherwise users whose account is read again for each request would only
	// use the first key.
	a.next.Store(rand.Uint32()) //nolint:gosec // a turn, no secret
	keyRows, err := s.keysServing(ctx, userID)
	if err != nil {
		return nil, err
	}
	users, err := read(ctx, s, scanUser, selectUsers+`WHERE id = ?`, userID)
	if err != nil {
		return nil, err
	}
	if len(users) > 0 {
		a.standing, a.team = users[0].standing(), users[0].TeamID
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
	for i := range keyRows {
		row := &keyRows[i]
		secret, err := s.ring.Open(ctx, row.sealed, row.associated())
		switch {
		case errors.Is(err, keyring.ErrOpen): // the other keys remain usable
			s.logger.Error("provider key cannot be decrypted and is left out; check the keyring",
				zap.String("key_id", row.ID), zap.String("provider", row.Provider), zap.Error(err))
			continue
		case err != nil: // without the keyring, requests must not be sent with other keys
			return nil, err
		}
		a.keys = append(a.keys, accountKey{
			ID: row.ID, Provider: row.Provider, secret: string(secret), owner: row.Owner, limits: row.limits(),
		})
	}
	a.customKeys = make(map[string]string)
	for i := range a.models {
		m := &a.models[i]
		if m.Sealed == "" {
			continue
		}
		secret, err := s.ring.Open(ctx, m.Sealed, m.associated())
		switch {
		case errors.Is(err, keyring.ErrOpen):
			s.logger.Error("key of a custom model cannot be decrypted, the model is used without a key; check the keyring",
				zap.String("model_id", m.ID), zap.Error(err))
			continue
		case err != nil:
			return nil, err
		}
		a.customKeys[m.ID] = string(secret)
	}
	return a, nil
}
