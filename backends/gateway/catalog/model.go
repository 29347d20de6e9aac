package catalog

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// Modalities a model can take as input.
const (
	ModalityText  = "text"
	ModalityImage = "image"
	ModalityFile  = "file"
	ModalityAudio = "audio"
)

// Model is one model of one provider. The JSON names are those of the data
// file. Models of a Catalog are shared: they must not be changed.
type Model struct {
	// Provider is the code of the provider, ID the name that goes into the
	// request. See EntryID.
	Provider string `json:"provider"`
	ID       string `json:"id"`
	// Name is for people. Default: ID.
	Name string `json:"name"`
	// Family groups models that understand each other's reasoning state.
	// Default: ID, so that state is never shared by accident.
	Family string `json:"family"`
	// Tiers it serves by default. Empty: only when asked for by id.
	Tiers []Tier `json:"tiers"`
	// ContextWindow and MaxOutput are in tokens. Zero: not published, so
	// nothing may be refused because of it.
	ContextWindow int `json:"context_window"`
	MaxOutput     int `json:"max_output"`
	// Modalities are the inputs it takes, always with "text".
	Modalities []string `json:"modalities"`
	// Tools: function calling. JSONSchema: response_format json_schema.
	Tools      bool `json:"tools"`
	JSONSchema bool `json:"json_schema"`
	// Reasoning: it thinks before it answers, always or on request.
	Reasoning bool `json:"reasoning"`
	// ReasoningEfforts it knows. Absent (nil): those of the provider. Present
	// and empty: it takes none.
	ReasoningEfforts []string `json:"reasoning_efforts"`
	// Prefill: a last assistant message is continued.
	Prefill bool `json:"prefill"`
	// Embeddings: it makes vectors of texts and nothing else, so it is in no tier.
	// Models of one family make the same vectors.
	Embeddings bool `json:"embeddings"`
	// Endpoints are those of Provider.Endpoints that the model is for, and nothing else, so it is in
	// no tier.
	Endpoints []string `json:"endpoints"`
	// Retired models are known by id but offered nowhere.
	Retired bool `json:"retired"`
	// Assumed: some of the above is a guess on the permissive side, because a
	// candidate that errs costs one attempt and one that is skipped costs the answer.
	Assumed bool `json:"assumed"`
	// Price is the list price.
	Price Price `json:"-"`
	// Created is the day of release. Zero: unknown.
	Created time.Time `json:"-"`
	// Deprecated is the day from which on the provider advises against the model, Retires the one
	// from which on it answers no more. Zero: none is announced.
	Deprecated, Retires time.Time `json:"-"`
	// Note is for readers of the file; nothing depends on it.
	Note string `json:"note"`

	entry string
}

// EntryID is Provider + "/" + ID, unique in the catalog. IDs may contain
// slashes, provider codes never do.
func (m *Model) EntryID() string {
	if m.entry != "" {
		return m.entry
	}
	return m.Provider + "/" + m.ID
}

// DeprecatedBy reports whether the model is deprecated at a time: a model that will be retired is.
func (m *Model) DeprecatedBy(now time.Time) bool {
	return !m.Deprecated.IsZero() && !now.Before(m.Deprecated) || m.Deprecated.IsZero() && !m.Retires.IsZero()
}

// Serves reports whether the model is for an endpoint.
func (m *Model) Serves(endpoint string) bool { return slices.Contains(m.Endpoints, endpoint) }

// Accepts reports whether the model takes this input; see the Modality constants.
func (m *Model) Accepts(modality string) bool { return slices.Contains(m.Modalities, modality) }

// Rates are USD per 1,000,000 tokens, to at most six decimals.
type Rates struct {
	// Input is for tokens that were neither read from nor written to a cache.
	Input float64
	// CachedInput and CacheWrite are for those that were. Zero: the provider
	// has no such rate and bills them as Input.
	CachedInput float64
	CacheWrite  float64
	// CacheWriteHour is for tokens written to a cache that keeps them for an hour.
	// Zero: as CacheWrite.
	CacheWriteHour float64
	// Output includes reasoning.
	Output float64
}

// Price is the list price of a model.
type Price struct {
	Rates
	// Known is false where no price is given; then all rates are zero. A
	// known price of zero is a free model.
	Known bool
	// LongAbove, when not zero, is the number of prompt tokens (cached and
	// written ones included) above which Long replaces the rates of the whole
	// request.
	LongAbove int64
	Long      Rates
	// Factors change the rates of requests that were served in another way than the
	// ordinary one, by the words of the answer for it ("flex", "priority", "fast"). Those
	// without a factor cost the list price; several factors multiply.
	Factors map[string]float64
	// Calls are USD for one call of a tool that the provider runs, by the tool's name
	// ("web_search"). Those without one cost nothing but their tokens.
	Calls map[string]float64
}

// Tokens are those of a request, each in one of the counts, and what else is billed.
// Negative ones are taken as zero.
type Tokens struct {
	// Input was neither read from nor written to the cache.
	Input, Cached, Written, WrittenHour, Output int64
	// Served are the words for how it was served, Calls those of the provider's tools. See
	// Price.
	Served []string
	Calls  map[string]int64
}

// Cost is what a request cost in millionths of a US dollar, rounded half up,
// and whether the price is known. The sum is exact: rates are turned into whole
// millionths of a micro-dollar first.
func (m *Model) Cost(t Tokens) (microUSD int64, known bool) {
	if !m.Price.Known {
		return 0, false
	}
	in, cached, written, hour, out := atLeastZero(t.Input), atLeastZero(t.Cached), atLeastZero(t.Written), atLeastZero(t.WrittenHour), atLeastZero(t.Output)
	r := m.Price.Rates
	if m.Price.LongAbove > 0 && promptAbove(uint64(m.Price.LongAbove), in, cached, written, hour) {
		r = m.Price.Long
	}
	if r.CachedInput == 0 {
		r.CachedInput = r.Input
	}
	if r.CacheWrite == 0 {
		r.CacheWrite = r.Input
	}
	if r.CacheWriteHour == 0 {
		r.CacheWriteHour = r.CacheWrite
	}
	factor := m.Price.factor(t.Served)
	var total uint128
	total.addProduct(in, perToken(r.Input*factor))
	total.addProduct(cached, perToken(r.CachedInput*factor))
	total.addProduct(written, perToken(r.CacheWrite*factor))
	total.addProduct(hour, perToken(r.CacheWriteHour*factor))
	total.addProduct(out, perToken(r.Output*factor))
	for tool, calls := range t.Calls {
		total.addProduct(atLeastZero(calls), perCall(m.Price.Calls[tool]))
	}
	return total.microUSD(), true
}

// factor is what the rates are multiplied with.
func (p *Price) factor(served []string) float64 {
	factor := 1.0
	for _, word := range served {
		if f, ok := p.Factors[word]; ok {
			factor *= f
		}
	}
	return factor
}

// rateScale makes a rate whole: a rate in USD per million tokens is the same
// number of micro-dollars per token, and has at most six decimals.
const rateScale = 1_000_000

// maxRate bounds a rate so that no product can leave 128 bits, maxFactor what the price of
// a call and a factor may be.
const (
	maxRate   = 100_000
	maxFactor = 1000
)

// perToken is a rate in millionths of a micro-dollar per token. A rate outside
// of the range that the catalog accepts counts as the nearest one inside.
func perToken(rate float64) uint64 {
	if !(rate > 0) { // NaN too
		return 0
	}
	return uint64(math.Round(min(rate, maxRate) * rateScale))
}

// perCall is the price of a call in the same unit.
func perCall(price float64) uint64 {
	if !(price > 0) {
		return 0
	}
	return uint64(math.Round(min(price, maxFactor) * 1e6 * rateScale))
}

func atLeastZero(n int64) uint64 {
	if n < 0 {
		return 0
	}
	return uint64(n)
}

func promptAbove(limit uint64, counts ...uint64) bool {
	for _, n := range counts {
		if n > limit {
			return true
		}
		limit -= n // what is left of it
	}
	return false
}

// uint128 holds a sum of products of tokens (below 2^63) and rates (below 2^37), or of
// calls and their prices (below 2^50).
type uint128 struct{ hi, lo uint64 }

func (u *uint128) addProduct(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	u.lo, carry = bits.Add64(u.lo, lo, 0)
	u.hi, _ = bits.Add64(u.hi, hi, carry)
}

// microUSD divides by rateScale, rounding half up, and saturates.
func (u uint128) microUSD() int64 {
	var carry uint64
	u.lo, carry = bits.Add64(u.lo, rateScale/2, 0)
	u.hi += carry
	if u.hi >= rateScale {
		return math.MaxInt64
	}
	q, _ := bits.Div64(u.hi, u.lo, rateScale)
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q)
}
