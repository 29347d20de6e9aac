package keychain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeyPrefix is the prefix of every gateway key.
const KeyPrefix = "ak-"

// maxKeys is the number of keys that a user can have, not counting revoked ones.
const maxKeys = 1000

// keyBytes is the number of random characters after the prefix. They hold 238 bits.
const keyBytes = 40

// EffortMode selects how the tier is chosen if a request in the messages format has an effort (output_config.effort),
// which may suggest another tier than the model name.
type EffortMode string

// The effort modes. EffortOverride chooses the tier of the effort, EffortModelWins the tier of the model name, and
// EffortMax the higher of the two.
const (
	EffortOverride  EffortMode = "override"
	EffortModelWins EffortMode = "model_wins"
	EffortMax       EffortMode = "max_of_both"
)

// GatewayKey is a key that clients send. Its text is shown once, when the key is created. The database holds only the
// SHA-256 of the text.
type GatewayKey struct {
	ID        string `json:"id"`
	UserID    string `json:"user_id"`
	Label     string `json:"label"`
	Masked    string `json:"masked"`
	IsPrimary bool   `json:"is_primary"`
	// Status is active, expired or revoked, as of the time when the key was read.
	Status  string `json:"status"`
	Revoked bool   `json:"revoked"`
	// Limits are those that the user has set. The user may change them.
	Limits
	EffortMode EffortMode `json:"effort_mode"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	// Imposed are the limits that the operator and the administrators of the team have set. Wherever two limits differ
	// the tighter one applies.
	Imposed []Imposed `json:"imposed"`

	// TeamID is the team that requests with the key count for. It is empty if the user is in no team.
	TeamID string `json:"team_id,omitempty"`

	// team is the team that was chosen when the key was created. It is empty if requests count for the user's default
	// team.
	team string
	// limitedBy is the id of the key that holds the limits imposed on this key. It is empty if limits were never
	// imposed.
	limitedBy string
}

// NewKey is a key that was just created, with its text.
type NewKey struct {
	GatewayKey
	Key string `json:"key"`
}

// hashKey returns the SHA-256 of a key's text in hex, as it is stored in the database.
func hashKey(key string) string {
	var text [2 * sha256.Size]byte
	sum := sha256.Sum256([]byte(key))
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// newKey returns a key with a random id, which the caller must store, and the random text of the key.
func (s *Service) newKey(userID string, primary bool, options KeyOptions) (key GatewayKey, text string) {
	text = KeyPrefix + random(keyBytes)
	now := s.now()
	key = GatewayKey{
		ID: "gk_" + random(20), UserID: userID, Masked: mask(text), IsPrimary: primary,
		CreatedAt: now.UTC().Truncate(time.Microsecond),
	}
	key.setOptions(options, now)
	return key, text
}

// CreateKey creates a key for a user. The error has status 400 for invalid options, 404 if the user does not exist or
// is not in options.TeamID, and 409 if the user has maxKeys keys already or if the limits that the operator has imposed
// on their keys have expired.
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
	row, text := s.newKey(userID, false, options)
	hash := hashKey(text) // changeKey forgets this hash, which is cached as unknown if somebody has sent the text
	limits := row.Limits
	var created *GatewayKey
	err = s.changeKey(ctx, func(c store.Conn) (_ string, err error) {
		if err := s.requireUser(c, userID); err != nil {
			return "", err
		}
		if err := s.roomForKey(c, userID); err != nil {
			return "", err
		}
		if row.team = options.TeamID; row.team != "" {
			if err := s.requireMember(c, row.team, userID); err != nil {
				return "", err
			}
		}
		if options.Impose {
			row.Limits, row.limitedBy = Limits{}, row.ID // the limits are imposed, not the key's own
			err = s.impose(c, OnKey, row.ID, &limits)
		} else {
			row.limitedBy, err = s.limitedBy(c, userID)
		}
		if err != nil {
			return "", err
		}
		if created, err = s.storeKey(c, &row, hash); err != nil {
			return "", err
		}
		if !options.Impose && created.Status == StatusExpired { // by limits that were imposed on the user's keys before
			return "", errEnded(*created.end())
		}
		if options.Impose {
			err = s.auditGatewayKey(ctx, c, "key.created", created)
		}
		return hash, err
	})
	if err != nil {
		return nil, err
	}
	return &NewKey{GatewayKey: *created, Key: text}, nil
}

// storeKey stores a new key and returns it with its team and the limits that are imposed on it. hash is hashKey of the
// key's text.
func (s *Service) storeKey(c store.Conn, row *GatewayKey, hash string) (*GatewayKey, error) {
	if err := s.insertKey(c, row, hash); err != nil {
		return nil, err
	}
	stored, _, err := s.keyWithHash(c, row.UserID, row.ID)
	return stored, err
}

// UpdateKey changes a key and returns it. With change.Impose, the new limits are imposed on all keys that share the
// limits of this key. The error has status 400 for invalid values, 404 if the user has no such key, and 409 if the key
// is revoked.
func (s *Service) UpdateKey(ctx context.Context, userID, keyID string, change KeyChange) (*GatewayKey, error) {
	if err := change.check(s.now()); err != nil {
		return nil, err
	}
	unknown, err := s.unknownModels(ctx, change.Catalog, userID, change.allowedModels())
	if err != nil {
		return nil, err
	}
	var key *GatewayKey
	if change.Impose { // concerns all keys that share the limits, so it is not enough to discard one cached identity
		err = s.changeLimits(ctx, func(c store.Conn) (err error) {
			key, _, err = s.updateStored(ctx, c, userID, keyID, &change, unknown)
			return err
		})
	} else {
		err = s.changeKey(ctx, func(c store.Conn) (hash string, err error) {
			key, hash, err = s.updateStored(ctx, c, userID, keyID, &change, unknown)
			return hash, err
		})
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}

// updateStored changes a key for UpdateKey in the transaction c. It returns the changed key and the hash of its text.
// If change.Impose is set, the limits of change are imposed on the key, and the user's own limits stay as they are.
// unknownModels are the models that the change allows although they do not exist.
func (s *Service) updateStored(
	ctx context.Context, c store.Conn, userID, keyID string, change *KeyChange, unknownModels []string,
) (*GatewayKey, string, error) {
	key, hash, err := s.keyWithHash(c, userID, keyID)
	if err != nil {
		return nil, "", err
	}
	if key.Revoked {
		return nil, "", apierror.New(http.StatusConflict, "revoked",
			"the gateway key %q is revoked and cannot be changed: create another key", keyID)
	}
	ownChange := *change // the part that changes the key's own settings; imposed limits are stored apart from them
	if change.Impose {
		ownChange = KeyChange{Label: change.Label, EffortMode: change.EffortMode}
		err = s.imposeOnKey(c, key, change, unknownModels)
	} else {
		err = refuseUnknown(change.allowedModels(), unknownModels, key.AllowedModels)
	}
	if err != nil {
		return nil, "", err
	}
	options := key.options()
	options.apply(&ownChange)
	key.setOptions(options, s.now())
	if err := s.updateKey(c, key); err != nil {
		return nil, "", err
	}
	if key, _, err = s.keyWithHash(c, userID, keyID); err != nil { // with the new imposed limits
		return nil, "", err
	}
	if change.Impose && change.Limits != nil {
		err = s.auditLimitedKey(ctx, c, key)
	}
	return key, hash, err
}

// imposeOnKey changes the limits that the operator imposes on a key, and thereby on all keys that share these limits.
// A key without imposed limits becomes the holder of its own imposed limits. unknownModels are the models that the
// change allows although they do not exist.
func (s *Service) imposeOnKey(c store.Conn, key *GatewayKey, change *KeyChange, unknownModels []string) error {
	if key.limitedBy == "" {
		key.limitedBy = key.ID
	}
	limits, err := s.imposedLimits(c, OnKey, key.limitedBy)
	if err != nil {
		return err
	}
	if err := refuseUnknown(change.allowedModels(), unknownModels, limits.AllowedModels); err != nil {
		return err
	}
	limits.edit(change.Limits)
	return s.impose(c, OnKey, key.limitedBy, &limits)
}

// RevokeKey ends a key permanently. Revoking it again changes nothing. The revocation is recorded in the audit log if
// ActedBy has set an actor. The error has status 404 if the user has no such key.
func (s *Service) RevokeKey(ctx context.Context, userID, keyID string) error {
	return s.changeKey(ctx, func(c store.Conn) (hash string, err error) {
		key, hash, err := s.keyWithHash(c, userID, keyID)
		if err != nil {
			return "", err
		}
		if err := s.markRevoked(c, keyID); err != nil {
			return "", err
		}
		if _, hasActor := ctx.Value(actorKey{}).(string); !hasActor || key.Revoked {
			return hash, nil
		}
		return hash, s.auditGatewayKey(ctx, c, "key.revoked", key)
	})
}

// auditGatewayKey records a change of a key in the audit log, and in that of the team if the key belongs to a team.
func (s *Service) auditGatewayKey(ctx context.Context, c store.Conn, action string, k *GatewayKey) error {
	return s.auditOf(ctx, c, k.owningTeam(), action, k.ID, map[string]string{"user_id": k.UserID, "label": k.Label})
}

// owningTeam returns the id of the team that the key belongs to, or an empty string for the key of a person.
func (k *GatewayKey) owningTeam() string {
	if k.TeamID == k.UserID { // the account of a team has the team's id
		return k.TeamID
	}
	return ""
}

// auditLimitedKey records in the audit log the limits that the operator now imposes on a key.
func (s *Service) auditLimitedKey(ctx context.Context, c store.Conn, k *GatewayKey) error {
	var limits Limits
	if l := operatorLimits(k.Imposed, OnKey); l != nil {
		limits = l.Limits
	}
	return s.auditOf(ctx, c, k.owningTeam(), "key.limited", k.ID, limits)
}

// RegenerateKey replaces the user's primary key and revokes the old key in the same transaction. The new key has the
// options, the imposed limits and the spending of the old key. A user without a primary key gets one. The error has
// status 409 if the old key has expired, or for the reasons of CreateKey if there is no old key.
func (s *Service) RegenerateKey(ctx context.Context, userID string) (*NewKey, error) {
	var created *GatewayKey
	var text string
	err := s.changeKey(ctx, func(c store.Conn) (oldHash string, err error) {
		if err := s.requireUser(c, userID); err != nil {
			return "", err
		}
		old, oldHash, err := s.primaryKey(c, userID)
		switch {
		case err != nil:
			return "", err
		case old == nil:
			if err := s.roomForKey(c, userID); err != nil {
				return "", err
			}
			created, text, err = s.storePrimaryKey(c, userID, s.now().UTC().Truncate(time.Microsecond))
		case old.Status == StatusExpired:
			return "", errPrimaryExpired(old)
		default:
			created, text, err = s.replaceKey(c, old)
		}
		if err == nil && created.Status == StatusExpired {
			err = errEnded(*created.end())
		}
		return oldHash, err
	})
	if err != nil {
		return nil, err
	}
	return &NewKey{GatewayKey: *created, Key: text}, nil
}

// storePrimaryKey stores a primary key of a user who has none, as created at the time now, and returns the key and its
// text.
func (s *Service) storePrimaryKey(
	c store.Conn, userID string, now time.Time,
) (key *GatewayKey, text string, err error) {
	row, text := s.newKey(userID, true, KeyOptions{Label: "primary", EffortMode: EffortOverride})
	row.CreatedAt = now
	if row.limitedBy, err = s.limitedBy(c, userID); err != nil {
		return nil, "", err
	}
	key, err = s.storeKey(c, &row, hashKey(text))
	return key, text, err
}

// replaceKey revokes a key, stores another one in its place, and returns the new key and its text.
func (s *Service) replaceKey(c store.Conn, old *GatewayKey) (key *GatewayKey, text string, err error) {
	if err := s.markRevoked(c, old.ID); err != nil {
		return nil, "", err
	}
	row, text := s.newKey(old.UserID, old.IsPrimary, old.options())
	row.limitedBy, row.team = old.limitedBy, old.team
	key, err = s.storeKey(c, &row, hashKey(text))
	return key, text, err
}

// HeldKey is a gateway key with the name of its user or team.
type HeldKey struct {
	Key GatewayKey `json:"key"`
	// User is the name of the user, or the mail address of a user without a name. If the key belongs to a team, User is
	// the name of the team. It may be empty.
	User string `json:"user"`
	// OfTeam reports that the key belongs to a team rather than a person. Key.UserID is then the team's id.
	OfTeam bool `json:"of_team"`
}

// Place returns the cursor of the key for AllKeys, which then continues after this key.
func (k *HeldKey) Place() string {
	return strconv.FormatInt(schema.Micros(k.Key.CreatedAt), 10) + "/" + k.Key.ID
}

// AllKeys returns at most limit gateway keys of all users and teams, newest first. It begins after the key whose Place
// is cursor; an empty cursor begins with the newest key. A search that is not empty selects keys that contain it in
// their label or in their user's id, mail address or name. Revoked keys are left out unless revoked is set. The error
// has status 400 if the cursor is invalid.
func (s *Service) AllKeys(ctx context.Context, search, cursor string, revoked bool, limit int) ([]HeldKey, error) {
	created, id := int64(math.MaxInt64), "" // of the last key before the page
	if cursor != "" {
		micros, lastID, _ := strings.Cut(cursor, "/")
		var err error
		if created, err = strconv.ParseInt(micros, 10, 64); err != nil || !schema.StorableID(lastID) {
			return nil, apierror.New(400, "invalid_value", "after must be the next_after of the previous page").With("after")
		}
		id = lastID
	}
	if !schema.StorableID(search) {
		return nil, nil
	}
	pattern := likeAnywhere(search)
	return read(ctx, s, func(row store.Row) (k HeldKey, err error) {
		k.Key, err = s.scanKey(row, &k.User, &k.OfTeam)
		return k, err
	}, `SELECT `+keyColumns+`, coalesce(nullif(w.name, ''), w.email, ''), w.is_service FROM (
			SELECT k.* FROM gateway_keys AS k JOIN gateway_users AS w ON w.id = k.user_id
			WHERE (k.created_at < ? OR k.created_at = ? AND k.id < ?) AND (CAST(? AS BIGINT) = 1 OR k.revoked_at IS NULL)
			AND (? = '' OR lower(k.label) LIKE ? ESCAPE '\' OR lower(w.id) LIKE ? ESCAPE '\' OR w.email LIKE ? ESCAPE '\'
				OR lower(w.name) LIKE ? ESCAPE '\')
			ORDER BY k.created_at DESC, k.id DESC LIMIT ?
		) AS k`+withLimits+`ORDER BY k.created_at DESC, k.id DESC`,
		created, created, id, schema.Flag(revoked), search, pattern, pattern, pattern, pattern, limit)
}

// likeAnywhere returns a LIKE pattern, with \ as escape character, for lower-case texts that contain search.
func likeAnywhere(search string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(search)) + "%"
}
