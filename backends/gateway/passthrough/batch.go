package passthrough

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// servedBatch is the name of the price factor for requests in batches; see catalog.Price.Factors.
const servedBatch = "batch"

// Done reports whether a batch has ended. batch is the provider's JSON description of the batch.
func Done(batch []byte) bool {
	status := gjson.GetBytes(batch, "status").Str
	if status == "" {
		status = gjson.GetBytes(batch, "processing_status").Str
	}
	switch strings.ToLower(status) {
	case "completed", "expired", "cancelled", "failed", "success", "timeout_exceeded", "ended":
		return true
	}
	return false
}

// Charge returns the usage record of a batch that has ended, at the model's batch price. batch is the provider's JSON
// description of the batch. exact is false if the description does not determine the cost: it has no usage or no model,
// or the price depends on the length of each request. The results of the batch then have to be summed with Results.
func Charge(cat *catalog.Catalog, o *Resource, batch []byte, now time.Time) (r spending.Record, exact bool) {
	description := gjson.ParseBytes(batch)
	var u wire.Usage
	if usage := description.Get("usage"); usage.IsObject() {
		read(usage, &u)
	}
	name := description.Get("model").Str
	r = row(o, name, now)
	if completed := description.Get("request_counts.completed"); !u.Known {
		r.CostKnown = completed.Exists() && completed.Int() == 0 // nothing was answered
		return r, r.CostKnown
	}
	exact = name != ""
	add(&r, &u)
	if m := modelOf(cat, o.Provider, name); m != nil {
		r.Model = m.ID
		r.CostMicroUSD, r.CostKnown = price(m, &u)
		exact = m.Price.LongAbove == 0 || u.Prompt <= m.Price.LongAbove
	}
	return r, exact
}

// Unknown returns the usage record of a batch whose cost can no longer be determined.
func Unknown(o *Resource, now time.Time) spending.Record { return row(o, "", now) }

// row returns a usage record of a batch, without tokens.
func row(o *Resource, model string, now time.Time) spending.Record {
	return spending.Record{
		At: now, RequestID: wire.NewID("req_"), UserID: o.UserID, TeamID: o.TeamID, KeyID: o.KeyID, Surface: "batches",
		AskedModel: wire.Mask(model, maxModelName), Provider: o.Provider, Model: wire.Mask(model, maxModelName),
		ProviderKey: o.ProviderKey, Status: 200, UsageSource: "exact", ServedAs: []string{servedBatch},
	}
}

// maxModelName is the length limit of a model's name in a usage record, in bytes.
const maxModelName = 200

// add adds a usage to a record.
func add(r *spending.Record, u *wire.Usage) {
	r.InputTokens += u.Prompt
	r.CachedTokens += u.CacheRead
	r.WrittenTokens += u.CacheWrite
	r.OutputTokens += u.Completion
	r.ReasoningTokens += u.Reasoning
	if u.Served == nil {
		return
	}
	for tool, calls := range u.Served.Calls {
		if r.ServerTools == nil {
			r.ServerTools = make(map[string]int64)
		}
		if _, known := r.ServerTools[tool]; known || len(r.ServerTools) < maxTools {
			r.ServerTools[tool] += calls
		}
	}
}

// maxTools limits the number of tool names in a usage record.
const maxTools = 16

// price returns the cost of a usage in a batch, and whether the price is known.
func price(m *catalog.Model, u *wire.Usage) (microUSD int64, known bool) {
	t := catalog.Tokens{
		Input: u.Prompt - u.CacheRead - u.CacheWrite, Cached: u.CacheRead, Output: u.Completion,
		Written: u.CacheWrite - u.CacheWriteHour, WrittenHour: u.CacheWriteHour, Served: []string{servedBatch},
	}
	if u.Served != nil {
		t.Calls = u.Served.Calls
	}
	return m.Cost(t)
}

// modelOf returns the model with a name, or else the model with the longest id such that the name is that id followed
// by the date of a version. It returns nil if the provider has no such model.
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
