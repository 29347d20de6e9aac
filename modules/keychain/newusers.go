package keychain

import (
	"strconv"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// NewUsers says what becomes of those who sign in for the first time. The limits are
// imposed on each of them, for all keys together, and are kept with the user: a change of
// the option is for those who come later. Users that a command makes are not new.
type NewUsers struct {
	// Refuse lets in nobody who is not known: the operator makes each user by a command.
	// Default: they are let in.
	Refuse bool `json:"refuse,omitempty"`

	// RateLimitPerMinute bounds requests a minute. Default: unlimited.
	RateLimitPerMinute *int64 `json:"rate_limit_per_minute,omitempty"`

	// AllowedModels are names (provider/model) and beginnings of names with a star
	// behind. Default: all.
	AllowedModels []string `json:"allowed_models,omitempty"`

	// TokensPerDay bounds the tokens of a UTC day. Default: unlimited, as the next three.
	TokensPerDay *int64 `json:"tokens_per_day,omitempty"`

	// TokensPerMonth bounds the tokens of a UTC month.
	TokensPerMonth *int64 `json:"tokens_per_month,omitempty"`

	// USDPerDay bounds the US dollars of a UTC day.
	USDPerDay *keychain.MicroUSD `json:"usd_per_day,omitempty"`

	// USDPerMonth bounds the US dollars of a UTC month.
	USDPerMonth *keychain.MicroUSD `json:"usd_per_month,omitempty"`
}

// policy returns the option as the keychain takes it, and an error where it makes no
// sense. A nil receiver stands for the defaults.
func (n *NewUsers) policy() (keychain.NewUsers, error) {
	if n == nil {
		return keychain.NewUsers{}, nil
	}
	policy := keychain.NewUsers{Refuse: n.Refuse, Limits: keychain.Limits{
		RateLimitPerMinute: n.RateLimitPerMinute, AllowedModels: n.AllowedModels,
		Budgets: keychain.Budgets{TokensPerDay: n.TokensPerDay, TokensPerMonth: n.TokensPerMonth, USDPerDay: n.USDPerDay, USDPerMonth: n.USDPerMonth},
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
	case "refuse":
		n.Refuse = true
	default:
		return d.Errf("new_users: %q is neither allow nor refuse", word)
	}
	seen := make(map[string]bool)
	for d.NextBlock(1) {
		option := d.Val()
		if n.Refuse {
			return d.Err("new_users refuse has no options: nobody comes whom they could be for")
		}
		if seen[option] {
			return d.Errf("%s is given twice", option)
		}
		seen[option] = true
		var err error
		switch option {
		case "rate_limit":
			n.RateLimitPerMinute, err = amount(d, parseWhole)
		case "allow":
			if n.AllowedModels = d.RemainingArgs(); len(n.AllowedModels) == 0 {
				err = d.ArgErr()
			}
		case "tokens_per_day":
			n.TokensPerDay, err = amount(d, parseWhole)
		case "tokens_per_month":
			n.TokensPerMonth, err = amount(d, parseWhole)
		case "usd_per_day":
			n.USDPerDay, err = amount(d, keychain.ParseUSD)
		case "usd_per_month":
			n.USDPerMonth, err = amount(d, keychain.ParseUSD)
		default:
			err = directive.NoOption(d, "unknown option %q; there are: rate_limit, allow, tokens_per_day, tokens_per_month, usd_per_day, usd_per_month", option)
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
