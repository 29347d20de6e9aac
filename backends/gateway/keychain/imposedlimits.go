package keychain

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// limitNames are the columns of limits, in the order of limitCells.scanArgs and Limits.arguments.
var limitNames = []string{
	"rate_limit_per_minute", "expires_at", "allowed_models", "tokens_per_day", "tokens_per_week", "tokens_per_month",
	"tokens_total", "micro_usd_per_day", "micro_usd_per_week", "micro_usd_per_month", "micro_usd_total",
	"tokens_per_minute", "parallel_requests", "allowed_tools",
}

// limitColumns lists the limit columns of a table alias, for a SELECT.
func limitColumns(alias string) string {
	return alias + "." + strings.Join(limitNames, ", "+alias+".")
}

// limitCells receive the values of limitColumns from a Scan.
type limitCells struct {
	limits  Limits
	expires sql.NullInt64
	models  sql.NullString
	tools   sql.NullString
}

// scanArgs returns the arguments of Scan for limitColumns.
func (l *limitCells) scanArgs() []any {
	b := &l.limits.Budgets
	return []any{
		&l.limits.RateLimitPerMinute, &l.expires, &l.models,
		&b.TokensPerDay, &b.TokensPerWeek, &b.TokensPerMonth, &b.TokensTotal,
		&b.USDPerDay, &b.USDPerWeek, &b.USDPerMonth, &b.USDTotal,
		&l.limits.TokensPerMinute, &l.limits.ParallelRequests, &l.tools,
	}
}

// read returns the limits that were scanned.
func (l *limitCells) read() (Limits, error) {
	l.limits.ExpiresAt = schema.Optional(l.expires)
	var err error
	if l.models.Valid {
		err = json.Unmarshal([]byte(l.models.String), &l.limits.AllowedModels)
	}
	if l.tools.Valid {
		err = errors.Join(err, json.Unmarshal([]byte(l.tools.String), &l.limits.AllowedTools))
	}
	return l.limits, err
}

// arguments returns the values of the columns limitNames.
func (l *Limits) arguments() ([]any, error) {
	models, err := namesColumn(l.AllowedModels)
	tools, toolsErr := namesColumn(l.AllowedTools)
	b := &l.Budgets
	return []any{
		l.RateLimitPerMinute, momentColumn(l.ExpiresAt), models,
		b.TokensPerDay, b.TokensPerWeek, b.TokensPerMonth, b.TokensTotal,
		(*int64)(b.USDPerDay), (*int64)(b.USDPerWeek), (*int64)(b.USDPerMonth), (*int64)(b.USDTotal),
		l.TokensPerMinute, l.ParallelRequests, tools,
	}, errors.Join(err, toolsErr)
}

// imposedLimits reads the limits imposed on a holder, without their raise; kind is one of OnKey, OnUser and so on. It
// returns the zero value if the holder has no limits.
func (s *Service) imposedLimits(c store.Conn, kind, holder string) (Limits, error) {
	limits, _, err := s.imposedWithRaise(c, kind, holder)
	return limits, err
}

// imposedWithRaise is like imposedLimits and also returns the current raise, which may be nil.
func (s *Service) imposedWithRaise(c store.Conn, kind, holder string) (Limits, *Raise, error) {
	var cells imposedCells
	err := c.Row(`SELECT `+imposedColumns("l")+` FROM gateway_limits AS l WHERE l.kind = ? AND l.holder = ?`, kind, holder).
		Scan(cells.scanArgs()...)
	if errors.Is(err, sql.ErrNoRows) {
		return Limits{}, nil, nil
	}
	if err != nil {
		return Limits{}, nil, err
	}
	return cells.read(s.now())
}

// impose stores the limits of a holder. It removes the row if limits is empty.
func (s *Service) impose(c store.Conn, kind, holder string, limits *Limits) error {
	if limits.empty() {
		_, err := c.Exec(`DELETE FROM gateway_limits WHERE kind = ? AND holder = ?`, kind, holder)
		return err
	}
	values, err := limits.arguments()
	if err != nil {
		return err
	}
	_, err = c.Exec(storeLimits, append([]any{kind, holder}, values...)...)
	return err
}

// storeLimits is the statement that stores the limits of a holder.
var storeLimits = func() string {
	set := make([]string, len(limitNames))
	for i, name := range limitNames {
		set[i] = name + " = excluded." + name
	}
	return `INSERT INTO gateway_limits (kind, holder, ` + strings.Join(limitNames, ", ") + `)
		VALUES (?, ?` + strings.Repeat(", ?", len(limitNames)) + `)
		ON CONFLICT (kind, holder) DO UPDATE SET ` + strings.Join(set, ", ")
}()

// changeLimits runs fn, which changes imposed limits, in a transaction. Every node then reads all keys anew; this node
// does so before changeLimits returns. Inside Together it runs fn in Together's transaction.
func (s *Service) changeLimits(ctx context.Context, fn func(c store.Conn) error) error {
	if c, ok := together(ctx); ok {
		return fn(c)
	}
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

// ImposedLimits returns the limits that are imposed on a holder. The kind OnUser takes the id of a user, OnTeam and
// OnTeamOwn the id of a team, and OnOrganisation takes Organisation. The limits of the kind OnTeamOwn are those that
// the team's administrators have set. The limits of the other kinds are those that the operator has set. The error
// has status 404 if the user or team does not exist.
func (s *Service) ImposedLimits(ctx context.Context, kind, holder string) (limits Limits, err error) {
	err = s.read(ctx, func(c store.Conn) error {
		if err := s.requireHolder(c, kind, holder); err != nil {
			return err
		}
		limits, err = s.imposedLimits(c, kind, holder)
		return err
	})
	return limits, err
}

// Impose changes the limits of a holder and returns them; see ImposedLimits for kind and holder. All keys of the holder
// share these limits. The label and the effort mode of the change are ignored.
func (s *Service) Impose(ctx context.Context, kind, holder string, change KeyChange) (limits Limits, err error) {
	if err := change.check(s.now()); err != nil {
		return Limits{}, err
	}
	user := ""
	if kind == OnUser {
		user = holder
	}
	allowed := change.allowedModels()
	unknown, err := s.unknownModels(ctx, change.Catalog, user, allowed)
	if err != nil {
		return Limits{}, err
	}
	err = s.changeLimits(ctx, func(c store.Conn) (err error) {
		if err := s.requireHolder(c, kind, holder); err != nil {
			return err
		}
		if limits, err = s.imposedLimits(c, kind, holder); err != nil {
			return err
		}
		if err := refuseUnknown(allowed, unknown, limits.AllowedModels); err != nil {
			return err
		}
		limits.edit(change.Limits)
		if err := s.impose(c, kind, holder, &limits); err != nil {
			return err
		}
		return s.audit(ctx, c, kind+".limited", holder, limits)
	})
	return limits, err
}

// SetLimits replaces all limits of a holder; see ImposedLimits for kind and holder. It refuses names of models that are
// neither in the catalog nor in the present limits.
func (s *Service) SetLimits(
	ctx context.Context, kind, holder string, limits Limits, cat *catalog.Catalog,
) (Limits, error) {
	return s.Impose(ctx, kind, holder, KeyChange{Limits: func(l *Limits) { *l = limits }, Catalog: cat})
}

// requireHolder returns an error if the user or team does not exist.
func (s *Service) requireHolder(c store.Conn, kind, holder string) error {
	switch {
	case kind == OnUser:
		return s.requireUser(c, holder)
	case kind == OnTeam, kind == OnTeamOwn:
		_, err := s.teamByID(c, holder)
		return err
	case kind == OnOrganisation && holder == Organisation:
		return nil
	default:
		return fmt.Errorf("there are no limits on a %s", kind)
	}
}

// limitedBy returns the id of the key whose imposed limits a new key of a user must share, so that the new key cannot
// do more than the user's other keys. It returns an empty string if the user has a key without imposed limits or never
// had a key. Of several keys it prefers those that are not revoked, and among these the primary one.
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

// errEnded returns the error for a new key that would be useless because the imposed limits have expired.
func errEnded(end time.Time) error {
	return apierror.New(http.StatusConflict, "expired",
		"the limits that the operator set on your keys expired at %s: ask the operator for a later expiry",
		end.Format(time.RFC3339))
}

// Raise replaces some imposed limits until a time. Limits that the raise does not set stay unchanged.
type Raise struct {
	Until  time.Time `json:"until"`
	Limits Limits    `json:"limits"`
}

// maxRaise is the longest duration of a raise.
const maxRaise = 366 * 24 * time.Hour

// check tidies the raise. It returns an error if the raise sets no limit or an invalid one, or does not end within
// maxRaise.
func (r *Raise) check(now time.Time) error {
	if err := r.Limits.check(now); err != nil {
		return err
	}
	r.Limits.tidy()
	r.Until = r.Until.UTC().Truncate(time.Microsecond)
	switch {
	case r.Limits.empty():
		return invalid("limits", "limits must have at least one limit, with the value that applies until the raise ends")
	case !r.Until.After(now) || r.Until.After(now.Add(maxRaise)):
		return invalid("until", "until must be a time within the next %d days", int(maxRaise.Hours()/24))
	}
	return nil
}

// raisedBy returns the limits that apply during a raise. Each limit that the raise sets replaces the same limit in l.
// A nil raise changes nothing.
func (l Limits) raisedBy(r *Raise) Limits {
	if r == nil {
		return l
	}
	raise := &r.Limits
	replace(&l.RateLimitPerMinute, raise.RateLimitPerMinute)
	replace(&l.ExpiresAt, raise.ExpiresAt)
	replace(&l.TokensPerMinute, raise.TokensPerMinute)
	replace(&l.ParallelRequests, raise.ParallelRequests)
	for w := range spending.NumberOfWindows {
		tokens, usd := l.Budgets.limitsFor(w)
		raisedTokens, raisedUSD := raise.Budgets.limitsFor(w)
		replace(tokens, *raisedTokens)
		replace(usd, *raisedUSD)
	}
	if len(raise.AllowedModels) > 0 {
		l.AllowedModels = raise.AllowedModels
	}
	if raise.AllowedTools != nil {
		l.AllowedTools = raise.AllowedTools
	}
	return l
}

// replace sets *limit to raised unless raised is nil.
func replace[T any](limit **T, raised *T) {
	if raised != nil {
		*limit = raised
	}
}

// imposedColumns lists the columns of imposed limits and of their raise, with a table alias, for a SELECT.
func imposedColumns(alias string) string {
	return limitColumns(alias) + ", " + alias + ".raised, " + alias + ".raised_until"
}

// imposedCells receive the values of imposedColumns from a Scan.
type imposedCells struct {
	limitCells
	raised sql.NullString
	until  sql.NullInt64
}

// scanArgs returns the arguments of Scan for imposedColumns.
func (l *imposedCells) scanArgs() []any { return append(l.limitCells.scanArgs(), &l.raised, &l.until) }

// read returns the scanned limits and their raise. The raise is nil if it was not set or has ended at the time now.
func (l *imposedCells) read(now time.Time) (limits Limits, raise *Raise, err error) {
	if limits, err = l.limitCells.read(); err != nil || !l.raised.Valid || l.until.Int64 <= schema.Micros(now) {
		return limits, nil, err
	}
	raise = &Raise{Until: schema.Moment(l.until.Int64)}
	return limits, raise, json.Unmarshal([]byte(l.raised.String), &raise.Limits)
}

// newImposed returns the limits of a holder, changed by their raise, in the form in which an Identity holds them.
func newImposed(kind, holder string, limits Limits, raise *Raise) Imposed {
	i := Imposed{On: kind, Holder: holder, By: ByOperator, Limits: limits.raisedBy(raise)}
	if kind == OnTeamOwn {
		i.On, i.By = OnTeam, ByTeam
	}
	if raise != nil {
		i.RaisedUntil = &raise.Until
	}
	return i
}

// RaiseOf returns the current raise of a holder's limits; see ImposedLimits for kind and holder. The result is nil if
// no raise was set or it has ended.
func (s *Service) RaiseOf(ctx context.Context, kind, holder string) (raise *Raise, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		if err := s.requireHolder(c, kind, holder); err != nil {
			return err
		}
		_, raise, err = s.imposedWithRaise(c, kind, holder)
		return err
	})
	return raise, err
}

// SetRaise raises the limits of a holder for a time; see ImposedLimits for kind and holder. A nil raise ends the
// present one. The error has status 400 if the raise sets no limit or does not end within maxRaise, and 409 if the
// holder has no limits.
func (s *Service) SetRaise(ctx context.Context, kind, holder string, raise *Raise, cat *catalog.Catalog) error {
	var text, expiry any          // the values to store; nil if the present raise ends
	var allowed, unknown []string // models of the raise
	if raise != nil {
		err := raise.check(s.now())
		if err != nil {
			return err
		}
		allowed = raise.Limits.AllowedModels
		if unknown, err = s.unknownModels(ctx, cat, "", allowed); err != nil {
			return err
		}
		stored, err := json.Marshal(raise.Limits)
		if err != nil {
			return err
		}
		text, expiry = string(stored), schema.Micros(raise.Until)
	}
	return s.changeLimits(ctx, func(c store.Conn) error {
		if err := s.requireHolder(c, kind, holder); err != nil {
			return err
		}
		limits, _, err := s.imposedWithRaise(c, kind, holder)
		if err != nil {
			return err
		}
		if raise != nil && limits.empty() {
			return apierror.New(http.StatusConflict, "no_limits", "there are no limits that could be raised: set limits first")
		}
		if err := refuseUnknown(allowed, unknown, limits.AllowedModels); err != nil {
			return err
		}
		if _, err := c.Exec(`UPDATE gateway_limits SET raised = ?, raised_until = ? WHERE kind = ? AND holder = ?`, text,
			expiry, kind, holder); err != nil {
			return err
		}
		if raise == nil {
			return s.audit(ctx, c, kind+".raise_ended", holder, nil)
		}
		return s.audit(ctx, c, kind+".raised", holder, raise)
	})
}
