package cascade

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// Plan describes how a request would be routed if it were sent now.
type Plan struct {
	// Tier is the tier to which the model name refers, or 0 if the name is that of an entry.
	Tier catalog.Tier
	// Tried lists the candidates in the order in which they would be tried.
	Tried []Step
	// Skipped lists those candidates, of the tier and the tiers below it, that cannot carry the request or whose keys are
	// all cooling down.
	Skipped []Step
}

// Step is one candidate of a Plan.
type Step struct {
	Candidate *keychain.Candidate
	// Code is one of the Skip constants for a skipped candidate, LateFailing for a candidate that is tried late, else
	// empty. Reason explains Code in words.
	Code, Reason string
	// Until is the end of the candidate's cooldown, or zero if no cooldown runs.
	Until time.Time
	// Key is the public id of the provider key with which the candidate would be tried. If the user has several keys it
	// is one of them. It is empty if the candidate is skipped.
	Key string
}

// The reasons why a candidate is not tried, or is tried late.
const (
	SkipUnfit      = "unfit"
	SkipNotAllowed = "not_allowed"
	SkipCooling    = "cooling_down"
	SkipNoCredit   = "no_credit"
	SkipInvalidKey = "invalid_key"
	SkipSpent      = "budget_spent"
	LateFailing    = "provider_failing"
)

// skip records a candidate that the plan leaves out. lack names the feature that the candidate lacks. If list is not
// empty, the candidate is left out because it is missing from this list of allowed models.
func (r *run) skip(c *keychain.Candidate, lack, list string) {
	step := Step{Candidate: c, Code: SkipUnfit, Reason: "it has no " + lack}
	if list != "" {
		step.Code, step.Reason = SkipNotAllowed, "it is not one of "+list
	}
	r.skipped = append(r.skipped, step)
}

// Explain returns the plan that Answer would follow for a request, without sending anything. Its errors are those that
// Answer returns before the first attempt, except no_models_available: in that case the plan's Tried is empty.
func (e *Engine) Explain(ctx context.Context, req *Request) (*Plan, error) {
	r := e.newRun(ctx, nil, req)
	r.explains = true
	candidates, err := r.plan()
	if err != nil && r.skipped == nil {
		return nil, err
	}
	plan := &Plan{Tier: r.result.Tier, Skipped: r.skipped}
	for _, c := range candidates {
		step, open, err := r.step(c)
		if err != nil {
			return nil, err
		}
		if open {
			plan.Tried = append(plan.Tried, step)
		} else {
			plan.Skipped = append(plan.Skipped, step)
		}
	}
	return plan, nil
}

// step returns the step for a candidate and reports whether one of its keys can be used. For a candidate without a
// usable key the step gives one reason: the cooldown that ends first, or the first refusal of a key by its limits. The
// refusal is given only if no key before that key is in a cooldown, and no cooldown ends before the refusal.
func (r *run) step(c *keychain.Candidate) (step Step, usable bool, err error) {
	step.Candidate = c
	provider := ProviderScope(c)
	for i := range c.Keys {
		key := &c.Keys[i]
		if end, status := r.Memory.Health.blockedFor(provider, key, c.Model.ID); !end.IsZero() {
			if step.Until.IsZero() || end.Before(step.Until) {
				skip := healthSkips[status]
				step.Code, step.Reason, step.Until = skip.code, skip.reason, end
			}
			continue
		}
		refusal, err := r.refusal(key, 0) // 0: no request is counted
		switch {
		case err != nil:
			return step, false, err
		case refusal == nil:
			step = Step{Candidate: c, Key: key.PublicID()} // without the reason of an earlier key
			if state := r.Memory.Health.Provider(provider, r.req.User); !state.Until.IsZero() {
				step.Code, step.Reason, step.Until = LateFailing, "the provider is failing, so it is tried last", state.Until
			}
			return step, true, nil
		case step.Code == "":
			skip := keySkips[refusal.Reason]
			step.Code, step.Reason, step.Until = skip.code, skip.reason, refusal.Until
		}
	}
	return step, false, nil
}

// skipText is the code and the text of a step for a skipped candidate.
type skipText struct{ code, reason string }

// healthSkips holds the texts for keys that the health table blocks, by the key's status.
var healthSkips = map[Status]skipText{
	NoCredit:    {SkipNoCredit, "its provider says that the key has no credit left"},
	InvalidKey:  {SkipInvalidKey, "its provider refuses the key"},
	CoolingDown: {SkipCooling, "it is cooling down for every key"},
}

// keySkips holds the texts for keys whose limits refuse the request, by the reason of the refusal.
var keySkips = map[string]skipText{
	keychain.KeySpent:   {SkipSpent, "the provider keys for it have spent their budgets"},
	keychain.KeyBusy:    {SkipCooling, "the provider keys for it have used up their requests per minute"},
	keychain.KeyExpired: {SkipInvalidKey, "the provider keys for it have expired"},
}
