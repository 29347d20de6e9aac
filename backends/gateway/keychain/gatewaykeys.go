package keychain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeyPrefix begins every gateway key.
const KeyPrefix = "ak-"

// maxKeys is how many keys a user can have that are not revoked.
const maxKeys = 1000

// keyBytes is the number of random characters behind the prefix: 238 bits.
const keyBytes = 40

// EffortMode says how output_config.effort of the messages surface and the
// model name together choose the tier (specification 2.5).
type EffortMode string

// The effort modes.
const (
	EffortOverride  EffortMode = "override"
	EffortModelWins EffortMode = "model_wins"
	EffortMax       EffortMode = "max_of_both"
)

// GatewayKey is a key that clients send. Its text is shown once, when it is
// made; the database has its SHA-256.
type GatewayKey struct {
	ID        string `json:"id"`
	UserID    string `json:"user_id"`
	Label     string `json:"label"`
	Masked    string `json:"masked"`
	IsPrimary bool   `json:"is_primary"`
	// Status is active, expired or revoked, as of when the key was read.
	Status  string `json:"status"`
	Revoked bool   `json:"revoked"`
	// RateLimitPerMinute is at least 1; nil: unlimited.
	RateLimitPerMinute *int64 `json:"rate_limit_per_minute"`
	// ExpiresAt is when the key ends; nil: never.
	ExpiresAt *time.Time `json:"expires_at"`
	// AllowedModels are names of entries (provider/model) and beginnings of such
	// names with a star behind (provider/*); nil: all.
	AllowedModels []string   `json:"allowed_models"`
	Budgets       Budgets    `json:"budgets"`
	EffortMode    EffortMode `json:"effort_mode"`
	CreatedAt     time.Time  `json:"created_at"`
	LastUsedAt    *time.Time `json:"last_used_at"`
}

// NewKey is a key just made, with its text.
type NewKey struct {
	GatewayKey
	Key string `json:"key"`
}

func hashKey(key string) string {
	var text [2 * sha256.Size]byte
	sum := sha256.Sum256([]byte(key))
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

func (s *Service) newKey(userID string, primary bool, options KeyOptions) (GatewayKey, string) {
	plain, now := KeyPrefix+random(keyBytes), s.now()
	k := GatewayKey{
		ID: "gk_" + random(20), UserID: userID, Masked: mask(plain), IsPrimary: primary,
		CreatedAt: now.UTC().Truncate(time.Microsecond),
	}
	k.set(options, now)
	return k, plain
}

// CreateKey makes a key for a user; 409 when they have maxKeys already.
func (s *Service) CreateKey(ctx context.Context, userID string, options KeyOptions) (*NewKey, error) {
	if options.EffortMode == "" {
		options.EffortMode = EffortOverride
	}
	if err := options.check(s.now()); err != nil {
		return nil, err
	}
	unknown, err := s.unknownModels(ctx, options.Catalog, userID, options.AllowedModels)
	if err != nil {
		return nil, err
	}
	if err := refuseUnknown(options.AllowedModels, unknown, nil); err != nil {
		return nil, err
	}
	row, plain := s.newKey(userID, false, options)
	hash := hashKey(plain) // it may have been asked for before it was made
	err = s.changeKey(ctx, func(c store.Conn) (string, error) {
		if err := s.requireUser(c, userID); err != nil {
			return "", err
		}
		if err := s.roomForKey(c, userID); err != nil {
			return "", err
		}
		return hash, s.insertKey(c, &row, hash)
	})
	if err != nil {
		return nil, err
	}
	return &NewKey{GatewayKey: row, Key: plain}, nil
}

// Keys lists a user's keys, oldest first, with the maxRevoked newest ones of those
// that are revoked.
func (s *Service) Keys(ctx context.Context, userID string) ([]GatewayKey, error) {
	return s.selectKeys(ctx, userID)
}

// UpdateKey changes a key and returns it. A user other than userID is told
// that there is no such key.
func (s *Service) UpdateKey(ctx context.Context, userID, keyID string, change KeyChange) (*GatewayKey, error) {
	if err := change.check(s.now()); err != nil {
		return nil, err
	}
	var allowed, unknown []string
	if change.AllowedModels != nil {
		var err error
		allowed = *change.AllowedModels
		if unknown, err = s.unknownModels(ctx, change.Catalog, userID, allowed); err != nil {
			return nil, err
		}
	}
	var key *GatewayKey
	err := s.changeKey(ctx, func(c store.Conn) (hash string, err error) {
		key, hash, err = s.lockKey(c, userID, keyID)
		if err != nil {
			return "", err
		}
		if key.Revoked {
			return "", apierror.New(http.StatusConflict, "revoked", "the gateway key %q is revoked for good, create another", keyID)
		}
		if err := refuseUnknown(allowed, unknown, key.AllowedModels); err != nil {
			return "", err
		}
		options := key.options()
		options.apply(&change)
		key.set(options, s.now())
		return hash, s.updateKey(c, key)
	})
	if err != nil {
		return nil, err
	}
	return key, nil
}

// RevokeKey ends a key for good; revoking it again changes nothing.
func (s *Service) RevokeKey(ctx context.Context, userID, keyID string) error {
	return s.changeKey(ctx, func(c store.Conn) (hash string, err error) {
		_, hash, err = s.lockKey(c, userID, keyID)
		if err != nil {
			return "", err
		}
		return hash, s.markRevoked(c, keyID)
	})
}

// RegenerateKey replaces the user's primary key: the old one is revoked in the
// same step and all its options go over to the new one. 409 when it has expired.
func (s *Service) RegenerateKey(ctx context.Context, userID string) (*NewKey, error) {
	var row GatewayKey
	var plain string
	err := s.changeKey(ctx, func(c store.Conn) (oldHash string, err error) {
		if err := s.requireUser(c, userID); err != nil {
			return "", err
		}
		old, hash, err := s.primaryKey(c, userID)
		if err != nil {
			return "", err
		}
		options := primaryOptions
		if old == nil {
			if err := s.roomForKey(c, userID); err != nil {
				return "", err
			}
		} else {
			if old.Status == StatusExpired {
				return "", errPrimaryExpired()
			}
			oldHash, options = hash, old.options()
			if err := s.markRevoked(c, old.ID); err != nil {
				return "", err
			}
		}
		row, plain = s.newKey(userID, true, options)
		return oldHash, s.insertKey(c, &row, hashKey(plain))
	})
	if err != nil {
		return nil, err
	}
	return &NewKey{GatewayKey: row, Key: plain}, nil
}

// primaryOptions are those of a primary key that follows none.
var primaryOptions = KeyOptions{Label: "primary", EffortMode: EffortOverride}
