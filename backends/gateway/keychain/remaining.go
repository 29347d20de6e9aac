package keychain

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// BudgetLeft is a budget that applies to requests of a user, and the amount spent from it.
type BudgetLeft struct {
	// On is the kind of holder of the budget: OnKey, OnUser, OnTeam or OnOrganisation, or "own" for a budget that the
	// user has given a key.
	On string `json:"on"`
	// ID is the id of the key, of the user or of the team, or Organisation. Label is the label of the key.
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
	// By says who has set it, as Imposed.By. It is empty for a budget that the user has given a key.
	By string `json:"by,omitempty"`
	// Name is the name of the budget, such as usd_per_month.
	Name string `json:"name"`
	// Limit and Spent are in tokens, or in US dollars if Name begins with usd.
	Limit json.Number `json:"limit"`
	Spent json.Number `json:"spent"`
	// BeginsAnew is when the budget begins anew, with nothing spent. Nil means never.
	BeginsAnew *time.Time `json:"begins_anew"`
}

// maxBudgetsLeft is the number of keys, users and teams with budgets whose sums BudgetsLeft reads.
const maxBudgetsLeft = 50

// BudgetsLeft returns the budgets that apply to requests of a user, each once: those of the organisation, of their
// teams, of the user and of their active keys. The sums are as recent as those of Admit.
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
	type limited struct {
		spending.Purse
		by string
	}
	list, seen := []BudgetLeft{}, make(map[limited]bool)
	for _, id := range identities {
		for _, b := range id.budgets(nil) {
			set := limited{b.Purse, b.by}
			if seen[set] || len(seen) == maxBudgetsLeft {
				continue
			}
			seen[set] = true
			now := s.now()
			sums, err := s.spent.Spent(ctx, id.KeyID, b.Purse, b.total(), now)
			if err != nil {
				return nil, err
			}
			list = append(list, b.left(&sums, spending.StartOfDay(now), labels[b.ID])...)
		}
	}
	return list, nil
}

// left lists the budgets with the amounts spent from them, those of the shortest window first.
func (b *budget) left(sums *spending.WindowSums, day time.Time, label string) (list []BudgetLeft) {
	for w := spending.NumberOfWindows - 1; w >= 0; w-- {
		left := BudgetLeft{On: b.On, ID: b.ID, By: b.by, Label: label}
		if end := w.End(day); !end.IsZero() {
			left.BeginsAnew = &end
		}
		tokens, usd := b.of(w)
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
