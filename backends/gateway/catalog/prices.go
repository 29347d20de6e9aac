package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Prices are the operator's own prices, which replace list prices. Each name is a model (provider/model) or a prefix of
// such names followed by a star. An exact name has precedence over prefixes, and a longer prefix over a shorter one.
type Prices map[string]OwnPrice

// OwnPrice is a price, or a discount on the list price.
type OwnPrice struct {
	// Price applies if Discount is 0.
	Price Price
	// Discount is in percent, up to 100. It is subtracted from all rates and call prices; the results are rounded to
	// six decimals.
	Discount float64
}

// ParsePrices parses a file with the operator's prices: a JSON object whose names are those of Prices. The values are
// prices as in a catalog file, or discounts such as {"discount": 15}. The error names the first invalid entry in the
// order of the names.
func ParsePrices(raw []byte) (Prices, error) {
	if len(raw) > maxFileBytes {
		return nil, fmt.Errorf("is larger than %d MB", maxFileBytes>>20)
	}
	var entries map[string]json.RawMessage
	if err := decodeStrict(raw, &entries); err != nil {
		return nil, err
	}
	prices := make(Prices, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		price, err := parseOwnPrice(entries[name])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", clip(name), err)
		}
		prices[name] = price
	}
	return prices, nil
}

// parseOwnPrice parses one value of a file with prices: a price or a discount.
func parseOwnPrice(raw json.RawMessage) (price OwnPrice, err error) {
	var discount struct {
		Discount *float64 `json:"discount"`
	}
	if json.Unmarshal(raw, &discount) == nil && discount.Discount != nil {
		if err := decodeStrict(raw, &discount); err != nil {
			return price, errors.New("discount: cannot be combined with other fields")
		}
		price.Discount = *discount.Discount
		if price.Discount <= 0 || price.Discount > 100 {
			return price, fmt.Errorf("discount: %g is not a percentage above 0 and up to 100", price.Discount)
		}
		return price, nil
	}
	var entry priceEntry
	if err := decodeStrict(raw, &entry); err != nil {
		return price, err
	}
	if price.Price, err = entry.parse(); err != nil {
		return price, err
	}
	return price, price.Price.check()
}

// lookup returns the price for the model with the name entry (provider/model), and the name in p that matched. ok is
// false if no name matches.
func (p Prices) lookup(entry string) (own OwnPrice, name string, ok bool) {
	if own, ok = p[entry]; ok {
		return own, entry, true
	}
	for pattern, price := range p { // the longest matching prefix
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		if !isPrefix || !strings.HasPrefix(entry, prefix) {
			continue
		}
		if !ok || len(pattern) > len(name) {
			own, name, ok = price, pattern, true
		}
	}
	return own, name, ok
}

// apply returns the models with the prices in p and in stored. If p and stored have a price under the same name, the
// stored price applies. Models without a price in either stay unchanged. apply returns an error if a name of p, other
// than a prefix with a star, matches no model.
func (p Prices) apply(models []*Model, stored Prices) ([]*Model, error) {
	if len(p)+len(stored) == 0 {
		return models, nil
	}
	all := make(Prices, len(p)+len(stored))
	maps.Copy(all, p)
	maps.Copy(all, stored)
	models, used := slices.Clone(models), make(map[string]bool)
	for i, m := range models {
		own, name, ok := all.lookup(m.EntryID())
		if !ok {
			continue
		}
		used[name] = true
		priced := *m
		if own.Discount == 0 || m.Price.Known { // an unknown price stays unknown with a discount
			priced.OwnPrice = name
		}
		if own.Discount == 0 {
			priced.Price = own.Price
		} else {
			priced.Price = m.Price.discounted(own.Discount)
		}
		models[i] = &priced
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !used[name] && !strings.HasSuffix(name, "*") {
			return nil, fmt.Errorf("prices: there is no model %q", clip(name))
		}
	}
	return models, nil
}

// discounted returns the price reduced by a percentage.
func (p Price) discounted(percent float64) Price {
	discount := func(value float64) float64 { return math.Round(value*(100-percent)/100*1e6) / 1e6 }
	discountRates := func(r Rates) Rates {
		return Rates{
			Input: discount(r.Input), CachedInput: discount(r.CachedInput), CacheWrite: discount(r.CacheWrite),
			CacheWriteHour: discount(r.CacheWriteHour), Output: discount(r.Output),
		}
	}
	p.Rates, p.Long = discountRates(p.Rates), discountRates(p.Long)
	calls := make(map[string]float64, len(p.Calls))
	for tool, price := range p.Calls {
		calls[tool] = discount(price)
	}
	p.Calls = calls
	return p
}

// MarshalJSON returns the price in the form of price files, or null if the price is unknown.
func (p Price) MarshalJSON() ([]byte, error) {
	if !p.Known {
		return []byte("null"), nil
	}
	type rates struct {
		Input          float64 `json:"input"`
		CachedInput    float64 `json:"cached_input,omitempty"`
		CacheWrite     float64 `json:"cache_write,omitempty"`
		CacheWriteHour float64 `json:"cache_write_1h,omitempty"`
		Output         float64 `json:"output"`
	}
	type long struct {
		Above int64 `json:"above"`
		rates
	}
	file := struct {
		rates
		Long    *long              `json:"long,omitempty"`
		Factors map[string]float64 `json:"factors,omitempty"`
		Calls   map[string]float64 `json:"calls,omitempty"`
	}{rates: rates(p.Rates), Factors: p.Factors, Calls: p.Calls}
	if p.LongAbove > 0 {
		file.Long = &long{p.LongAbove, rates(p.Long)}
	}
	return json.Marshal(file)
}

// check returns an error if a number of a price is out of range.
func (p *Price) check() error {
	if err := checkRates("price", p.Rates); err != nil {
		return err
	}
	if err := checkRates("price.long", p.Long); err != nil {
		return err
	}
	if err := checkExtras("price.factors", p.Factors); err != nil {
		return err
	}
	return checkExtras("price.calls", p.Calls)
}
