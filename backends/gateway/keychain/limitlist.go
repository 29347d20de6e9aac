package keychain

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limited is a holder of imposed limits, with the amounts left in its budgets.
type Limited struct {
	// On is the kind of the holder: OnKey or one of the kinds for ImposedLimits. Holder is its id.
	On     string `json:"on"`
	Holder string `json:"holder"`
	// Name is the name of the team or user, or the label of the key. It may be empty.
	Name string `json:"name"`
	// UserID is the id of the user if the holder is a user or a user's key. It is the id of the team if the holder is a
	// team's key, and empty for any other holder. User is the name of the user or team with the id UserID. It may be
	// empty.
	UserID string `json:"user_id,omitempty"`
	User   string `json:"user,omitempty"`
	// Limits are those that apply now, including a raise.
	Limits      Limits     `json:"limits"`
	RaisedUntil *time.Time `json:"raised_until"`
	// Budgets are in the order of BudgetsLeft.
	Budgets []BudgetLeft `json:"budgets"`
}

// Place returns the cursor of the holder for Service.Limited, which then continues after this holder.
func (l *Limited) Place() string { return l.On + "/" + l.Holder }

// limitedKinds are the kinds of holders in the order in which Limited lists them.
var limitedKinds = []string{OnOrganisation, OnTeam, OnTeamOwn, OnUser, OnKey}

// LimitedKinds returns the kinds of holders that Limited lists, in order.
func LimitedKinds() []string { return slices.Clone(limitedKinds) }

// Limited returns at most limit holders of imposed limits, of the kind holderKind or, if holderKind is empty, of all
// kinds. It begins after the holder whose Place is cursor; an empty cursor begins at the start. The spending of the
// last second may be missing. Provider keys are left out; see KeysOf.
func (s *Service) Limited(ctx context.Context, holderKind, cursor string, limit int) ([]Limited, error) {
	lastKind, lastHolder, _ := strings.Cut(cursor, "/")
	list := make([]Limited, 0, limit)
	first := max(0, slices.Index(limitedKinds, lastKind)) // an empty cursor names no kind
	for _, kind := range limitedKinds[first:] {
		if holderKind != "" && holderKind != kind {
			continue
		}
		if kind != lastKind {
			lastHolder = "" // begin with the first holder of the next kind
		}
		if !schema.StorableID(lastHolder) { // the cursor is not a Place
			return nil, nil
		}
		rows, err := s.limitedOf(ctx, kind, lastHolder, limit-len(list))
		if err != nil {
			return nil, err
		}
		if list = append(list, rows...); len(list) == limit {
			break
		}
	}
	for i := range list {
		var err error
		if list[i].Budgets, err = s.budgetsOf(ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// limitedOf reads the holders of one kind with ids greater than afterID, without their budgets. Accounts of teams are
// left out.
func (s *Service) limitedOf(ctx context.Context, kind, afterID string, limit int) ([]Limited, error) {
	now := s.now()
	return read(ctx, s, func(row store.Row) (l Limited, err error) {
		var cells imposedCells
		var name, id, user sql.NullString
		if err := row.Scan(append([]any{&l.Holder, &name, &id, &user}, cells.scanArgs()...)...); err != nil {
			return l, err
		}
		limits, raise, err := cells.read(now)
		l.On, l.Name, l.UserID, l.User, l.Limits = kind, name.String, id.String, user.String, limits.raisedBy(raise)
		if raise != nil {
			l.RaisedUntil = &raise.Until
		}
		return l, err
	}, `SELECT l.holder, coalesce(t.name, k.label, nullif(u.name, ''), u.email), u.id, coalesce(nullif(u.name, ''), u.email), `+imposedColumns("l")+`
		FROM gateway_limits AS l
		LEFT JOIN gateway_teams AS t ON l.kind IN ('team', 'team_own') AND t.id = l.holder
		LEFT JOIN gateway_keys AS k ON l.kind = 'key' AND k.id = l.holder
		LEFT JOIN gateway_users AS u ON u.id = CASE l.kind WHEN 'user' THEN l.holder WHEN 'key' THEN k.user_id END
		WHERE l.kind = ? AND l.holder > ? AND NOT (l.kind = 'user' AND coalesce(u.is_service, 0) = 1)
		AND (l.kind <> 'key' OR EXISTS (SELECT 1 FROM gateway_keys AS d WHERE d.limited_by = l.holder AND d.revoked_at IS NULL))
		ORDER BY l.holder LIMIT ?`, kind, afterID, limit)
}

// budgetsOf returns the budgets of a holder with the amounts spent from each budget.
func (s *Service) budgetsOf(ctx context.Context, l *Limited) ([]BudgetLeft, error) {
	if l.Limits.Budgets.empty() {
		return []BudgetLeft{}, nil
	}
	b := budget{spending.Purse{On: l.On, ID: l.Holder}, &l.Limits.Budgets, ByOperator}
	if b.On == OnTeamOwn {
		b.On, b.author = OnTeam, ByTeam
	}
	now := s.now()
	sums, err := s.ledger.Stored(ctx, b.Purse, b.total(), now)
	if err != nil {
		return nil, err
	}
	return b.left(&sums, spending.StartOfDay(now), ""), nil
}
