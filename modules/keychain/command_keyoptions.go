package keychain

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/pflag"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// none is the value of a flag that lifts a limit.
const none = "none"

// keyFlags are the flags of what a gateway key may be used for.
type keyFlags struct {
	set            *pflag.FlagSet
	label, mode    string
	rateLimit      int64
	expires        string
	allow          []string
	tokens, tokenM string
	usd, usdM      string
	own            bool
}

// newKeyFlags adds the flags of a key to a command.
func newKeyFlags(set *pflag.FlagSet) *keyFlags {
	f := newLimitFlags(set)
	set.StringVar(&f.label, "label", "", "What the key is for")
	set.StringVar(&f.mode, "effort-mode", "",
		"How output_config.effort and the model name choose the tier: override (the effort), model_wins, max_of_both")
	set.BoolVar(&f.own, "own", false, "Make the limits the user's own, who may change them, instead of imposing them")
	return f
}

// newLimitFlags adds the flags of limits to a command.
func newLimitFlags(set *pflag.FlagSet) *keyFlags {
	f := &keyFlags{set: set}
	set.Int64Var(&f.rateLimit, "rate-limit", 0, "Requests a minute (default: unlimited)")
	set.StringVar(&f.expires, "expires", "", "When the use ends: a time such as 2027-01-31 or 2027-01-31T18:00:00Z, or how long from now such as 90d; none: never")
	set.StringSliceVar(&f.allow, "allow", nil, "Models that may be used: provider/model, provider/* or the beginning of a name with a *; none: all")
	set.StringVar(&f.tokens, "tokens-per-day", "", "Tokens that may be spent in a day (UTC); none: unlimited")
	set.StringVar(&f.tokenM, "tokens-per-month", "", "Tokens that may be spent in a month (UTC); none: unlimited")
	set.StringVar(&f.usd, "usd-per-day", "", "US dollars that may be spent in a day (UTC), such as 2.50; none: unlimited")
	set.StringVar(&f.usdM, "usd-per-month", "", "US dollars that may be spent in a month (UTC); none: unlimited")
	return f
}

// limitFlagNames are all of newLimitFlags.
var limitFlagNames = []string{"rate-limit", "expires", "allow", "tokens-per-day", "tokens-per-month", "usd-per-day", "usd-per-month"}

// change is what the flags that were given say. budgets are those that there are;
// the ones that no flag names stay.
func (f *keyFlags) change(budgets keychain.Budgets) (change keychain.KeyChange, err error) {
	change.Impose = !f.own
	if f.set.Changed("label") {
		change.Label = &f.label
	}
	if f.set.Changed("rate-limit") {
		change.RateLimitPerMinute = &f.rateLimit
	}
	if f.set.Changed("effort-mode") {
		mode := keychain.EffortMode(f.mode)
		change.EffortMode = &mode
	}
	if f.set.Changed("allow") {
		models := f.allow
		if len(models) == 1 && models[0] == none {
			models = nil
		}
		change.AllowedModels = &models
	}
	if f.set.Changed("expires") {
		if change.ClearExpiry = f.expires == none; !change.ClearExpiry {
			at, err := parseEnd(f.expires, time.Now())
			if err != nil {
				return change, err
			}
			change.ExpiresAt = &at
		}
	}
	if !f.changesBudgets() {
		return change, nil
	}
	change.Budgets = &budgets
	for _, limit := range []struct {
		name, text string
		into       **int64
	}{{"tokens-per-day", f.tokens, &budgets.TokensPerDay}, {"tokens-per-month", f.tokenM, &budgets.TokensPerMonth}} {
		if err := setBudget(f.set, limit.name, limit.text, limit.into, parseTokens); err != nil {
			return change, err
		}
	}
	for _, limit := range []struct {
		name, text string
		into       **keychain.MicroUSD
	}{{"usd-per-day", f.usd, &budgets.USDPerDay}, {"usd-per-month", f.usdM, &budgets.USDPerMonth}} {
		if err := setBudget(f.set, limit.name, limit.text, limit.into, keychain.ParseUSD); err != nil {
			return change, err
		}
	}
	return change, nil
}

func (f *keyFlags) changesBudgets() bool {
	return slices.ContainsFunc([]string{"tokens-per-day", "tokens-per-month", "usd-per-day", "usd-per-month"}, f.set.Changed)
}

func setBudget[T any](set *pflag.FlagSet, name, text string, into **T, parse func(string) (T, error)) error {
	if !set.Changed(name) {
		return nil
	}
	if text == none {
		*into = nil
		return nil
	}
	value, err := parse(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", name, err)
	}
	*into = &value
	return nil
}

func parseTokens(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of tokens", text)
	}
	return n, nil
}

// parseEnd reads a day in UTC, a time, or how long from now.
func parseEnd(text string, now time.Time) (time.Time, error) {
	if at, err := parseMoment(text); err == nil {
		return at, nil
	}
	if d, err := caddy.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	return time.Time{}, fmt.Errorf("--expires: %q is neither a time such as 2027-01-31 or 2027-01-31T18:00:00Z nor a duration such as 90d", text)
}

// options are those of a new key.
func (f *keyFlags) options() (keychain.KeyOptions, error) {
	change, err := f.change(keychain.Budgets{})
	if err != nil {
		return keychain.KeyOptions{}, err
	}
	options := keychain.KeyOptions{
		Label: f.label, RateLimitPerMinute: change.RateLimitPerMinute, ExpiresAt: change.ExpiresAt,
		EffortMode: keychain.EffortMode(f.mode), Impose: change.Impose,
	}
	if change.AllowedModels != nil {
		options.AllowedModels = *change.AllowedModels
	}
	if change.Budgets != nil {
		options.Budgets = *change.Budgets
	}
	return options, nil
}

// showOptions writes the limits that a key has.
func showOptions(w io.Writer, k *keychain.GatewayKey) {
	if len(k.Imposed) == 0 || k.RateLimitPerMinute != nil {
		cli.Row(w, "Requests a minute:", perMinute(k.RateLimitPerMinute))
	}
	if k.ExpiresAt != nil {
		cli.Row(w, "Expires:", when(k.ExpiresAt))
	}
	if k.AllowedModels != nil {
		cli.Row(w, "Models:", strings.Join(k.AllowedModels, ", "))
	}
	if budgets := budgetText(&k.Budgets); budgets != "" {
		cli.Row(w, "Budgets:", budgets)
	}
	for i := range k.Imposed {
		cli.Row(w, "Imposed on the "+k.Imposed[i].On+":", limitsText(&k.Imposed[i].Limits))
	}
}

// imposedText is empty where no limits are imposed on a key.
func imposedText(k *keychain.GatewayKey) string {
	parts := make([]string, 0, len(k.Imposed))
	for i := range k.Imposed {
		on := &k.Imposed[i]
		text := "on the " + on.On + ": " + limitsText(&on.Limits)
		if on.On == keychain.OnKey && on.Holder != k.ID {
			text = "shared with " + on.Holder + ": " + limitsText(&on.Limits)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// limitsText is empty where there are none.
func limitsText(l *keychain.Limits) string {
	var parts []string
	if l.RateLimitPerMinute != nil {
		parts = append(parts, fmt.Sprint(*l.RateLimitPerMinute, " requests/minute"))
	}
	if budgets := budgetText(&l.Budgets); budgets != "" {
		parts = append(parts, budgets)
	}
	if l.AllowedModels != nil {
		parts = append(parts, "only "+strings.Join(l.AllowedModels, " "))
	}
	if l.ExpiresAt != nil {
		parts = append(parts, "until "+when(l.ExpiresAt))
	}
	return strings.Join(parts, ", ")
}

// budgetText is empty where there are none.
func budgetText(b *keychain.Budgets) string {
	var parts []string
	if b.TokensPerDay != nil {
		parts = append(parts, fmt.Sprint(*b.TokensPerDay, " tokens/day"))
	}
	if b.TokensPerMonth != nil {
		parts = append(parts, fmt.Sprint(*b.TokensPerMonth, " tokens/month"))
	}
	if b.USDPerDay != nil {
		parts = append(parts, b.USDPerDay.String()+" USD/day")
	}
	if b.USDPerMonth != nil {
		parts = append(parts, b.USDPerMonth.String()+" USD/month")
	}
	return strings.Join(parts, ", ")
}
