package keychain

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// KeyOptions are what a new key is made with; the zero value has no limits.
type KeyOptions struct {
	Label              string
	RateLimitPerMinute *int64
	ExpiresAt          *time.Time
	// AllowedModels are as a GatewayKey has them; nil: all.
	AllowedModels []string
	Budgets       Budgets
	Rates         Rates
	// AllowedTools are as a GatewayKey has them; nil: all.
	AllowedTools []string
	// EffortMode; empty: EffortOverride.
	EffortMode EffortMode
	// TeamID is the team that the key is made for, in which its user is. Empty means the
	// user's default team, whichever that is when the key is used.
	TeamID string
	// Catalog, with the user's own models, has what AllowedModels may name; nil:
	// they may name any.
	Catalog *catalog.Catalog
	// Impose is set by the operator alone: the limits among the options are imposed,
	// instead of being the user's own. A key without any then has none imposed.
	Impose bool
}

// Bounds of what a key can be given.
const (
	maxAllowedModels = 100
	maxModelPattern  = 200
)

func (o *KeyOptions) check(now time.Time) error {
	if err := checkText("label", o.Label, 0, 100); err != nil {
		return err
	}
	if err := checkLimit(o.RateLimitPerMinute); err != nil {
		return err
	}
	if err := checkExpiry(o.ExpiresAt, now); err != nil {
		return err
	}
	if err := checkAllowedModels(o.AllowedModels); err != nil {
		return err
	}
	if err := checkAllowedTools(o.AllowedTools); err != nil {
		return err
	}
	if err := o.Budgets.check(); err != nil {
		return err
	}
	if err := o.Rates.check(); err != nil {
		return err
	}
	return checkEffortMode(o.EffortMode)
}

func checkLimit(limit *int64) error {
	if limit != nil && (*limit < 1 || *limit > 1_000_000_000) {
		return invalid("rate_limit_per_minute", "rate_limit_per_minute must be from 1 to 1,000,000,000; leave it out for no limit")
	}
	return nil
}

func checkEffortMode(mode EffortMode) error {
	switch mode {
	case EffortOverride, EffortModelWins, EffortMax:
		return nil
	default:
		return invalid("effort_mode", "effort_mode must be one of override, model_wins, max_of_both")
	}
}

func checkExpiry(at *time.Time, now time.Time) error {
	if at == nil {
		return nil
	}
	if !at.After(now) {
		return invalid("expires_at", "expires_at must be in the future; revoke the key to end it now")
	}
	if at.UTC().Year() > 9999 {
		return invalid("expires_at", "expires_at must be before the year 10000; leave it out for never")
	}
	return nil
}

// checkAllowedModels takes names of entries, which have a slash, beginnings of such names with a
// star behind, and names of tiers.
func checkAllowedModels(patterns []string) error {
	if patterns != nil && len(patterns) == 0 { // of a script that found none, which must not get a key for all
		return invalid("allowed_models", "allowed_models must have at least one name; leave it out, or give null, to allow all models")
	}
	if len(patterns) > maxAllowedModels {
		return invalid("allowed_models", "allowed_models must have at most %d names; use patterns such as provider/*", maxAllowedModels)
	}
	for i, p := range patterns {
		param := fmt.Sprintf("allowed_models[%d]", i)
		if err := checkText(param, p, 1, maxModelPattern); err != nil {
			return err
		}
		if _, isTier := tierNamed(p); isTier {
			continue
		}
		name, isPrefix := strings.CutSuffix(p, "*")
		if strings.ContainsAny(name, " *") || !isPrefix && !strings.Contains(name, "/") {
			return invalid(param, "%s must be provider/model, provider/*, the beginning of a name with a * behind it, or a tier such as keychain-low", param)
		}
	}
	return nil
}

// unknownModels are the names of patterns that neither the catalog nor the user has
// a model of. Beginnings of names may have none yet.
func (s *Service) unknownModels(ctx context.Context, cat *catalog.Catalog, userID string, patterns []string) ([]string, error) {
	if cat == nil {
		return nil, nil
	}
	var unknown []string
	for _, p := range patterns {
		if _, isTier := tierNamed(p); !isTier && !strings.HasSuffix(p, "*") && !inCatalog(cat, p) {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	own, err := s.selectModels(ctx, userID)
	return slices.DeleteFunc(unknown, func(p string) bool {
		return slices.ContainsFunc(own, func(m modelRow) bool { return m.Entry == p })
	}), err
}

// namedModels returns the allowed models that a change sets, and which of them are unknown.
func (s *Service) namedModels(ctx context.Context, userID string, change *KeyChange,
) (allowed, unknown []string, err error) {
	if change.AllowedModels == nil {
		return nil, nil, nil
	}
	unknown, err = s.unknownModels(ctx, change.Catalog, userID, *change.AllowedModels)
	return *change.AllowedModels, unknown, err
}

// refuseUnknown names the first of the patterns that is unknown and not allowed
// already.
func refuseUnknown(patterns, unknown, already []string) error {
	for i, p := range patterns {
		if slices.Contains(unknown, p) && !slices.Contains(already, p) {
			return invalid(fmt.Sprintf("allowed_models[%d]", i), "allowed_models[%d] names the unknown model %q", i, p)
		}
	}
	return nil
}

// Statuses of a key.
const (
	StatusActive  = "active"
	StatusExpired = "expired"
	StatusRevoked = "revoked"
)

// options are what a key goes on with when its text is replaced.
func (k *GatewayKey) options() KeyOptions {
	return KeyOptions{
		Label: k.Label, RateLimitPerMinute: k.RateLimitPerMinute, ExpiresAt: k.ExpiresAt,
		AllowedModels: k.AllowedModels, AllowedTools: k.AllowedTools, Budgets: k.Budgets, Rates: k.Rates, EffortMode: k.EffortMode,
	}
}

// end returns when the key ends, by its own limits or by imposed ones; nil: never.
func (k *GatewayKey) end() *time.Time { return ends(&k.Limits, k.Imposed) }

// judge sets the status.
func (k *GatewayKey) judge(now time.Time) {
	end := k.end()
	switch {
	case k.Revoked:
		k.Status = StatusRevoked
	case end != nil && !now.Before(*end):
		k.Status = StatusExpired
	default:
		k.Status = StatusActive
	}
}

// KeyChange is an update of a key; nil fields stay.
type KeyChange struct {
	Label              *string
	RateLimitPerMinute *int64
	// ClearRateLimit makes the key unlimited.
	ClearRateLimit bool
	ExpiresAt      *time.Time
	// ClearExpiry makes the key last.
	ClearExpiry bool
	// AllowedModels; of nil: all.
	AllowedModels *[]string
	// AllowedTools; of nil: all.
	AllowedTools *[]string
	// Budgets replaces all of them.
	Budgets *Budgets
	// TokensPerMinute and ParallelRequests replace those of Rates. A pointer to nil takes a limit away.
	TokensPerMinute, ParallelRequests **int64

	EffortMode *EffortMode
	// Catalog is that of KeyOptions. What the key allows already is not looked up.
	Catalog *catalog.Catalog
	// Impose is set by the operator alone: the imposed limits are changed, instead of
	// the user's own.
	Impose bool
}

func (c *KeyChange) check(now time.Time) error {
	if c.RateLimitPerMinute != nil && c.ClearRateLimit {
		return invalid("clear_rate_limit", "clear_rate_limit and rate_limit_per_minute exclude each other")
	}
	if c.ExpiresAt != nil && c.ClearExpiry {
		return invalid("clear_expiry", "clear_expiry and expires_at exclude each other")
	}
	changed := KeyOptions{EffortMode: EffortOverride}
	changed.apply(c)
	return changed.check(now)
}

func (o *KeyOptions) apply(c *KeyChange) {
	if c.Label != nil {
		o.Label = *c.Label
	}
	if c.RateLimitPerMinute != nil || c.ClearRateLimit {
		o.RateLimitPerMinute = c.RateLimitPerMinute
	}
	if c.ExpiresAt != nil || c.ClearExpiry {
		o.ExpiresAt = c.ExpiresAt
	}
	if c.AllowedModels != nil {
		o.AllowedModels = *c.AllowedModels
	}
	if c.AllowedTools != nil {
		o.AllowedTools = *c.AllowedTools
	}
	if c.Budgets != nil {
		o.Budgets = *c.Budgets
	}
	if c.TokensPerMinute != nil {
		o.Rates.TokensPerMinute = *c.TokensPerMinute
	}
	if c.ParallelRequests != nil {
		o.Rates.ParallelRequests = *c.ParallelRequests
	}
	if c.EffortMode != nil {
		o.EffortMode = *c.EffortMode
	}
}

// set gives a key its options.
func (k *GatewayKey) set(o KeyOptions, now time.Time) {
	k.Label, k.EffortMode, k.Limits = o.Label, o.EffortMode, o.limits()
	k.judge(now)
}

// Identity returns who a key stands for.
func (k *GatewayKey) Identity() *Identity {
	id := &Identity{
		UserID: k.UserID, TeamID: k.TeamID, KeyID: k.ID, Label: k.Label, EffortMode: k.EffortMode, Limits: k.Limits, Imposed: k.Imposed,
	}
	if end := k.end(); end != nil {
		id.expires = schema.Micros(*end)
	}
	return id
}

// errPrimaryExpired keeps a rotation from giving a key back the time it had not.
func errPrimaryExpired(old *GatewayKey) error {
	if end := ends(new(Limits), old.Imposed); end != nil && end.Equal(*old.end()) {
		return errEnded(*end)
	}
	return apierror.New(http.StatusConflict, "expired", "the primary key has expired: set its expires_at anew before it is replaced")
}
