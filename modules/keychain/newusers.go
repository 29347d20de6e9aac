package keychain

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// NewUsers says what becomes of those who sign in for the first time. The limits are
// imposed on each of them, for all keys together, and are kept with the user: a change of
// the option is for those who come later. Users that a command makes are not new.
type NewUsers struct {
	// Refuse lets in nobody who is not known: the operator makes or invites each user, or has a
	// rule that puts them into a team. Default: they are let in.
	Refuse bool `json:"refuse,omitempty"`

	// Approve makes those who are not known wait until an operator lets them in. Default: they
	// are let in at once.
	Approve bool `json:"approve,omitempty"`

	// Team is the name of the team that they are added to where no rule says another. It is made
	// where there is none. Default: they are in no team.
	Team string `json:"team,omitempty"`

	// RateLimitPerMinute bounds requests a minute. Default: unlimited.
	RateLimitPerMinute *int64 `json:"rate_limit_per_minute,omitempty"`

	// AllowedModels are names (provider/model) and beginnings of names with a star
	// behind. Default: all.
	AllowedModels []string `json:"allowed_models,omitempty"`

	// AllowedTools are the tools that providers may run, such as web_search; none alone allows
	// none. Default: all.
	AllowedTools []string `json:"allowed_tools,omitempty"`

	// TokensPerMinute bounds the tokens of a minute. Default: unlimited, as all that follow.
	TokensPerMinute *int64 `json:"tokens_per_minute,omitempty"`

	// ParallelRequests bounds the requests that are under way.
	ParallelRequests *int64 `json:"parallel_requests,omitempty"`

	// TokensPerDay bounds the tokens of a UTC day.
	TokensPerDay *int64 `json:"tokens_per_day,omitempty"`

	// TokensPerWeek bounds the tokens of a UTC week, which begins on Monday.
	TokensPerWeek *int64 `json:"tokens_per_week,omitempty"`

	// TokensPerMonth bounds the tokens of a UTC month.
	TokensPerMonth *int64 `json:"tokens_per_month,omitempty"`

	// TokensTotal bounds the tokens of all time.
	TokensTotal *int64 `json:"tokens_total,omitempty"`

	// USDPerDay bounds the US dollars of a UTC day.
	USDPerDay *spending.MicroUSD `json:"usd_per_day,omitempty"`

	// USDPerWeek bounds the US dollars of a UTC week, which begins on Monday.
	USDPerWeek *spending.MicroUSD `json:"usd_per_week,omitempty"`

	// USDPerMonth bounds the US dollars of a UTC month.
	USDPerMonth *spending.MicroUSD `json:"usd_per_month,omitempty"`

	// USDTotal bounds the US dollars of all time.
	USDTotal *spending.MicroUSD `json:"usd_total,omitempty"`
}

// policy returns the option as the keychain takes it, and an error where it makes no
// sense. A nil receiver stands for the defaults.
func (n *NewUsers) policy() (keychain.NewUsers, error) {
	if n == nil {
		return keychain.NewUsers{}, nil
	}
	if n.Refuse && n.Approve {
		return keychain.NewUsers{}, errors.New("new_users can either refuse or approve")
	}
	policy := keychain.NewUsers{Refuse: n.Refuse, Approve: n.Approve, Team: n.Team, Limits: keychain.Limits{
		RateLimitPerMinute: n.RateLimitPerMinute, AllowedModels: n.AllowedModels, AllowedTools: n.AllowedTools,
		Rates: keychain.Rates{TokensPerMinute: n.TokensPerMinute, ParallelRequests: n.ParallelRequests},
		Budgets: keychain.Budgets{
			TokensPerDay: n.TokensPerDay, TokensPerWeek: n.TokensPerWeek, TokensPerMonth: n.TokensPerMonth, TokensTotal: n.TokensTotal,
			USDPerDay: n.USDPerDay, USDPerWeek: n.USDPerWeek, USDPerMonth: n.USDPerMonth, USDTotal: n.USDTotal,
		},
	}}
	return policy, policy.Check()
}

// unmarshal reads new_users from its Caddyfile form.
func (n *NewUsers) unmarshal(d *caddyfile.Dispenser) error {
	var word string
	if !d.AllArgs(&word) {
		return d.ArgErr()
	}
	switch word {
	case "allow":
	case "approve":
		n.Approve = true
	case "refuse":
		n.Refuse = true
	default:
		return d.Errf("new_users: %q is none of allow, approve and refuse", word)
	}
	numbers := map[string]**int64{
		"rate_limit": &n.RateLimitPerMinute, "tokens_per_minute": &n.TokensPerMinute, "parallel_requests": &n.ParallelRequests,
		"tokens_per_day": &n.TokensPerDay, "tokens_per_week": &n.TokensPerWeek, "tokens_per_month": &n.TokensPerMonth, "tokens_total": &n.TokensTotal,
	}
	dollars := map[string]**spending.MicroUSD{
		"usd_per_day": &n.USDPerDay, "usd_per_week": &n.USDPerWeek, "usd_per_month": &n.USDPerMonth, "usd_total": &n.USDTotal,
	}
	seen := make(map[string]bool)
	for d.NextBlock(1) {
		option := d.Val()
		if seen[option] {
			return d.Errf("%s is given twice", option)
		}
		seen[option] = true
		var err error
		switch number, usd := numbers[option], dollars[option]; {
		case number != nil:
			*number, err = amount(d, parseWhole)
		case usd != nil:
			*usd, err = amount(d, spending.ParseUSD)
		case option == "team":
			if !d.AllArgs(&n.Team) {
				err = d.ArgErr()
			}
		case option == "allow":
			if n.AllowedModels = d.RemainingArgs(); len(n.AllowedModels) == 0 {
				err = d.ArgErr()
			}
		case option == "tools":
			if n.AllowedTools = d.RemainingArgs(); len(n.AllowedTools) == 0 {
				err = d.ArgErr()
			}
		default:
			names := append(slices.Sorted(maps.Keys(numbers)), slices.Sorted(maps.Keys(dollars))...)
			err = directive.NoOption(d, "unknown option %q; there are: team, allow, tools, %s", option, strings.Join(names, ", "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseWhole reads a whole number.
func parseWhole(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// amount reads the one argument of an option.
func amount[T any](d *caddyfile.Dispenser, parse func(string) (T, error)) (*T, error) {
	option := d.Val()
	var text string
	if !d.AllArgs(&text) {
		return nil, d.ArgErr()
	}
	value, err := parse(text)
	if err != nil {
		return nil, d.Errf("%s: %q is no amount", option, text)
	}
	return &value, nil
}
