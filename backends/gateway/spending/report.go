package spending

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// UsageQuery selects sums of one user's usage.
type UsageQuery struct {
	// From and To bound the times at which the requests began. From is rounded down and To is rounded up to a whole UTC
	// hour, or to a whole day where sums by hour are no longer kept. A zero To means now. A zero From means 30 days
	// before To.
	From, To time.Time
	// Group lists the groups to sum by: provider, model, day, hour, key, tier. If it is empty they are provider, model
	// and day. Sums by hour are kept for hoursKept days only.
	Group []string
}

// UsageSums are the sums of a group of requests.
type UsageSums struct {
	Requests  int64 `json:"requests"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	// Cancelled counts the requests whose client left before the end.
	Cancelled int64 `json:"cancelled"`
	// SuccessRate is the number of successful requests divided by the number of successful and failed ones, or nil if
	// both numbers are zero.
	SuccessRate *float64 `json:"success_rate"`
	// FailedAttempts counts the failed attempts at the candidates of this group, whether or not another candidate
	// answered in the end.
	FailedAttempts  int64    `json:"failed_attempts"`
	InputTokens     int64    `json:"input_tokens"`
	CachedTokens    int64    `json:"cached_tokens"`
	OutputTokens    int64    `json:"output_tokens"`
	ReasoningTokens int64    `json:"reasoning_tokens"`
	TotalTokens     int64    `json:"total_tokens"`
	CostUSD         MicroUSD `json:"cost_usd"`
	// UnpricedRequests counts the requests answered by models with unknown price, whose cost is not in CostUSD.
	UnpricedRequests int64 `json:"unpriced_requests"`
	// The averages are nil if the group has no value to average.
	LatencyMSAvg    *float64 `json:"latency_ms_avg"`
	FirstTokenMSAvg *float64 `json:"first_token_ms_avg"`
}

// UsageGroup is a line of a report: the values of its group, and the sums. Tier and Provider are empty for requests
// without a tier or provider.
type UsageGroup struct {
	Provider *string    `json:"provider,omitempty"`
	Model    *string    `json:"model,omitempty"`
	Day      string     `json:"day,omitempty"` // 2006-01-02, UTC
	Hour     *time.Time `json:"hour,omitempty"`
	KeyID    *string    `json:"key_id,omitempty"`
	Tier     *string    `json:"tier,omitempty"`
	UsageSums
}

// UsageReport is the result of a UsageQuery, with lines for each group of the query. Days and hours without requests
// are left out. Lines for days and hours are in order of time. Other lines are ordered by the number of requests, the
// largest first, and there are at most 1,000 per group.
type UsageReport struct {
	From       time.Time    `json:"from"`
	To         time.Time    `json:"to"`
	Totals     UsageSums    `json:"totals"`
	ByProvider []UsageGroup `json:"by_provider,omitzero"`
	ByModel    []UsageGroup `json:"by_model,omitzero"`
	ByDay      []UsageGroup `json:"by_day,omitzero"`
	ByHour     []UsageGroup `json:"by_hour,omitzero"`
	ByKey      []UsageGroup `json:"by_key,omitzero"`
	ByTier     []UsageGroup `json:"by_tier,omitzero"`
}

// Limits of a query.
const (
	defaultUsageDays = 30
	maxUsageDays     = 400
	maxHourlyDays    = 31
	maxGroupLines    = 1000
)

// usageGroup is a way to group the sums.
type usageGroup struct {
	name string
	// text1, text2 and slot are SQL expressions for the two texts and the day or hour that identify a line. A group that
	// does not have all three has a constant instead: two single quotes for a text, 0 for slot.
	text1, text2, slot string
	order              string                           // for ORDER BY
	lines              func(*UsageReport) *[]UsageGroup // returns the list of the group's lines in a report
	// label sets the fields of a line that identify it, from the values of text1, text2 and slot.
	label func(line *UsageGroup, text1, text2 string, slot int64)
}

// Orders of lines, by the columns of a statement: 1 is the group, 2 to 4 identify the line, and the sums follow.
const (
	byTime     = "4"
	byRequests = "5 DESC, 2, 3"
)

var usageGroups = []usageGroup{
	{
		"provider", "provider", "''", "0", byRequests, func(r *UsageReport) *[]UsageGroup { return &r.ByProvider },
		func(line *UsageGroup, text, _ string, _ int64) { line.Provider = &text },
	},
	{
		"model", "provider", "model", "0", byRequests, func(r *UsageReport) *[]UsageGroup { return &r.ByModel },
		func(line *UsageGroup, text1, text2 string, _ int64) { line.Provider, line.Model = &text1, &text2 },
	},
	{
		"day", "''", "''", "day", byTime, func(r *UsageReport) *[]UsageGroup { return &r.ByDay },
		func(line *UsageGroup, _, _ string, slot int64) { line.Day = fromHour(slot * 24).Format(time.DateOnly) },
	},
	{
		"key", "key_id", "''", "0", byRequests, func(r *UsageReport) *[]UsageGroup { return &r.ByKey },
		func(line *UsageGroup, text, _ string, _ int64) { line.KeyID = &text },
	},
	{
		"tier", "tier", "''", "0", byRequests, func(r *UsageReport) *[]UsageGroup { return &r.ByTier },
		func(line *UsageGroup, text, _ string, _ int64) { line.Tier = &text },
	},
	{
		groupHour, "''", "''", "hour", byTime, func(r *UsageReport) *[]UsageGroup { return &r.ByHour },
		func(line *UsageGroup, _, _ string, slot int64) { hour := fromHour(slot); line.Hour = &hour },
	},
}

// groupHour is the only group that cannot be computed from the sums by day.
const groupHour = "hour"

// fromHour returns the beginning of an hour that is given as a number since 1970.
func fromHour(hour int64) time.Time { return time.Unix(hour*3600, 0).UTC() }

// sumExpressions are the SQL expressions for the sums of all columns in sumColumns, each after a comma.
var sumExpressions = func() string {
	var b strings.Builder
	for _, column := range sumColumns {
		b.WriteString(", CAST(coalesce(sum(" + column + "), 0) AS BIGINT) AS " + column)
	}
	return b.String()
}()

// usageStatement returns a statement and its arguments. One statement serves all groups, so that all sums are of the
// same records. groups has indexes of usageGroups. The period is the hours from start (inclusive) to end (exclusive).
// The statement takes whole days from the sums by day, and the hours before and after these days from the sums by
// hour. It reads these rows once, into the table part, with only the columns that the groups need. From this table it
// computes the totals and the lines of the groups. Only the lines of the group hour come from the sums by hour for
// the whole period.
func usageStatement(userID string, start, end int64, groups []int) (string, []any) {
	columns := make([]string, 0, 5)
	addColumn := func(column string) {
		if column != "''" && column != "0" && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	for _, i := range groups {
		if g := &usageGroups[i]; g.name != groupHour {
			addColumn(g.text1)
			addColumn(g.text2)
			addColumn(g.slot)
		}
	}
	const userCondition = " WHERE user_id = ? AND "
	columnsAfterTime := ", key_id, provider, model, tier, " + strings.Join(sumColumns[:], ", ")
	orHours := " UNION ALL SELECT hour / 24" + columnsAfterTime + " FROM gateway_usage_hours" + userCondition +
		"hour >= ? AND hour < ?"
	headEnd, fromDay, toDay, tailBegin := wholeDays(start, end)
	// In the order of the placeholders: the whole days, the hours before them and the hours after them.
	args := []any{userID, fromDay, toDay, userID, start, headEnd, userID, tailBegin, end}
	selected, groupBy := "", ""
	if len(columns) > 0 {
		selected = strings.Join(columns, ", ") + ", "
		groupBy = " GROUP BY " + strings.Join(columns, ", ")
	}
	var b strings.Builder
	b.WriteString("WITH part AS MATERIALIZED (SELECT " + selected + sumExpressions[2:] + // without the first comma
		" FROM (SELECT day" + columnsAfterTime + " FROM gateway_usage_days" + userCondition + "day >= ? AND day < ?" +
		orHours + orHours + ") AS rows_read" + groupBy + ")")
	// The totals have a number that is not the index of a group.
	fmt.Fprintf(&b, " SELECT %d, '', '', 0%s FROM part", len(usageGroups), sumExpressions)
	for _, i := range groups {
		g, source := &usageGroups[i], "part"
		if g.name == groupHour {
			source = "gateway_usage_hours" + userCondition + "hour >= ? AND hour < ?"
			args = append(args, userID, start, end)
		}
		fmt.Fprintf(&b, " UNION ALL SELECT * FROM (SELECT %d, %s, %s, %s%s FROM %s GROUP BY 2, 3, 4 ORDER BY %s LIMIT %d) AS by_%s",
			i, g.text1, g.text2, g.slot, sumExpressions, source, g.order, maxGroupLines, g.name)
	}
	return b.String(), args
}

// wholeDays splits the hours from start (inclusive) to end (exclusive) into three parts: the hours from start to
// headEnd, the days from fromDay to toDay, and the hours from tailBegin to end. The end of each part is exclusive.
func wholeDays(start, end int64) (headEnd, fromDay, toDay, tailBegin int64) {
	fromDay, toDay = (start+23)/24, end/24
	if fromDay > toDay { // the period is inside of one day, so the first part has all of it
		return end, 0, 0, end
	}
	return fromDay * 24, fromDay, toDay, toDay * 24
}

// check sets the defaults of the query, and returns its bounds in whole hours and the indexes of its groups.
func (q *UsageQuery) check(now time.Time) (start, end int64, groups []int, err error) {
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(0, 0, -defaultUsageDays)
	}
	if !representable(q.To) {
		return 0, 0, nil, invalid("to", "to must be a time from the year 1970 to 9998")
	}
	if !representable(q.From) {
		return 0, 0, nil, invalid("from", "from must be a time from the year 1970 to 9998")
	}
	start, end = q.From.Unix()/3600, (q.To.Unix()+3599)/3600 // rounded outwards to whole hours
	if start >= end {
		return 0, 0, nil, invalid("from", "from must be before to")
	}
	if end-start > maxUsageDays*24 {
		return 0, 0, nil, invalid("from", "from must be at most %d days before to", maxUsageDays)
	}
	if first := firstHour(now); start < first { // there may be no sums by hour before first: widen to whole days
		start = start / 24 * 24
		if end < first {
			end = (end + 23) / 24 * 24
		}
	}
	names := q.Group
	if len(names) == 0 {
		names = []string{"provider", "model", "day"}
	}
	for _, name := range names {
		i := slices.IndexFunc(usageGroups, func(g usageGroup) bool { return g.name == name })
		if i < 0 {
			return 0, 0, nil, invalid("group",
				"group must name some of provider, model, day, hour, key, tier; %.40q is not a group", name)
		}
		if name == groupHour && end-start > maxHourlyDays*24 {
			return 0, 0, nil, invalid("group",
				"with the group hour, the period can have at most %d days: shorten it, or use the group day", maxHourlyDays)
		}
		if !slices.Contains(groups, i) {
			groups = append(groups, i)
		}
	}
	return start, end, groups, nil
}

// representable reports whether a time can be represented in JSON and in hours since 1970.
func representable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1970 && year <= 9998
}

// Usage returns the sums of a user's requests. The sums lag behind the requests by at most FlushInterval, since records
// in the memory of a node are not included.
func (s *Ledger) Usage(ctx context.Context, userID string, q UsageQuery) (*UsageReport, error) {
	start, end, groups, err := q.check(s.now())
	if err != nil {
		return nil, err
	}
	report := &UsageReport{From: fromHour(start), To: fromHour(end)}
	for _, i := range groups {
		*usageGroups[i].lines(report) = []UsageGroup{}
	}
	if !schema.StorableID(userID) {
		return report, nil
	}
	statement, args := usageStatement(userID, start, end, groups)
	_, err = read(ctx, s, func(row store.Row) (struct{}, error) { return struct{}{}, report.scan(row) },
		statement, args...)
	if err != nil {
		return nil, err
	}
	return report, nil
}

// scan scans a row of the statement into the report.
func (r *UsageReport) scan(row store.Row) error {
	var group int
	var slot int64
	var text1, text2 string
	var n sums
	cells := make([]any, 0, 4+len(n))
	cells = append(cells, &group, &text1, &text2, &slot)
	for i := range n {
		cells = append(cells, &n[i])
	}
	if err := row.Scan(cells...); err != nil {
		return err
	}
	if group == len(usageGroups) { // the row with the totals
		r.Totals = n.report()
		return nil
	}
	line := UsageGroup{UsageSums: n.report()}
	usageGroups[group].label(&line, text1, text2, slot)
	lines := usageGroups[group].lines(r)
	*lines = append(*lines, line)
	return nil
}

// report converts the sums of a row to UsageSums.
func (s *sums) report() UsageSums {
	return UsageSums{
		Requests: s[sumRequests], Succeeded: s[sumSucceeded], Failed: s[sumFailed], Cancelled: s[sumCancelled],
		SuccessRate:    ratio(s[sumSucceeded], s[sumSucceeded]+s[sumFailed], 1),
		FailedAttempts: s[sumFailedAttempts],
		InputTokens:    s[sumInput], CachedTokens: s[sumCached], OutputTokens: s[sumOutput], ReasoningTokens: s[sumReasoning],
		TotalTokens: s[sumInput] + s[sumOutput], CostUSD: MicroUSD(s[sumCost]), UnpricedRequests: s[sumUnpriced],
		LatencyMSAvg:    ratio(s[sumLatency], s[sumRequests], 1000),
		FirstTokenMSAvg: ratio(s[sumFirstToken], s[sumFirstTokens], 1000),
	}
}

// ratio returns sum / count / unit, or nil if count is 0.
func ratio(sum, count int64, unit float64) *float64 {
	if count == 0 {
		return nil
	}
	r := float64(sum) / float64(count) / unit
	return &r
}
