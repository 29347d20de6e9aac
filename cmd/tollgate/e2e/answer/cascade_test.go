package answer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// usage returns the number of a user's requests for models in the usage log, and how many of them failed.
func (d *desk) usage(user string) (all, failed int) {
	d.T.Helper()
	for _, u := range d.UsageLog() {
		if u.User == user {
			all++
			if u.Status != http.StatusOK {
				failed++
			}
		}
	}
	return all, failed
}

// written waits until the gateway of the newest configuration writes the answers.
func (d *desk) written() {
	d.T.Helper()
	e2e.Eventually(d.T, e2e.WaitLimit, "the gateway writes", func() error {
		a := d.ask(asked)
		trace, err := d.Admin(http.MethodGet, "/admin/answer/traces/"+gjson.Get(a.Body, "result.id").Str, "", "")
		if err != nil || gjson.Get(trace, "trace.usage.Prompt").Int() == 0 {
			return fmt.Errorf("%d %s %w", a.Status, a.Body, err)
		}
		return nil
	})
}

// TestAnswersCascade checks that after a reload the gateway of the same server writes the answers. Each request has a
// separate name and is charged to the configured user. While a provider is down, another provider writes. If no
// provider can, rules write the answer if this is configured.
func TestAnswersCascade(t *testing.T) {
	t.Parallel()
	first, second := newOracle(t, honest), newOracle(t, honest)
	d := newDesk(t, "", quick)
	catalog := "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url " + first.URL + "/v1\n\t\t\t}\n\t\t\tprovider groq {\n\t\t\t\tbase_url " + second.URL + "/v1\n\t\t\t}\n\t\t}\n"
	config := e2e.Swap(t, e2e.Swap(t, d.config, "sqlite data/tollgate.db\n", "sqlite data/tollgate.db\n"+catalog), quick, quick+"\t\tmodel cascade {\n\t\t\tuser desk\n\t\t}\n") +
		"\nhttp://127.0.0.1:" + e2e.FreePort(t) + " {\n\ttollgate gateway\n}\n"
	enveloped(t, d.ask(asked), 200, "Answered") // answered by the rules
	d.reload(config)
	e2e.Eventually(t, e2e.WaitLimit, "the gateway is used, which has no provider key for desk", func() error {
		if a := d.ask(asked); outcome(a) != "ServiceUnavailable" {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	config = strings.ReplaceAll(config, "/v1\n\t\t\t}", "/v1\n\t\t\t\tapi_key sk-not-a-secret\n\t\t\t}")
	d.reload(config)
	d.written()
	for _, down := range []*oracle{first, second} {
		other := first
		if down == first {
			other = second
		}
		down.say(func(string, string) string { return broken })
		other.say(honest)
		enveloped(t, d.ask(asked), 200, "Answered")
	}
	first.say(func(string, string) string { return broken })
	a := d.ask(asked)
	enveloped(t, a, 503, "ServiceUnavailable")
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("%v", a.Header)
	}
	d.reload(e2e.Swap(t, config, "\t\t\tuser desk\n", "\t\t\tuser desk\n\t\t\textract_when_down\n"))
	question := func() *e2e.Answer { return d.ask(asked) }
	d.awaitReload("rules answer while both providers are down", question, func(a *e2e.Answer) bool {
		return a.Status == http.StatusOK && outcome(a) == "Answered"
	})
	all, failed := d.usage("desk")
	d.Stop() // writes the remaining usage
	if allNow, failedNow := d.usage("desk"); allNow < all || failedNow < failed || allNow-failedNow < 6 || failedNow < 3 {
		t.Errorf("the log has %d requests, %d failed; then %d and %d", all, failed, allNow, failedNow)
	}
}

// TestAnswersCascadeUnderWay checks that a question that waits for a model during a reload is answered by the gateway
// that received its request, and is charged there.
func TestAnswersCascadeUnderWay(t *testing.T) {
	t.Parallel()
	old, young := newOracle(t, honest), newOracle(t, honest)
	d := newDesk(t, "", quick)
	provider := func(o *oracle) string {
		return "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url " + o.URL + "/v1\n\t\t\t\tapi_key sk-not-a-secret\n\t\t\t}\n\t\t}\n"
	}
	before := e2e.Swap(t, e2e.Swap(t, d.config, "sqlite data/tollgate.db\n", "sqlite data/tollgate.db\n"+provider(old)), quick, quick+"\t\tmodel cascade {\n\t\t\tuser answer\n\t\t}\n") +
		"\nhttp://127.0.0.1:" + e2e.FreePort(t) + " {\n\ttollgate gateway\n}\n"
	d.reload(before)
	d.written()
	old.say(but("draft", hang, honest))
	asking := make(chan *e2e.Answer, 1)
	go func() { asking <- d.ask(asked) }()
	old.await(t, old.hanging, "draft")
	d.reload(e2e.Swap(t, e2e.Swap(t, before, provider(old), provider(young)), "rate 100000", "rate 90000"))
	young.say(func(step, prompt string) string {
		return strings.Replace(honest(step, prompt), "had revenue", "had a revenue", 1)
	})
	quota := func() *e2e.Answer { return d.do(http.MethodGet, "/v1/quota", "") }
	d.awaitReload("the new configuration has its rate", quota, func(a *e2e.Answer) bool {
		return a.Header.Get("X-RateLimit-Limit") == "90000"
	})
	if a := d.ask(asked); !strings.Contains(a.Body, "had a revenue") {
		t.Errorf("after the reload: %d %s", a.Status, a.Body)
	}
	old.say(honest)
	old.release()
	a := <-asking
	enveloped(t, a, 200, "Answered")
	trace, err := d.Admin(http.MethodGet, "/admin/answer/traces/"+gjson.Get(a.Body, "result.id").Str, "", "")
	if err != nil || gjson.Get(trace, "trace.usage.Prompt").Int() != 200 {
		t.Errorf("%s %v", trace, err)
	}
	d.Stop()
	if all, failed := d.usage("answer"); all != 6 || failed != 0 {
		t.Errorf("the log has %d requests, %d failed", all, failed)
	}
}
