package passthrough

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// servedBatch is the word for requests of batches among the factors of prices.
const servedBatch = "batch"

// Done reports whether a batch has ended, by its status.
func Done(status string) bool {
	switch strings.ToLower(status) {
	case "completed", "expired", "cancelled", "failed", "success", "timeout_exceeded":
		return true
	}
	return false
}

// Charge is the row of the usage log for a batch that has ended, as its provider describes it: its
// tokens at the model's price for batches. The cost is not known where the description tells no usage
// or no model of the catalog.
func Charge(cat *catalog.Catalog, o *keychain.Object, batch []byte, now time.Time) spending.Record {
	said := gjson.ParseBytes(batch)
	var u wire.Usage
	if usage := said.Get("usage"); usage.IsObject() {
		read(usage, &u)
	}
	name := said.Get("model").Str
	r := spending.Record{
		At: now, RequestID: wire.NewID("req_"), UserID: o.UserID, TeamID: o.TeamID, KeyID: o.KeyID, Surface: "batches", AskedModel: wire.Mask(name, 200),
		Provider: o.Provider, Model: wire.Mask(name, 200), ProviderKey: o.ProviderKey, Status: 200, UsageSource: "exact", ServedAs: []string{servedBatch},
		InputTokens: u.Prompt, CachedTokens: u.CacheRead, OutputTokens: u.Completion, ReasoningTokens: u.Reasoning,
	}
	if m := modelOf(cat, o.Provider, name); m != nil && u.Known {
		r.Model = m.ID
		r.CostMicroUSD, r.CostKnown = m.Cost(catalog.Tokens{Input: u.Prompt - u.CacheRead, Cached: u.CacheRead, Output: u.Completion, Served: r.ServedAs})
	} else if !u.Known && said.Get("request_counts.completed").Exists() && said.Get("request_counts.completed").Int() == 0 {
		r.CostKnown = true // nothing was answered
	}
	return r
}

// modelOf finds the model of a name that may have the date of a version behind it.
func modelOf(cat *catalog.Catalog, provider, name string) (found *catalog.Model) {
	if m, ok := cat.Model(provider, name); ok {
		return m
	}
	for _, m := range cat.Models(provider) {
		if behind, ok := strings.CutPrefix(name, m.ID+"-"); ok && strings.Trim(behind, "0123456789-") == "" && (found == nil || len(m.ID) > len(found.ID)) {
			found = m
		}
	}
	return found
}
