package keychain

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// Budgets bound what may be spent in a day, a week, a month and in total. Days, weeks (which begin on Monday) and
// months are those of UTC. Nil means unlimited. Tokens are those of the prompt and of the answer. Requests of models
// whose price is not known cost no money here; limit those by tokens.
type Budgets struct {
	TokensPerDay   *int64             `json:"tokens_per_day"`
	TokensPerWeek  *int64             `json:"tokens_per_week,omitempty"`
	TokensPerMonth *int64             `json:"tokens_per_month"`
	TokensTotal    *int64             `json:"tokens_total,omitempty"`
	USDPerDay      *spending.MicroUSD `json:"usd_per_day"`
	USDPerWeek     *spending.MicroUSD `json:"usd_per_week,omitempty"`
	USDPerMonth    *spending.MicroUSD `json:"usd_per_month"`
	USDTotal       *spending.MicroUSD `json:"usd_total,omitempty"`
}

// windowNames are the names of the windows in budgets and in error messages.
var windowNames = [spending.NumberOfWindows]struct{ tokens, usd, text string }{
	{"tokens_total", "usd_total", "in total"},
	{"tokens_per_month", "usd_per_month", "a month"},
	{"tokens_per_week", "usd_per_week", "a week"},
	{"tokens_per_day", "usd_per_day", "a day"},
}

// of returns pointers to the limits of a window.
func (b *Budgets) of(w spending.Window) (tokens **int64, usd **spending.MicroUSD) {
	switch w {
	case spending.InDay:
		return &b.TokensPerDay, &b.USDPerDay
	case spending.InWeek:
		return &b.TokensPerWeek, &b.USDPerWeek
	case spending.InMonth:
		return &b.TokensPerMonth, &b.USDPerMonth
	default:
		return &b.TokensTotal, &b.USDTotal
	}
}

// none reports whether nothing is limited.
func (b *Budgets) none() bool { return *b == Budgets{} }

// total reports whether a total is limited.
func (b *Budgets) total() bool { return b.TokensTotal != nil || b.USDTotal != nil }

// maxBudgetTokens is the largest budget of tokens.
const maxBudgetTokens = 1_000_000_000_000_000

func (b *Budgets) check() error {
	for w := range spending.NumberOfWindows {
		tokens, usd := b.of(w)
		if n := *tokens; n != nil && (*n < 1 || *n > maxBudgetTokens) {
			name := "budgets." + windowNames[w].tokens
			return invalid(name, "%s must be from 1 to %d; leave it out for no limit", name, int64(maxBudgetTokens))
		}
		if n := *usd; n != nil && (*n < 1 || *n > spending.MaxUSD*spending.MicrosPerUSD) {
			name := "budgets." + windowNames[w].usd
			return invalid(name, "%s must be from 0.000001 to %d; leave it out for no limit", name, spending.MaxUSD)
		}
	}
	return nil
}
