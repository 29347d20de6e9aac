package passthrough

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Results is an io.WriteCloser that sums the usage of the requests in a batch, by model. The results file of the batch
// is written to it. One line at a time is held in memory. Each result is priced separately, because prices may depend
// on its length.
type Results struct {
	lines
	catalog *catalog.Catalog
	batch   *Resource
	now     time.Time
	rows    map[string]*spending.Record // by model; see maxModels for the empty name
}

// NewResults returns an empty sum for the batch o, with usage records of the time now. grow is called before more
// memory is used, with the total size needed.
func NewResults(cat *catalog.Catalog, o *Resource, now time.Time, grow func(size int64) error) *Results {
	r := &Results{catalog: cat, batch: o, now: now, rows: make(map[string]*spending.Record)}
	r.grow, r.line = grow, r.add
	return r
}

// maxModels is the largest number of models in one batch that get usage records of their own. The results of all
// further models are counted in a record without a model and with an unknown price.
const maxModels = 100

// add adds the result in a line. Failed requests have no usage and add nothing.
func (r *Results) add(_ int, line []byte) error {
	if !gjson.ValidBytes(line) {
		return nil
	}
	answer := gjson.GetBytes(line, "response.body") // in the chat format
	if !answer.IsObject() {
		answer = gjson.GetBytes(line, "result.message") // in the messages format
	}
	var u wire.Usage
	if usage := answer.Get("usage"); usage.IsObject() {
		readUsage(usage, &u)
	}
	if !u.Known {
		return nil
	}
	name := answer.Get("model").Str
	m := modelOf(r.catalog, r.batch.Provider, name) // nil if the price is unknown
	if m != nil {
		name = m.ID
	} else {
		name = strings.Clone(wire.Mask(name, maxModelName)) // a copy, so that the line can be freed
	}
	if r.rows[name] == nil && len(r.rows) >= maxModels { // see maxModels
		name, m = "", nil
	}
	sum := r.rows[name]
	if sum == nil {
		record := newRecord(r.batch, name, r.now)
		record.CostKnown = true
		sum = &record
		r.rows[name] = sum
	}
	sum.AddUsage(&u)
	if m == nil {
		sum.CostKnown = false
		return nil
	}
	cost, known := spending.Cost(m, &u, []string{servedBatch})
	sum.CostMicroUSD += cost
	sum.CostKnown = sum.CostKnown && known
	return nil
}

// Records returns the records for the usage log, one for each model, in the order of the models' names. Without any
// result it returns a single record without tokens. Call it after Close.
func (r *Results) Records() []spending.Record {
	var rows []spending.Record
	for _, name := range slices.Sorted(maps.Keys(r.rows)) {
		rows = append(rows, *r.rows[name])
	}
	if len(rows) == 0 {
		free := newRecord(r.batch, "", r.now)
		free.CostKnown = true
		rows = append(rows, free)
	}
	return rows
}
