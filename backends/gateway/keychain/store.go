package keychain

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// read runs a query and returns its rows, each converted by scan.
func read[T any](
	ctx context.Context, s *Service, scan func(row store.Row) (T, error), query string, args ...any,
) (out []T, err error) {
	err = s.read(ctx, func(c store.Conn) (err error) {
		out, err = store.List(c, scan, query, args...)
		return err
	})
	return out, err
}

// pageRows is the number of rows that AllPages reads at a time.
const pageRows = 500

// AllPages reads a list, such as the list of teams that Teams returns, page by page. It calls page with the key of
// the previous page's last row, and with an empty string for the first page; page returns at most limit rows. key
// returns the key of a row.
func AllPages[T any](page func(lastKey string, limit int) ([]T, error), key func(T) string) (list []T, err error) {
	for lastKey := ""; ; lastKey = key(list[len(list)-1]) {
		rows, err := page(lastKey, pageRows)
		if err != nil {
			return nil, err
		}
		if list = append(list, rows...); len(rows) < pageRows {
			return list, nil
		}
	}
}

// change executes a statement that must change a row. It returns refusal if no row was changed.
func change(c store.Conn, refusal error, query string, args ...any) error {
	n, err := c.Exec(query, args...)
	if err == nil && n == 0 {
		err = refusal
	}
	return err
}

// users

// insertUser stores a user unless a user with the id exists. created reports whether it stored the user.
func (s *Service) insertUser(c store.Conn, u *User) (created bool, err error) {
	n, err := c.Exec(`INSERT INTO gateway_users (id, created_at, name, team_id, waiting_since, is_service) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`, u.ID, schema.Micros(u.CreatedAt), schema.Nullable(u.Name), schema.Nullable(u.TeamID),
		momentColumn(u.WaitingSince), schema.Flag(u.Service))
	return n == 1, err
}

// requireUser returns an error with status 404 if the user does not exist.
func (s *Service) requireUser(c store.Conn, id string) error {
	if !schema.StorableID(id) {
		return notFound("user", id)
	}
	var found int
	err := c.Row(`SELECT 1 FROM gateway_users WHERE id = ?`, id).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return notFound("user", id)
	}
	return err
}

// gateway keys

// keyColumns are the columns of a key, of its team and of the limits imposed on it, in the order of scanKey. The table
// aliases are those of withLimits.
var keyColumns = `k.id, k.user_id, k.label, k.masked, k.is_primary, k.effort_mode, k.created_at, k.revoked_at, k.last_used_at, k.limited_by, k.team_id, ` +
	keyTeam + `, ` + limitColumns("k") + `, l.holder, ` + imposedColumns("l") + `, u.holder, ` + imposedColumns("u") +
	`, t.holder, ` + imposedColumns("t") + `, s.holder, ` + imposedColumns("s") + `, o.holder, ` + imposedColumns("o")

// keyTeam is the SQL expression for the team that requests with a key count for: the key's team while its user is a
// member, else the user's default team.
const keyTeam = `coalesce(m.team_id, w.team_id)`

// withLimits joins the users, teams and imposed limits to the keys. The table alias of the keys is k.
const withLimits = ` LEFT JOIN gateway_users AS w ON w.id = k.user_id
	LEFT JOIN gateway_team_members AS m ON m.team_id = k.team_id AND m.user_id = k.user_id
	LEFT JOIN gateway_limits AS l ON l.kind = 'key' AND l.holder = k.limited_by
	LEFT JOIN gateway_limits AS u ON u.kind = 'user' AND u.holder = k.user_id
	LEFT JOIN gateway_limits AS t ON t.kind = 'team' AND t.holder = ` + keyTeam + `
	LEFT JOIN gateway_limits AS s ON s.kind = 'team_own' AND s.holder = ` + keyTeam + `
	LEFT JOIN gateway_limits AS o ON o.kind = 'organisation' `

// limitHolders are the kinds of imposed limits, in the order of keyColumns.
var limitHolders = [...]string{OnKey, OnUser, OnTeam, OnTeamOwn, OnOrganisation}

// insertKey stores a key with the hash of its text. Imposed limits are not stored with the key.
func (s *Service) insertKey(c store.Conn, k *GatewayKey, hash string) error {
	limits, err := k.Limits.arguments()
	if err != nil {
		return err
	}
	_, err = c.Exec(`INSERT INTO gateway_keys (id, user_id, hash, masked, label, is_primary, effort_mode, created_at, limited_by, team_id, `+
		strings.Join(limitNames, ", ")+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?`+strings.Repeat(", ?", len(limitNames))+`)`,
		append([]any{
			k.ID, k.UserID, hash, k.Masked, k.Label, schema.Flag(k.IsPrimary), string(k.EffortMode), schema.Micros(k.CreatedAt),
			schema.Nullable(k.limitedBy),
			schema.Nullable(k.team),
		}, limits...)...)
	return err
}

// momentColumn returns the value of a column for t, which is NULL if t is nil.
func momentColumn(t *time.Time) any {
	if t == nil {
		return nil
	}
	return schema.Micros(*t)
}

// namesColumn returns the value of a column for a list of names: a JSON array, or NULL for an empty list.
func namesColumn(names []string) (any, error) {
	if len(names) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(names)
	return string(text), err
}

// scanKey reads a key from a row with keyColumns. Columns that follow these are scanned into extra.
func (s *Service) scanKey(row store.Row, extra ...any) (k GatewayKey, err error) {
	var revoked, used sql.NullInt64
	var limitedBy, chosenTeam, team sql.NullString
	var created int64
	var limits limitCells
	var holders [len(limitHolders)]sql.NullString
	var imposed [len(limitHolders)]imposedCells
	cells := []any{
		&k.ID, &k.UserID, &k.Label, &k.Masked, &k.IsPrimary, &k.EffortMode, &created, &revoked, &used,
		&limitedBy, &chosenTeam, &team,
	}
	cells = append(cells, limits.scanArgs()...)
	for i := range limitHolders {
		cells = append(append(cells, &holders[i]), imposed[i].scanArgs()...)
	}
	if err = row.Scan(append(cells, extra...)...); err != nil {
		return k, err
	}
	k.CreatedAt, k.LastUsedAt, k.limitedBy = schema.Moment(created), schema.Optional(used), limitedBy.String
	k.team, k.TeamID = chosenTeam.String, team.String
	k.Revoked, k.Imposed = revoked.Valid, []Imposed{}
	if k.Limits, err = limits.read(); err != nil {
		return k, err
	}
	for i, kind := range limitHolders {
		if !holders[i].Valid { // nothing is imposed on this holder
			continue
		}
		limits, raise, err := imposed[i].read(s.now())
		if err != nil {
			return k, err
		}
		k.Imposed = append(k.Imposed, newImposed(kind, holders[i].String, limits, raise))
	}
	k.setStatus(s.now())
	return k, nil
}

// Limits of the number of keys in a list.
const (
	maxActive  = 10_000 // more than maxKeys, since users of older versions may have more keys
	maxRevoked = 1000
)

// Keys returns a user's keys, oldest first. If there are more than maxActive active or maxRevoked revoked keys, the
// oldest of these are left out.
func (s *Service) Keys(ctx context.Context, userID string) ([]GatewayKey, error) {
	if !schema.StorableID(userID) {
		return nil, nil
	}
	return read(ctx, s, func(row store.Row) (GatewayKey, error) { return s.scanKey(row) },
		`SELECT `+keyColumns+` FROM (
			SELECT * FROM (SELECT * FROM gateway_keys WHERE user_id = ? AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT ?) AS active
			UNION ALL
			SELECT * FROM (SELECT * FROM gateway_keys WHERE user_id = ? AND revoked_at IS NOT NULL ORDER BY created_at DESC, id DESC LIMIT ?) AS revoked
		) AS k`+withLimits+`ORDER BY k.created_at, k.id`, userID, maxActive, userID, maxRevoked)
}

// roomForKey returns an error if the user has maxKeys keys already. Expired keys count, since their expiry can be
// changed.
func (s *Service) roomForKey(c store.Conn, userID string) error {
	var count int
	err := c.Row(`SELECT count(*) FROM gateway_keys WHERE user_id = ? AND revoked_at IS NULL`, userID).Scan(&count)
	if err == nil && count >= maxKeys {
		err = tooMany("a user can have at most %d gateway keys that are not revoked, revoke one first", maxKeys)
	}
	return err
}

// keyWithHash returns a key of the user and the hash of its text. It also finds revoked keys. The error has status 404
// if the user has no such key.
func (s *Service) keyWithHash(c store.Conn, userID, keyID string) (*GatewayKey, string, error) {
	if !schema.StorableID(userID) || !schema.StorableID(keyID) {
		return nil, "", notFound("gateway key", keyID)
	}
	var hash string
	k, err := s.scanKey(c.Row(
		`SELECT `+keyColumns+`, k.hash FROM gateway_keys AS k`+withLimits+`WHERE k.id = ? AND k.user_id = ?`,
		keyID, userID), &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", notFound("gateway key", keyID)
	}
	return &k, hash, err
}

// primaryKey returns the user's primary key and the hash of its text. The key is nil if the user has none.
func (s *Service) primaryKey(c store.Conn, userID string) (*GatewayKey, string, error) {
	var hash string
	k, err := s.scanKey(c.Row(`SELECT `+keyColumns+`, k.hash FROM gateway_keys AS k`+withLimits+`
		WHERE k.user_id = ? AND k.is_primary = 1 AND k.revoked_at IS NULL ORDER BY k.created_at DESC, k.id DESC LIMIT 1`,
		userID), &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	return &k, hash, err
}

// updateKey stores the changeable fields of a key: its label, its effort mode, the user's limits and limitedBy.
func (s *Service) updateKey(c store.Conn, k *GatewayKey) error {
	limits, err := k.Limits.arguments()
	if err != nil {
		return err
	}
	_, err = c.Exec(`UPDATE gateway_keys SET `+strings.Join(limitNames,
		" = ?, ")+` = ?, label = ?, effort_mode = ?, limited_by = ? WHERE id = ?`,
		append(limits, k.Label, string(k.EffortMode), schema.Nullable(k.limitedBy), k.ID)...)
	return err
}

// markRevoked revokes a key, which is then no longer primary. A key that is revoked already stays unchanged.
func (s *Service) markRevoked(c store.Conn, keyID string) error {
	_, err := c.Exec(`UPDATE gateway_keys SET revoked_at = ?, is_primary = 0 WHERE id = ? AND revoked_at IS NULL`,
		schema.Micros(s.now()), keyID)
	return err
}

// selectIdentity reads the identity of the key with a hash. The result is nil if there is no such key, if it is
// revoked, or if its user is suspended or waits for approval. The key may have expired.
func (s *Service) selectIdentity(ctx context.Context, hash string) (*Identity, error) {
	keys, err := read(ctx, s, func(row store.Row) (GatewayKey, error) { return s.scanKey(row) },
		`SELECT `+keyColumns+` FROM gateway_keys AS k`+withLimits+`WHERE k.hash = ? AND k.revoked_at IS NULL AND w.suspended_at IS NULL AND w.waiting_since IS NULL`, hash)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return keys[0].Identity(), nil
}

// models

// scanModel reads a model row from a row of selectModelRows.
func scanModel(row store.Row) (m modelRow, err error) {
	var priority sql.NullInt64
	var tier, base, model, wire, sealed sql.NullString
	var created int64
	err = row.Scan(&m.ID, &m.Entry, &m.Custom, &m.Enabled, &priority, &tier, &base, &model, &wire, &sealed,
		&m.Found, &created)
	if priority.Valid {
		m.Priority = &priority.Int64
	}
	m.Tier, m.BaseURL, m.Model, m.Wire, m.Sealed = tier.String, base.String, model.String, wire.String, sealed.String
	m.CreatedAt = schema.Moment(created)
	return m, err
}

// selectModelRows is the query for the model rows of a user, at most maxModelRows.
const selectModelRows = `SELECT id, model_entry, is_custom, enabled, priority, tier, base_url, model, wire, sealed, found, created_at
	FROM gateway_models WHERE user_id = ? ORDER BY created_at, id LIMIT 1000`

// selectModels reads the model rows of a user, in the order in which they were added.
func (s *Service) selectModels(ctx context.Context, userID string) ([]modelRow, error) {
	if !schema.StorableID(userID) {
		return nil, nil
	}
	return read(ctx, s, scanModel, selectModelRows, userID)
}

// modelRows is like selectModels, in the transaction c.
func (s *Service) modelRows(c store.Conn, userID string) ([]modelRow, error) {
	return store.List(c, scanModel, selectModelRows, userID)
}

// insertModel stores a model row. The error has status 409 if the user has an entry of that name or maxModelRows rows.
func (s *Service) insertModel(c store.Conn, userID string, m *modelRow) error {
	var count int
	if err := c.Row(`SELECT count(*) FROM gateway_models WHERE user_id = ?`, userID).Scan(&count); err != nil {
		return err
	}
	if count >= maxModelRows {
		return tooMany("a user can have at most %d model entries of their own, remove one first", maxModelRows)
	}
	return change(c, apierror.New(http.StatusConflict, "already_exists", "the model entry %q already exists", m.Entry),
		`INSERT INTO gateway_models
		(id, user_id, model_entry, is_custom, enabled, priority, tier, base_url, model, wire, sealed, found, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, model_entry) DO NOTHING`,
		m.ID, userID, m.Entry, schema.Flag(m.Custom), schema.Flag(m.Enabled), m.Priority, schema.Nullable(m.Tier),
		schema.Nullable(m.BaseURL),
		schema.Nullable(m.Model), schema.Nullable(m.Wire), schema.Nullable(m.Sealed), schema.Flag(m.Found),
		schema.Micros(m.CreatedAt))
}

// updateModel stores whether an entry is enabled, and its priority.
func (s *Service) updateModel(c store.Conn, m *modelRow) error {
	_, err := c.Exec(`UPDATE gateway_models SET enabled = ?, priority = ? WHERE id = ?`, schema.Flag(m.Enabled),
		m.Priority, m.ID)
	return err
}

// deleteModel removes the user's entry with the given id or name. The error has status 404 if there is none.
func (s *Service) deleteModel(c store.Conn, userID, name string) error {
	if !schema.StorableID(userID) || !schema.StorableID(name) {
		return notFound("model entry", name)
	}
	return change(c, notFound("model entry", name),
		`DELETE FROM gateway_models WHERE user_id = ? AND (id = ? OR model_entry = ?)`, userID, name, name)
}

// preferences

// selectPreferences reads a user's preferences. The result is the zero value if the user has not set any.
func (s *Service) selectPreferences(ctx context.Context, userID string) (Preferences, error) {
	if !schema.StorableID(userID) {
		return Preferences{}, nil
	}
	found, err := read(ctx, s, func(row store.Row) (p Preferences, err error) {
		var preferred, excludedProviders, excludedModels string // JSON arrays
		if err = row.Scan(&preferred, &excludedProviders, &excludedModels); err != nil {
			return p, err
		}
		return p, errors.Join(json.Unmarshal([]byte(preferred), &p.PreferredProviders),
			json.Unmarshal([]byte(excludedProviders), &p.ExcludedProviders),
			json.Unmarshal([]byte(excludedModels), &p.ExcludedModels))
	}, `SELECT preferred_providers, excluded_providers, excluded_models FROM gateway_preferences WHERE user_id = ?`,
		userID)
	if err != nil || len(found) == 0 {
		return Preferences{}, err
	}
	return found[0], nil
}

// upsertPreferences stores the preferences of a user in place of earlier ones.
func (s *Service) upsertPreferences(c store.Conn, userID string, p Preferences) error {
	args := make([]any, 0, 4)
	args = append(args, userID)
	for _, names := range [][]string{p.PreferredProviders, p.ExcludedProviders, p.ExcludedModels} {
		if names == nil {
			names = []string{}
		}
		text, err := json.Marshal(names)
		if err != nil {
			return err
		}
		args = append(args, string(text))
	}
	_, err := c.Exec(`INSERT INTO gateway_preferences (user_id, preferred_providers, excluded_providers, excluded_models)
		VALUES (?, ?, ?, ?) ON CONFLICT (user_id) DO UPDATE SET preferred_providers = excluded.preferred_providers,
		excluded_providers = excluded.excluded_providers, excluded_models = excluded.excluded_models`, args...)
	return err
}

// largeBatch is the batch size for columns with large texts. A batch consists of the rows that are encrypted again at a
// time with a new master key.
const largeBatch = 5

// Sealed lists the columns of the gateway's tables that hold sealed (encrypted) texts.
var Sealed = sealed.Columns{
	columnOf("gateway_provider_keys", "", sealed.Batch),
	columnOf("gateway_models", "sealed IS NOT NULL", sealed.Batch),
	columnOf("gateway_answer_items", "", sealed.Batch),
	columnOf("gateway_responses", "", largeBatch),
	columnOf("gateway_response_events", "", largeBatch),
	columnOf("gateway_conversations", "", sealed.Batch),
	columnOf("gateway_conversation_items", "", largeBatch),
}

// columnOf describes the column named sealed of a table, for the rows that meet the SQL condition. batch is the number
// of rows that are encrypted again at a time. The associated data of a text is the name of the table, a slash and the
// row's id.
func columnOf(table, condition string, batch int) sealed.Column {
	return sealed.Column{
		Table: table, ID: "id", Text: "sealed", Where: condition, Batch: batch,
		Place: func(row string) string { return table + "/" + row },
	}
}
