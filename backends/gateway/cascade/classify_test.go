package cascade

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

func headers(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestClassify(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	params := []string{"model", "messages", "stream_options", "temperature", "max_completion_tokens", "reasoning_effort", "parallel_tool_calls"}
	type want struct {
		class   class
		reason  string
		wait    time.Duration
		fix     string
		unknown bool
		code    string
	}
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   want
	}{
		// Transient errors.
		{"408", 408, nil, `{}`, want{class: transient, reason: ReasonErrors, code: "request_timeout"}},
		{"409", 409, nil, `{}`, want{class: transient, reason: ReasonErrors, code: "conflict"}},
		{"425", 425, nil, `{}`, want{class: transient, reason: ReasonErrors, code: "too_early"}},
		{"500", 500, nil, `{"error":{"message":"m","code":"server_error"}}`, want{class: transient, reason: ReasonErrors, code: "server_error"}},
		{"502, a web page", 502, nil, `<html>`, want{class: transient, reason: ReasonErrors, code: "bad_gateway"}},
		{"503", 503, nil, `{}`, want{class: transient, reason: ReasonOverloaded, code: "service_unavailable"}},
		{"503, wait", 503, headers("Retry-After", "7"), `{}`, want{class: transient, reason: ReasonOverloaded, wait: 7 * time.Second, code: "service_unavailable"}},
		{"503, wait a day", 503, headers("Retry-After", "86400"), `{}`, want{class: transient, reason: ReasonOverloaded, wait: lastBackoff, code: "service_unavailable"}},
		{"503, wait nothing", 503, headers("Retry-After", "0"), `{}`, want{class: transient, reason: ReasonOverloaded, wait: minReset, code: "service_unavailable"}},
		{"504", 504, nil, `{}`, want{class: transient, reason: ReasonErrors, code: "gateway_timeout"}},
		{"520", 520, nil, `{}`, want{class: transient, reason: ReasonErrors, code: "upstream_error"}},
		{"524", 524, nil, `{}`, want{class: transient, reason: ReasonErrors, code: "upstream_error"}},
		{"529", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, want{class: transient, reason: ReasonOverloaded, code: "overloaded_error"}},
		{"204", 204, nil, ``, want{class: transient, reason: ReasonErrors, code: "no_content"}},
		{"405", 405, nil, ``, want{class: transient, reason: ReasonErrors, code: "method_not_allowed"}},

		// Rate limits.
		{"429", 429, nil, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, want{class: rateLimited, reason: ReasonRateLimited, wait: time.Minute, code: "rate_limit_exceeded"}},
		{"429, wait", 429, headers("Retry-After", "12"), `{}`, want{class: rateLimited, reason: ReasonRateLimited, wait: 12 * time.Second, code: "too_many_requests"}},
		{"429, wait in the text", 429, nil, `{"error":{"message":"Please try again in 1.5s."}}`, want{class: rateLimited, reason: ReasonRateLimited, wait: 1500 * time.Millisecond, code: "too_many_requests"}},
		{"402, temporary", 402, headers("Retry-After", "30"), `{}`, want{class: rateLimited, reason: ReasonRateLimited, wait: 30 * time.Second, code: "payment_required"}},

		// Accounts without credit.
		{"429, quota", 429, nil, `{"error":{"message":"m","code":"insufficient_quota"}}`, want{class: noCredit, code: "insufficient_quota"}},
		{"429, type", 429, nil, `{"error":{"message":"m","type":"insufficient_quota","code":null}}`, want{class: noCredit, code: "insufficient_quota"}},
		{"429, credit", 429, nil, `{"error":{"message":"m","code":"credit_balance_exhausted"}}`, want{class: noCredit, code: "credit_balance_exhausted"}},
		{"429, spend limit", 429, nil, `{"error":{"message":"You have reached your spend limit"}}`, want{class: noCredit, code: "too_many_requests"}},
		{"402", 402, nil, `{"error":{"message":"Insufficient Balance"}}`, want{class: noCredit, code: "payment_required"}},

		// Bad keys.
		{"401", 401, nil, `{}`, want{class: badKey, code: "unauthorized"}},
		{"403, key", 403, nil, `{"error":{"message":"Your API key is not allowed"}}`, want{class: badKey, code: "forbidden"}},
		{"403, code", 403, nil, `{"error":{"message":"m","code":"invalid_api_key"}}`, want{class: badKey, code: "invalid_api_key"}},
		{"403, region", 403, nil, `{"error":{"message":"Your API key may not be used in your country","code":"unsupported_country_region_territory"}}`, want{class: skip, code: "unsupported_country_region_territory"}},
		{"403, moderation", 403, nil, `{"error":{"message":"Your input was flagged"}}`, want{class: skip, code: "forbidden"}},
		{"403, no reason", 403, nil, `<html>`, want{class: skip, code: "forbidden"}},
		{"400, key (Gemini)", 400, nil, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, want{class: badKey, code: "INVALID_ARGUMENT"}},

		// Unknown or unavailable models.
		{"404", 404, nil, `{}`, want{class: badEntry, reason: ReasonUnknown, code: "not_found"}},
		{"410", 410, nil, `{}`, want{class: badEntry, reason: ReasonUnknown, code: "gone"}},
		{"400, no model", 400, nil, `{"error":{"message":"m","code":"model_not_found"}}`, want{class: badEntry, reason: ReasonUnknown, code: "model_not_found"}},
		{"400, no model of Bedrock", 400, nil, `{"message":"The provided model identifier is invalid."}`, want{class: badEntry, reason: ReasonUnknown, code: "bad_request"}},
		{"400, too long for Bedrock", 400, nil, `{"message":"Input is too long for requested model."}`, want{class: tooLong, code: "bad_request"}},
		{"400, retired", 400, nil, `{"error":{"message":"The model x has been decommissioned"}}`, want{class: badEntry, reason: ReasonUnknown, code: "bad_request"}},
		{"422, invalid model", 422, nil, `{"message":"Invalid model: x","type":"invalid_model"}`, want{class: badEntry, reason: ReasonUnknown, code: "invalid_model"}},

		// Refused parameters.
		{
			"400, limit", 400, nil, `{"error":{"message":"Unsupported parameter: 'max_completion_tokens'","param":"max_completion_tokens","code":"unsupported_parameter"}}`,
			want{class: fixable, fix: "max_completion_tokens", unknown: true, code: "unsupported_parameter"},
		},
		{
			"400, default only", 400, nil, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model.","param":"temperature","code":"unsupported_value"}}`,
			want{class: fixable, fix: "temperature", unknown: true, code: "unsupported_value"},
		},
		{
			"422, forbidden", 422, nil, `{"message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}`,
			want{class: fixable, fix: "stream_options", unknown: true, code: "unprocessable_entity"},
		},
		{
			"400, a part of a parameter", 400, nil, `{"error":{"message":"Unknown parameter","param":"stream_options.include_usage"}}`,
			want{class: fixable, fix: "stream_options", unknown: true, code: "bad_request"},
		},
		{
			"400, named in the text", 400, nil, `{"error":{"message":"property 'parallel_tool_calls' is unsupported"}}`,
			want{class: fixable, fix: "parallel_tool_calls", unknown: true, code: "bad_request"},
		},
		{
			"400, bad value", 400, nil, `{"error":{"message":"Invalid value: 'huge'. Supported values are: 'low' and 'high'.","param":"reasoning_effort","code":"invalid_value"}}`,
			want{class: fixable, fix: "reasoning_effort", code: "invalid_value"},
		},
		{
			"400, too large", 400, nil, `{"error":{"message":"max_completion_tokens is too large: 99999999","param":"max_completion_tokens","code":"invalid_value"}}`,
			want{class: fixable, fix: "max_completion_tokens", code: "invalid_value"},
		},
		{
			"400, effort of messages", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support the effort parameter."}}`,
			want{class: fixable, fix: "reasoning_effort", unknown: true, code: "invalid_request_error"},
		},
		{
			"400, effort of Responses", 400, nil, `{"error":{"message":"Unsupported parameter: 'reasoning.effort' is not supported with this model.","param":"reasoning.effort","code":"unsupported_parameter"}}`,
			want{class: fixable, fix: "reasoning_effort", unknown: true, code: "unsupported_parameter"},
		},
		{"400, not sent", 400, nil, `{"error":{"message":"Unsupported parameter: 'verbosity'","param":"verbosity"}}`, want{class: client, code: "invalid_value"}},
		{"400, not droppable", 400, nil, `{"error":{"message":"bad messages","param":"messages"}}`, want{class: client, code: "invalid_value"}},
		{"400, only a part of a word", 400, nil, `{"error":{"message":"temperatures_x is wrong"}}`, want{class: client, code: "invalid_value"}},

		// Bad requests.
		{"400, context", 400, nil, `{"error":{"message":"m","code":"context_length_exceeded"}}`, want{class: tooLong, code: "context_length_exceeded"}},
		{"400, context in words", 400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens, max_completion_tokens included"}}`, want{class: tooLong, code: "bad_request"}},
		{"413, prompt", 413, nil, `{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}`, want{class: tooLong, code: "request_entity_too_large"}},
		{"400, policy", 400, nil, `{"error":{"message":"m","code":"content_policy_violation"}}`, want{class: policy, code: "content_policy_violation"}},
		{"400, filter", 400, nil, `{"error":{"message":"The response was filtered due to the content management policy"}}`, want{class: policy, code: "bad_request"}},
		{"400", 400, nil, `{"error":{"message":"m","code":"invalid_type"}}`, want{class: client, code: "invalid_type"}},
		{"422", 422, nil, `{"detail":"no"}`, want{class: client, code: "invalid_value"}},
		{"413", 413, nil, `<html>`, want{class: client, code: "invalid_value"}},

		// Status 200 with an error in the body.
		{"200", 200, nil, `{"error":{"message":"m"}}`, want{class: transient, reason: ReasonErrors, code: "upstream_error"}},
		{"200, 502", 200, nil, `{"error":{"message":"m","code":502}}`, want{class: transient, reason: ReasonErrors, code: "502"}},
		{"200, 429", 200, headers("Retry-After", "9"), `{"error":{"message":"m","code":429}}`, want{class: rateLimited, reason: ReasonRateLimited, wait: 9 * time.Second, code: "429"}},
		{"200, rate limit", 200, nil, `{"error":{"message":"m","type":"rate_limit_error"}}`, want{class: rateLimited, reason: ReasonRateLimited, wait: time.Minute, code: "rate_limit_error"}},
		{"200, 402", 200, nil, `{"error":{"message":"m","code":402}}`, want{class: noCredit, code: "402"}},
		{"200, 401", 200, nil, `{"error":{"message":"m","code":401}}`, want{class: badKey, code: "401"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := c.header
			if h == nil {
				h = http.Header{}
			}
			e := wire.ParseUpstreamError(c.status, []byte(c.body))
			f := classify(c.status, h, e, func(param string) bool { return slices.Contains(params, param) }, now)
			got := want{f.class, f.reason, f.wait, f.fix, f.unknown, f.code}
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if f.status != c.status || f.message == "" {
				t.Errorf("status %d, message %q", f.status, f.message)
			}
		})
	}
}

func TestClassNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := range clientGone + 1 {
		if name := c.String(); name == "" || seen[name] {
			t.Errorf("class %d is called %q", c, name)
		} else {
			seen[name] = true
		}
	}
	if clientGone.String() != "client_gone" || transient.String() != "transient" {
		t.Error("the names have moved")
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	f := &failure{message: "key 0123456789abcdef is bad, 0123456789abcdef", code: "0123456789abcdef", param: "x0123456789abcdefx"}
	f.redact("0123456789abcdef")
	if f.message != "key *** is bad, ***" || f.code != "***" || f.param != "x***x" {
		t.Errorf("%+v", f)
	}
	f = &failure{message: "a no-op for the word no"}
	f.redact("no")
	f.redact("")
	if f.message != "a no-op for the word no" {
		t.Error(f.message)
	}
}
