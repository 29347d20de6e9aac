package keychain

import (
	"context"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ImposedBudget is a budget set by the operator or by the administrators of a team, and the amount spent from it.
type ImposedBudget struct {
	// On is the kind of the holder: OnKey or one of the kinds for ImposedLimits. Holder is its id.
	On, Holder string
	// Name is the budget's JSON name in Budgets, such as usd_per_month.
	Name string
	// Begins and Ends are the budget's current day, week or month. Both are zero for a total budget.
	Begins, Ends time.Time
	// Money reports that Amount and Spent are in millionths of a US dollar rather than in tokens.
	Money         bool
	Amount, Spent int64
}

// maxLimitRows is the number of rows that EachImposedBudget reads at a time.
const maxLimitRows = 500

// limitsWithBudgets is a query for the limits that have budgets, in the order of kind and holder. Its first arguments
// are the kind and the holder after which it begins. A later argument is a time: if it is not 0, users and keys are
// left out unless one of their gateway keys was used since that time.
var limitsWithBudgets = func() string {
	budgetColumns := make([]string, 0, 2*len(windowNames))
	for w := range windowNames {
		budgetColumns = append(budgetColumns, "l."+windowNames[w].tokens, "l.micro_"+windowNames[w].usd)
	}
	return `SELECT l.kind, l.holder, ` + imposedColumns("l") + ` FROM gateway_limits AS l
		WHERE (l.kind > ? OR l.kind = ? AND l.holder > ?) AND coalesce(` + strings.Join(budgetColumns, ", ") + `) IS NOT NULL
		AND (CAST(? AS BIGINT) = 0 OR l.kind NOT IN ('user', 'key')
			OR l.kind = 'user' AND EXISTS (SELECT 1 FROM gateway_keys AS k WHERE k.user_id = l.holder AND k.last_used_at >= ?)
			OR l.kind = 'key' AND EXISTS (SELECT 1 FROM gateway_keys AS k WHERE k.limited_by = l.holder AND k.last_used_at >= ?))
		ORDER BY l.kind, l.holder LIMIT ?`
}()

// EachImposedBudget calls fn for every imposed budget until fn returns an error. The amounts spent are those in the
// database. If cutoff is not zero, budgets of users and keys are left out unless one of their gateway keys was used
// since the cutoff.
func (s *Service) EachImposedBudget(ctx context.Context, cutoff time.Time, fn func(*ImposedBudget) error) error {
	type holder struct {
		spending.Purse
		budgets Budgets
	}
	usedSince := int64(0) // 0: all holders
	if !cutoff.IsZero() {
		usedSince = schema.Micros(cutoff)
	}
	for last := (spending.Purse{}); ; { // last is the last holder of the previous page
		rows, err := read(ctx, s, func(row store.Row) (h holder, err error) {
			var cells imposedCells
			if err = row.Scan(append([]any{&h.On, &h.ID}, cells.scanArgs()...)...); err != nil {
				return h, err
			}
			limits, raise, err := cells.read(s.now())
			h.budgets = limits.raisedBy(raise).Budgets
			return h, err
		}, limitsWithBudgets, last.On, last.On, last.ID, usedSince, usedSince, usedSince,
			maxLimitRows)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := s.eachBudget(ctx, rows[i].Purse, &rows[i].budgets, fn); err != nil {
				return err
			}
		}
		if len(rows) < maxLimitRows {
			return nil
		}
		last = rows[len(rows)-1].Purse
	}
}

// eachBudget calls fn for each of the budgets of one holder until fn returns an error. purse has the kind and id of the
// holder.
func (s *Service) eachBudget(
	ctx context.Context, purse spending.Purse, budgets *Budgets, fn func(*ImposedBudget) error,
) error {
	now := s.now()
	summed := purse
	if summed.On == OnTeamOwn { // the same requests as for the operator's budgets on the team
		summed.On = OnTeam
	}
	sums, err := s.ledger.Stored(ctx, summed, budgets.total(), now)
	if err != nil {
		return err
	}
	day := spending.StartOfDay(now)
	for w := range spending.NumberOfWindows {
		b := ImposedBudget{On: purse.On, Holder: purse.ID, Begins: w.Begin(day), Ends: w.End(day)}
		tokens, usd := budgets.limitsFor(w)
		if *tokens != nil {
			b.Name, b.Money, b.Amount, b.Spent = windowNames[w].tokens, false, **tokens, sums[w].Tokens
			if err := fn(&b); err != nil {
				return err
			}
		}
		if *usd != nil {
			b.Name, b.Money, b.Amount, b.Spent = windowNames[w].usd, true, int64(**usd), sums[w].Micros
			if err := fn(&b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Concerned lists the people whom limits concern, besides the operator.
type Concerned struct {
	// Name is the holder's display name. It may be empty.
	Name string
	// Addresses are mail addresses: those of a team's administrators, or the address of a user or of a key's user.
	// Suspended users and users without a known address are left out.
	Addresses []string
}

// maxConcerned bounds the number of addresses in Concerned.
const maxConcerned = 20

// ConcernedBy returns the people whom the limits of a holder concern. The kind and the id of the holder are as in
// ImposedBudget. The result is empty for the organisation and for holders that do not exist.
func (s *Service) ConcernedBy(ctx context.Context, kind, holder string) (c Concerned, err error) {
	const userName = `coalesce(nullif(u.name, ''), u.id)`
	var query string
	switch kind {
	case OnTeam, OnTeamOwn:
		query = `SELECT t.name, u.email FROM gateway_teams AS t
			LEFT JOIN gateway_team_members AS m ON m.team_id = t.id AND m.role = 'admin'
			LEFT JOIN gateway_users AS u ON u.id = m.user_id AND u.suspended_at IS NULL
			WHERE t.id = ? ORDER BY u.id LIMIT ?`
	case OnUser:
		query = `SELECT ` + userName +
			`, CASE WHEN u.suspended_at IS NULL THEN u.email END FROM gateway_users AS u WHERE u.id = ? LIMIT ?`
	case OnKey:
		query = `SELECT CASE WHEN k.label <> '' THEN k.label || ' of ' ELSE 'a key of ' END || ` + userName + `,
			CASE WHEN u.suspended_at IS NULL THEN u.email END
			FROM gateway_keys AS k JOIN gateway_users AS u ON u.id = k.user_id WHERE k.id = ? LIMIT ?`
	default:
		return c, nil
	}
	_, err = read(ctx, s, func(row store.Row) (struct{}, error) {
		var address *string
		err := row.Scan(&c.Name, &address)
		if address != nil && *address != "" {
			c.Addresses = append(c.Addresses, *address)
		}
		return struct{}{}, err
	}, query, holder, maxConcerned)
	return c, err
}
