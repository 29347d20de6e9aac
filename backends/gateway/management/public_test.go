package management

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// TestRegistryPrices checks that models are listed with all components of their prices.
func TestRegistryPrices(t *testing.T) {
	t.Parallel()
	answer, err := call(t, newRouter(t), "GET", "/models", "")
	if err != nil {
		t.Fatal(err)
	}
	var factors, calls, writes int
	for _, m := range answer.Get("models").Array() {
		known, ok := catalog.Embedded().Model(m.Get("provider").String(), m.Get("model").String())
		if !ok {
			t.Fatalf("%s is not in the catalog", m.Get("id"))
		}
		for member, usd := range map[string]float64{"cache_write": known.Price.CacheWrite, "cache_write_1h": known.Price.CacheWriteHour} {
			got := m.Get("price." + member + "_usd_per_million_tokens")
			if got.Float() != usd || got.Exists() != (usd != 0) {
				t.Errorf("%s: %s is %s, want %g", known.ID, member, got, usd)
			}
			writes += int(min(usd, 1))
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
	if factors == 0 || calls == 0 || writes == 0 {
		t.Errorf("%d factors, %d prices of calls and %d of cache writes are in the catalog", factors, calls, writes)
	}
}
