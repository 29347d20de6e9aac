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

// Results sums the usage of the requests in a batch, by model. The results file is written to it; one line at a time is
// held in memory. Each result is priced separately, because prices may depend on its length.
type Results struct {
	lines
	catalog *catalog.Catalog
	batch   *Resource
	now     time.Time
	rows    map[string]*spending.Record
}

// NewResults returns an empty sum for a batch. grow is called before more memory is used, with the total size needed.
func NewResults(cat *catalog.Catalog, o *Resource, now time.Time, grow func(size int64) error) *Results {
	r := &Results{catalog: cat, batch: o, now: now, rows: make(map[string]*spending.Record)}
	r.grow, r.line = grow, r.add
	return r
}

// maxModels limits the usage records of one batch. The last record counts the results of all further models, with an
// unknown price.
const maxModels = 100

// add adds the result in a line. Failed requests have no usage and add nothing.
func (r *Results) add(_ int, line []byte) error {
	if !gjson.ValidBytes(line) {
		return nil
	}
	answer := gjson.GetBytes(line, "response.body")
	if !answer.IsObject() {
		answer = gjson.GetBytes(line, "result.message")
	}
	var u wire.Usage
	if usage := answer.Get("usage"); usage.IsObject() {
		read(usage, &u)
	}
	if !u.Known {
		return nil
	}
	name := answer.Get("model").Str
	m := modelOf(r.catalog, r.batch.Provider, name)
	if m != nil {
		name = m.ID
	} else {
		name = strings.Clone(wire.Mask(name, maxModelName)) // without the line that it is a part of
	}
	sum := r.rows[name]
	if sum == nil {
		if len(r.rows) >= maxModels {
			name, m = "", nil
			sum = r.rows[name]
		}
		if sum == nil {
			first := row(r.batch, name, r.now)
			first.CostKnown = true
			sum = &first
			r.rows[name] = sum
		}
	}
	add(sum, &u)
	if m == nil {
		sum.CostKnown = false
		return nil
	}
	cost, known := price(m, &u)
	sum.CostMicroUSD += cost
	sum.CostKnown = sum.CostKnown && known
	return nil
}

// Charge returns the records for the usage log, one for each model. If no model was used, it returns a single record
// without tokens.
func (r *Results) Charge() []spending.Record {
	var rows []spending.Record
	for _, name := range slices.Sorted(maps.Keys(r.rows)) {
		rows = append(rows, *r.rows[name])
	}
	if len(rows) == 0 {
		unused := row(r.batch, "", r.now)
		unused.CostKnown = true
		rows = append(rows, unused)
	}
	return rows
}
