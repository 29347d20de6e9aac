package cascade

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// class is the kind of a failure, which decides the next step.
type class uint8

const (
	transient   class = iota + 1 // next candidate; the provider may get a cooldown
	timedOut                     // like transient; no content came in time
	rateLimited                  // next key; cooldown for the model through this key
	noCredit                     // next key; cooldown for this key
	badKey                       // next key; cooldown for this key
	skip                         // next candidate; no cooldown
	unable                       // next candidate; the request cannot be written for this candidate
	looped                       // next candidate; this candidate is the gateway itself
	badEntry                     // next candidate; cooldown for the model through this key
	fixable                      // the same candidate again, without a parameter
	tooLong                      // next candidate with a larger window
	policy                       // next candidate, unless Options.StopOnPolicy is set
	client                       // one more provider, then the client gets the error
	clientGone                   // stop: the client left
	lost                         // the same candidate again on a new connection, since this one died without an answer
	busy                         // stop: the gateway itself has no memory or no file descriptor left, or is shutting down
)

// String returns the name of the class in metrics and logs.
func (c class) String() string {
	return [...]string{
		"ok", "transient", "timeout", "rate_limited", "no_credit", "invalid_key", "skip", "cannot_carry", "loop",
		"unknown_model", "fixable", "too_long", "policy", "client_error", "client_gone", "connection_lost", "gateway_busy",
	}[c]
}

// failure describes an attempt that did not work.
type failure struct {
	class   class
	status  int    // HTTP status of the upstream; 0 without an answer
	code    string // machine-readable reason
	message string // for the client and the log, with keys masked
	param   string
	wait    time.Duration // wait requested by the provider, or 0
	fix     string        // for class fixable: the parameter to leave out
	unknown bool          // for class fixable: the provider rejects the parameter with any value
	reason  string        // reason of the cooldown
	cause   error         // for the log, with class busy or a failed connection
	// unreachable is set if there was no connection to the upstream.
	unreachable bool
	// certain is set if the key or the model causes the failure and any other request would fail as well.
	certain bool
}

// redact removes the key that was sent from the upstream's texts. A general mask cannot do this, since not every key
// has a recognisable form.
func (f *failure) redact(secret string) {
	if len(secret) < 8 { // too short for a key, and it could be any word
		return
	}
	for _, text := range []*string{&f.message, &f.code, &f.param} {
		*text = strings.ReplaceAll(*text, secret, "***")
	}
}

// classify returns the failure that an error answer of an upstream describes. The answer has the given status, the
// header h and the error e. isSet reports whether the request contained a parameter, since only such a parameter can
// be left out. If the provider asks for a wait, the wait is counted from now.
func classify(status int, h http.Header, e *wire.UpstreamError, isSet func(param string) bool, now time.Time) *failure {
	f := &failure{status: status, code: e.Code, message: e.Message, param: e.Param}
	message := strings.ToLower(e.Message)
	code := strings.ToLower(e.Code + " " + e.Type)
	wait, hasWait := retryAfter(h, now)
	switch status {
	case http.StatusTooManyRequests:
		if spent(code, message) {
			f.class = noCredit
		} else {
			f.class, f.reason, f.wait = rateLimited, ReasonRateLimited, resetTime(h, e, now)
		}
	case http.StatusPaymentRequired:
		if hasWait {
			f.class, f.reason, f.wait = rateLimited, ReasonRateLimited, clamp(wait, maxReset)
		} else {
			f.class = noCredit
		}
	case http.StatusUnauthorized:
		f.class = badKey
	case http.StatusForbidden:
		f.class = skip
		if contains(code+" "+message, "api key", "api_key", "apikey", "invalid key", "credential", "authentication",
			"unauthorized", "token") &&
			!contains(message, "region", "country", "territory", "moderation", "flagged") {
			f.class = badKey
		}
	case http.StatusNotFound, http.StatusGone:
		f.class, f.reason = badEntry, ReasonUnknown
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		badRequest(f, code, message, isSet)
	case http.StatusOK: // an error object in an answer with status 200
		classifyInOK(f, code, message, h, e, now)
	case http.StatusServiceUnavailable, 529:
		f.class, f.reason = transient, ReasonOverloaded
	case http.StatusLoopDetected:
		if e.Code == codeLoop {
			f.class = looped
		} else { // some hosters use 508 for other errors
			f.class, f.reason = transient, ReasonErrors
		}
	default:
		f.class, f.reason = transient, ReasonErrors
	}
	f.certain = certain(status, code, f.class) && !ofSize(f.class, message)
	if f.class == transient && hasWait {
		f.wait = clamp(wait, lastBackoff)
	}
	if f.code == "" && f.class == client {
		f.code = "invalid_value" // the code of the gateway's own errors, because the client gets this error
	}
	f.code = cmp.Or(f.code, e.Type, statusCode(status))
	return f
}

// certain reports whether the key or the model causes a failure, so that any other request would fail as well. It
// decides by the status and the error code alone, because the error's message may quote the client's own words. By
// such a quotation, one user could block the operator's key for all users.
func certain(status int, code string, c class) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusTooManyRequests:
		return true
	}
	switch c {
	case rateLimited: // decided by the code in an answer with status 200
		return true
	case noCredit:
		return strings.HasPrefix(code, "402 ") || spent(code, "")
	case badKey:
		return strings.HasPrefix(code, "401 ") || contains(code, "api_key", "apikey", "authentication", "credential",
			"unauthorized")
	case badEntry:
		return contains(code, "model")
	case transient, timedOut, skip, unable, looped, fixable, tooLong, policy, client, clientGone, lost, busy:
		// These failures depend on the request, or pass by themselves.
	}
	return false
}

// ofSize reports whether an error is about the size of this request, which exceeds a limit or the remaining credit.
// Such a failure is not certain, so it counts for one user only. message is the error's message in lower case.
func ofSize(c class, message string) bool {
	return (c == rateLimited || c == noCredit) && contains(message, "max_tokens", "max_completion_tokens",
		"max_output_tokens", "fewer", "too large", "too long", "requested", "reduce")
}

// statusCode returns an error code for an answer that contains none, made from the HTTP status.
func statusCode(status int) string {
	if name := http.StatusText(status); name != "" && status != http.StatusOK {
		return strings.ToLower(strings.ReplaceAll(name, " ", "_"))
	}
	return "upstream_error"
}

// classifyInOK sets the class of f for an error object in an answer with status 200. code is the error's code and type,
// and message its message, both in lower case. Some providers put the HTTP status into the error code.
func classifyInOK(f *failure, code, message string, h http.Header, e *wire.UpstreamError, now time.Time) {
	switch {
	case strings.HasPrefix(code, "429 ") || contains(code, "rate_limit"):
		f.class, f.reason, f.wait = rateLimited, ReasonRateLimited, resetTime(h, e, now)
	case strings.HasPrefix(code, "402 ") || spent(code, message):
		f.class = noCredit
	case strings.HasPrefix(code, "401 ") || contains(code, "authentication_error", "invalid_api_key"):
		f.class = badKey
	case overlong(code, message):
		f.class = tooLong
	case contains(code, "overloaded"):
		f.class, f.reason = transient, ReasonOverloaded
	default:
		f.class, f.reason = transient, ReasonErrors
	}
}

// spent reports whether an error says that the account has no money left, so that waiting does not help. code holds the
// error's code and its type, one after the other, and message its message. Both are in lower case.
func spent(code, message string) bool {
	return contains(code, "insufficient_quota", "credit_balance_exhausted", "billing", "spend_limit",
		"insufficient_balance", "payment_required") ||
		contains(message, "insufficient balance", "credit balance is too low", "spending limit", "spend limit",
			"exceeded your current quota, please check your plan")
}

// overlong reports whether an error says that the prompt does not fit into the model's context window. For code and
// message, see spent.
func overlong(code, message string) bool {
	return contains(code, "context_length_exceeded") ||
		contains(message, "context length", "context window", "maximum context", "prompt is too long", "input is too long",
			"too many input tokens", "reduce the length of the messages", "maximum number of tokens")
}

// aboutModel reports whether a 404 is about the model rather than the address. When in doubt it reports false: the
// request is then sent once more as chat completions, which settles the question.
func aboutModel(e *wire.UpstreamError, model string) bool {
	message := strings.ToLower(e.Message)
	return strings.Contains(strings.ToLower(e.Code), "model") || strings.Contains(message, strings.ToLower(model)) ||
		(strings.Contains(message, "model") && contains(message, "not exist", "not found", "unknown model", "no such model",
			"invalid model", "not available"))
}

// badRequest sets the class of f, and the fix of a fixable failure, for an answer with status 400, 413 or 422. Most
// such errors are the client's mistake; others are caused by the candidate or by parameters that can be left out. code
// is the error's code and type, and message its message, both in lower case. isSet reports whether the request
// contained a parameter.
func badRequest(f *failure, code, message string, isSet func(string) bool) {
	switch {
	case overlong(code, message):
		f.class = tooLong
	case spent(code, message): // some providers send 400 for an account without money
		f.class = noCredit
	case contains(code, "model_not_found", "model_not_available", "invalid_model", "model_decommissioned",
		"model_not_supported") ||
		(contains(message, "model") && contains(message, "does not exist", "not found", "decommissioned", "is not available",
			"not supported anymore", "unknown model", "invalid model", "model identifier is invalid", "on-demand throughput")):
		f.class, f.reason = badEntry, ReasonUnknown
	case contains(code, "content_policy", "content_filter", "moderation", "safety") ||
		contains(message, "content management policy", "content policy", "flagged by"):
		f.class = policy
	case contains(code, "invalid_api_key") || contains(message, "api key not valid", "api key expired", "invalid api key"):
		f.class = badKey
	case contains(code, "string_above_max_length") && ofCallID(f.param):
		f.class, f.fix, f.unknown = fixable, fixCallIDs, true
	case names(message, "reasoning_effort") && contains(message, "tools") && isSet("reasoning_effort") && isSet("tools"):
		f.class, f.fix, f.unknown = fixable, fixToolsClash, true
	default:
		f.class = client
		if param := culprit(f.param, message, isSet); param != "" {
			f.class, f.fix, f.unknown = fixable, param, refusesAny(code, message)
		}
	}
}

// ofCallID reports whether a parameter is the id of a tool call, such as messages[2].tool_call_id or
// messages[1].tool_calls[0].id.
func ofCallID(param string) bool {
	return strings.HasSuffix(param, ".tool_call_id") || strings.HasSuffix(param, ".id") && strings.Contains(param,
		".tool_calls[")
}

// droppable are the parameters that may be left out or renamed when a provider refuses them. Longer names come first,
// since the message is searched for them in this order.
var droppable = []string{
	"max_completion_tokens", "parallel_tool_calls", "reasoning_effort", "prompt_cache_key", "stream_options",
	"service_tier", "max_tokens", "temperature", "verbosity", "top_p",
}

// culprit returns the name of the droppable parameter that caused the refusal of the request, or an empty string if
// there is none. The error names the parameter in param or else in message. isSet reports whether the request
// contained a parameter; culprit never returns a parameter that the request did not contain.
func culprit(param, message string, isSet func(string) bool) string {
	param, _, _ = strings.Cut(param, ".") // stream_options.include_usage
	if slices.Contains(droppable, param) && isSet(param) {
		return param
	}
	for _, name := range droppable {
		if isSet(name) && names(message, name) {
			return name
		}
	}
	for _, other := range otherNames {
		if isSet(other.param) && names(message, other.name) {
			return other.param
		}
	}
	return ""
}

// otherNames maps the names that other formats use for droppable parameters to the chat parameters.
var otherNames = []struct{ name, param string }{
	{"reasoning.effort", "reasoning_effort"},
	{"output_config.effort", "reasoning_effort"},
	{"effort parameter", "reasoning_effort"},
	{"disable_parallel_tool_use", "parallel_tool_calls"},
}

// refusesAny reports whether a provider rejects the parameter itself rather than only the value in this request.
func refusesAny(code, message string) bool {
	return contains(code, "unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden",
		"unrecognized") ||
		contains(message, "unsupported", "not support", "unrecognized", "not recognized", "unknown", "unexpected",
			"extra inputs", "extra fields",
			"not permitted", "not allowed", "not available", "instead", "deprecated", "only the default")
}

// names reports whether text holds name as a whole word.
func names(text, name string) bool {
	for start := 0; ; {
		index := strings.Index(text[start:], name)
		if index < 0 {
			return false
		}
		index += start
		end := index + len(name)
		if (index == 0 || !wordByte(text[index-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
		start = end
	}
}

// wordByte reports whether c is an ASCII letter, a digit or an underscore.
func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// contains reports whether text contains one of the parts.
func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
