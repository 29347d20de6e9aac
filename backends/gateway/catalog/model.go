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

// Model is one model of one provider. The JSON names are those of the data file. Models of a Catalog are shared and
// must not be changed.
type Model struct {
	// Provider is the code of the provider. ID is the name of the model in requests to the provider. See EntryID.
	Provider string `json:"provider"`
	ID       string `json:"id"`
	// Name is the display name. Default: ID.
	Name string `json:"name"`
	// Family groups models that understand each other's reasoning state. Default: ID, so that state is never shared by
	// accident.
	Family string `json:"family"`
	// Tiers are the tiers that the model serves by default. A model without tiers is used only if a request names its
	// id.
	Tiers []Tier `json:"tiers"`
	// ContextWindow and MaxOutput are in tokens. Zero means that the number is not published. Requests must then not be
	// refused for their length.
	ContextWindow int `json:"context_window"`
	MaxOutput     int `json:"max_output"`
	// Modalities are the accepted kinds of input, which always include "text".
	Modalities []string `json:"modalities"`
	// Tools reports support for function calling. JSONSchema reports support for the response_format json_schema.
	Tools      bool `json:"tools"`
	JSONSchema bool `json:"json_schema"`
	// Reasoning reports that the model thinks before it answers, always or on request.
	Reasoning bool `json:"reasoning"`
	// ReasoningEfforts are the efforts that the model accepts. Nil (absent) means those of the provider. An empty list
	// means that the model accepts no effort.
	ReasoningEfforts []string `json:"reasoning_efforts"`
	// Prefill reports that the model continues a last assistant message.
	Prefill bool `json:"prefill"`
	// Embeddings reports that the model only turns texts into vectors, so it is in no tier. Models of one family return
	// the same vectors.
	Embeddings bool `json:"embeddings"`
	// Endpoints are names of Provider.Endpoints. A model with endpoints serves only these, so it is in no tier.
	Endpoints []string `json:"endpoints"`
	// Retired models can be found by id but are not available.
	Retired bool `json:"retired"`
	// Assumed reports that some fields above are guesses. The guesses permit too much rather than too little: trying a
	// candidate in vain costs one attempt, but skipping one may cost the answer.
	Assumed bool `json:"assumed"`
	// Price is the list price or the operator's price; see OwnPrice.
	Price Price `json:"-"`
	// OwnPrice names the operator's price from which Price was computed; it is a key of Prices. It is empty for a list
	// price.
	OwnPrice string `json:"-"`
	// Created is the day of release. Zero means unknown.
	Created time.Time `json:"-"`
	// Deprecated is the day from which the provider advises against the model. Retires is the day from which the model
	// no longer answers. Zero means that the provider has not announced such a day.
	Deprecated, Retires time.Time `json:"-"`
	// Note is for readers of the file; nothing depends on it.
	Note string `json:"note"`

	entry string
}

// EntryID returns Provider + "/" + ID, which is unique in the catalog. IDs may contain slashes, but provider codes may
// not.
func (m *Model) EntryID() string {
	if m.entry != "" {
		return m.entry
	}
	return m.Provider + "/" + m.ID
}

// DeprecatedBy reports whether the model is deprecated at the time now. A model with a retirement date but without a
// deprecation date is always deprecated.
func (m *Model) DeprecatedBy(now time.Time) bool {
	return !m.Deprecated.IsZero() && !now.Before(m.Deprecated) || m.Deprecated.IsZero() && !m.Retires.IsZero()
}

// Serves reports whether the model serves an endpoint of Provider.Endpoints.
func (m *Model) Serves(endpoint string) bool { return slices.Contains(m.Endpoints, endpoint) }

// Accepts reports whether the model takes this kind of input; see the Modality constants.
func (m *Model) Accepts(modality string) bool { return slices.Contains(m.Modalities, modality) }

// Rates are in USD per 1,000,000 tokens, with at most six decimals.
type Rates struct {
	// Input is the rate for tokens that were neither read from nor written to a cache.
	Input float64
	// CachedInput and CacheWrite are the rates for tokens that were read from or written to a cache. Zero means that
	// the provider has no such rate and bills them as Input.
	CachedInput float64
	CacheWrite  float64
	// CacheWriteHour is the rate for tokens written to a cache that keeps them for an hour. Zero means the same rate as
	// CacheWrite.
	CacheWriteHour float64
	// Output is the rate for the answer, including reasoning.
	Output float64
}

// Price is the price of a model.
type Price struct {
	Rates
	// Known is false if the price is unknown; all rates are zero then. A known price of zero means that the model is
	// free.
	Known bool
	// LongAbove, if not zero, is a number of prompt tokens, including cached and written ones. For a request with more
	// prompt tokens Long replaces the rates.
	LongAbove int64
	Long      Rates
	// Factors multiply the rates of requests that were served in a special way. The names are the words that providers
	// use in their answers ("flex", "priority", "fast"). Requests without a factor cost the list price; several factors
	// are multiplied.
	Factors map[string]float64
	// Calls are prices in USD of one call of a provider's tool, by the tool's name ("web_search"). For tools without a
	// price only tokens are billed.
	Calls map[string]float64
}

// Tokens are the billed quantities of a request. Each token is in exactly one of the counts. Negative counts are taken
// as zero.
type Tokens struct {
	// Input counts the tokens that were neither read from nor written to the cache.
	Input, Cached, Written, WrittenHour, Output int64
	// Served are the words in the answer that describe how the request was served, such as "flex" or "priority". See
	// Price.Factors.
	Served []string
	// Calls counts the calls of the provider's tools. See Price.Calls.
	Calls map[string]int64
}

// Cost returns the cost of a request in millionths of a US dollar, rounded half up, and whether the price is known. The
// sum is exact, since rates are first converted to whole millionths of a micro-dollar.
func (m *Model) Cost(t Tokens) (microUSD int64, known bool) {
	if !m.Price.Known {
		return 0, false
	}
	input, cached, written, writtenHour, output := atLeastZero(t.Input), atLeastZero(t.Cached), atLeastZero(t.Written),
		atLeastZero(t.WrittenHour), atLeastZero(t.Output)
	r := m.Price.Rates
	if m.Price.LongAbove > 0 && sumAbove(uint64(m.Price.LongAbove), input, cached, written, writtenHour) {
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
	total.addProduct(input, perToken(r.Input*factor))
	total.addProduct(cached, perToken(r.CachedInput*factor))
	total.addProduct(written, perToken(r.CacheWrite*factor))
	total.addProduct(writtenHour, perToken(r.CacheWriteHour*factor))
	total.addProduct(output, perToken(r.Output*factor))
	for tool, calls := range t.Calls {
		total.addProduct(atLeastZero(calls), perCall(m.Price.Calls[tool]))
	}
	return total.microUSD(), true
}

// factor returns the product of the factors in p.Factors for the words in servedAs, which state how a request was
// served. Words without a factor change nothing.
func (p *Price) factor(servedAs []string) float64 {
	factor := 1.0
	for _, word := range servedAs {
		if f, ok := p.Factors[word]; ok {
			factor *= f
		}
	}
	return factor
}

// rateScale converts a rate to a whole number. A rate in USD per million tokens equals micro-dollars per token, and has
// at most six decimals.
const rateScale = 1_000_000

// maxRate bounds a rate so that no product exceeds 128 bits. maxFactor bounds a factor and the price of a call.
const (
	maxRate   = 100_000
	maxFactor = 1000
)

// perToken returns a rate in millionths of a micro-dollar per token. A rate outside the range that the catalog accepts
// is replaced by the nearest one inside.
func perToken(rate float64) uint64 {
	if !(rate > 0) { // NaN too
		return 0
	}
	return uint64(math.Round(min(rate, maxRate) * rateScale))
}

// perCall converts the price of a call from USD to millionths of a micro-dollar.
func perCall(price float64) uint64 {
	if !(price > 0) {
		return 0
	}
	return uint64(math.Round(min(price, maxFactor) * 1e6 * rateScale))
}

// atLeastZero returns n, or 0 if n is negative.
func atLeastZero(n int64) uint64 {
	if n < 0 {
		return 0
	}
	return uint64(n)
}

// sumAbove reports whether the sum of counts is above limit. It subtracts instead of adding, so it cannot overflow.
func sumAbove(limit uint64, counts ...uint64) bool {
	remaining := limit
	for _, n := range counts {
		if n > remaining {
			return true
		}
		remaining -= n
	}
	return false
}

// uint128 holds a sum of products of tokens (below 2^63) and rates (below 2^37), or of calls and their prices (below
// 2^50).
type uint128 struct{ hi, lo uint64 }

// addProduct adds a*b to u.
func (u *uint128) addProduct(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	u.lo, carry = bits.Add64(u.lo, lo, 0)
	u.hi, _ = bits.Add64(u.hi, hi, carry)
}

// microUSD returns u divided by rateScale, rounded half up. A larger result than math.MaxInt64 becomes math.MaxInt64.
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
