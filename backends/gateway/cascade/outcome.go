package cascade

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// recordFailure records the failure f of an attempt: in the health table, and for the error that the client gets if no
// candidate answers. took is the duration of the attempt. cooldown is the reason of the cooldown that the failure
// started, or an empty string if it started none. everyone is true if the cooldown is for all users.
func (r *run) recordFailure(
	c *keychain.Candidate, key *keychain.Key, f *failure, took time.Duration,
) (cooldown string, everyone bool) {
	provider, health := ProviderScope(c), r.Memory.Health
	var end time.Time
	// A failure that is not certain may be caused by this user alone, so it counts only for this user's use of a shared
	// key.
	keyScope, shared := key.ID, key.Shared()
	if !f.certain {
		keyScope, shared = key.Mine, false
	}
	switch f.class {
	case transient, timedOut:
		end, everyone = health.failed(r.incident(c, f))
		cooldown = f.reason
	case rateLimited:
		end, cooldown, everyone = health.limitModel(provider, keyScope, c.Model.ID, ReasonRateLimited, f.wait),
			ReasonRateLimited, shared
	case badEntry:
		end, cooldown, everyone = health.limitModel(provider, keyScope, c.Model.ID, ReasonUnknown, longCooldown),
			ReasonUnknown, shared
	case noCredit:
		end, cooldown, everyone = health.blockKey(provider, keyScope, NoCredit), string(NoCredit), shared
	case badKey:
		end, cooldown, everyone = health.blockKey(provider, keyScope, InvalidKey), string(InvalidKey), shared
	case skip, unable, looped, fixable, tooLong, policy, client, clientGone, lost, busy:
		// Later requests can learn nothing from these failures about the provider, the key or the model.
	}
	r.noteCooldownEnd(end)
	if end.IsZero() { // the failure was counted, but did not start a cooldown yet
		cooldown = ""
	}
	r.lastClass, r.lastCause = f.class, f.cause
	r.classes |= 1 << f.class
	r.result.Failed = append(r.result.Failed, apierror.Attempt{
		Provider: c.Provider.Code, Model: c.ModelName(), Status: f.status, Code: f.code,
		Message: wire.Mask(f.message, 200), LatencyMS: took.Milliseconds(),
	})
	if check := r.Logger.Check(zap.DebugLevel, "attempt failed"); check != nil {
		check.Write(zap.String("request_id", r.req.ID), zap.String("provider", c.Provider.Code),
			zap.String("model", c.Model.ID),
			zap.String("class", f.class.String()), zap.Int("status", f.status), zap.String("code", f.code),
			zap.Duration("took", took))
	}
	return cooldown, everyone
}

// incident describes a failure for the health table.
func (r *run) incident(c *keychain.Candidate, f *failure) incident {
	return incident{
		provider: ProviderScope(c), user: r.req.User, userServer: c.Custom, unreachable: f.unreachable, reason: f.reason,
		wait: f.wait,
	}
}

// noteCooldownEnd records the end of a cooldown if it is the earliest so far. A zero time is ignored.
func (r *run) noteCooldownEnd(end time.Time) {
	if !end.IsZero() && (r.earliestEnd.IsZero() || end.Before(r.earliestEnd)) {
		r.earliestEnd = end
	}
}

// allFailures reports whether there was a failure and every failure had one of the given classes. Failures of the
// classes fixable and lost are ignored: after these the same candidate is tried again, and the second attempt has a
// class of its own.
func (r *run) allFailures(classes ...class) bool {
	occurred := r.classes &^ (1<<fixable | 1<<lost)
	otherClasses := occurred
	for _, c := range classes {
		otherClasses &^= 1 << c
	}
	return occurred != 0 && otherClasses == 0
}

// failure returns the error for the client when no candidate is left. It first looks for mistakes that the client can
// correct, and then for problems that only the operator or a later request can solve. So the client gets the error
// that helps it most.
func (r *run) failure() error {
	var retryAfter time.Duration
	if !r.earliestEnd.IsZero() {
		retryAfter = max(r.earliestEnd.Sub(r.Now()), time.Second)
	}
	switch {
	case len(r.refusals) == 2 || r.allFailures(client): // mistakes of the client at two providers, or no other failures
		first := r.refusals[0]
		return &apierror.Error{
			Status: http.StatusBadRequest, Code: first.code, Type: "invalid_request_error", Param: first.param,
			Message: first.message, NoRetry: true,
		}
	case r.allFailures(tooLong):
		return contextTooLong()
	case r.allFailures(policy) || (r.lastClass == policy && r.Options.StopOnPolicy):
		return &apierror.Error{
			Status: http.StatusBadRequest, Code: "content_policy_violation", Type: "invalid_request_error", NoRetry: true,
			Message: "the content was refused by the provider's content policy",
		}
	case r.allFailures(unable) && r.earliestEnd.IsZero(): // no candidate in a cooldown could do better
		return &apierror.Error{
			Status: http.StatusConflict, Code: "no_models_available", Type: "invalid_request_error", NoRetry: true,
			Message: "no model is available for this request: " + r.result.Failed[len(r.result.Failed)-1].Message,
		}
	case r.allFailures(looped) && r.earliestEnd.IsZero():
		return loopDetected()
	case r.lastClass == timedOut:
		return &apierror.Error{
			Status: http.StatusGatewayTimeout, Code: "upstream_timeout",
			Message: "All providers failed: the last one did not answer in time", Cause: r.lastAttemptError(),
		}
	}
	e := &apierror.Error{
		Status: http.StatusBadGateway, Code: "all_providers_failed", Message: "All providers failed", RetryAfter: retryAfter,
		Cause: r.lastAttemptError(),
	}
	if r.result.Attempts == 0 {
		e.Message = "All providers failed: every candidate is cooling down"
		if r.budgetSpent {
			e.Message += ", or the provider keys for it have spent their budgets"
		}
	}
	// Trying again is useless if neither waiting nor another attempt helps: all failures, and all keys that were passed
	// over, need a person who repairs the keys or raises their budgets.
	e.NoRetry = !r.usableLater && (r.allFailures(noCredit, badKey, unable, looped) ||
		(r.classes == 0 && (!r.earliestEnd.IsZero() || r.budgetSpent)))
	return e
}

// lastAttemptError returns an error that describes the last failed attempt, for the operator's log. It returns nil if
// no attempt was made.
func (r *run) lastAttemptError() error {
	if len(r.result.Failed) == 0 {
		return nil
	}
	last := &r.result.Failed[len(r.result.Failed)-1]
	text := "the last one was " + last.Provider + "/" + last.Model + ": " + last.Code + ": " + last.Message
	if r.lastCause != nil {
		text += ": " + r.lastCause.Error()
	}
	return errors.New(text)
}

// contextTooLong returns the error with status 400 for a prompt that no candidate has room for.
func contextTooLong() error {
	return &apierror.Error{
		Status: http.StatusBadRequest, Code: "context_length_exceeded", Type: "invalid_request_error", Param: "messages",
		NoRetry: true,
		Message: "prompt is too long: it exceeds the context window of every candidate; shorten the messages",
	}
}

// failureType returns the type that the messages format uses for a failure in a stream.
func failureType(f *failure) string {
	switch {
	case f.class == rateLimited:
		return "rate_limit_error"
	case f.class == timedOut:
		return "timeout_error"
	case f.class == busy, f.reason == ReasonOverloaded || strings.Contains(f.code, "overloaded"):
		return "overloaded_error"
	}
	return "api_error"
}

// failureCode returns the error code for a failure in a stream, which clients can compare.
func failureCode(f *failure) string {
	return cmp.Or(failureCodes[f.class], "upstream_stream_error")
}

// failureCodes are the error codes of failures in a stream, for the classes that have one of their own.
var failureCodes = map[class]string{
	rateLimited: "rate_limit_exceeded", busy: "overloaded", noCredit: "insufficient_quota",
	tooLong: "context_length_exceeded",
}
