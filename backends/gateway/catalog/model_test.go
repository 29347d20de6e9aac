package catalog

import (
	"math"
	"testing"
)

func TestCost(t *testing.T) {
	t.Parallel()
	plain := Price{Known: true, Rates: Rates{Input: 3, CachedInput: 0.3, CacheWrite: 3.75, Output: 15}}
	hourly := Price{Known: true, Rates: Rates{Input: 3, CachedInput: 0.3, CacheWrite: 3.75, CacheWriteHour: 6, Output: 15}}
	tiny := Price{Known: true, Rates: Rates{Input: 0.435, CachedInput: 0.003625, Output: 0.87}}
	tiered := Price{
		Known: true, Rates: Rates{Input: 0.1, CachedInput: 0.01, CacheWrite: 0.125, Output: 0.5},
		LongAbove: 100_000, Long: Rates{Input: 0.5, CachedInput: 0.05, CacheWrite: 0.625, Output: 2.5},
	}
	for _, tt := range []struct {
		name                           string
		price                          Price
		in, cached, written, hour, out int64
		want                           int64
		unknown                        bool
	}{
		{name: "unknown price", in: 1000, out: 1000, unknown: true},
		{name: "free model", price: Price{Known: true}, in: 1 << 40, out: 1 << 40},
		{name: "nothing used", price: plain},
		{name: "a million of each", price: plain, in: 1e6, cached: 1e6, written: 1e6, out: 1e6, want: 22_050_000},
		{name: "a chat", price: plain, in: 1234, out: 567, want: 12_207},
		{name: "rounds half up", price: plain, cached: 5, want: 2},               // 1.5
		{name: "rounds down", price: plain, cached: 4, want: 1},                  // 1.2
		{name: "below half", price: tiny, cached: 137, want: 0},                  // 0.496625
		{name: "above half", price: tiny, cached: 138, want: 1},                  // 0.50025
		{name: "sums before it rounds", price: tiny, in: 1, cached: 20, want: 1}, // 0.435 + 0.0725
		{name: "no write rate", price: tiny, written: 1e6, want: 435_000},
		{name: "no cache rate", price: Price{Known: true, Rates: Rates{Input: 2, Output: 4}}, cached: 10, want: 20},
		{name: "no rate of an hour", price: plain, written: 1e6, hour: 1e6, want: 7_500_000},
		{name: "kept for an hour", price: hourly, written: 1e6, hour: 1e6, want: 9_750_000},
		{name: "an hour counts for the limit", price: tiered, in: 60_000, cached: 30_000, hour: 10_001, out: 1000, want: 40_251},
		{name: "at the limit", price: tiered, in: 60_000, cached: 30_000, written: 10_000, out: 1000, want: 8050},
		{name: "above the limit", price: tiered, in: 60_000, cached: 30_000, written: 10_001, out: 1000, want: 40_251},
		{name: "output does not count", price: tiered, in: 1, out: 1e6, want: 500_000},
		{name: "negative counts", price: plain, in: -5, cached: -5, written: -5, out: 1, want: 15},
		{name: "saturates", price: plain, in: math.MaxInt64, out: math.MaxInt64, want: math.MaxInt64},
		{name: "large and exact", price: Price{Known: true, Rates: Rates{Input: 0.000001, Output: 1}}, in: math.MaxInt64, want: 9_223_372_036_855},
		{name: "not a number", price: Price{Known: true, Rates: Rates{Input: math.NaN(), Output: 1}}, in: 9, out: 3, want: 3},
		{name: "infinite", price: Price{Known: true, Rates: Rates{Input: math.Inf(1), Output: 1}}, in: 1, want: 100_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &Model{Price: tt.price}
			got, known := m.Cost(Tokens{Input: tt.in, Cached: tt.cached, Written: tt.written, WrittenHour: tt.hour, Output: tt.out})
			if got != tt.want || known == tt.unknown {
				t.Errorf("cost %d, known %v; want %d", got, known, tt.want)
			}
		})
	}
}

// TestCostServed checks that factors multiply the token rates, including those for long prompts, but not the prices of
// calls. A tier without a factor costs the list price.
func TestCostServed(t *testing.T) {
	t.Parallel()
	price := Price{
		Known: true, Rates: Rates{Input: 0.1, CachedInput: 0.01, Output: 0.5}, LongAbove: 100_000, Long: Rates{Input: 0.5, Output: 2.5},
		Factors: map[string]float64{"flex": 0.5, "fast": 2, "us": 1.1, "free": 0}, Calls: map[string]float64{"web_search": 0.01, "file_search": 0.0025},
	}
	for name, c := range map[string]struct {
		tokens Tokens
		want   int64
	}{
		"ordinary":       {Tokens{Input: 1000, Cached: 1000, Output: 1000}, 610},
		"flex":           {Tokens{Input: 1000, Cached: 1000, Output: 1000, Served: []string{"flex"}}, 305},
		"unknown word":   {Tokens{Input: 1000, Output: 1000, Served: []string{"scale"}}, 600},
		"two words":      {Tokens{Input: 1000, Output: 1000, Served: []string{"fast", "us"}}, 1320},
		"above":          {Tokens{Input: 200_000, Output: 1000, Served: []string{"fast"}}, 205_000},
		"free":           {Tokens{Input: 1000, Output: 1000, Served: []string{"free"}}, 0},
		"searches":       {Tokens{Input: 1000, Calls: map[string]int64{"web_search": 3, "file_search": 1, "web_fetch": 9}}, 100 + 30_000 + 2500},
		"searches, flex": {Tokens{Input: 1000, Served: []string{"flex"}, Calls: map[string]int64{"web_search": 1}}, 50 + 10_000},
		"negative calls": {Tokens{Input: 1000, Calls: map[string]int64{"web_search": -3}}, 100},
		"saturates":      {Tokens{Calls: map[string]int64{"web_search": math.MaxInt64}}, math.MaxInt64},
	} {
		m := &Model{Price: price}
		if got, known := m.Cost(c.tokens); got != c.want || !known {
			t.Errorf("%s: cost %d, known %v; want %d", name, got, known, c.want)
		}
	}
	if got, known := new(Model).Cost(Tokens{Calls: map[string]int64{"web_search": 1}}); got != 0 || known {
		t.Errorf("without a price: %d, %v", got, known)
	}
}

func TestEntryIDOfOwnModel(t *testing.T) {
	t.Parallel()
	if got := (&Model{Provider: "p", ID: "a/b"}).EntryID(); got != "p/a/b" {
		t.Errorf("entry id %q", got)
	}
}

func BenchmarkCost(b *testing.B) {
	m := &Model{Price: Price{Known: true, Rates: Rates{Input: 3, CachedInput: 0.3, CacheWrite: 3.75, Output: 15}}}
	b.ReportAllocs()
	for b.Loop() {
		m.Cost(Tokens{Input: 1234, Cached: 567, Written: 89, WrittenHour: 10, Output: 1011})
	}
}
