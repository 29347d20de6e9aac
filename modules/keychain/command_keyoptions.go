package keychain

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// none is the value of a flag that removes a limit.
const none = "none"

// keyFlags are the flags for the properties and limits of a gateway key.
type keyFlags struct {
	set                       *pflag.FlagSet
	label, mode               string
	rateLimit                 int64
	expires                   string
	allow, tools              []string
	budgets                   []string // the values of budgetFlags, in that order
	tokensPerMinute, parallel string
	own                       bool // set the user's own limits instead of imposed ones
}

// budgetFlags are the flags of budgets. Each entry has either the function tokens or the function usd. The function
// returns the address of the budget's field.
var budgetFlags = []struct {
	name, window string
	tokens       func(*keychain.Budgets) **int64
	usd          func(*keychain.Budgets) **spending.MicroUSD
}{
	{"tokens-per-day", "in a day (UTC)", func(b *keychain.Budgets) **int64 { return &b.TokensPerDay }, nil},
	{"tokens-per-week", "in a week from Monday (UTC)", func(b *keychain.Budgets) **int64 { return &b.TokensPerWeek }, nil},
	{"tokens-per-month", "in a month (UTC)", func(b *keychain.Budgets) **int64 { return &b.TokensPerMonth }, nil},
	{"tokens-total", "in total", func(b *keychain.Budgets) **int64 { return &b.TokensTotal }, nil},
	{"usd-per-day", "in a day (UTC)", nil, func(b *keychain.Budgets) **spending.MicroUSD { return &b.USDPerDay }},
	{"usd-per-week", "in a week from Monday (UTC)", nil, func(b *keychain.Budgets) **spending.MicroUSD {
		return &b.USDPerWeek
	}},
	{"usd-per-month", "in a month (UTC)", nil, func(b *keychain.Budgets) **spending.MicroUSD { return &b.USDPerMonth }},
	{"usd-total", "in total", nil, func(b *keychain.Budgets) **spending.MicroUSD { return &b.USDTotal }},
}

// newKeyFlags adds the flags of a gateway key to a command.
func newKeyFlags(set *pflag.FlagSet) *keyFlags {
	f := newLimitFlags(set)
	set.StringVar(&f.label, "label", "", "What the key is for")
	set.StringVar(&f.mode, "effort-mode", "",
		"Which of output_config.effort and the model name chooses the tier: override (the effort), model_wins, max_of_both")
	set.BoolVar(&f.own, "own", false, "Set limits that the user may change, instead of imposing them")
	return f
}

// newLimitFlags adds the flags of all limits to a command.
func newLimitFlags(set *pflag.FlagSet) *keyFlags {
	f := newKeyLimitFlags(set)
	set.StringSliceVar(&f.allow, "allow", nil,
		"Allowed models: provider/model, provider/*, a prefix followed by *, or a tier such as keychain-low; none allows all")
	set.StringSliceVar(&f.tools, "tools", nil,
		"Tools that providers may run, such as web_search; none allows no tool, all every tool")
	set.StringVar(&f.tokensPerMinute, "tokens-per-minute", "", "Tokens a minute; none removes the limit")
	set.StringVar(&f.parallel, "parallel", "", "Concurrent requests; none removes the limit")
	return f
}

// newKeyLimitFlags adds the flags of those limits that provider keys can have too.
func newKeyLimitFlags(set *pflag.FlagSet) *keyFlags {
	f := &keyFlags{set: set}
	set.Int64Var(&f.rateLimit, "rate-limit", 0, "Requests a minute (default: unlimited)")
	set.StringVar(&f.expires, "expires", "",
		"When access ends: a time such as 2027-01-31 or 2027-01-31T18:00:00Z, or a duration from now such as 90d; none means never")
	f.budgets = make([]string, len(budgetFlags))
	for i, b := range budgetFlags {
		description := "Budget in US dollars "
		if b.tokens != nil {
			description = "Budget in tokens "
		}
		set.StringVar(&f.budgets[i], b.name, "", description+b.window+"; none removes the limit")
	}
	return f
}

// limitFlagNames are the names of all flags of newLimitFlags.
var limitFlagNames = append([]string{"allow", "tools", "tokens-per-minute", "parallel"}, keyLimitFlagNames...)

// keyLimitFlagNames are the names of all flags of newKeyLimitFlags.
var keyLimitFlagNames = func() []string {
	names := append(make([]string, 0, 2+len(budgetFlags)), "rate-limit", "expires")
	for _, b := range budgetFlags {
		names = append(names, b.name)
	}
	return names
}()

// addRemovers adds the flags --no-rate-limit and --lift to a command. limitNames has the names of the command's other
// flags for limits, and description is the description of --lift. lift is the value of --lift, and flagNames has the
// names of all flags that change a limit.
func addRemovers(cmd *cobra.Command, limitNames []string, description string) (lift *bool, flagNames []string) {
	cmd.Flags().Bool("no-rate-limit", false, "Remove the limit of requests a minute")
	lift = cmd.Flags().Bool("lift", false, description)
	cmd.MarkFlagsMutuallyExclusive("rate-limit", "no-rate-limit")
	flagNames = append(slices.Clone(limitNames), "no-rate-limit")
	for _, name := range flagNames {
		cmd.MarkFlagsMutuallyExclusive("lift", name)
	}
	return lift, append(flagNames, "lift")
}

// change returns the change to a key according to the flags that were given. Limits whose flag was not given remain
// unchanged.
func (f *keyFlags) change() (change keychain.KeyChange, err error) {
	change.Impose = !f.own
	if f.set.Changed("label") {
		change.Label = &f.label
	}
	if f.set.Changed("effort-mode") {
		mode := keychain.EffortMode(f.mode)
		change.EffortMode = &mode
	}
	change.Limits, err = f.edit(time.Now())
	return change, err
}

// edit returns a function that changes limits according to the flags that were given. If the flag --expires is a
// duration, it counts from now.
func (f *keyFlags) edit(now time.Time) (func(*keychain.Limits), error) {
	limits, err := f.read(now)
	return func(l *keychain.Limits) {
		if f.set.Changed("rate-limit") || f.set.Changed("no-rate-limit") {
			l.RateLimitPerMinute = limits.RateLimitPerMinute
		}
		if f.set.Changed("expires") {
			l.ExpiresAt = limits.ExpiresAt
		}
		if f.set.Changed("allow") {
			l.AllowedModels = limits.AllowedModels
		}
		if f.set.Changed("tools") {
			l.AllowedTools = limits.AllowedTools
		}
		if f.set.Changed("tokens-per-minute") {
			l.TokensPerMinute = limits.TokensPerMinute
		}
		if f.set.Changed("parallel") {
			l.ParallelRequests = limits.ParallelRequests
		}
		for _, b := range budgetFlags {
			switch {
			case !f.set.Changed(b.name):
			case b.tokens != nil:
				*b.tokens(&l.Budgets) = *b.tokens(&limits.Budgets)
			default:
				*b.usd(&l.Budgets) = *b.usd(&limits.Budgets)
			}
		}
	}, err
}

// read returns limits with the values of the flags that were given. If the flag --expires is a duration, it counts from
// now.
func (f *keyFlags) read(now time.Time) (l keychain.Limits, err error) {
	if f.set.Changed("rate-limit") {
		l.RateLimitPerMinute = &f.rateLimit
	}
	if f.set.Changed("expires") && f.expires != none {
		expiry, err := parseEnd(f.expires, now)
		if err != nil {
			return l, err
		}
		l.ExpiresAt = &expiry
	}
	if l.AllowedModels = f.allow; slices.Equal(f.allow, []string{none}) { // nil allows all models
		l.AllowedModels = nil
	}
	if l.AllowedTools = f.tools; slices.Equal(f.tools, []string{"all"}) {
		l.AllowedTools = nil
	}
	errs := []error{
		setLimit(f.set, "tokens-per-minute", f.tokensPerMinute, &l.TokensPerMinute, parseTokens),
		setLimit(f.set, "parallel", f.parallel, &l.ParallelRequests, parseWhole),
	}
	for i, b := range budgetFlags {
		if b.tokens != nil {
			errs = append(errs, setLimit(f.set, b.name, f.budgets[i], b.tokens(&l.Budgets), parseTokens))
		} else {
			errs = append(errs, setLimit(f.set, b.name, f.budgets[i], b.usd(&l.Budgets), spending.ParseUSD))
		}
	}
	return l, errors.Join(errs...)
}

// setLimit parses text, the value of the flag name, into *limit. It does nothing if the flag was not given. The value
// none removes the limit.
func setLimit[T any](set *pflag.FlagSet, name, text string, limit **T, parse func(string) (T, error)) error {
	if !set.Changed(name) {
		return nil
	}
	if text == none {
		*limit = nil
		return nil
	}
	value, err := parse(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", name, err)
	}
	*limit = &value
	return nil
}

// parseTokens parses a number of tokens.
func parseTokens(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of tokens", text)
	}
	return n, nil
}

// parseEnd parses a day in UTC, a time, or a duration that counts from now.
func parseEnd(text string, now time.Time) (time.Time, error) {
	if moment, err := parseMoment(text); err == nil {
		return moment, nil
	}
	if d, err := caddy.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	return time.Time{}, fmt.Errorf(
		"%q is neither a time such as 2027-01-31 or 2027-01-31T18:00:00Z nor a duration such as 90d", text)
}

// options returns the options for a new key.
func (f *keyFlags) options() (keychain.KeyOptions, error) {
	limits, err := f.read(time.Now())
	return keychain.KeyOptions{
		Label: f.label, Limits: limits, EffortMode: keychain.EffortMode(f.mode), Impose: !f.own,
	}, err
}

// showOptions prints the limits of a key.
func showOptions(w io.Writer, k *keychain.GatewayKey) {
	if len(k.Imposed) == 0 || k.RateLimitPerMinute != nil { // unlimited would mislead beside imposed limits
		cli.Row(w, "Requests a minute:", perMinute(k.RateLimitPerMinute))
	}
	if k.ExpiresAt != nil {
		cli.Row(w, "Expires:", formatTime(k.ExpiresAt))
	}
	if k.AllowedModels != nil {
		cli.Row(w, "Models:", strings.Join(k.AllowedModels, ", "))
	}
	if k.AllowedTools != nil {
		cli.Row(w, "Tools:", strings.Join(k.AllowedTools, ", "))
	}
	if budgets := budgetText(&k.Budgets); budgets != "" {
		cli.Row(w, "Budgets:", budgets)
	}
	if rates := limitsText(&keychain.Limits{Rates: k.Rates}); rates != "" {
		cli.Row(w, "At the same time:", rates)
	}
	for i := range k.Imposed {
		cli.Row(w, "Imposed "+scopeText(&k.Imposed[i])+":", limitsText(&k.Imposed[i].Limits))
	}
}

// scopeText describes the scope of imposed limits: the holder on which the operator has imposed them, or a team that
// has imposed them on itself.
func scopeText(i *keychain.Imposed) string {
	if i.By == keychain.ByTeam {
		return "by the team on itself"
	}
	return "on the " + i.On
}

// imposedText describes the imposed limits that apply to k, each with its scope. It returns "" if there are no such
// limits.
func imposedText(k *keychain.GatewayKey) string {
	parts := make([]string, 0, len(k.Imposed))
	for i := range k.Imposed {
		imposed := &k.Imposed[i]
		text := scopeText(imposed) + ": " + limitsText(&imposed.Limits)
		if imposed.On == keychain.OnKey && imposed.Holder != k.ID {
			text = "shared with " + imposed.Holder + ": " + limitsText(&imposed.Limits)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// limitsText describes limits. It returns "" if there are no limits.
func limitsText(l *keychain.Limits) string {
	var parts []string
	if l.RateLimitPerMinute != nil {
		parts = append(parts, fmt.Sprint(*l.RateLimitPerMinute, " requests/minute"))
	}
	if l.TokensPerMinute != nil {
		parts = append(parts, fmt.Sprint(*l.TokensPerMinute, " tokens/minute"))
	}
	if l.ParallelRequests != nil {
		parts = append(parts, fmt.Sprint(*l.ParallelRequests, " requests at once"))
	}
	if budgets := budgetText(&l.Budgets); budgets != "" {
		parts = append(parts, budgets)
	}
	if l.AllowedModels != nil {
		parts = append(parts, "only "+strings.Join(l.AllowedModels, " "))
	}
	if l.AllowedTools != nil {
		parts = append(parts, "tools: "+strings.Join(l.AllowedTools, " "))
	}
	if l.ExpiresAt != nil {
		parts = append(parts, "until "+formatTime(l.ExpiresAt))
	}
	return strings.Join(parts, ", ")
}

// budgetText describes budgets. It returns "" if there are no budgets.
func budgetText(b *keychain.Budgets) string {
	var parts []string
	for _, flag := range budgetFlags {
		window := strings.NewReplacer("tokens-per-", "/", "usd-per-", "/", "tokens-", " in ", "usd-",
			" in ").Replace(flag.name)
		if flag.tokens != nil {
			if n := *flag.tokens(b); n != nil {
				parts = append(parts, fmt.Sprint(*n, " tokens", window))
			}
		} else if n := *flag.usd(b); n != nil {
			parts = append(parts, n.String()+" USD"+window)
		}
	}
	return strings.Join(parts, ", ")
}
