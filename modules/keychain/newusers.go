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

// NewUsers determines the treatment of users who sign in for the first time. Its limits are imposed on each new user,
// for all keys together. They are stored with the user, so a change of the option affects only users who come later.
// Users created by a command do not count as new.
type NewUsers struct {
	// Refuse refuses new users. The operator must then create or invite each user, or have a rule that adds them to a
	// team. Default: new users are admitted.
	Refuse bool `json:"refuse,omitempty"`

	// Approve makes new users wait until an operator approves them. Default: they are admitted at once.
	Approve bool `json:"approve,omitempty"`

	// Team is the name of the team to which new users are added, unless a rule names a different team. The team is created
	// if it does not exist. Default: no team.
	Team string `json:"team,omitempty"`

	// RateLimitPerMinute limits the requests per minute. Default: unlimited.
	RateLimitPerMinute *int64 `json:"rate_limit_per_minute,omitempty"`

	// AllowedModels are names (provider/model) or prefixes of names followed by a star. Default: all.
	AllowedModels []string `json:"allowed_models,omitempty"`

	// AllowedTools are the tools that providers may run, such as web_search; the single value none allows no tool.
	// Default: all.
	AllowedTools []string `json:"allowed_tools,omitempty"`

	// TokensPerMinute limits the tokens per minute. Default: unlimited, as for all following options.
	TokensPerMinute *int64 `json:"tokens_per_minute,omitempty"`

	// ParallelRequests limits the requests in progress at the same time.
	ParallelRequests *int64 `json:"parallel_requests,omitempty"`

	// TokensPerDay limits the tokens per UTC day.
	TokensPerDay *int64 `json:"tokens_per_day,omitempty"`

	// TokensPerWeek limits the tokens per UTC week, which begins on Monday.
	TokensPerWeek *int64 `json:"tokens_per_week,omitempty"`

	// TokensPerMonth limits the tokens per UTC month.
	TokensPerMonth *int64 `json:"tokens_per_month,omitempty"`

	// TokensTotal limits the tokens in total.
	TokensTotal *int64 `json:"tokens_total,omitempty"`

	// USDPerDay limits the US dollars per UTC day.
	USDPerDay *spending.MicroUSD `json:"usd_per_day,omitempty"`

	// USDPerWeek limits the US dollars per UTC week, which begins on Monday.
	USDPerWeek *spending.MicroUSD `json:"usd_per_week,omitempty"`

	// USDPerMonth limits the US dollars per UTC month.
	USDPerMonth *spending.MicroUSD `json:"usd_per_month,omitempty"`

	// USDTotal limits the US dollars in total.
	USDTotal *spending.MicroUSD `json:"usd_total,omitempty"`
}

// policy checks the options and converts them to the type of the keychain. A nil receiver stands for the defaults.
func (n *NewUsers) policy() (keychain.NewUsers, error) {
	if n == nil {
		return keychain.NewUsers{}, nil
	}
	if n.Refuse && n.Approve {
		return keychain.NewUsers{}, errors.New("refuse and approve exclude each other")
	}
	policy := keychain.NewUsers{Refuse: n.Refuse, Approve: n.Approve, Team: n.Team, Limits: keychain.Limits{
		RateLimitPerMinute: n.RateLimitPerMinute, AllowedModels: n.AllowedModels, AllowedTools: n.AllowedTools,
		Rates: keychain.Rates{TokensPerMinute: n.TokensPerMinute, ParallelRequests: n.ParallelRequests},
		Budgets: keychain.Budgets{
			TokensPerDay: n.TokensPerDay, TokensPerWeek: n.TokensPerWeek, TokensPerMonth: n.TokensPerMonth,
			TokensTotal: n.TokensTotal,
			USDPerDay:   n.USDPerDay, USDPerWeek: n.USDPerWeek, USDPerMonth: n.USDPerMonth, USDTotal: n.USDTotal,
		},
	}}
	return policy, policy.Check()
}

// unmarshal parses the Caddyfile form of new_users.
func (n *NewUsers) unmarshal(d *caddyfile.Dispenser) error {
	var policy string
	if !d.AllArgs(&policy) {
		return d.ArgErr()
	}
	switch policy {
	case "allow": // the default
	case "approve":
		n.Approve = true
	case "refuse":
		n.Refuse = true
	default:
		return d.Errf("new_users: %q is not one of allow, approve and refuse", policy)
	}
	numbers := map[string]**int64{
		"rate_limit": &n.RateLimitPerMinute, "tokens_per_minute": &n.TokensPerMinute,
		"parallel_requests": &n.ParallelRequests,
		"tokens_per_day":    &n.TokensPerDay, "tokens_per_week": &n.TokensPerWeek, "tokens_per_month": &n.TokensPerMonth,
		"tokens_total": &n.TokensTotal,
	}
	dollars := map[string]**spending.MicroUSD{
		"usd_per_day": &n.USDPerDay, "usd_per_week": &n.USDPerWeek, "usd_per_month": &n.USDPerMonth, "usd_total": &n.USDTotal,
	}
	return directive.Options(d, func(option string) (err error) {
		switch number, usd := numbers[option], dollars[option]; {
		case number != nil:
			*number, err = parseArgument(d, parseWhole)
		case usd != nil:
			*usd, err = parseArgument(d, spending.ParseUSD)
		case option == "team":
			err = directive.Text(d, &n.Team)
		case option == "allow":
			err = directive.Texts(d, &n.AllowedModels)
		case option == "tools":
			err = directive.Texts(d, &n.AllowedTools)
		default:
			names := append(slices.Sorted(maps.Keys(numbers)), slices.Sorted(maps.Keys(dollars))...)
			err = directive.NoOption(d, "unknown option %q; there are: team, allow, tools, %s", option,
				strings.Join(names, ", "))
		}
		return err
	})
}

// parseWhole parses a whole number.
func parseWhole(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// parseArgument parses the single argument of an option with the function parse.
func parseArgument[T any](d *caddyfile.Dispenser, parse func(string) (T, error)) (*T, error) {
	option := d.Val()
	var text string
	if !d.AllArgs(&text) {
		return nil, d.ArgErr()
	}
	value, err := parse(text)
	if err != nil {
		return nil, d.Errf("%s: %q is not an amount", option, text)
	}
	return &value, nil
}
