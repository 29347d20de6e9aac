package keychain

import (
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// Limits restrict the use of a gateway key, or of all keys of a holder such as a user. The zero value restricts
// nothing.
type Limits struct {
	// RateLimitPerMinute is at least 1. Nil means unlimited.
	RateLimitPerMinute *int64 `json:"rate_limit_per_minute"`
	// ExpiresAt is the time at which the use ends. Nil means never.
	ExpiresAt *time.Time `json:"expires_at"`
	// AllowedModels are names of entries (provider/model), prefixes of such names followed by a star (provider/*), and
	// names of tiers (keychain-low). A tier allows the catalog's models of that tier. Nil means all models.
	AllowedModels []string `json:"allowed_models"`
	Budgets       Budgets  `json:"budgets"`
	Rates
	// AllowedTools are the tools that providers may run, such as web_search. NoTools as the only element forbids all
	// tools. Nil means all tools.
	AllowedTools []string `json:"allowed_tools,omitempty"`
}

// empty reports whether the limits are empty.
func (l *Limits) empty() bool {
	return l.RateLimitPerMinute == nil && l.ExpiresAt == nil && len(l.AllowedModels) == 0 && l.AllowedTools == nil &&
		l.Budgets.empty() && l.Rates == Rates{}
}

// allow reports whether a candidate is among the allowed models. The name of a tier does not allow custom models.
func (l *Limits) allow(c *Candidate) bool {
	for _, p := range l.AllowedModels {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(c.Entry, prefix) || p == c.Entry {
			return true
		}
		if tier, ok := tierNamed(p); ok && !c.Custom && c.Model != nil && slices.Contains(c.Model.Tiers, tier) {
			return true
		}
	}
	return len(l.AllowedModels) == 0
}

// AllowsModel reports whether a model of the catalog is among the allowed models.
func (l *Limits) AllowsModel(m *catalog.Model) bool {
	return l.allow(&Candidate{Entry: m.EntryID(), Model: m})
}

// tierNamed returns the tier with a name such as keychain-low. ok is false if no tier has the name.
func tierNamed(name string) (tier catalog.Tier, ok bool) {
	shortName, ok := strings.CutPrefix(name, catalog.TierPrefix)
	if !ok {
		return 0, false
	}
	tier, err := catalog.ParseTier(shortName)
	return tier, err == nil
}

// tidy normalizes the limits for storage.
func (l *Limits) tidy() {
	if len(l.AllowedModels) == 0 {
		l.AllowedModels = nil
	}
	if len(l.AllowedTools) == 0 {
		l.AllowedTools = nil
	}
	if l.ExpiresAt != nil {
		end := l.ExpiresAt.UTC().Truncate(time.Microsecond)
		l.ExpiresAt = &end
	}
}

// check returns an error if a limit is out of bounds or ends in the past.
func (l *Limits) check(now time.Time) error {
	if err := checkLimit(l.RateLimitPerMinute); err != nil {
		return err
	}
	if err := checkExpiry(l.ExpiresAt, now); err != nil {
		return err
	}
	if err := checkAllowedModels(l.AllowedModels); err != nil {
		return err
	}
	if err := checkAllowedTools(l.AllowedTools); err != nil {
		return err
	}
	if err := l.Budgets.check(); err != nil {
		return err
	}
	return l.Rates.check()
}

// edit applies change, which may be nil, to the limits and tidies them.
func (l *Limits) edit(change func(*Limits)) {
	if change != nil {
		change(l)
	}
	l.tidy()
}

// The kinds of holders of imposed limits.
const (
	// OnKey means the key for which the limits were made and its descendants: the keys that replaced it, and the keys
	// that the user created under its limits.
	OnKey = spending.OfKey
	// OnUser means all keys of a user.
	OnUser = spending.OfUser
	// OnTeam means all requests that count for a team.
	OnTeam = spending.OfTeam
	// OnTeamOwn means all requests that count for a team, like OnTeam. Its limits are set by the team's administrators,
	// in addition to the operator's.
	OnTeamOwn = "team_own"
	// OnOrganisation means all requests to the gateway.
	OnOrganisation = spending.OfOrganisation
	// OnProviderKey means all requests that use a provider key.
	OnProviderKey = spending.OfProviderKey
)

// Organisation is the id of the only holder of the kind OnOrganisation.
const Organisation = spending.Organisation

// The values of Imposed.By.
const (
	ByOperator = "operator"
	// ByTeam means the administrators of a team.
	ByTeam = "team"
)

// Imposed are limits that the operator or the administrators of a team have set. Users can see these limits but not
// change them. All keys of the holder share them.
type Imposed struct {
	// On is OnKey, OnUser, OnTeam or OnOrganisation.
	On string `json:"on"`
	// Holder is the id of the key, user or team that the limits were made for, or Organisation.
	Holder string `json:"id"`
	// By is the author of the limits: ByOperator or, if On is OnTeam, also ByTeam.
	By string `json:"by"`
	// RaisedUntil is the end of a raise that is included in the limits. Nil means that there is no raise.
	RaisedUntil *time.Time `json:"raised_until,omitempty"`
	Limits
}

// purse returns the purse in which use under these limits is counted. The operator's and the administrators' limits on
// a team share a purse.
func (i *Imposed) purse() spending.Purse { return spending.Purse{On: i.On, ID: i.Holder} }

// allowPhrase returns the beginning of a phrase for error messages: the author of the limits and the verb.
func (i *Imposed) allowPhrase() string {
	if i.By == ByTeam {
		return "the administrators of the team allow"
	}
	return "the operator allows"
}

// tightest returns the smaller of two limits. A nil limit means unlimited.
func tightest(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// operatorLimits returns the operator's limits of the given kind, or nil if the list has no such limits.
func operatorLimits(list []Imposed, kind string) *Imposed {
	if index := slices.IndexFunc(list, func(i Imposed) bool { return i.On == kind && i.By == ByOperator }); index >= 0 {
		return &list[index]
	}
	return nil
}

// earliestEnd returns when a key ends: the earliest end of its own limits and of the imposed limits in list. Nil means
// never.
func earliestEnd(own *Limits, list []Imposed) *time.Time {
	end := own.ExpiresAt
	for i := range list {
		if expires := list[i].ExpiresAt; expires != nil && (end == nil || expires.Before(*end)) {
			end = expires
		}
	}
	return end
}

// RateLimit returns the lowest limit of requests per minute that applies to the key. Nil means unlimited.
func (id *Identity) RateLimit() *int64 {
	limit := id.RateLimitPerMinute
	for i := range id.Imposed {
		limit = tightest(limit, id.Imposed[i].RateLimitPerMinute)
	}
	return limit
}

// ImposedRate returns the id of the holder of a kind such as OnTeam. It also returns the lowest limit of requests per
// minute that is imposed on this holder. A nil limit means unlimited.
func (id *Identity) ImposedRate(kind string) (holder string, limit *int64) {
	for i := range id.Imposed {
		if l := &id.Imposed[i]; l.On == kind {
			holder, limit = l.Holder, tightest(limit, l.RateLimitPerMinute)
		}
	}
	return holder, limit
}

// Restricted reports whether the key may be used for some models only.
func (id *Identity) Restricted() bool {
	restricts := func(i Imposed) bool { return len(i.AllowedModels) > 0 }
	return len(id.AllowedModels) > 0 || slices.ContainsFunc(id.Imposed, restricts)
}

// beneficiaryPhrases are phrases for error messages that name the holder to whom something is allowed.
var beneficiaryPhrases = map[string]string{
	OnKey: "this key", OnUser: "its user", OnTeam: "its team", OnOrganisation: "everybody",
}

// Forbids returns an empty string if the key may use the candidate. Otherwise it returns a phrase for error messages.
// The phrase names the list of allowed models from which the candidate is missing. An imposed list never allows a
// custom model whose name begins with the code of a catalog provider.
func (id *Identity) Forbids(c *Candidate) (list string) {
	for i := range id.Imposed {
		l := &id.Imposed[i]
		if len(l.AllowedModels) > 0 && (c.Shadows || !l.allow(c)) {
			return "the models that " + l.allowPhrase() + " " + beneficiaryPhrases[l.On]
		}
	}
	if !id.allow(c) {
		return "the key's allowed_models"
	}
	return ""
}

// Budgets limit the spending of a day, a week, a month and in total. Days, weeks (which begin on Monday) and months are
// those of UTC. Nil means unlimited. Tokens are those of the prompt and of the answer. Requests to models with unknown
// price add nothing to the dollars spent, so limit these models by tokens.
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

// limitsFor returns pointers to the limits of a window.
func (b *Budgets) limitsFor(w spending.Window) (tokens **int64, usd **spending.MicroUSD) {
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

// empty reports whether no budget is set.
func (b *Budgets) empty() bool { return *b == Budgets{} }

// total reports whether a total budget is set.
func (b *Budgets) total() bool { return b.TokensTotal != nil || b.USDTotal != nil }

// maxBudgetTokens is the largest allowed budget of tokens.
const maxBudgetTokens = 1_000_000_000_000_000

// check returns an error if a budget is out of bounds.
func (b *Budgets) check() error {
	for w := range spending.NumberOfWindows {
		tokens, usd := b.limitsFor(w)
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
