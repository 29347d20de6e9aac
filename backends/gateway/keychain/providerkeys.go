package keychain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ProviderKey is a key at a provider. Its text is stored sealed and never shown again.
type ProviderKey struct {
	ID        string    `json:"id"`
	Provider  string    `json:"provider"`
	Label     string    `json:"key_label"`
	Masked    string    `json:"masked"`
	CreatedAt time.Time `json:"created_at"`
}

// associated returns the associated data that binds a sealed provider key to its row.
func (k *ProviderKey) associated() []byte { return []byte("gateway_provider_keys/" + k.ID) }

// Owner is the owner of provider keys and aliases: OnUser with the id of the user, OnTeam with the id of the team, or
// TheOrganisation.
type Owner struct{ Kind, ID string }

// TheOrganisation is the owner of keys that serve all users.
var TheOrganisation = Owner{OnOrganisation, Organisation}

// maxProviderKeys limits the keys of one owner, since all of them are decrypted together.
const maxProviderKeys = 200

// AddProviderKey adds a provider key of a user; see AddKeyOf.
func (s *Service) AddProviderKey(
	ctx context.Context, userID, provider, key, label string, known func(code string) bool,
) (*ProviderKey, error) {
	return s.AddKeyOf(ctx, Owner{OnUser, userID}, provider, key, label, known)
}

// RefuseOwnKeys returns an error with 403 if the gateway does not use users' own provider keys.
func RefuseOwnKeys(cat *catalog.Catalog) error {
	if cat.OwnKeys != catalog.OwnKeysNever {
		return nil
	}
	return apierror.New(http.StatusForbidden, "own_keys_not_used",
		"this gateway does not use users' own provider keys (own_keys never), only those of the organisation and of teams")
}

// AddKeyOf encrypts and stores a provider key of an owner. key is the text of the provider key. label is a name of at
// most 100 characters and may be empty. known reports whether a provider code is enabled; keys of other providers are
// refused. The error has status 400 for invalid values, 404 if the owner does not exist, and 409 if the owner has
// maxProviderKeys keys already.
func (s *Service) AddKeyOf(
	ctx context.Context, owner Owner, provider, key, label string, known func(code string) bool,
) (*ProviderKey, error) {
	key = strings.TrimSpace(key)
	if !known(provider) {
		return nil, invalid("provider", "provider %q is not one of the enabled provider codes", provider)
	}
	key, err := catalog.CheckKey(key)
	if err != nil {
		return nil, invalid("api_key", "api_key %s", err)
	}
	if err := checkText("key_label", label, 0, 100); err != nil {
		return nil, err
	}
	row := &ProviderKey{
		ID: "pk_" + random(20), Provider: provider, Label: label, Masked: mask(key),
		CreatedAt: s.now().UTC().Truncate(time.Microsecond),
	}
	sealed, err := s.ring.Seal(ctx, []byte(key), row.associated())
	if err != nil {
		return nil, err
	}
	err = s.changeKeysOf(ctx, owner, func(c store.Conn) error {
		if err := s.requireHolder(c, owner.Kind, owner.ID); err != nil {
			return err
		}
		if err := s.insertProviderKey(c, owner, row, sealed); err != nil {
			return err
		}
		return s.auditKey(ctx, c, "provider_key.added", owner, row.ID,
			map[string]string{"provider": provider, "label": label})
	})
	if err != nil {
		return nil, err
	}
	return row, nil
}

// changeKeysOf runs fn, which changes provider keys or aliases of an owner, in a transaction. Every node then discards
// the affected accounts from its cache: all accounts if the owner is a team or the organisation.
func (s *Service) changeKeysOf(ctx context.Context, owner Owner, fn func(c store.Conn) error) error {
	if owner.Kind == OnUser {
		return s.changeAccount(ctx, owner.ID, fn)
	}
	return s.changeLimits(ctx, fn)
}

// team returns the owner's id if the owner is a team, and an empty string otherwise.
func (o Owner) team() string {
	if o.Kind == OnTeam {
		return o.ID
	}
	return ""
}

// auditKey records a change of a provider key or alias in the audit log, unless the owner is a user. id is the id of
// the key or the name of the alias. auditKey adds the owner to details, which must not be nil.
func (s *Service) auditKey(
	ctx context.Context, c store.Conn, action string, owner Owner, id string, details map[string]string,
) error {
	if owner.Kind == OnUser {
		return nil
	}
	details["owner"] = owner.ID
	return s.auditOf(ctx, c, owner.team(), action, id, details)
}

// ProviderKeys lists a user's provider keys, oldest first.
func (s *Service) ProviderKeys(ctx context.Context, userID string) ([]ProviderKey, error) {
	rows, err := s.keysOf(ctx, Owner{OnUser, userID})
	if err != nil {
		return nil, err
	}
	keys := make([]ProviderKey, len(rows))
	for i := range rows {
		keys[i] = rows[i].ProviderKey
	}
	return keys, nil
}

// DeleteProviderKey deletes a provider key of a user; see DeleteKeyOf.
func (s *Service) DeleteProviderKey(ctx context.Context, userID, id string) error {
	return s.DeleteKeyOf(ctx, Owner{OnUser, userID}, id)
}

// DeleteKeyOf removes a provider key of an owner with its limits. The error has status 404 if the owner has no such
// key.
func (s *Service) DeleteKeyOf(ctx context.Context, owner Owner, id string) error {
	return s.changeKeysOf(ctx, owner, func(c store.Conn) error {
		if !schema.StorableID(owner.ID) || !schema.StorableID(id) {
			return notFound("provider key", id)
		}
		if err := change(c, notFound("provider key", id),
			`DELETE FROM gateway_provider_keys WHERE id = ? AND owner_kind = ? AND owner = ?`, id,
			owner.Kind, owner.ID); err != nil {
			return err
		}
		if err := s.impose(c, OnProviderKey, id, new(Limits)); err != nil {
			return err
		}
		return s.auditKey(ctx, c, "provider_key.removed", owner, id, map[string]string{})
	})
}

// deleteKeysOf removes all provider keys of an owner, with their limits.
func (s *Service) deleteKeysOf(c store.Conn, owner Owner) error {
	for _, query := range []string{
		`DELETE FROM gateway_limits WHERE kind = 'provider_key' AND holder IN (SELECT id FROM gateway_provider_keys WHERE owner_kind = ? AND owner = ?)`,
		`DELETE FROM gateway_provider_keys WHERE owner_kind = ? AND owner = ?`,
	} {
		if _, err := c.Exec(query, owner.Kind, owner.ID); err != nil {
			return err
		}
	}
	return nil
}

// providerKeyRow is a stored provider key with its limits.
type providerKeyRow struct {
	ProviderKey
	Owner        Owner
	sealed       string
	storedLimits Limits
}

// limits returns the limits of the key, or nil if it has no limits.
func (r *providerKeyRow) limits() *Limits {
	if r.storedLimits.empty() {
		return nil
	}
	return &r.storedLimits
}

// insertProviderKey stores a key with its encrypted text. The error has status 409 if the owner has maxProviderKeys
// keys.
func (s *Service) insertProviderKey(c store.Conn, owner Owner, k *ProviderKey, sealed string) error {
	return change(c, tooMany("the %s can have at most %d provider keys, remove one first", owner.Kind, maxProviderKeys),
		`INSERT INTO gateway_provider_keys (id, owner_kind, owner, provider, label, sealed, masked, created_at)
		SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
		WHERE (SELECT count(*) FROM gateway_provider_keys WHERE owner_kind = ? AND owner = ?) < ?`,
		k.ID, owner.Kind, owner.ID, k.Provider, k.Label, sealed, k.Masked, schema.Micros(k.CreatedAt), owner.Kind, owner.ID,
		maxProviderKeys)
}

// selectKeyRows is the beginning of a query for provider keys. The table alias of the keys is k.
var selectKeyRows = `SELECT k.id, k.owner_kind, k.owner, k.provider, k.label, k.sealed, k.masked, k.created_at, ` +
	limitColumns("l") + `
	FROM gateway_provider_keys AS k LEFT JOIN gateway_limits AS l ON l.kind = 'provider_key' AND l.holder = k.id WHERE `

// scanProviderKey reads a key with its limits from a row of selectKeyRows.
func scanProviderKey(row store.Row) (k providerKeyRow, err error) {
	var created int64
	var limits limitCells
	cells := append([]any{&k.ID, &k.Owner.Kind, &k.Owner.ID, &k.Provider, &k.Label, &k.sealed, &k.Masked, &created},
		limits.scanArgs()...)
	if err = row.Scan(cells...); err != nil {
		return k, err
	}
	k.CreatedAt = schema.Moment(created)
	k.storedLimits, err = limits.read()
	return k, err
}

// keysOf reads the keys of an owner, oldest first.
func (s *Service) keysOf(ctx context.Context, owner Owner) ([]providerKeyRow, error) {
	if !schema.StorableID(owner.ID) {
		return nil, nil
	}
	return read(ctx, s, scanProviderKey,
		selectKeyRows+`k.owner_kind = ? AND k.owner = ? ORDER BY k.created_at, k.id LIMIT ?`,
		owner.Kind, owner.ID, maxProviderKeys)
}

// keysServing reads the keys of a user, of their teams and of the organisation.
func (s *Service) keysServing(ctx context.Context, userID string) ([]providerKeyRow, error) {
	return read(ctx, s, scanProviderKey,
		selectKeyRows+`k.owner_kind = 'user' AND k.owner = ? OR k.owner_kind = 'organisation'
		OR k.owner_kind = 'team' AND k.owner IN (`+teamsServing+`) ORDER BY k.created_at, k.id`,
		userID, userID, userID)
}

// teamsServing is a query for the teams whose keys serve a user: the teams in which the user is a member or, for the
// account of a team, that team. The user's id is passed twice.
const teamsServing = `SELECT team_id FROM gateway_team_members WHERE user_id = ? UNION SELECT team_id FROM gateway_users WHERE id = ? AND is_service = 1`

// ownedKey reads a provider key of an owner. The error has status 404 if the owner has no such key.
func (s *Service) ownedKey(ctx context.Context, owner Owner, id string) (k providerKeyRow, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		k, err = s.findKey(c, owner, id)
		return err
	})
	return k, err
}

// findKey is like ownedKey, in the transaction c.
func (s *Service) findKey(c store.Conn, owner Owner, id string) (providerKeyRow, error) {
	if !schema.StorableID(id) || !schema.StorableID(owner.ID) {
		return providerKeyRow{}, notFound("provider key", id)
	}
	k, err := scanProviderKey(c.Row(selectKeyRows+`k.id = ? AND k.owner_kind = ? AND k.owner = ?`, id,
		owner.Kind, owner.ID))
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("provider key", id)
	}
	return k, err
}

// Probe returns the model and the key for a test of one of the user's provider keys. The model is the first one in the
// provider's lowest tier. The id may also be that of a custom entry. The error has status 404 if the user has neither.
func (a *Account) Probe(cat *catalog.Catalog, id string) (*Candidate, Key, error) {
	for i := range a.models {
		if m := &a.models[i]; m.Custom && m.ID == id {
			c := a.customCandidate(m)
			c.Tier = catalog.High // the tier with the most time
			return c, c.Keys[0], nil
		}
	}
	for i := range a.keys {
		k := &a.keys[i]
		if k.ID == id && k.owner.Kind == OnUser {
			return k.probe(cat, a.UserID)
		}
	}
	return nil, Key{}, notFound("provider key", id)
}

// ProbeOf is like Probe, for a key of any owner. The caller has checked that the user may manage it.
func (s *Service) ProbeOf(
	ctx context.Context, cat *catalog.Catalog, owner Owner, id, userID string,
) (*Candidate, Key, error) {
	row, err := s.ownedKey(ctx, owner, id)
	if err != nil {
		return nil, Key{}, err
	}
	secret, err := s.ring.Open(ctx, row.sealed, row.associated())
	if err != nil {
		return nil, Key{}, fmt.Errorf("opening the provider key %s: %w", id, err)
	}
	key := accountKey{ID: row.ID, Provider: row.Provider, secret: string(secret), owner: owner}
	return key.probe(cat, userID)
}

// probe returns a candidate for a test of the key by a user, and the key in the form for the candidate. The error has
// status 400 if the provider is not enabled or has no model for the test.
func (k *accountKey) probe(cat *catalog.Catalog, userID string) (*Candidate, Key, error) {
	provider, ok := cat.Provider(k.Provider)
	if !ok {
		return nil, Key{}, invalid("key_id", "the provider %q of this key is not enabled here", k.Provider)
	}
	model := cheapest(cat, k.Provider)
	if model == nil {
		return nil, Key{}, invalid("key_id", "the provider %q of this key has no model for a test", k.Provider)
	}
	key := k.key(userID)
	return &Candidate{Entry: model.EntryID(), Provider: provider, Model: model, Tier: catalog.High, Keys: []Key{key}},
		key, nil
}

// cheapest returns the first model in a provider's lowest tier, or a model without a tier if no model has one. Retired
// models and embedding models are left out. The result is nil if no model is left.
func cheapest(cat *catalog.Catalog, provider string) (cheapestModel *catalog.Model) {
	lowestTier := func(m *catalog.Model) catalog.Tier {
		lowest := catalog.High + 1 // for a model without a tier
		for _, t := range m.Tiers {
			lowest = min(lowest, t)
		}
		return lowest
	}
	for _, m := range cat.Models(provider) {
		if m.Retired || m.Embeddings {
			continue
		}
		if cheapestModel == nil || lowestTier(m) < lowestTier(cheapestModel) {
			cheapestModel = m
		}
	}
	return cheapestModel
}
