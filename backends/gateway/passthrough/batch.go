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

// servedBatch names the price factor for requests of batches.
const servedBatch = "batch"

// Done reports whether a status means that a batch has ended.
func Done(status string) bool {
	switch strings.ToLower(status) {
	case "completed", "expired", "cancelled", "failed", "success", "timeout_exceeded":
		return true
	}
	return false
}

// Charge returns the row of the usage log for a batch that has ended. batch is the provider's description of it; its
// tokens are charged at the model's batch price. The cost is unknown if the description has no usage or if the catalog
// does not have its model.
func Charge(cat *catalog.Catalog, o *keychain.Object, batch []byte, now time.Time) spending.Record {
	description := gjson.ParseBytes(batch)
	var u wire.Usage
	if usage := description.Get("usage"); usage.IsObject() {
		read(usage, &u)
	}
	name := description.Get("model").Str
	r := spending.Record{
		At: now, RequestID: wire.NewID("req_"), UserID: o.UserID, TeamID: o.TeamID, KeyID: o.KeyID, Surface: "batches",
		AskedModel: wire.Mask(name, 200),
		Provider:   o.Provider, Model: wire.Mask(name, 200), ProviderKey: o.ProviderKey, Status: 200, UsageSource: "exact",
		ServedAs:    []string{servedBatch},
		InputTokens: u.Prompt, CachedTokens: u.CacheRead, OutputTokens: u.Completion, ReasoningTokens: u.Reasoning,
	}
	if m := modelOf(cat, o.Provider, name); m != nil && u.Known {
		r.Model = m.ID
		r.CostMicroUSD, r.CostKnown = m.Cost(catalog.Tokens{
			Input: u.Prompt - u.CacheRead, Cached: u.CacheRead, Output: u.Completion, Served: r.ServedAs,
		})
	} else if !u.Known && description.Get("request_counts.completed").Exists() &&
		description.Get("request_counts.completed").Int() == 0 {
		r.CostKnown = true // nothing was answered
	}
	return r
}

// modelOf returns the model with a name, or else the model with the longest id such that the name is that id followed
// by the date of a version. It returns nil if there is none.
func modelOf(cat *catalog.Catalog, provider, name string) (found *catalog.Model) {
	if m, ok := cat.Model(provider, name); ok {
		return m
	}
	for _, m := range cat.Models(provider) {
		if version, ok := strings.CutPrefix(name, m.ID+"-"); ok && strings.Trim(version, "0123456789-") == "" &&
			(found == nil || len(m.ID) > len(found.ID)) {
			found = m
		}
	}
	return found
}
