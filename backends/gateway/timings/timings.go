// Package timings counts the requests of the model gateway by how long they took, and those that
// failed, by minute, hour and day. Percentiles and rates over any time come from these counts, so
// they cost the same whether a thousand or a hundred million requests were made.
package timings

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Kind says what counts are about.
type Kind string

// The kinds of counts.
const (
	// All counts each request once, as its client saw it.
	All Kind = "all"
	// Model counts what was sent to each model of a provider: the answers, and the attempts that
	// failed, also where another model answered in the end.
	Model Kind = "model"
	// Team counts each request once for the team that it counts for. It has days only.
	Team Kind = "team"
)

// The units of time that counts are kept by.
const (
	Minute = time.Minute
	Hour   = time.Hour
	Day    = 24 * time.Hour
)

// table is the counts of a kind by a unit, with how long they are kept.
type table struct {
	kind Kind
	unit time.Duration
	kept time.Duration
}

// tables are all that there are.
var tables = []table{
	{All, Minute, 2 * Day},
	{Model, Minute, 2 * Day},
	{All, Hour, 90 * Day},
	{Model, Hour, 90 * Day},
	{All, Day, 400 * Day},
	{Model, Day, 400 * Day},
	{Team, Day, 400 * Day},
}

// MaxWindow is the longest time that minutes are kept for, with time to spare.
const MaxWindow = Day

// Sample is a request, or an attempt at one, that has ended.
type Sample struct {
	// At is when it ended.
	At   time.Time
	Kind Kind
	// TeamID is for the kind Team; empty means no team. Provider and Model are for the kind Model.
	TeamID, Provider, Model string
	// Took is how long the answer took. It does not count where Failed is set.
	Took   time.Duration
	Failed bool
}

// key names a row.
type key struct {
	unit                  time.Duration
	kind                  Kind
	slot                  int64
	team, provider, model string
	bucket                int
}

func (k *key) compare(o *key) int {
	return cmp.Or(
		cmp.Compare(k.unit, o.unit), strings.Compare(string(k.kind), string(o.kind)), cmp.Compare(k.slot, o.slot), strings.Compare(k.team, o.team),
		strings.Compare(k.provider, o.provider), strings.Compare(k.model, o.model), cmp.Compare(k.bucket, o.bucket))
}

// Batch adds up samples for one transaction. The zero value is ready to use, by one goroutine.
type Batch struct{ rows map[key]int64 }

// Add adds a sample.
func (b *Batch) Add(s Sample) {
	if b.rows == nil {
		b.rows = make(map[key]int64)
	}
	k := key{kind: s.Kind, team: s.TeamID, provider: s.Provider, model: s.Model, bucket: failed}
	if !s.Failed {
		k.bucket = bucketOf(s.Took)
	}
	for i := range tables {
		if t := &tables[i]; t.kind == s.Kind {
			k.unit, k.slot = t.unit, slotOf(s.At, t.unit)
			b.rows[k]++
		}
	}
}

// slotOf returns the number of the slot that a time is in.
func slotOf(at time.Time, unit time.Duration) int64 { return schema.Micros(at) / unit.Microseconds() }

// upsertRows is how many rows one statement adds to.
const upsertRows = 50

const columns = "unit, kind, slot, team_id, provider, model, bucket"

func upsert(n int) string {
	const row = "(?,?,?,?,?,?,?,?)"
	return "INSERT INTO gateway_timings (" + columns + ", requests) VALUES " + row + strings.Repeat(","+row, n-1) +
		" ON CONFLICT (" + columns + ") DO UPDATE SET requests = gateway_timings.requests + excluded.requests"
}

var fullUpsert = upsert(upsertRows)

// Write adds the batch to the rows that there are, in order, so that nodes which write the same rows
// do not lock each other out.
func (b *Batch) Write(c store.Conn) error {
	keys := slices.SortedFunc(maps.Keys(b.rows), func(x, y key) int { return x.compare(&y) })
	args := make([]any, 0, min(len(keys), upsertRows)*8)
	for part := range slices.Chunk(keys, upsertRows) {
		args = args[:0]
		for _, k := range part {
			args = append(args, int64(k.unit/time.Second), string(k.kind), k.slot, k.team, k.provider, k.model, k.bucket, b.rows[k])
		}
		statement := fullUpsert
		if len(part) < upsertRows {
			statement = upsert(len(part))
		}
		if _, err := c.Exec(statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// Expired returns for each part of the counts a function that returns the statement which deletes
// what is old of it, at most limit rows.
func Expired() []func(now time.Time, limit int) (statement string, args []any) {
	all := make([]func(now time.Time, limit int) (string, []any), 0, len(tables))
	for i := range tables {
		t := &tables[i]
		all = append(all, func(now time.Time, limit int) (string, []any) {
			return `DELETE FROM gateway_timings WHERE (` + columns + `) IN (SELECT ` + columns + ` FROM gateway_timings
				WHERE unit = ? AND kind = ? AND slot < ? ORDER BY slot LIMIT ?)`,
				[]any{int64(t.unit / time.Second), string(t.kind), slotOf(now.Add(-t.kept), t.unit), limit}
		})
	}
	return all
}
