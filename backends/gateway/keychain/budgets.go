package keychain

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// budget is a set of budgets and the purse (set of requests whose spending is summed) to which they apply.
type budget struct {
	spending.Purse
	*Budgets
	author string // as Imposed.By; empty for budgets set by the user
}

// budgets appends to list the budgets that apply to the key, and returns the list.
func (id *Identity) budgets(list []budget) []budget {
	if !id.Budgets.empty() {
		list = append(list, budget{spending.Purse{On: spending.OwnKey, ID: id.KeyID}, &id.Budgets, ""})
	}
	for i := range id.Imposed {
		if l := &id.Imposed[i]; !l.Budgets.empty() {
			list = append(list, budget{l.purse(), &l.Budgets, l.By})
		}
	}
	return list
}

// admitBudgets returns an error with status 402 if a budget of the key is spent. If several are spent, the error
// describes the one that is renewed last, since the same request cannot succeed before that budget is renewed.
func (s *Service) admitBudgets(ctx context.Context, id *Identity) error {
	var buffer [1 + len(limitHolders)]budget // saves an allocation per request
	var longest *spentBudget
	for _, b := range id.budgets(buffer[:0]) {
		spent, err := s.admitBudget(ctx, id.KeyID, b)
		if err != nil {
			return err
		}
		if spent != nil && (longest == nil || spent.lastsLonger(longest)) {
			longest = spent
		}
	}
	if longest == nil {
		return nil
	}
	return longest.refusal(s.now())
}

// admitBudget reads the sums of b for a key, and returns the spent budget with the longest window, or nil if no budget
// of b is spent.
func (s *Service) admitBudget(ctx context.Context, keyID string, b budget) (*spentBudget, error) {
	now := s.now()
	sums, err := s.ledger.Spent(ctx, keyID, b.Purse, b.total(), now)
	if err != nil {
		return nil, err
	}
	return b.spent(&sums, spending.StartOfDay(now)), nil
}

// spent returns the spent budget with the longest window, or nil if no budget is spent. sums are the amounts spent in
// the windows that contain day.
func (b *budget) spent(sums *spending.WindowSums, day time.Time) *spentBudget {
	for w := range spending.NumberOfWindows { // the longest window first
		tokens, usd := b.limitsFor(w)
		names := &windowNames[w]
		switch {
		case *tokens != nil && sums[w].Tokens >= **tokens:
			return &spentBudget{b.On, b.author, names.tokens, fmt.Sprint(**tokens, " tokens ", names.text), w.End(day)}
		case *usd != nil && sums[w].Micros >= int64(**usd):
			return &spentBudget{b.On, b.author, names.usd, (*usd).String() + " USD " + names.text, w.End(day)}
		}
	}
	return nil
}

// spentBudget describes a budget that is used up.
type spentBudget struct {
	kind    string    // the kind of the holder, a key of holderPhrases
	author  string    // as in budget
	name    string    // such as usd_per_month
	amount  string    // such as "5 USD a month"
	renewed time.Time // the end of the window; zero means never
}

// lastsLonger reports whether b is renewed later than otherBudget.
func (b *spentBudget) lastsLonger(otherBudget *spentBudget) bool {
	return !otherBudget.renewed.IsZero() && (b.renewed.IsZero() || b.renewed.After(otherBudget.renewed))
}

// refusal returns the error that states whose budget is spent, its size and when it is renewed.
func (b *spentBudget) refusal(now time.Time) error {
	format := holderPhrases[b.kind] + " has spent the budget %s that the operator has set, %s"
	advice := "; ask the operator for more"
	switch {
	case b.kind == spending.OwnKey:
		format = holderPhrases[b.kind] + " has spent its budget %s, %s"
	case b.author == ByTeam:
		format = holderPhrases[b.kind] + " has spent the budget %s that its administrators have set, %s"
		advice = "; ask one of them for more"
	}
	if !b.renewed.IsZero() {
		advice = "; it is renewed at " + b.renewed.Format(time.RFC3339)
	}
	refusal := apierror.New(http.StatusPaymentRequired, "insufficient_quota", format+"%s", b.name, b.amount, advice)
	if !b.renewed.IsZero() {
		refusal.RetryAfter = b.renewed.Sub(now)
	}
	refusal.NoRetry = true // an SDK would not wait that long
	return refusal
}

// BudgetLeft is a budget that applies to requests of a user, and the amount spent from that budget.
type BudgetLeft struct {
	// On is the kind of the budget's holder: OnKey, OnUser, OnTeam or OnOrganisation, or "own" for a budget that the
	// user has set on a key.
	On string `json:"on"`
	// ID is the id of the key, user or team, or Organisation. Label is the label of the key.
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
	// By is the author of the budget, as in Imposed.By. It is empty for a budget that the user has set on a key.
	By string `json:"by,omitempty"`
	// Name is the name of the budget, such as usd_per_month.
	Name string `json:"name"`
	// Limit and Spent are in tokens, or in US dollars if Name begins with usd.
	Limit json.Number `json:"limit"`
	Spent json.Number `json:"spent"`
	// BeginsAnew is when the window ends and the amount spent becomes zero again. Nil means never.
	BeginsAnew *time.Time `json:"begins_anew"`
}

// maxBudgetsLeft is the largest number of keys, users and teams for which BudgetsLeft reads sums.
const maxBudgetsLeft = 50

// BudgetsLeft returns the budgets that apply to requests of a user, each once: those of the organisation, of the user's
// teams, of the user and of the user's active keys. The sums are as recent as those of Admit.
func (s *Service) BudgetsLeft(ctx context.Context, userID string) ([]BudgetLeft, error) {
	keyless, err := s.Keyless(ctx, userID)
	if err != nil {
		return nil, err
	}
	keys, err := s.Keys(ctx, userID)
	if err != nil {
		return nil, err
	}
	identities, labels := []*Identity{keyless}, make(map[string]string)
	for i := range keys {
		labels[keys[i].ID] = keys[i].Label
		if keys[i].Status == StatusActive {
			identities = append(identities, keys[i].Identity())
		}
	}
	type budgetID struct { // several keys can share a budget
		spending.Purse
		author string
	}
	list, listed := []BudgetLeft{}, make(map[budgetID]bool)
	for _, id := range identities {
		for _, b := range id.budgets(nil) {
			budgetID := budgetID{b.Purse, b.author}
			if listed[budgetID] || len(listed) == maxBudgetsLeft {
				continue
			}
			listed[budgetID] = true
			now := s.now()
			sums, err := s.ledger.Spent(ctx, id.KeyID, b.Purse, b.total(), now)
			if err != nil {
				return nil, err
			}
			list = append(list, b.left(&sums, spending.StartOfDay(now), labels[b.ID])...) // labels are for keys only
		}
	}
	return list, nil
}

// left returns the budgets with the amounts spent. The budgets of the shortest window come first. sums are the
// amounts spent in the windows that contain day. label becomes BudgetLeft.Label.
func (b *budget) left(sums *spending.WindowSums, day time.Time, label string) (list []BudgetLeft) {
	for w := spending.NumberOfWindows - 1; w >= 0; w-- {
		left := BudgetLeft{On: b.On, ID: b.ID, By: b.author, Label: label}
		if end := w.End(day); !end.IsZero() {
			left.BeginsAnew = &end
		}
		tokens, usd := b.limitsFor(w)
		if *usd != nil {
			left.Name, left.Limit, left.Spent = windowNames[w].usd, json.Number((*usd).String()),
				json.Number(spending.MicroUSD(sums[w].Micros).String())
			list = append(list, left)
		}
		if *tokens != nil {
			left.Name = windowNames[w].tokens
			left.Limit, left.Spent = json.Number(strconv.FormatInt(**tokens, 10)),
				json.Number(strconv.FormatInt(sums[w].Tokens, 10))
			list = append(list, left)
		}
	}
	return list
}
