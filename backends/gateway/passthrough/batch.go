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

// DescribedUsage computes the usage record of the batch o at the model's batch price. The batch has ended. batch is
// the provider's JSON description of the batch. exact reports that the record is final. It is false if the
// description does not determine the cost, because it has no usage or no model, or because the price depends on the
// length of each request. The caller must then sum the results of the batch with Results, if it can read them.
// DescribedUsage changes nothing.
func DescribedUsage(cat *catalog.Catalog, o *Resource, batch []byte, now time.Time) (r spending.Record, exact bool) {
	description := gjson.ParseBytes(batch)
	var u wire.Usage
	if usage := description.Get("usage"); usage.IsObject() {
		readUsage(usage, &u)
	}
	name := description.Get("model").Str
	r = newRecord(o, name, now)
	if !u.Known {
		completed := description.Get("request_counts.completed")
		noneCompleted := completed.Exists() && completed.Int() == 0
		r.CostKnown = noneCompleted // the cost is then 0
		return r, noneCompleted
	}
	r.AddUsage(&u)
	m := modelOf(cat, o.Provider, name)
	if m == nil { // the model's price is unknown; without a name, the batch may even have several models
		return r, name != ""
	}
	r.Model = m.ID
	r.CostMicroUSD, r.CostKnown = spending.Cost(m, &u, []string{servedBatch})
	// The price for long requests applies to single requests, not to their sum.
	onlyShort := m.Price.LongAbove == 0 || u.Prompt <= m.Price.LongAbove
	return r, onlyShort
}

// UnknownUsage returns the usage record of a batch whose cost can no longer be determined.
func UnknownUsage(o *Resource, now time.Time) spending.Record { return newRecord(o, "", now) }

// newRecord returns a usage record of a batch with the model's name, without tokens and with an unknown cost.
func newRecord(o *Resource, model string, now time.Time) spending.Record {
	return spending.Record{
		At: now, RequestID: wire.NewID("req_"), UserID: o.UserID, TeamID: o.TeamID, KeyID: o.KeyID, Surface: "batches",
		AskedModel: wire.Mask(model, maxModelName), Provider: o.Provider, Model: wire.Mask(model, maxModelName),
		ProviderKey: o.ProviderKey, Status: 200, UsageSource: "exact", ServedAs: []string{servedBatch},
	}
}

// maxModelName is the length limit of a model's name in a usage record, in bytes.
const maxModelName = 200

// modelOf returns the provider's model with a name. If there is none, the name may be the id of a model followed by the
// date of a version: modelOf then returns the model with the longest such id, or nil for none.
func modelOf(cat *catalog.Catalog, provider, name string) *catalog.Model {
	if m, ok := cat.Model(provider, name); ok {
		return m
	}
	var longest *catalog.Model
	for _, m := range cat.Models(provider) {
		version, ok := strings.CutPrefix(name, m.ID+"-")
		if !ok || strings.Trim(version, "0123456789-") != "" {
			continue
		}
		if longest == nil || len(m.ID) > len(longest.ID) {
			longest = m
		}
	}
	return longest
}
