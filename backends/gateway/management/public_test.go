package management

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// TestRegistryTellsPrices holds that a model is shown with all that its price is made of.
func TestRegistryTellsPrices(t *testing.T) {
	t.Parallel()
	answer, err := call(t, newRouter(t), "GET", "/models", "")
	if err != nil {
		t.Fatal(err)
	}
	var factors, calls int
	for _, m := range answer.Get("models").Array() {
		known, ok := catalog.Embedded().Model(m.Get("provider").String(), m.Get("model").String())
		if !ok {
			t.Fatalf("%s is not in the catalog", m.Get("id"))
		}
		for word, factor := range known.Price.Factors {
			factors++
			if got := m.Get("price.factors." + word).Float(); got != factor {
				t.Errorf("%s: the factor of %s is %g, want %g", known.ID, word, got, factor)
			}
		}
		for tool, usd := range known.Price.Calls {
			calls++
			if got := m.Get("price.usd_per_call." + tool).Float(); got != usd {
				t.Errorf("%s: a call of %s costs %g, want %g", known.ID, tool, got, usd)
			}
		}
	}
	if factors == 0 || calls == 0 {
		t.Errorf("%d factors and %d prices of calls are in the catalog", factors, calls)
	}
}
