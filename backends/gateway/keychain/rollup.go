package keychain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// span is how long the rows of a table of sums are.
type span struct {
	table, column string // column: the number of the span since 1970
	upserts       [sumRows + 1]string
}

var (
	hourly = newSpan("gateway_usage_hours", "hour")
	daily  = newSpan("gateway_usage_days", "day")
)

// sumsKey names a row of a table of sums.
type sumsKey struct {
	user                       string
	at                         int64 // Unix hours or days
	key, provider, model, tier string
}

func (a *sumsKey) compare(b *sumsKey) int {
	return cmp.Or(
		strings.Compare(a.user, b.user), cmp.Compare(a.at, b.at), strings.Compare(a.key, b.key),
		strings.Compare(a.provider, b.provider), strings.Compare(a.model, b.model), strings.Compare(a.tier, b.tier))
}

// sums are the numbers of a row, in the order of sumColumns.
type sums [numberOfSums]int64

// The sums.
const (
	sumRequests = iota
	sumSucceeded
	sumFailed
	sumCancelled
	sumFailedAttempts
	sumInput
	sumCached
	sumOutput
	sumReasoning
	sumCost
	sumUnpriced
	sumLatency
	sumFirstToken
	sumFirstTokens
	numberOfSums
)

var sumColumns = [numberOfSums]string{
	"requests", "succeeded", "failed", "cancelled", "failed_attempts", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens",
	"cost_micro_usd", "unpriced", "latency_us", "first_token_us", "first_tokens",
}

// sumsRow is a row of a table of sums.
type sumsRow struct {
	sumsKey
	sums
}

// codeClientLeft is the code of a request whose client did not wait for the end.
const codeClientLeft = "client_closed_request"

// Bounds of what one record adds: numbers come from providers, and a sum that
// overflows would keep every later batch from being written.
const (
	maxRecordTokens  = 1_000_000_000
	maxRecordCost    = 1_000 * microsPerUSD
	maxRecordLatency = 1_000_000 * time.Second
)

func bounded[T int64 | time.Duration](n, most T) T { return max(0, min(n, most)) }

// tokens and cost are what a record adds to the sums, and to what a key spent.
func (r *Record) tokens() (input, output int64) {
	return bounded(r.InputTokens, maxRecordTokens), bounded(r.OutputTokens, maxRecordTokens)
}

func (r *Record) cost() int64 {
	if !r.CostKnown {
		return 0
	}
	return bounded(r.CostMicroUSD, maxRecordCost)
}

func unixHour(at time.Time) int64 { return micros(at) / time.Hour.Microseconds() }

func unixDay(at time.Time) int64 { return unixHour(at) / 24 }

// rollUp sums a batch by hours and by days, sorted so that nodes that write the
// same rows do not lock each other out.
func rollUp(records []Record) (hours, days []*sumsRow) {
	byHour, byDay := make(sumsTable), make(sumsTable)
	for i := range records {
		r := &records[i]
		key := sumsKey{r.UserID, unixHour(r.At), r.KeyID, r.Provider, tidy(r.Model), tierText(r.Tier)}
		byHour.row(key).add(r)
		for j := range r.FailedAttempts {
			a := &r.FailedAttempts[j]
			if a.Code == codeClientLeft { // it did not fail
				continue
			}
			key.provider, key.model = storable(a.Provider), tidy(a.Model)
			byHour.row(key)[sumFailedAttempts]++
		}
	}
	for _, hour := range byHour {
		key := hour.sumsKey
		key.at /= 24
		of := byDay.row(key)
		for i, n := range hour.sums {
			of[i] += n
		}
	}
	return byHour.sorted(), byDay.sorted()
}

type sumsTable map[sumsKey]*sumsRow

func (t sumsTable) row(key sumsKey) *sums {
	row, ok := t[key]
	if !ok {
		row = &sumsRow{sumsKey: key}
		t[key] = row
	}
	return &row.sums
}

func (t sumsTable) sorted() []*sumsRow {
	return slices.SortedFunc(maps.Values(t), func(a, b *sumsRow) int { return a.compare(&b.sumsKey) })
}

func (s *sums) add(r *Record) {
	input, output := r.tokens()
	s[sumRequests]++
	switch r.Code {
	case codeClientLeft:
		s[sumCancelled]++
	case "":
		s[sumSucceeded]++
	default:
		s[sumFailed]++
	}
	s[sumInput] += input
	s[sumCached] += bounded(r.CachedTokens, maxRecordTokens)
	s[sumOutput] += output
	s[sumReasoning] += bounded(r.ReasoningTokens, maxRecordTokens)
	s[sumCost] += r.cost()
	if r.Provider != "" && !r.CostKnown {
		s[sumUnpriced]++
	}
	s[sumLatency] += bounded(r.Latency, maxRecordLatency).Microseconds()
	if first := r.FirstToken.Microseconds(); first > 0 {
		s[sumFirstToken] += bounded(r.FirstToken, maxRecordLatency).Microseconds()
		s[sumFirstTokens]++
	}
}

// sumRows is how many rows one statement adds to; most batches have fewer.
const sumRows = 20

const sumWidth = 6 + int(numberOfSums)

func newSpan(table, column string) *span {
	s := &span{table: table, column: column}
	for n := 1; n <= sumRows; n++ {
		s.upserts[n] = s.upsert(n)
	}
	return s
}

// upsert is the statement that adds to n rows.
func (s *span) upsert(n int) string {
	key := "user_id, " + s.column + ", key_id, provider, model, tier"
	row := "(?" + strings.Repeat(",?", sumWidth-1) + ")"
	added := make([]string, 0, numberOfSums)
	for _, c := range sumColumns {
		added = append(added, c+" = "+s.table+"."+c+" + excluded."+c)
	}
	return "INSERT INTO " + s.table + " (" + key + ", " + strings.Join(sumColumns[:], ", ") + ") VALUES " + row + strings.Repeat(","+row, n-1) +
		" ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(added, ", ")
}

// addSums adds the sums of a batch to the rows that there are. Full statements
// are prepared once, as those of insertUsage are.
func (s *Service) addSums(c store.Conn, to *span, rows []*sumsRow) error {
	values := make([]any, 0, min(len(rows), sumRows)*sumWidth)
	args := func(part []*sumsRow) []any {
		values = values[:0]
		for _, row := range part {
			values = append(values, row.user, row.at, row.key, row.provider, row.model, row.tier)
			for _, n := range row.sums {
				values = append(values, n)
			}
		}
		return values
	}
	if len(rows) >= 2*sumRows {
		full, err := c.Prepare(to.upserts[sumRows])
		if err != nil {
			return err
		}
		defer full.Close()
		for ; len(rows) >= sumRows; rows = rows[sumRows:] {
			if _, err = full.ExecContext(c.Context(), args(rows[:sumRows])...); err != nil {
				return err
			}
		}
	}
	for part := range slices.Chunk(rows, sumRows) {
		if _, err := c.Exec(to.upserts[len(part)], args(part)...); err != nil {
			return err
		}
	}
	return nil
}
