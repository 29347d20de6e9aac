package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestFailover: whatever a candidate does before its first content, the next
// one answers, and the client learns who did and why the first did not.
func TestFailover(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tfirst_content 1500ms\n\t\t\tanswer 5s\n\t\t}\n\t}\n")
	for name, test := range map[string]struct {
		model  string // of the first candidate
		status int    // that failed_attempts reports, 0: no answer
		code   string
		whole  bool   // holds for answers that are not streamed too
		lost   int64  // output tokens of the first candidate's
		source string // of the usage; empty: "exact"
	}{
		"500":             {model: script("status", "500"), status: 500, code: "*", whole: true},
		"503":             {model: script("status", "503", "retry_after", "2"), status: 503, code: "*", whole: true},
		"429":             {model: script("status", "429", "retry_after", "30"), status: 429, code: "rate_limit_exceeded", whole: true},
		"402":             {model: script("status", "402"), status: 402, code: "*", whole: true},
		"401":             {model: script("status", "401"), status: 401, code: "*", whole: true},
		"404":             {model: script("status", "404"), status: 404, code: "*", whole: true},
		"redirect":        {model: script("status", "302", "header", "Location:http://127.0.0.1:1/"), status: 302, code: "redirect", whole: true},
		"hang":            {model: script("fault", "hang"), code: "timeout", whole: true},
		"stall":           {model: script("fault", "stall"), status: 200, code: "timeout"},
		"drop":            {model: script("fault", "drop"), code: "connection_error", whole: true},
		"drop after role": {model: script("fault", "drop_mid", "after", "0"), status: 200, code: "connection_error"},
		"html":            {model: script("fault", "html"), status: 200, code: "html_answer", whole: true},
		"html 502":        {model: script("fault", "html", "status", "502"), status: 502, code: "*", whole: true},
		"empty choices":   {model: script("fault", "empty_choices"), status: 200, code: "*", whole: true},
		"error object":    {model: script("fault", "error_object"), status: 200, code: "*", whole: true},
		"error of limit":  {model: script("fault", "error_object", "status", "429"), status: 200, code: "rate_limit_exceeded", whole: true},
		"broken json":     {model: script("body", `{"id":"x","choices":[{`, "header", "Content-Type:application/json"), status: 200, code: "*", whole: true},
		"broken chunk":    {model: script("body", "data: {\"choices\":[{\n\n", "header", "Content-Type:text/event-stream"), status: 200, code: "broken_answer"},
		"empty body":      {model: script("body", "", "header", "Content-Type:text/event-stream"), status: 200, code: "*"},
		"usage alone":     {model: script("body", "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\n", "header", "Content-Type:text/event-stream"), status: 200, code: "*", lost: 1, source: "estimated"},
		"no finish":       {model: script("fault", "no_finish", "fault", "no_done", "text", ""), status: 200, code: "*", source: "estimated"},
	} {
		for _, stream := range []bool{true, false} {
			if !stream && !test.whole {
				continue
			}
			t.Run(fmt.Sprintf("%s/stream=%t", name, stream), func(t *testing.T) {
				t.Parallel()
				user := fmt.Sprintf("%s %t", name, stream)
				key := g.user(user, up, test.model, script("text", "the backup", "header", "X-Upstream:leaks"))
				a := ask(t.Context(), g.base, key, prompt("keychain-high", stream))
				if got := a.text(t); got != "the backup" {
					t.Errorf("text %q", got)
				}
				tried := 2
				if name == "drop" && a.header.Get("X-Gateway-Attempts") == "3" {
					tried = 3 // a connection that had served before is tried once more when it dies
				}
				for header, want := range map[string]string{
					"X-Gateway-Provider": "custom", "X-Gateway-Model": script("text", "the backup", "header", "X-Upstream:leaks"),
					"X-Gateway-Tier": "high", "X-Gateway-Attempts": fmt.Sprint(tried), "X-Upstream": "",
				} {
					if got := a.header.Get(header); got != want {
						t.Errorf("%s: %q, want %q", header, got, want)
					}
				}
				record := g.awaitUsage(a.header.Get("X-Request-Id"))
				if record.user != user || record.attempts != int64(tried) || record.status != 200 || record.code != "" || record.model != "own/2" ||
					record.tier != "high" || record.stream != stream || record.output != 3+test.lost || record.source != cmp.Or(test.source, "exact") {
					t.Errorf("usage %+v", record)
				}
				status := strings.Contains(record.failed, fmt.Sprintf(`"status":%d,`, test.status)) ||
					(test.status == 200 && strings.Contains(record.failed, `"status":0,`)) // the answer was no answer
				if !status ||
					(test.code != "*" && !strings.Contains(record.failed, fmt.Sprintf(`"code":%q`, test.code))) {
					t.Errorf("failed attempts %s, want status %d code %s", record.failed, test.status, test.code)
				}
			})
		}
	}
}

// TestAllFail: the error of a cascade without success says what was tried.
func TestAllFail(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tfirst_content 3s\n\t\t}\n\t}\n")
	for name, test := range map[string]struct {
		models []string
		status int
		code   string
		retry  bool // the client may try again
	}{
		"errors":    {[]string{script("status", "500"), script("fault", "drop"), script("fault", "html")}, 502, "all_providers_failed", true},
		"limits":    {[]string{script("status", "429", "retry_after", "7"), script("status", "429", "retry_after", "20")}, 502, "all_providers_failed", true},
		"no credit": {[]string{script("status", "402"), script("status", "401")}, 502, "all_providers_failed", false},
		"timeout":   {[]string{script("status", "500"), script("fault", "hang")}, 504, "upstream_timeout", true},
		"mistake":   {[]string{script("status", "400", "message", "no such voice"), script("status", "422"), script()}, 400, "*", false},
		"too long":  {[]string{script("status", "400", "code", "context_length_exceeded")}, 400, "context_length_exceeded", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := g.user(name, up, test.models...)
			a := ask(t.Context(), g.base, key, prompt("keychain-high", true))
			f := a.failure(t)
			if a.status != test.status || f.Error.Code == nil || (test.code != "*" && *f.Error.Code != test.code) {
				t.Fatalf("status %d, want %d: %s", a.status, test.status, a.body)
			}
			if (a.header.Get("X-Should-Retry") == "false") == test.retry {
				t.Errorf("x-should-retry %q", a.header.Get("X-Should-Retry"))
			}
			// A connection that had served before is tried once more when it dies.
			tried := len(f.Error.Attempts)
			f.Error.Attempts = slices.CompactFunc(f.Error.Attempts, func(a, b failedAttempt) bool {
				return a.Model == b.Model && a.Code == "connection_error"
			})
			want := min(len(test.models), 3)
			if name == "mistake" {
				want = 2
				if !strings.Contains(f.Error.Message, "no such voice") {
					t.Errorf("message %q", f.Error.Message)
				}
			}
			if len(f.Error.Attempts) != want {
				t.Fatalf("%d failed attempts, want %d: %s", len(f.Error.Attempts), want, a.body)
			}
			if got := a.header.Get("X-Gateway-Attempts"); got != fmt.Sprint(tried) {
				t.Errorf("x-gateway-attempts %s", got)
			}
			for i, attempt := range f.Error.Attempts {
				if attempt.Provider != "custom" || attempt.Model != fmt.Sprintf("own/%d", i+1) || attempt.Code == "" || attempt.Latency == nil {
					t.Errorf("attempt %d: %+v", i, attempt)
				}
			}
			if name == "limits" {
				if got := a.header.Get("Retry-After"); got != "7" && got != "8" {
					t.Errorf("retry-after %q, want the sooner of both", got)
				}
				// The cooldown is respected: nothing is sent.
				before := len(up.Requests())
				again := ask(t.Context(), g.base, key, prompt("own/1", false))
				again.refused(t, 502, "all_providers_failed")
				if asked := slices.Contains(up.models()[before:], test.models[0]); asked {
					t.Error("a model was asked while it cools down")
				}
			}
		})
	}
}

// TestBehindCommit: once text has been sent, an error is an event of the
// stream, and no other model's text follows.
func TestBehindCommit(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tidle 500ms\n\t\t}\n\t}\n")
	for name, model := range map[string]string{
		"error":       script("text", "one two three four", "fault", "error_mid", "after", "2"),
		"drop":        script("text", "one two three four", "fault", "drop_mid", "after", "2"),
		"silence":     script("text", "one two three four", "fault", "stall", "after", "2"),
		"broken json": script("text", "one two three four", "fault", "broken_json", "after", "2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := g.user(name, up, model, script("text", "the backup"))
			a := ask(t.Context(), g.base, key, prompt("keychain-high", true))
			if a.err != nil || a.status != 200 {
				t.Fatalf("status %d, %v", a.status, a.err)
			}
			text, last := streamed(t, a.body)
			if !strings.HasPrefix("one two three four", text) || text == "" {
				t.Errorf("text %q", text)
			}
			if !strings.Contains(last, `"code":"upstream_stream_error"`) || !strings.Contains(last, `"type":"api_error"`) {
				t.Errorf("the stream ends in %q", last)
			}
			if strings.Contains(a.body, `"finish_reason":"stop"`) || strings.Contains(a.body, "[DONE]") {
				t.Errorf("the stream looks complete: %s", a.body)
			}
			record := g.awaitUsage(a.header.Get("X-Request-Id"))
			if record.code != "upstream_stream_error" || record.attempts != 1 || record.model != "own/1" || record.source != "estimated" {
				t.Errorf("usage %+v", record)
			}
		})
	}
}

// TestKeyRotation: a key that is limited is left alone until its reset, first
// for the other key of the provider, then for the next provider.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	var mu sync.Mutex
	limited := map[string]bool{"sk-one-000000000000": true}
	asked := make(map[string]int) // key and model -> requests
	up.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			return false
		}
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path[:7]+" "+key]++
		if !limited[key] {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error":{"message":"Rate limit reached for key sk-one-000000000000","type":"requests","code":"rate_limit_exceeded"}}`))
		return true
	}
	g := newGateway(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.url+"/openai/v1\n\t\t\t}\n\t\t\tprovider groq {\n\t\t\t\tbase_url "+up.url+"/groqqq/v1\n\t\t\t}\n\t\t}")
	key := g.user("ada", up)
	known := func(string) bool { return true }
	for _, k := range [][2]string{{"openai", "sk-one-000000000000"}, {"openai", "sk-two-000000000000"}, {"groq", "gsk-three-000000000"}} {
		if _, err := g.AddProviderKey(t.Context(), "ada", k[0], k[1], "", known); err != nil {
			t.Fatal(err)
		}
	}
	attempts := 0
	for range 12 {
		a := ask(t.Context(), g.base, key, prompt("openai/gpt-5.4-nano", true))
		if got := a.text(t); !strings.Contains(got, "Hi") {
			t.Errorf("text %q", got)
		}
		if a.header.Get("X-Gateway-Provider") != "openai" {
			t.Errorf("provider %q", a.header.Get("X-Gateway-Provider"))
		}
		if a.header.Get("X-Gateway-Attempts") == "2" {
			attempts++
			if record := g.awaitUsage(a.header.Get("X-Request-Id")); strings.Contains(record.failed, "sk-one") {
				t.Errorf("a provider's key is in the usage log: %s", record.failed)
			}
		}
	}
	mu.Lock()
	if attempts != 1 || asked["/openai sk-one-000000000000"] != 1 || asked["/openai sk-two-000000000000"] != 12 {
		t.Errorf("%d requests took two attempts, asked %v", attempts, asked)
	}
	limited["sk-two-000000000000"] = true
	mu.Unlock()

	for i := range 3 {
		a := ask(t.Context(), g.base, key, prompt("keychain-low", false))
		a.text(t)
		if a.header.Get("X-Gateway-Provider") != "groq" {
			t.Errorf("request %d: provider %q", i, a.header.Get("X-Gateway-Provider"))
		}
		if i > 0 && a.header.Get("X-Gateway-Attempts") != "1" {
			t.Errorf("request %d took %s attempts, the cooldown is not respected", i, a.header.Get("X-Gateway-Attempts"))
		}
	}
}

// TestDisconnect: a client that leaves takes the upstream request with it, and
// is still in the usage log.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	for name, test := range map[string]struct {
		model  string
		stream bool
	}{
		"before the first byte": {script("fault", "hang"), true},
		"not streamed":          {script("fault", "hang"), false},
		"in the stream":         {script("text", "word ", "repeat", "2000", "chunk_delay", "20ms"), true},
		"in a silence":          {script("text", "one two three", "fault", "stall", "after", "2"), true},
	} {
		key := g.user(name, up, test.model)
		before := up.Stats()
		ctx, leave := context.WithCancel(t.Context())
		if strings.HasPrefix(name, "in") {
			resp, err := open(ctx, g.base, key, prompt("keychain-high", true))
			if err != nil {
				t.Fatal(err)
			}
			firstEvent(t, resp)
			leave()
			_ = resp.Body.Close()
		} else {
			go func() {
				wait, cancel := context.WithTimeout(t.Context(), waitLimit)
				defer cancel()
				_ = up.awaitRequests(wait, before.Requests+1)
				leave()
			}()
			if a := ask(ctx, g.base, key, prompt("keychain-high", test.stream)); a.err == nil {
				t.Errorf("%s: answered %d", name, a.status)
			}
		}
		wait, cancel := context.WithTimeout(t.Context(), waitLimit)
		err := up.awaitCancelled(wait, before.Cancelled+1)
		cancel()
		if err != nil {
			t.Errorf("%s: the upstream request goes on: %+v", name, up.Stats())
		}
		eventually(t, waitLimit, name+" is in the usage log", func() error {
			for _, u := range g.usage() {
				if u.user == name {
					if u.code != "client_closed_request" {
						t.Errorf("%s: usage %+v", name, u)
					}
					return nil
				}
			}
			return fmt.Errorf("it is not")
		})
	}
}
