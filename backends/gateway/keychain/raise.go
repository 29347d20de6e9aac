package keychain

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Raise replaces imposed limits for a time: each limit that it sets replaces the one of the same name until then. The
// others stay as they are.
type Raise struct {
	Until  time.Time `json:"until"`
	Limits Limits    `json:"limits"`
}

// maxRaise is the longest duration of a raise.
const maxRaise = 366 * 24 * time.Hour

// raisedBy returns the limits with those of a raise in their place. A nil raise changes nothing.
func (l Limits) raisedBy(r *Raise) Limits {
	if r == nil {
		return l
	}
	by := &r.Limits
	replace(&l.RateLimitPerMinute, by.RateLimitPerMinute)
	replace(&l.ExpiresAt, by.ExpiresAt)
	replace(&l.TokensPerMinute, by.TokensPerMinute)
	replace(&l.ParallelRequests, by.ParallelRequests)
	for w := range spending.NumberOfWindows {
		tokens, usd := l.Budgets.of(w)
		byTokens, byUSD := by.Budgets.of(w)
		replace(tokens, *byTokens)
		replace(usd, *byUSD)
	}
	if len(by.AllowedModels) > 0 {
		l.AllowedModels = by.AllowedModels
	}
	if by.AllowedTools != nil {
		l.AllowedTools = by.AllowedTools
	}
	return l
}

func replace[T any](limit **T, by *T) {
	if by != nil {
		*limit = by
	}
}

// imposedColumns lists the columns of imposed limits and of their raise of the given table alias.
func imposedColumns(alias string) string {
	return limitColumns(alias) + ", " + alias + ".raised, " + alias + ".raised_until"
}

// imposedCells receive the values of imposedColumns from a Scan.
type imposedCells struct {
	limitCells
	raised sql.NullString
	until  sql.NullInt64
}

// into returns the arguments of Scan for imposedColumns.
func (l *imposedCells) into() []any { return append(l.limitCells.into(), &l.raised, &l.until) }

// read returns the limits that were scanned, and their raise, which is nil if there is none at the time now.
func (l *imposedCells) read(now time.Time) (limits Limits, raise *Raise, err error) {
	if limits, err = l.limitCells.read(); err != nil || !l.raised.Valid || l.until.Int64 <= schema.Micros(now) {
		return limits, nil, err
	}
	raise = &Raise{Until: schema.Moment(l.until.Int64)}
	return limits, raise, json.Unmarshal([]byte(l.raised.String), &raise.Limits)
}

// imposedOn returns the limits of a holder with their raise, as they apply to a key.
func imposedOn(on, holder string, limits Limits, raise *Raise) Imposed {
	i := Imposed{On: on, Holder: holder, By: ByOperator, Limits: limits.raisedBy(raise)}
	if on == OnTeamOwn {
		i.On, i.By = OnTeam, ByTeam
	}
	if raise != nil {
		i.RaisedUntil = &raise.Until
	}
	return i
}

// RaiseOf returns the raise of the limits of a holder, which is named as for ImposedLimits. It returns nil if there is
// none or it has ended.
func (s *Service) RaiseOf(ctx context.Context, on, holder string) (raise *Raise, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		if err := s.requireHolder(c, on, holder); err != nil {
			return err
		}
		_, raise, err = s.imposedWithRaise(c, on, holder)
		return err
	})
	return raise, err
}

// SetRaise raises the limits of a holder for a time. A nil raise ends the present one. The error has status 400 if the
// raise sets no limit or does not end within maxRaise, and 409 if the holder has no limits.
func (s *Service) SetRaise(ctx context.Context, on, holder string, raise *Raise, cat *catalog.Catalog) error {
	var text, until any
	var allowed, unknown []string
	if raise != nil {
		now := s.now()
		if err := raise.Limits.check(now); err != nil {
			return err
		}
		raise.Limits.tidy()
		raise.Until = raise.Until.UTC().Truncate(time.Microsecond)
		switch {
		case raise.Limits.none():
			return invalid("limits", "limits must have at least one limit: what they should be until then")
		case !raise.Until.After(now) || raise.Until.After(now.Add(maxRaise)):
			return invalid("until", "until must be a time within the next %d days", int(maxRaise.Hours()/24))
		}
		var err error
		allowed = raise.Limits.AllowedModels
		if unknown, err = s.unknownModels(ctx, cat, "", allowed); err != nil {
			return err
		}
		stored, err := json.Marshal(raise.Limits)
		if err != nil {
			return err
		}
		text, until = string(stored), schema.Micros(raise.Until)
	}
	return s.changeLimits(ctx, func(c store.Conn) error {
		if err := s.requireHolder(c, on, holder); err != nil {
			return err
		}
		limits, _, err := s.imposedWithRaise(c, on, holder)
		if err != nil {
			return err
		}
		if raise != nil && limits.none() {
			return apierror.New(http.StatusConflict, "no_limits", "there are no limits here that could be raised")
		}
		if err := refuseUnknown(allowed, unknown, limits.AllowedModels); err != nil {
			return err
		}
		if _, err := c.Exec(`UPDATE gateway_limits SET raised = ?, raised_until = ? WHERE kind = ? AND holder = ?`, text,
			until, on, holder); err != nil {
			return err
		}
		if raise == nil {
			return s.audit(ctx, c, on+".raise_ended", holder, nil)
		}
		return s.audit(ctx, c, on+".raised", holder, raise)
	})
}
