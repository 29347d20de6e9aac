package cascade

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestRecordOfLostUsage checks that the log has the usage of failed attempts, and that it is charged at the prices of
// their models.
func TestRecordOfLostUsage(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Parse([]byte(`{"updated":"2026-01-01","providers":[{"code":"p","name":"P","base_url":"http://p.example/v1"}],"models":[
		{"provider":"p","id":"a","tiers":["low"],"price":{"input":1,"output":10}},
		{"provider":"p","id":"b","tiers":["low"],"price":{"input":2,"output":20}},
		{"provider":"p","id":"c","tiers":["low"],"price":{"input":1,"cached_input":0.1,"cache_write":1.25,"cache_write_1h":2,"output":10}},
		{"provider":"p","id":"free","tiers":["low"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	candidate := func(id string) *keychain.Candidate {
		p, _ := cat.Provider("p")
		m, ok := cat.Model("p", id)
		if !ok {
			t.Fatal(id)
		}
		return &keychain.Candidate{Entry: "p/" + id, Provider: p, Model: m}
	}
	used := wire.Usage{Prompt: 1000, Completion: 100, CacheRead: 10, Reasoning: 5, Known: true}
	answerUsage := wire.Usage{Prompt: 1000, Completion: 100, CacheRead: 100, CacheWrite: 800, CacheWriteHour: 600, Known: true}
	lost := func(ids ...string) (all []Lost) {
		for _, id := range ids {
			all = append(all, Lost{Candidate: candidate(id), Usage: used})
		}
		return all
	}
	ask := &Request{Chat: &native.Request{Model: "keychain-low"}}
	for name, c := range map[string]struct {
		result                Result
		input, output, cached int64
		cost                  int64
		known                 bool
		provider              string
	}{
		"answered":                {Result{Candidate: candidate("a"), Usage: used}, 1000, 100, 10, 2000, true, "p/a"},
		"kept for an hour":        {Result{Candidate: candidate("c"), Usage: answerUsage}, 1000, 100, 100, 100 + 10 + 250 + 1200 + 1000, true, "p/c"},
		"answered after one":      {Result{Candidate: candidate("a"), Usage: used, Lost: lost("b")}, 2000, 200, 20, 6000, true, "p/a"},
		"answered after unpriced": {Result{Candidate: candidate("a"), Usage: used, Lost: lost("free")}, 2000, 200, 20, 2000, false, "p/a"},
		"failed":                  {Result{Lost: lost("a", "b")}, 2000, 200, 20, 6000, true, "p/b"},
		"failed, and nobody knew": {Result{}, 0, 0, 0, 0, false, ""},
	} {
		r := ask.Record(&c.result, time.Now())
		if served := strings.Trim(r.Provider+"/"+r.Model, "/"); served != c.provider {
			t.Errorf("%s: of %q", name, served)
		}
		if r.InputTokens != c.input || r.OutputTokens != c.output || r.CachedTokens != c.cached || r.CostMicroUSD != c.cost || r.CostKnown != c.known {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestRecordOfServed checks that the log and the cost contain the service tier of an answer and the tools that ran.
func TestRecordOfServed(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, members: map[string]string{"alpha": `"wires":["responses"]`}, models: `{"provider":"alpha","id":"a-low","tiers":["low"],` + allAbilities +
		`,"price":{"input":1,"output":10,"factors":{"flex":0.5,"priority":2},"calls":{"web_search":0.01}}}`})
	const search = `{"type":"web_search_call","id":"ws","status":"completed","action":{"type":"%s"}}`
	r.alpha.addSteps(reply(200, `{"id":"resp_1","object":"response","status":"completed","model":"a-low","service_tier":"flex","output":[`+
		strings.ReplaceAll(search, "%s", "search")+","+strings.ReplaceAll(search, "%s", "open_page")+
		`,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":1000,"output_tokens":100,"total_tokens":1100}}`))
	ask := r.parseRequest(hub.Responses, question(hub.Responses, "keychain-low", false, `"service_tier":"priority"`))
	e := r.answer(ask)
	record := ask.Record(e.Result, time.Now())
	if e.err != nil || !slices.Equal(record.ServedAs, []string{"flex"}) || record.ServerTools["web_search"] != 1 || len(record.ServerTools) != 1 || record.CostMicroUSD != 1000+10_000 || !record.CostKnown {
		t.Errorf("%v: %+v", e.rawErr, record)
	}
	used := wire.Usage{Prompt: 1000, Completion: 100, Known: true, Served: &wire.Served{Calls: map[string]int64{"web_search": 2}}}
	record = ask.Record(&Result{Candidate: e.Candidate, Usage: used, Lost: []Lost{{Candidate: e.Candidate, Usage: used}}}, time.Now())
	if len(record.ServedAs) != 0 || record.ServerTools["web_search"] != 4 || used.Served.Calls["web_search"] != 2 || record.CostMicroUSD != 2*(2000+20_000) {
		t.Errorf("with a lost attempt: %+v", record)
	}
}
