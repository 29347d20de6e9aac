package cascade

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

const priced = `{"provider":"alpha","id":"dear","tiers":["low"],"price":{"input":3,"output":1},` + allAbilities + `},` +
	`{"provider":"beta","id":"cheap","tiers":["low"],"price":{"input":1,"output":4},` + allAbilities + `},` +
	`{"provider":"gamma","id":"unknown","tiers":["low"],` + allAbilities + `}`

var abc = []string{"alpha", "beta", "gamma"}

func ordered(order Order) (o [catalog.High + 1]Order) {
	o[catalog.Low] = order
	return o
}

func TestRoutingByPrice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup setup
		want  string
	}{
		{"price", setup{options: Options{Orders: ordered(OrderPrice)}}, "beta/cheap alpha/dear gamma/unknown"},
		{"catalog", setup{}, "alpha/dear beta/cheap gamma/unknown"},
		{
			"preferred",
			setup{options: Options{Orders: ordered(OrderPrice)}, prefer: keychain.Preferences{PreferredProviders: []string{"gamma"}}},
			"gamma/unknown beta/cheap alpha/dear",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.setup.keys, c.setup.models = abc, priced
			got, _, err := newRig(t, c.setup).planFor("keychain-low")
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%v, %v; want %s", got, err, c.want)
			}
		})
	}
}

// TestRoutingByWeights checks the distribution of many conversations, and that each conversation keeps its candidate.
func TestRoutingByWeights(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: abc, models: priced, options: Options{
		Orders: ordered(OrderWeights), Weights: map[string]float64{"alpha": 3, "gamma/unknown": 0},
	}})
	const conversations = 2000
	firsts := make(map[string]int)
	for i := range conversations {
		more := fmt.Sprintf(`"prompt_cache_key":"conversation %d"`, i)
		got, _, err := r.planFor("keychain-low", more)
		if err != nil {
			t.Fatal(err)
		}
		if second, _, _ := r.planFor("keychain-low", more); got[0] != second[0] {
			t.Fatalf("conversation %d goes to %s and to %s", i, got[0], second[0])
		}
		firsts[got[0]]++
	}
	if n := firsts["alpha/dear"]; n < conversations*70/100 || n > conversations*80/100 || firsts["gamma/unknown"] > 0 {
		t.Error(firsts)
	}
}

// TestRoutingByLatency checks that the fastest candidate is tried first, that conversations keep their candidate, and
// that a candidate without a recent measurement is measured again.
func TestRoutingByLatency(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: abc, models: priced, options: Options{Orders: ordered(OrderLatency)}})
	takes := func(took time.Duration) step {
		return func(w http.ResponseWriter, request *http.Request) {
			r.clock.advance(took)
			reply(200, completion("hi"))(w, request)
		}
	}
	r.alpha.setDefault(takes(3 * time.Second))
	r.beta.setDefault(takes(time.Second))
	r.gamma.setDefault(takes(2 * time.Second))
	ask := func(conversation string) string {
		t.Helper()
		got := r.ask("keychain-low", `"prompt_cache_key":"`+conversation+`"`)
		if got.err != nil {
			t.Fatal(got.err)
		}
		return got.Candidate.Provider.Code
	}
	for i, want := range []string{"alpha", "beta", "gamma", "beta", "beta"} { // each is measured once
		if got := ask(fmt.Sprint("first ", i)); got != want {
			t.Errorf("request %d went to %s, want %s", i, got, want)
		}
	}
	if got := ask("first 0"); got != "alpha" {
		t.Error("a conversation moved to", got)
	}
	r.clock.advance(latencyAge)
	if got := ask("later"); got != "alpha" {
		t.Error("a candidate without a recent measurement is not measured:", got)
	}
}

// TestAffinityHeader checks that the affinity header for a provider is the same within a conversation, different in the
// next, and does not reveal the client's own key.
func TestAffinityHeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, models: priced, members: map[string]string{"alpha": `"affinity_header":"x-conversation"`}})
	r.alpha.setDefault(reply(200, completion("hi")))
	for _, conversation := range []string{"one", "one", "two"} {
		if got := r.ask("keychain-low", `"prompt_cache_key":"`+conversation+`"`); got.err != nil {
			t.Fatal(got.err)
		}
	}
	got := make([]string, 0, 3)
	for _, call := range r.alpha.requests() {
		got = append(got, call.header.Get("X-Conversation"))
	}
	if len(got) != 3 || len(got[0]) != 32 || got[0] != got[1] || got[0] == got[2] {
		t.Error(got)
	}
}
