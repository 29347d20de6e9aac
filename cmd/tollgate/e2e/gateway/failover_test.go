package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestFailover checks that the next candidate answers after any failure of a candidate before its first content, and
// that the client learns which candidate answered and why the first did not.
func TestFailover(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tfirst_content 1500ms\n\t\t\tanswer 5s\n\t\t}\n\t}\n")
	for name, test := range map[string]struct {
		model  string // the model of the first candidate
		status int    // the status in failed_attempts; 0: no answer
		code   string
		whole  bool   // also applies to answers that are not streamed
		lost   int64  // output tokens of the first candidate
		source string // the source of the usage; empty: "exact"
	}{
		"500":             {model: e2e.Script("status", "500"), status: 500, code: "*", whole: true},
		"503":             {model: e2e.Script("status", "503", "retry_after", "2"), status: 503, code: "*", whole: true},
		"429":             {model: e2e.Script("status", "429", "retry_after", "30"), status: 429, code: "rate_limit_exceeded", whole: true},
		"402":             {model: e2e.Script("status", "402"), status: 402, code: "*", whole: true},
		"401":             {model: e2e.Script("status", "401"), status: 401, code: "*", whole: true},
		"404":             {model: e2e.Script("status", "404"), status: 404, code: "*", whole: true},
		"redirect":        {model: e2e.Script("status", "302", "header", "Location:http://127.0.0.1:1/"), status: 302, code: "redirect", whole: true},
		"hang":            {model: e2e.Script("fault", "hang"), code: "timeout", whole: true},
		"stall":           {model: e2e.Script("fault", "stall"), status: 200, code: "timeout"},
		"drop":            {model: e2e.Script("fault", "drop"), code: "connection_error", whole: true},
		"drop after role": {model: e2e.Script("fault", "drop_mid", "after", "0"), status: 200, code: "connection_error"},
		"html":            {model: e2e.Script("fault", "html"), status: 200, code: "html_answer", whole: true},
		"html 502":        {model: e2e.Script("fault", "html", "status", "502"), status: 502, code: "*", whole: true},
		"empty choices":   {model: e2e.Script("fault", "empty_choices"), status: 200, code: "*", whole: true},
		"error object":    {model: e2e.Script("fault", "error_object"), status: 200, code: "*", whole: true},
		"error of limit":  {model: e2e.Script("fault", "error_object", "status", "429"), status: 200, code: "rate_limit_exceeded", whole: true},
		"broken json":     {model: e2e.Script("body", `{"id":"x","choices":[{`, "header", "Content-Type:application/json"), status: 200, code: "*", whole: true},
		"broken chunk":    {model: e2e.Script("body", "data: {\"choices\":[{\n\n", "header", "Content-Type:text/event-stream"), status: 200, code: "broken_answer"},
		"empty body":      {model: e2e.Script("body", "", "header", "Content-Type:text/event-stream"), status: 200, code: "*"},
		"usage alone":     {model: e2e.Script("body", "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\n", "header", "Content-Type:text/event-stream"), status: 200, code: "*", lost: 1, source: "estimated"},
		"no finish":       {model: e2e.Script("fault", "no_finish", "fault", "no_done", "text", ""), status: 200, code: "*", source: "estimated"},
	} {
		for _, stream := range []bool{true, false} {
			if !stream && !test.whole {
				continue
			}
			t.Run(fmt.Sprintf("%s/stream=%t", name, stream), func(t *testing.T) {
				t.Parallel()
				user := fmt.Sprintf("%s %t", name, stream)
				key := g.User(user, up, test.model, e2e.Script("text", "the backup", "header", "X-Upstream:leaks"))
				a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", stream))
				if got := a.Text(t); got != "the backup" {
					t.Errorf("text %q", got)
				}
				tried := 2
				if name == "drop" && a.Header.Get("X-Gateway-Attempts") == "3" {
					tried = 3 // a reused connection that breaks is tried once more
				}
				for header, want := range map[string]string{
					"X-Gateway-Provider": "custom", "X-Gateway-Model": e2e.Script("text", "the backup", "header", "X-Upstream:leaks"),
					"X-Gateway-Tier": "high", "X-Gateway-Attempts": fmt.Sprint(tried), "X-Upstream": "",
				} {
					if got := a.Header.Get(header); got != want {
						t.Errorf("%s: %q, want %q", header, got, want)
					}
				}
				record := g.AwaitUsage(a.Header.Get("X-Request-Id"))
				if record.User != user || record.Attempts != int64(tried) || record.Status != 200 || record.Code != "" || record.Model != "own/2" ||
					record.Tier != "high" || record.Stream != stream || record.Output != 3+test.lost || record.Source != cmp.Or(test.source, "exact") {
					t.Errorf("usage %+v", record)
				}
				status := strings.Contains(record.Failed, fmt.Sprintf(`"status":%d,`, test.status)) ||
					(test.status == 200 && strings.Contains(record.Failed, `"status":0,`)) // the answer was unusable
				if !status ||
					(test.code != "*" && !strings.Contains(record.Failed, fmt.Sprintf(`"code":%q`, test.code))) {
					t.Errorf("failed attempts %s, want status %d code %s", record.Failed, test.status, test.code)
				}
			})
		}
	}
}

// TestAllFail checks that the error of a cascade in which all candidates fail lists the attempts.
func TestAllFail(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tfirst_content 3s\n\t\t}\n\t}\n")
	for name, test := range map[string]struct {
		models []string
		status int
		code   string
		retry  bool // the client may try again
	}{
		"errors":    {[]string{e2e.Script("status", "500"), e2e.Script("fault", "drop"), e2e.Script("fault", "html")}, 502, "all_providers_failed", true},
		"limits":    {[]string{e2e.Script("status", "429", "retry_after", "7"), e2e.Script("status", "429", "retry_after", "20")}, 502, "all_providers_failed", true},
		"no credit": {[]string{e2e.Script("status", "402"), e2e.Script("status", "401")}, 502, "all_providers_failed", false},
		"timeout":   {[]string{e2e.Script("status", "500"), e2e.Script("fault", "hang")}, 504, "upstream_timeout", true},
		"mistake":   {[]string{e2e.Script("status", "400", "message", "no such voice"), e2e.Script("status", "422"), e2e.Script()}, 400, "*", false},
		"too long":  {[]string{e2e.Script("status", "400", "code", "context_length_exceeded")}, 400, "context_length_exceeded", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := g.User(name, up, test.models...)
			a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", true))
			f := a.Failure(t)
			if a.Status != test.status || f.Error.Code == nil || (test.code != "*" && *f.Error.Code != test.code) {
				t.Fatalf("status %d, want %d: %s", a.Status, test.status, a.Body)
			}
			if (a.Header.Get("X-Should-Retry") == "false") == test.retry {
				t.Errorf("x-should-retry %q", a.Header.Get("X-Should-Retry"))
			}
			// If a reused connection breaks, the request is tried once more.
			tried := len(f.Error.Attempts)
			f.Error.Attempts = slices.CompactFunc(f.Error.Attempts, func(a, b e2e.FailedAttempt) bool {
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
				t.Fatalf("%d failed attempts, want %d: %s", len(f.Error.Attempts), want, a.Body)
			}
			if got := a.Header.Get("X-Gateway-Attempts"); got != fmt.Sprint(tried) {
				t.Errorf("x-gateway-attempts %s", got)
			}
			for i, attempt := range f.Error.Attempts {
				if attempt.Provider != "custom" || attempt.Model != fmt.Sprintf("own/%d", i+1) || attempt.Code == "" || attempt.Latency == nil {
					t.Errorf("attempt %d: %+v", i, attempt)
				}
			}
			if name == "limits" {
				if got := a.Header.Get("Retry-After"); got != "7" && got != "8" {
					t.Errorf("retry-after %q, want the sooner of both", got)
				}
				// During the cooldown of a model, no request is sent to it.
				before := len(up.Requests())
				second := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("own/1", false))
				second.Refused(t, 502, "all_providers_failed")
				if requested := slices.Contains(up.Models()[before:], test.models[0]); requested {
					t.Error("a model was asked while it cools down")
				}
			}
		})
	}
}

// TestBehindCommit checks that, after text has been sent, an error becomes an event of the stream, and no text of
// another model follows.
func TestBehindCommit(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tidle 500ms\n\t\t}\n\t}\n")
	for name, model := range map[string]string{
		"error":       e2e.Script("text", "one two three four", "fault", "error_mid", "after", "2"),
		"drop":        e2e.Script("text", "one two three four", "fault", "drop_mid", "after", "2"),
		"silence":     e2e.Script("text", "one two three four", "fault", "stall", "after", "2"),
		"broken json": e2e.Script("text", "one two three four", "fault", "broken_json", "after", "2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := g.User(name, up, model, e2e.Script("text", "the backup"))
			a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", true))
			if a.Err != nil || a.Status != 200 {
				t.Fatalf("status %d, %v", a.Status, a.Err)
			}
			text, last := e2e.Streamed(t, a.Body)
			if !strings.HasPrefix("one two three four", text) || text == "" {
				t.Errorf("text %q", text)
			}
			if !strings.Contains(last, `"code":"upstream_stream_error"`) || !strings.Contains(last, `"type":"api_error"`) {
				t.Errorf("the stream ends in %q", last)
			}
			if strings.Contains(a.Body, `"finish_reason":"stop"`) || strings.Contains(a.Body, "[DONE]") {
				t.Errorf("the stream looks complete: %s", a.Body)
			}
			record := g.AwaitUsage(a.Header.Get("X-Request-Id"))
			if record.Code != "upstream_stream_error" || record.Attempts != 1 || record.Model != "own/1" || record.Source != "estimated" {
				t.Errorf("usage %+v", record)
			}
		})
	}
}

// TestKeyRotation checks that a rate-limited key is not used until its reset. The other key of the provider is used
// first, then the next provider.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	var mu sync.Mutex
	limited := map[string]bool{"sk-one-000000000000": true}
	counts := make(map[string]int) // provider and key -> requests
	up.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			return false
		}
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		mu.Lock()
		defer mu.Unlock()
		counts[r.URL.Path[:7]+" "+key]++
		if !limited[key] {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error":{"message":"Rate limit reached for key sk-one-000000000000","type":"requests","code":"rate_limit_exceeded"}}`))
		return true
	}
	g := e2e.NewGateway(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.URL+"/openai/v1\n\t\t\t}\n\t\t\tprovider groq {\n\t\t\t\tbase_url "+up.URL+"/groqqq/v1\n\t\t\t}\n\t\t}")
	key := g.User("ada", up)
	known := func(string) bool { return true }
	for _, k := range [][2]string{{"openai", "sk-one-000000000000"}, {"openai", "sk-two-000000000000"}, {"groq", "gsk-three-000000000"}} {
		if _, err := g.AddProviderKey(t.Context(), "ada", k[0], k[1], "", known); err != nil {
			t.Fatal(err)
		}
	}
	attempts := 0
	const conversations = 24 // spread over the keys, so that one meets the first key
	for i := range conversations {
		prompt := strings.Replace(e2e.Prompt("openai/gpt-5.4-nano", true), `"stream"`, fmt.Sprintf(`"prompt_cache_key":"conversation %d","stream"`, i), 1)
		a := e2e.Ask(t.Context(), g.Base, key, prompt)
		if got := a.Text(t); !strings.Contains(got, "Hi") {
			t.Errorf("text %q", got)
		}
		if a.Header.Get("X-Gateway-Provider") != "openai" {
			t.Errorf("provider %q", a.Header.Get("X-Gateway-Provider"))
		}
		if a.Header.Get("X-Gateway-Attempts") == "2" {
			attempts++
			if record := g.AwaitUsage(a.Header.Get("X-Request-Id")); strings.Contains(record.Failed, "sk-one") {
				t.Errorf("a provider's key is in the usage log: %s", record.Failed)
			}
		}
	}
	mu.Lock()
	if attempts != 1 || counts["/openai sk-one-000000000000"] != 1 || counts["/openai sk-two-000000000000"] != conversations {
		t.Errorf("%d requests took two attempts, asked %v", attempts, counts)
	}
	limited["sk-two-000000000000"] = true
	mu.Unlock()

	for i := range 3 {
		a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-low", false))
		a.Text(t)
		if a.Header.Get("X-Gateway-Provider") != "groq" {
			t.Errorf("request %d: provider %q", i, a.Header.Get("X-Gateway-Provider"))
		}
		if i > 0 && a.Header.Get("X-Gateway-Attempts") != "1" {
			t.Errorf("request %d took %s attempts, the cooldown is not respected", i, a.Header.Get("X-Gateway-Attempts"))
		}
	}
}

// TestDisconnect checks that the upstream request ends when the client leaves, and that the request is still recorded
// in the usage log.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	for name, test := range map[string]struct {
		model  string
		stream bool
	}{
		"before the first byte": {e2e.Script("fault", "hang"), true},
		"not streamed":          {e2e.Script("fault", "hang"), false},
		"in the stream":         {e2e.Script("text", "word ", "repeat", "2000", "chunk_delay", "20ms"), true},
		"in a silence":          {e2e.Script("text", "one two three", "fault", "stall", "after", "2"), true},
	} {
		key := g.User(name, up, test.model)
		before := up.Stats()
		ctx, leave := context.WithCancel(t.Context())
		if strings.HasPrefix(name, "in") {
			resp, err := e2e.Open(ctx, g.Base, key, e2e.Prompt("keychain-high", true))
			if err != nil {
				t.Fatal(err)
			}
			e2e.FirstEvent(t, resp)
			leave()
			_ = resp.Body.Close()
		} else {
			go func() {
				wait, cancel := context.WithTimeout(t.Context(), e2e.WaitLimit)
				defer cancel()
				_ = up.AwaitRequests(wait, before.Requests+1)
				leave()
			}()
			if a := e2e.Ask(ctx, g.Base, key, e2e.Prompt("keychain-high", test.stream)); a.Err == nil {
				t.Errorf("%s: answered %d", name, a.Status)
			}
		}
		wait, cancel := context.WithTimeout(t.Context(), e2e.WaitLimit)
		err := up.AwaitCancelled(wait, before.Cancelled+1)
		cancel()
		if err != nil {
			t.Errorf("%s: the upstream request goes on: %+v", name, up.Stats())
		}
		e2e.Eventually(t, e2e.WaitLimit, name+" is in the usage log", func() error {
			for _, u := range g.UsageLog() {
				if u.User == name {
					if u.Code != "client_closed_request" {
						t.Errorf("%s: usage %+v", name, u)
					}
					return nil
				}
			}
			return fmt.Errorf("it is not")
		})
	}
}
