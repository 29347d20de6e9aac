package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseUpstreamError(t *testing.T) {
	t.Parallel()
	nothing := "the upstream answered with status 400 and no readable error"
	silent := "the upstream answered with status 400 and no message"
	for _, c := range []struct {
		name, body string
		want       UpstreamError
	}{
		{
			"OpenAI", `{"error":{"message":"Unsupported parameter: 'max_tokens'","type":"invalid_request_error","code":"unsupported_parameter","param":"max_tokens"}}`,
			UpstreamError{Message: "Unsupported parameter: 'max_tokens'", Type: "invalid_request_error", Code: "unsupported_parameter", Param: "max_tokens"},
		},
		{"nulls", `{"error":{"message":"no","type":null,"code":null,"param":null}}`, UpstreamError{Message: "no"}},
		{"numeric code", `{"error":{"message":"no","code":429}}`, UpstreamError{Message: "no", Code: "429"}},
		{"error text", `{"error":"Model not found"}`, UpstreamError{Message: "Model not found"}},
		{"error text beside a message", `{"error":"Unauthorized","message":"bad key","code":"x"}`, UpstreamError{Message: "Unauthorized", Code: "x"}},
		{
			"flat", `{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}`,
			UpstreamError{Message: "Invalid model: x", Type: "invalid_model", Code: "1500"},
		},
		{
			"flat with a list in the message", `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}`,
			UpstreamError{Message: "Extra inputs are not permitted", Type: "invalid_request_error", Param: "stream_options"},
		},
		{"detail text", `{"detail":"Not Found"}`, UpstreamError{Message: "Not Found"}},
		{
			"detail list", `{"detail":[{"loc":["body","messages",0,"role"],"msg":"field required","type":"value_error.missing"},{"loc":["body","x"],"msg":"y"}]}`,
			UpstreamError{Message: "field required", Param: "messages[0].role"},
		},
		{"detail object", `{"detail":{"message":"no"}}`, UpstreamError{Message: "no"}},
		{
			"Gemini's list", `[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`,
			UpstreamError{Message: "Resource exhausted", Code: "RESOURCE_EXHAUSTED", RetryDelay: "34s"},
		},
		{
			"Gemini's day", `{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"a"},{"quotaId":"GenerateRequestsPerDayPerProject-FreeTier"}]},{"retryDelay":{}}]}}`,
			UpstreamError{Message: "m", Code: "RESOURCE_EXHAUSTED", Daily: true},
		},
		{"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}`, UpstreamError{Message: "Overloaded", Type: "overloaded_error"}},
		{"Cohere", `{"message":"invalid api token"}`, UpstreamError{Message: "invalid api token"}},
		{"Cloudflare", `{"success":false,"errors":[{"code":7003,"message":"No route"},{"code":1,"message":"x"}],"messages":[],"result":null}`, UpstreamError{Message: "No route", Code: "7003"}},
		{"list of texts", `{"errors":["first","second"]}`, UpstreamError{Message: "first"}},
		{"white space", "\n\n {\"error\" : {\"message\" : \"m\"}} \n", UpstreamError{Message: "m"}},
		{"HTML", "<html><head><title>502 Bad Gateway</title></head></html>", UpstreamError{Message: nothing}},
		{"text", "upstream connect error or disconnect/reset before headers", UpstreamError{Message: nothing}},
		{"nothing", "", UpstreamError{Message: nothing}},
		{"cut off", `{"error":{"message":"Invalid`, UpstreamError{Message: nothing}},
		{"trailing", `{"error":{"message":"m"}}x`, UpstreamError{Message: nothing}},
		{"deep", `{"error":` + strings.Repeat(`{"error":`, 200) + `1` + strings.Repeat(`}`, 201), UpstreamError{Message: nothing}},
		{"deep and endless", strings.Repeat(`[`, 1_000_000), UpstreamError{Message: nothing}},
		{"empty object", `{}`, UpstreamError{Message: silent}},
		{"empty list", `[]`, UpstreamError{Message: silent}},
		{"scalar", `"no"`, UpstreamError{Message: silent}},
		{"null", `null`, UpstreamError{Message: silent}},
		{"list of scalars", `[1,2]`, UpstreamError{Message: silent}},
		{"message of another type", `{"error":{"message":5,"type":{},"code":[],"param":false}}`, UpstreamError{Message: silent}},
		{"empty message", `{"error":{"message":"","code":"x"}}`, UpstreamError{Message: silent, Code: "x"}},
		{"odd details", `{"error":{"message":"m","details":"x"}}`, UpstreamError{Message: "m"}},
		{"odd locations", `{"detail":[{"loc":"body","msg":"m"}]}`, UpstreamError{Message: "m"}},
		{"odd location", `{"detail":[{"loc":[0,"body",null,{},"a","b",1,"body"],"msg":"m"}]}`, UpstreamError{Message: "m", Param: "a.b[1].body"}},
		{
			"keys are masked everywhere", `{"error":{"message":"Incorrect API key provided: sk-proj-abcdefghijklmnop1234.","type":"sk-proj-abcdefghijklmnop1234","code":"sk-proj-abcdefghijklmnop1234","param":"sk-proj-abcdefghijklmnop1234"}}`,
			UpstreamError{Message: "Incorrect API key provided: ***.", Type: "***", Code: "***", Param: "***"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ParseUpstreamError(400, []byte(c.body))
			c.want.Status = 400
			if *got != c.want {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
			if !strings.Contains(got.Error(), got.Message) {
				t.Errorf("error text %q", got.Error())
			}
		})
	}
}

func TestUpstreamErrorIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 5000)
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": long, "type": long, "code": long, "param": long}, "detail": []any{map[string]any{"loc": []string{long, long}}}})
	if err != nil {
		t.Fatal(err)
	}
	e := ParseUpstreamError(500, body)
	for name, field := range map[string]struct {
		text string
		most int
	}{"message": {e.Message, 2000}, "type": {e.Type, 100}, "code": {e.Code, 100}, "param": {e.Param, 200}} {
		if len(field.text) > field.most || len(field.text) < field.most-1 || !utf8.ValidString(field.text) {
			t.Errorf("%s has %d bytes, at most %d are due", name, len(field.text), field.most)
		}
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "",
		"no key at all":               "no key at all",
		"sk-abcdefghijklmnopqrstuvwx": "***",
		"key sk-ant-api03-abc_DEF-123456789, and more":      "key ***, and more",
		"'gsk_abcdefghijklmnop1234567890'":                  "'***'",
		"AIzaSyA1234567890abcdefghijklmnop is not valid":    "*** is not valid",
		"Authorization: Bearer abc.def-ghi":                 "Authorization: ***",
		"authorization: bearer\tabc":                        "authorization: ***",
		"ak-0123456789abcdefghijABCDEFGHIJ":                 "***",
		"hf_abcdefghijklmnop nvapi-abcdefghijklmnop":        "*** ***",
		"xai-abcdefghijklmnop pplx-abcdefghijklmnop":        "*** ***",
		"tgp_v1_abcdefghijklmnop":                           "***",
		"sk-proj-****************************abcd is bad":   "*** is bad",
		"the task-oriented approach, risk-taking, sk-short": "the task-oriented approach, risk-taking, sk-short",
	} {
		if got := Mask(in, 1000); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := Mask("aüb", 2); got != "a" {
		t.Errorf("cut inside a character: %q", got)
	}
	if got := Mask("abc", 0); got != "" {
		t.Errorf("cut to nothing: %q", got)
	}
	// Mask masks before it cuts, so that no part of a key remains.
	if got := Mask(strings.Repeat(".", 90)+" sk-abcdefghijklmnopqrstuvwxyz", 100); strings.Contains(got, "sk-") {
		t.Errorf("kept %q", got)
	}
}

func FuzzParseUpstreamError(f *testing.F) {
	for _, body := range []string{
		`{"error":{"message":"m","type":"t","code":429,"param":"p","details":[{"retryDelay":"1s","violations":[{"quotaId":"PerDay"}]}]}}`,
		`[{"error":{"code":1,"status":"S"}}]`, `{"message":{"detail":[{"loc":["body",0,"x"],"msg":"m"}]}}`, `{"errors":[{"code":1,"message":"x"}]}`, `{"detail":"x"}`, `<html>`, `{"error":"sk-abcdefghijklmnop"}`,
	} {
		f.Add(400, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := ParseUpstreamError(status, body)
		if e.Status != status || e.Message == "" || len(e.Message) > 2000 || len(e.Code) > 100 || len(e.Type) > 100 || len(e.Param) > 200 {
			t.Fatalf("%q gave %+v", body, e)
		}
		if secrets.MatchString(e.Message) {
			t.Fatalf("%q: a key stayed in %q", body, e.Message)
		}
	})
}
