// Package timings keeps latency histograms and error counts of the model gateway, by minute, hour and day. Percentiles
// and error rates are computed from these counts, so their cost does not depend on the number of requests.
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

// Kind is the kind of subject for which requests are counted.
type Kind string

// The kinds of counts.
const (
	// All counts every request once, with the outcome that its client saw.
	All Kind = "all"
	// Model counts the attempts at each model of a provider. A failed attempt counts even if another model answered the
	// request in the end.
	Model Kind = "model"
	// Team counts every request once, for its team. Only days are kept.
	Team Kind = "team"
)

// The units of time by which requests are counted.
const (
	Minute = time.Minute
	Hour   = time.Hour
	Day    = 24 * time.Hour
)

// table describes the counts of one kind by one unit of time, and how long these are kept.
type table struct {
	kind    Kind
	unit    time.Duration
	keepFor time.Duration
}

// tables lists all combinations of kind and unit that are kept.
var tables = []table{
	{All, Minute, 2 * Day},
	{Model, Minute, 2 * Day},
	{All, Hour, 90 * Day},
	{Model, Hour, 90 * Day},
	{All, Day, 400 * Day},
	{Model, Day, 400 * Day},
	{Team, Day, 400 * Day},
}

// MaxWindow is the length of the longest period up to now for which counts by minute are certain to be kept.
const MaxWindow = Day

// Sample is a finished request, or a finished attempt at one.
type Sample struct {
	// At is when the request or attempt ended.
	At   time.Time
	Kind Kind
	// TeamID is set for the kind Team; empty means no team. Provider and Model are set for the kind Model.
	TeamID, Provider, Model string
	// Took is the time until the answer was complete. It is ignored if Failed is set.
	Took   time.Duration
	Failed bool
}

// key is the primary key of a row.
type key struct {
	unit                  time.Duration
	kind                  Kind
	slot                  int64 // see slotOf
	team, provider, model string
	bucket                int // see bucketOf and failedBucket
}

func (k *key) compare(o *key) int {
	return cmp.Or(
		cmp.Compare(k.unit, o.unit), strings.Compare(string(k.kind), string(o.kind)), cmp.Compare(k.slot, o.slot),
		strings.Compare(k.team, o.team), strings.Compare(k.provider, o.provider), strings.Compare(k.model, o.model),
		cmp.Compare(k.bucket, o.bucket),
	)
}

// Batch sums samples for one transaction. The zero value is ready to use. A Batch must not be used concurrently.
type Batch struct {
	counts map[key]int64 // in slots of the smallest unit of each kind
}

// Add counts a sample.
func (b *Batch) Add(s Sample) {
	if b.counts == nil {
		b.counts = make(map[key]int64)
	}
	k := key{
		unit: smallestUnit(s.Kind), kind: s.Kind, team: s.TeamID, provider: s.Provider, model: s.Model, bucket: failedBucket,
	}
	if !s.Failed {
		k.bucket = bucketOf(s.Took)
	}
	k.slot = slotOf(s.At, k.unit)
	b.counts[k]++
}

// smallestUnit returns the smallest unit of time by which a kind is kept.
func smallestUnit(kind Kind) time.Duration {
	if kind == Team {
		return Day
	}
	return Minute
}

// rows returns the counts of the batch by unit of time. Each count is added for every unit of time that is kept for
// its kind.
func (b *Batch) rows() map[key]int64 {
	rows := make(map[key]int64, 3*len(b.counts))
	for k, n := range b.counts {
		for i := range tables {
			if t := &tables[i]; t.kind == k.kind {
				row := k
				row.unit, row.slot = t.unit, k.slot/int64(t.unit/k.unit)
				rows[row] += n
			}
		}
	}
	return rows
}

// slotOf returns the number of units between 1970 and a time.
func slotOf(t time.Time, unit time.Duration) int64 { return schema.Micros(t) / unit.Microseconds() }

// upsertRows is the largest number of rows in one statement.
const upsertRows = 50

// columns are the columns of the primary key of gateway_timings.
const columns = "unit, kind, slot, team_id, provider, model, bucket"

// upsert returns the statement that adds counts to n rows.
func upsert(n int) string {
	const row = "(?,?,?,?,?,?,?,?)"
	return "INSERT INTO gateway_timings (" + columns + ", requests) VALUES " + row + strings.Repeat(","+row, n-1) +
		" ON CONFLICT (" + columns + ") DO UPDATE SET requests = gateway_timings.requests + excluded.requests"
}

var fullUpsert = upsert(upsertRows)

// Write adds the batch to the counts in the database. Rows are written in order of their keys, so that nodes that write
// the same rows do not deadlock.
func (b *Batch) Write(c store.Conn) error {
	rows := b.rows()
	keys := slices.SortedFunc(maps.Keys(rows), func(x, y key) int { return x.compare(&y) })
	args := make([]any, 0, min(len(keys), upsertRows)*8)
	for part := range slices.Chunk(keys, upsertRows) {
		args = args[:0]
		for _, k := range part {
			args = append(args, int64(k.unit/time.Second), string(k.kind), k.slot,
				k.team, k.provider, k.model, k.bucket, rows[k])
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

// Expired returns one function for each table. Each function returns the statement that deletes at most limit rows
// which are too old at the time now.
func Expired() []func(now time.Time, limit int) (statement string, args []any) {
	all := make([]func(now time.Time, limit int) (string, []any), 0, len(tables))
	for i := range tables {
		t := &tables[i]
		all = append(all, func(now time.Time, limit int) (string, []any) {
			return `DELETE FROM gateway_timings WHERE (` + columns + `) IN (SELECT ` + columns + ` FROM gateway_timings
				WHERE unit = ? AND kind = ? AND slot < ? ORDER BY slot LIMIT ?)`,
				[]any{int64(t.unit / time.Second), string(t.kind), slotOf(now.Add(-t.keepFor), t.unit), limit}
		})
	}
	return all
}
