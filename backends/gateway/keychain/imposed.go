package keychain

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// limitColumns lists the columns of limits of the table alias.
func limitColumns(alias string) string {
	return strings.ReplaceAll(`@.rate_limit_per_minute, @.expires_at, @.allowed_models, @.tokens_per_day, @.tokens_per_month,
		@.micro_usd_per_day, @.micro_usd_per_month`, "@", alias)
}

// limitCells receive limitColumns.
type limitCells struct {
	limits  Limits
	expires sql.NullInt64
	models  sql.NullString
}

// into returns what Scan is given for limitColumns.
func (l *limitCells) into() []any {
	b := &l.limits.Budgets
	return []any{
		&l.limits.RateLimitPerMinute, &l.expires, &l.models,
		&b.TokensPerDay, &b.TokensPerMonth, &b.USDPerDay, &b.USDPerMonth,
	}
}

// read returns the limits that were scanned.
func (l *limitCells) read() (Limits, error) {
	l.limits.ExpiresAt = optional(l.expires)
	if !l.models.Valid {
		return l.limits, nil
	}
	return l.limits, json.Unmarshal([]byte(l.models.String), &l.limits.AllowedModels)
}

// arguments returns the values of limitColumns.
func (l *Limits) arguments() ([]any, error) {
	models, err := namesColumn(l.AllowedModels)
	return []any{
		l.RateLimitPerMinute, momentColumn(l.ExpiresAt), models, l.Budgets.TokensPerDay, l.Budgets.TokensPerMonth,
		(*int64)(l.Budgets.USDPerDay), (*int64)(l.Budgets.USDPerMonth),
	}, err
}

// imposedLimits reads the limits of a holder. There may be none.
func (s *Service) imposedLimits(c store.Conn, on, holder string) (Limits, error) {
	var cells limitCells
	err := c.Row(`SELECT `+limitColumns("l")+` FROM gateway_limits AS l WHERE l.kind = ? AND l.holder = ?`, on, holder).
		Scan(cells.into()...)
	if errors.Is(err, sql.ErrNoRows) {
		return Limits{}, nil
	}
	if err != nil {
		return Limits{}, err
	}
	return cells.read()
}

// impose stores the limits of a holder. Limits that bound nothing are removed.
func (s *Service) impose(c store.Conn, on, holder string, limits *Limits) error {
	if limits.none() {
		_, err := c.Exec(`DELETE FROM gateway_limits WHERE kind = ? AND holder = ?`, on, holder)
		return err
	}
	values, err := limits.arguments()
	if err != nil {
		return err
	}
	_, err = c.Exec(`INSERT INTO gateway_limits (kind, holder, rate_limit_per_minute, expires_at, allowed_models,
		tokens_per_day, tokens_per_month, micro_usd_per_day, micro_usd_per_month) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (kind, holder) DO UPDATE SET rate_limit_per_minute = excluded.rate_limit_per_minute,
		expires_at = excluded.expires_at, allowed_models = excluded.allowed_models,
		tokens_per_day = excluded.tokens_per_day, tokens_per_month = excluded.tokens_per_month,
		micro_usd_per_day = excluded.micro_usd_per_day, micro_usd_per_month = excluded.micro_usd_per_month`,
		append([]any{on, holder}, values...)...)
	return err
}

// changeLimits runs fn, which changes imposed limits. Every node looks at all keys anew,
// this one before the call returns.
func (s *Service) changeLimits(ctx context.Context, fn func(c store.Conn) error) error {
	err := s.db.Write(ctx, func(c store.Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return s.notify(c, "limits", "changed")
	})
	if err == nil {
		s.forgetAll()
	}
	return err
}

// UserLimits returns the limits that the operator imposes on a user.
func (s *Service) UserLimits(ctx context.Context, userID string) (limits Limits, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		if err := s.requireUser(c, userID); err != nil {
			return err
		}
		limits, err = s.imposedLimits(c, OnUser, userID)
		return err
	})
	return limits, err
}

// LimitUser changes the limits that the operator imposes on a user, which all their keys
// share, and returns them. The label and the effort mode of the change mean nothing here.
func (s *Service) LimitUser(ctx context.Context, userID string, change KeyChange) (limits Limits, err error) {
	if err := change.check(s.now()); err != nil {
		return Limits{}, err
	}
	allowed, unknown, err := s.namedModels(ctx, userID, &change)
	if err != nil {
		return Limits{}, err
	}
	err = s.changeLimits(ctx, func(c store.Conn) (err error) {
		if err := s.requireUser(c, userID); err != nil {
			return err
		}
		if limits, err = s.imposedLimits(c, OnUser, userID); err != nil {
			return err
		}
		if err := refuseUnknown(allowed, unknown, limits.AllowedModels); err != nil {
			return err
		}
		limits.apply(&change)
		return s.impose(c, OnUser, userID, &limits)
	})
	return limits, err
}

// apply changes limits as a change says.
func (l *Limits) apply(change *KeyChange) {
	options := l.options()
	options.apply(change)
	*l = options.limits()
}

// limitedBy returns the holder of the imposed limits that a key comes under which its user
// makes; empty: none. Such a key can do no more than a key that the user has: it comes
// under no limits where the user has a key without, and else shares those of a key that
// they have or had, first of all the primary one.
func (s *Service) limitedBy(c store.Conn, userID string) (holder string, err error) {
	var found sql.NullString
	err = c.Row(`SELECT l.holder FROM gateway_keys AS k
		LEFT JOIN gateway_limits AS l ON l.kind = 'key' AND l.holder = k.limited_by
		WHERE k.user_id = ? AND (k.revoked_at IS NULL OR l.holder IS NOT NULL)
		ORDER BY CASE WHEN l.holder IS NULL THEN 0 WHEN k.revoked_at IS NULL THEN 1 ELSE 2 END,
			k.is_primary DESC, k.created_at, k.id LIMIT 1`, userID).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return found.String, err
}

// errEnded refuses to make a key that could not be used.
func errEnded(end time.Time) error {
	return apierror.New(http.StatusConflict, "expired",
		"the limits that the operator set on your keys ended their use at %s: ask the operator for another end", end.Format(time.RFC3339))
}
