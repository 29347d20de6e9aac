package keychain

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// querier is what *sql.DB and *sql.Tx have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func (s *Service) write(ctx context.Context, fn func(ctx context.Context, tx querier) error) error {
	return s.db.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
}

// exec runs a statement and returns the number of rows it changed.
func (s *Service) exec(ctx context.Context, tx querier, query string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, s.db.Rebind(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// list reads all rows of a query; limit them in the query.
func list[T any](ctx context.Context, s *Service, tx querier, scan func(row interface{ Scan(dest ...any) error }) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, s.db.Rebind(query), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

// read is list on the reader pool.
func read[T any](ctx context.Context, s *Service, scan func(row interface{ Scan(dest ...any) error }) (T, error), query string, args ...any) (out []T, err error) {
	err = s.db.Read(ctx, func(ctx context.Context, r *sql.DB) (err error) {
		out, err = list(ctx, s, r, scan, query, args...)
		return err
	})
	return out, err
}

type scanner = interface{ Scan(dest ...any) error }

func micros(t time.Time) int64 { return t.UnixMicro() }

func moment(us int64) time.Time { return time.UnixMicro(us).UTC() }

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// users

func (s *Service) insertUser(ctx context.Context, tx querier, u User) (created bool, err error) {
	n, err := s.exec(ctx, tx, `INSERT INTO gateway_users (id, created_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`,
		u.ID, micros(u.CreatedAt))
	return n == 1, err
}

func (s *Service) requireUser(ctx context.Context, tx querier, id string) error {
	if !storableID(id) {
		return notFound("user", id)
	}
	var one int
	err := tx.QueryRowContext(ctx, s.db.Rebind(`SELECT 1 FROM gateway_users WHERE id = ?`), id).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return notFound("user", id)
	}
	return err
}

func scanUser(row scanner) (u User, err error) {
	var created int64
	err = row.Scan(&u.ID, &created)
	u.CreatedAt = moment(created)
	return u, err
}

func (s *Service) user(ctx context.Context, id string) (User, error) {
	if !storableID(id) {
		return User{}, notFound("user", id)
	}
	users, err := read(ctx, s, scanUser, `SELECT id, created_at FROM gateway_users WHERE id = ?`, id)
	if err != nil {
		return User{}, err
	}
	if len(users) == 0 {
		return User{}, notFound("user", id)
	}
	return users[0], nil
}

func (s *Service) selectUsers(ctx context.Context, after string, limit int) ([]User, error) {
	if !storableID(after) {
		return nil, nil
	}
	return read(ctx, s, scanUser, `SELECT id, created_at FROM gateway_users WHERE id > ? ORDER BY id LIMIT ?`, after, limit)
}

// gateway keys

const keyColumns = `id, user_id, label, masked, is_primary, rate_limit_per_minute, expires_at, allowed_models,
	tokens_per_day, tokens_per_month, micro_usd_per_day, micro_usd_per_month, effort_mode, created_at, revoked_at, last_used_at`

func (s *Service) insertKey(ctx context.Context, tx querier, k *GatewayKey, hash string) error {
	models, err := namesColumn(k.AllowedModels)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, tx, `INSERT INTO gateway_keys (id, user_id, hash, masked, label, is_primary, rate_limit_per_minute, expires_at, allowed_models,
		tokens_per_day, tokens_per_month, micro_usd_per_day, micro_usd_per_month, effort_mode, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.UserID, hash, k.Masked, k.Label, flag(k.IsPrimary), k.RateLimitPerMinute, momentColumn(k.ExpiresAt), models,
		k.Budgets.TokensPerDay, k.Budgets.TokensPerMonth, (*int64)(k.Budgets.USDPerDay), (*int64)(k.Budgets.USDPerMonth),
		string(k.EffortMode), micros(k.CreatedAt))
	return err
}

func momentColumn(at *time.Time) any {
	if at == nil {
		return nil
	}
	return micros(*at)
}

func namesColumn(names []string) (any, error) {
	if len(names) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(names)
	return string(text), err
}

func (s *Service) scanKey(row scanner, more ...any) (k GatewayKey, err error) {
	var expires, revoked, used sql.NullInt64
	var models sql.NullString
	var created int64
	b := &k.Budgets
	err = row.Scan(append([]any{
		&k.ID, &k.UserID, &k.Label, &k.Masked, &k.IsPrimary, &k.RateLimitPerMinute, &expires, &models,
		&b.TokensPerDay, &b.TokensPerMonth, &b.USDPerDay, &b.USDPerMonth, &k.EffortMode, &created, &revoked, &used,
	}, more...)...)
	if err != nil {
		return k, err
	}
	k.CreatedAt, k.ExpiresAt, k.LastUsedAt = moment(created), optional(expires), optional(used)
	k.Revoked = revoked.Valid
	if models.Valid {
		err = json.Unmarshal([]byte(models.String), &k.AllowedModels)
	}
	k.judge(s.now())
	return k, err
}

func optional(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	at := moment(us.Int64)
	return &at
}

// Bounds of a list of keys.
const (
	maxActive  = 10_000 // more than maxKeys: there may be keys that were made without that bound
	maxRevoked = 1000
)

// selectKeys leaves out the oldest ones, should there be too many.
func (s *Service) selectKeys(ctx context.Context, userID string) ([]GatewayKey, error) {
	if !storableID(userID) {
		return nil, nil
	}
	return read(ctx, s, func(row scanner) (GatewayKey, error) { return s.scanKey(row) },
		`SELECT `+keyColumns+` FROM (
			SELECT * FROM gateway_keys WHERE user_id = ? AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT ?) AS active
		UNION ALL SELECT `+keyColumns+` FROM (
			SELECT * FROM gateway_keys WHERE user_id = ? AND revoked_at IS NOT NULL ORDER BY created_at DESC, id DESC LIMIT ?) AS revoked
		ORDER BY created_at, id`, userID, maxActive, userID, maxRevoked)
}

// roomForKey refuses a key too many. Expired ones count: they can be given another
// end.
func (s *Service) roomForKey(ctx context.Context, tx querier, userID string) error {
	var count int
	err := tx.QueryRowContext(ctx, s.db.Rebind(`SELECT count(*) FROM gateway_keys WHERE user_id = ? AND revoked_at IS NULL`), userID).Scan(&count)
	if err == nil && count >= maxKeys {
		err = apierror.New(http.StatusConflict, "too_many", "a user can have at most %d gateway keys that are not revoked, revoke one first", maxKeys)
	}
	return err
}

// lockKey reads a key of the user for a change; revoked keys cannot be changed
// but may be revoked again.
func (s *Service) lockKey(ctx context.Context, tx querier, userID, keyID string) (*GatewayKey, string, error) {
	if !storableID(userID) || !storableID(keyID) {
		return nil, "", notFound("gateway key", keyID)
	}
	var hash string
	k, err := s.scanKey(tx.QueryRowContext(ctx, s.db.Rebind(`SELECT `+keyColumns+`, hash FROM gateway_keys WHERE id = ? AND user_id = ?`),
		keyID, userID), &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", notFound("gateway key", keyID)
	}
	return &k, hash, err
}

func (s *Service) primaryKey(ctx context.Context, tx querier, userID string) (*GatewayKey, string, error) {
	var hash string
	k, err := s.scanKey(tx.QueryRowContext(ctx, s.db.Rebind(`SELECT `+keyColumns+`, hash FROM gateway_keys
		WHERE user_id = ? AND is_primary = 1 AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 1`), userID), &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	return &k, hash, err
}

func (s *Service) updateKey(ctx context.Context, tx querier, k *GatewayKey) error {
	models, err := namesColumn(k.AllowedModels)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, tx, `UPDATE gateway_keys SET label = ?, rate_limit_per_minute = ?, expires_at = ?, allowed_models = ?,
		tokens_per_day = ?, tokens_per_month = ?, micro_usd_per_day = ?, micro_usd_per_month = ?, effort_mode = ? WHERE id = ?`,
		k.Label, k.RateLimitPerMinute, momentColumn(k.ExpiresAt), models, k.Budgets.TokensPerDay, k.Budgets.TokensPerMonth,
		(*int64)(k.Budgets.USDPerDay), (*int64)(k.Budgets.USDPerMonth), string(k.EffortMode), k.ID)
	return err
}

func (s *Service) markRevoked(ctx context.Context, tx querier, keyID string) error {
	_, err := s.exec(ctx, tx, `UPDATE gateway_keys SET revoked_at = ?, is_primary = 0 WHERE id = ? AND revoked_at IS NULL`,
		micros(s.now()), keyID)
	return err
}

func (s *Service) selectIdentity(ctx context.Context, hash string) (*Identity, error) {
	keys, err := read(ctx, s, func(row scanner) (GatewayKey, error) { return s.scanKey(row) },
		`SELECT `+keyColumns+` FROM gateway_keys WHERE hash = ? AND revoked_at IS NULL`, hash)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	k := &keys[0]
	id := &Identity{
		UserID: k.UserID, KeyID: k.ID, Label: k.Label, RateLimitPerMinute: k.RateLimitPerMinute, EffortMode: k.EffortMode,
		AllowedModels: k.AllowedModels, Budgets: k.Budgets,
	}
	if k.ExpiresAt != nil {
		id.expires = micros(*k.ExpiresAt)
	}
	return id, nil
}

// provider keys

type providerKeyRow struct {
	ProviderKey
	sealed string
}

func (s *Service) insertProviderKey(ctx context.Context, tx querier, userID string, k *ProviderKey, sealed string) error {
	n, err := s.exec(ctx, tx, `INSERT INTO gateway_provider_keys (id, user_id, provider, label, sealed, masked, created_at)
		SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
		WHERE (SELECT count(*) FROM gateway_provider_keys WHERE user_id = ?) < ?`,
		k.ID, userID, k.Provider, k.Label, sealed, k.Masked, micros(k.CreatedAt), userID, maxProviderKeys)
	if err == nil && n == 0 {
		err = apierror.New(http.StatusConflict, "too_many", "a user can have at most %d provider keys, remove one first", maxProviderKeys)
	}
	return err
}

func (s *Service) selectProviderKeys(ctx context.Context, userID string) ([]providerKeyRow, error) {
	if !storableID(userID) {
		return nil, nil
	}
	return read(ctx, s, func(row scanner) (k providerKeyRow, err error) {
		var created int64
		err = row.Scan(&k.ID, &k.Provider, &k.Label, &k.sealed, &k.Masked, &created)
		k.CreatedAt = moment(created)
		return k, err
	}, `SELECT id, provider, label, sealed, masked, created_at FROM gateway_provider_keys
		WHERE user_id = ? ORDER BY created_at, id LIMIT ?`, userID, maxProviderKeys)
}

func (s *Service) deleteProviderKey(ctx context.Context, tx querier, userID, id string) error {
	if !storableID(userID) || !storableID(id) {
		return notFound("provider key", id)
	}
	n, err := s.exec(ctx, tx, `DELETE FROM gateway_provider_keys WHERE id = ? AND user_id = ?`, id, userID)
	if err == nil && n == 0 {
		err = notFound("provider key", id)
	}
	return err
}

// models

func scanModel(row scanner) (m modelRow, err error) {
	var priority sql.NullInt64
	var tier, base, model, sealed sql.NullString
	var created int64
	err = row.Scan(&m.ID, &m.Entry, &m.Custom, &m.Enabled, &priority, &tier, &base, &model, &sealed, &created)
	if priority.Valid {
		m.Priority = &priority.Int64
	}
	m.Tier, m.BaseURL, m.Model, m.Sealed = tier.String, base.String, model.String, sealed.String
	m.CreatedAt = moment(created)
	return m, err
}

const selectModelRows = `SELECT id, model_entry, is_custom, enabled, priority, tier, base_url, model, sealed, created_at
	FROM gateway_models WHERE user_id = ? ORDER BY created_at, id LIMIT 1000`

func (s *Service) selectModels(ctx context.Context, userID string) ([]modelRow, error) {
	if !storableID(userID) {
		return nil, nil
	}
	return read(ctx, s, scanModel, selectModelRows, userID)
}

func (s *Service) modelRows(ctx context.Context, tx querier, userID string) ([]modelRow, error) {
	return list(ctx, s, tx, scanModel, selectModelRows, userID)
}

func (s *Service) insertModel(ctx context.Context, tx querier, userID string, m *modelRow) error {
	var count int
	if err := tx.QueryRowContext(ctx, s.db.Rebind(`SELECT count(*) FROM gateway_models WHERE user_id = ?`), userID).Scan(&count); err != nil {
		return err
	}
	if count >= maxModelRows {
		return apierror.New(http.StatusConflict, "too_many", "a user can have at most %d model entries of their own, remove one first", maxModelRows)
	}
	n, err := s.exec(ctx, tx, `INSERT INTO gateway_models
		(id, user_id, model_entry, is_custom, enabled, priority, tier, base_url, model, sealed, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, model_entry) DO NOTHING`,
		m.ID, userID, m.Entry, flag(m.Custom), flag(m.Enabled), m.Priority, nullable(m.Tier), nullable(m.BaseURL),
		nullable(m.Model), nullable(m.Sealed), micros(m.CreatedAt))
	if err == nil && n == 0 {
		err = apierror.New(http.StatusConflict, "already_exists", "there is a model entry %q already", m.Entry)
	}
	return err
}

func (s *Service) updateModel(ctx context.Context, tx querier, m *modelRow) error {
	_, err := s.exec(ctx, tx, `UPDATE gateway_models SET enabled = ?, priority = ? WHERE id = ?`, flag(m.Enabled), m.Priority, m.ID)
	return err
}

func (s *Service) deleteModel(ctx context.Context, tx querier, userID, name string) error {
	if !storableID(userID) || !storableID(name) {
		return notFound("model entry", name)
	}
	n, err := s.exec(ctx, tx, `DELETE FROM gateway_models WHERE user_id = ? AND (id = ? OR model_entry = ?)`, userID, name, name)
	if err == nil && n == 0 {
		err = notFound("model entry", name)
	}
	return err
}

// preferences

func (s *Service) selectPreferences(ctx context.Context, userID string) (Preferences, error) {
	if !storableID(userID) {
		return Preferences{}, nil
	}
	found, err := read(ctx, s, func(row scanner) (p Preferences, err error) {
		var preferred, providers, models string
		if err = row.Scan(&preferred, &providers, &models); err != nil {
			return p, err
		}
		return p, errors.Join(json.Unmarshal([]byte(preferred), &p.PreferredProviders),
			json.Unmarshal([]byte(providers), &p.ExcludedProviders), json.Unmarshal([]byte(models), &p.ExcludedModels))
	}, `SELECT preferred_providers, excluded_providers, excluded_models FROM gateway_preferences WHERE user_id = ?`, userID)
	if err != nil || len(found) == 0 {
		return Preferences{}, err
	}
	return found[0], nil
}

func (s *Service) upsertPreferences(ctx context.Context, tx querier, userID string, p Preferences) error {
	texts := make([]any, 0, 4)
	texts = append(texts, userID)
	for _, names := range [][]string{p.PreferredProviders, p.ExcludedProviders, p.ExcludedModels} {
		if names == nil {
			names = []string{}
		}
		text, err := json.Marshal(names)
		if err != nil {
			return err
		}
		texts = append(texts, string(text))
	}
	_, err := s.exec(ctx, tx, `INSERT INTO gateway_preferences (user_id, preferred_providers, excluded_providers, excluded_models)
		VALUES (?, ?, ?, ?) ON CONFLICT (user_id) DO UPDATE SET preferred_providers = excluded.preferred_providers,
		excluded_providers = excluded.excluded_providers, excluded_models = excluded.excluded_models`, texts...)
	return err
}
