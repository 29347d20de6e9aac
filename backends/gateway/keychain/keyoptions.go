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

// KeyOptions are the options of a new gateway key. The zero value sets no limits.
type KeyOptions struct {
	Label string
	// Limits become the limits that the user has set on the key, unless Impose is set.
	Limits
	// EffortMode may be empty, which means EffortOverride.
	EffortMode EffortMode
	// TeamID is the team that requests with the key count for. The user must be a member. If TeamID is empty, requests
	// count for the team that is the user's default team at the time of the request.
	TeamID string
	// Catalog has the models that AllowedModels may name, together with the user's own models. If it is nil,
	// AllowedModels may name any model.
	Catalog *catalog.Catalog
	// Impose stores Limits as limits imposed by the operator, which the user cannot change. Only the operator may set it.
	// If Limits is empty, the key has no imposed limits, even if the user's other keys have some.
	Impose bool
}

// Limits of the list of allowed models.
const (
	maxAllowedModels = 100
	maxModelPattern  = 200
)

// check returns an error with status 400 if an option is invalid. Whether the allowed models exist is checked by
// unknownModels.
func (o *KeyOptions) check(now time.Time) error {
	if err := checkText("label", o.Label, 0, 100); err != nil {
		return err
	}
	if err := o.Limits.check(now); err != nil {
		return err
	}
	return checkEffortMode(o.EffortMode)
}

// checkLimit returns an error unless limit is nil or a valid limit of requests per minute.
func checkLimit(limit *int64) error {
	if limit != nil && (*limit < 1 || *limit > 1_000_000_000) {
		return invalid("rate_limit_per_minute",
			"rate_limit_per_minute must be from 1 to 1,000,000,000; leave it out for no limit")
	}
	return nil
}

// checkEffortMode returns an error unless mode is one of the effort modes.
func checkEffortMode(mode EffortMode) error {
	switch mode {
	case EffortOverride, EffortModelWins, EffortMax:
		return nil
	default:
		return invalid("effort_mode", "effort_mode must be one of override, model_wins, max_of_both")
	}
}

// checkExpiry returns an error unless end is nil or in the future.
func checkExpiry(end *time.Time, now time.Time) error {
	if end == nil {
		return nil
	}
	if !end.After(now) {
		return invalid("expires_at", "expires_at must be in the future; revoke the key to end it now")
	}
	if end.UTC().Year() > 9999 {
		return invalid("expires_at", "expires_at must be before the year 10000; leave it out for never")
	}
	return nil
}

// checkAllowedModels returns an error unless each pattern is the name of an entry (provider/model), a prefix of such
// names followed by a star, or the name of a tier. An empty list is an error unless it is nil.
func checkAllowedModels(patterns []string) error {
	if patterns != nil && len(patterns) == 0 { // a script that found no models must not get a key for all models
		return invalid("allowed_models",
			"allowed_models must have at least one name; leave it out, or give null, to allow all models")
	}
	if len(patterns) > maxAllowedModels {
		return invalid("allowed_models", "allowed_models must have at most %d names; use patterns such as provider/*",
			maxAllowedModels)
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
			return invalid(param, "%s must be provider/model, provider/*, the beginning of a name followed by *, or a tier such as keychain-low", param)
		}
	}
	return nil
}

// unknownModels returns the patterns that name a model which neither the catalog nor the user has. Prefixes and tiers
// are always known, since their models may come later. With a nil catalog every model is known.
func (s *Service) unknownModels(
	ctx context.Context, cat *catalog.Catalog, userID string, patterns []string,
) ([]string, error) {
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
	models, err := s.selectModels(ctx, userID)
	return slices.DeleteFunc(unknown, func(p string) bool {
		return slices.ContainsFunc(models, func(m modelRow) bool { return m.Entry == p })
	}), err
}

// refuseUnknown returns an error for the first of the patterns that is in unknownModels and not in allowedNow.
// allowedNow has the patterns that are allowed before the change.
func refuseUnknown(patterns, unknownModels, allowedNow []string) error {
	for i, p := range patterns {
		if slices.Contains(unknownModels, p) && !slices.Contains(allowedNow, p) {
			return invalid(fmt.Sprintf("allowed_models[%d]", i), "allowed_models[%d] names the unknown model %q", i, p)
		}
	}
	return nil
}

// The values of GatewayKey.Status.
const (
	StatusActive  = "active"
	StatusExpired = "expired"
	StatusRevoked = "revoked"
)

// options returns the options that a key passes on to the key that replaces it.
func (k *GatewayKey) options() KeyOptions {
	return KeyOptions{Label: k.Label, Limits: k.Limits, EffortMode: k.EffortMode}
}

// end returns when the key ends: the earliest end that the user's limits or the imposed limits set. Nil means never.
func (k *GatewayKey) end() *time.Time { return earliestEnd(&k.Limits, k.Imposed) }

// setStatus sets k.Status for the time now.
func (k *GatewayKey) setStatus(now time.Time) {
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

// KeyChange is an update of a gateway key. Nil fields stay unchanged.
type KeyChange struct {
	Label      *string
	EffortMode *EffortMode
	// Limits edits the present limits. It may be called several times and must make the same changes each time.
	Limits func(*Limits)
	// Catalog has the models that may be allowed, as in KeyOptions. Names that the key allows already are not looked
	// up.
	Catalog *catalog.Catalog
	// Impose changes the imposed limits instead of the user's. Only the operator may set it.
	Impose bool
}

// check returns an error if the change sets a value that is out of range.
func (c *KeyChange) check(now time.Time) error {
	changed := KeyOptions{EffortMode: EffortOverride}
	changed.apply(c)
	return changed.check(now)
}

// allowedModels returns the allowed models that the change sets, or nil.
func (c *KeyChange) allowedModels() []string {
	var options KeyOptions
	options.apply(c)
	return options.AllowedModels
}

// apply applies the change c to the options.
func (o *KeyOptions) apply(c *KeyChange) {
	if c.Label != nil {
		o.Label = *c.Label
	}
	if c.EffortMode != nil {
		o.EffortMode = *c.EffortMode
	}
	if c.Limits != nil {
		c.Limits(&o.Limits)
	}
}

// setOptions sets the options of a key at the time now.
func (k *GatewayKey) setOptions(o KeyOptions, now time.Time) {
	k.Label, k.EffortMode, k.Limits = o.Label, o.EffortMode, o.Limits
	k.tidy()
	k.setStatus(now)
}

// Identity returns the identity of requests with the key.
func (k *GatewayKey) Identity() *Identity {
	id := &Identity{
		UserID: k.UserID, TeamID: k.TeamID, KeyID: k.ID, Label: k.Label, EffortMode: k.EffortMode, Limits: k.Limits,
		Imposed: k.Imposed,
	}
	if end := k.end(); end != nil {
		id.expires = schema.Micros(*end)
	}
	return id
}

// errPrimaryExpired returns the error for replacing an expired primary key. A replacement would have the same end.
func errPrimaryExpired(old *GatewayKey) error {
	if end := earliestEnd(new(Limits), old.Imposed); end != nil && end.Equal(*old.end()) {
		return errEnded(*end)
	}
	return apierror.New(http.StatusConflict, "expired",
		"the primary key has expired: set a later expires_at before you replace it")
}
