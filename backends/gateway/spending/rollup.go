package spending

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// span describes a table of sums: its columns and statements.
type span struct {
	table   string
	key     string                            // the columns of the primary key
	values  func(k *sumsKey, dst []any) []any // appends the values of the columns in key
	width   int                               // number of values in a row
	upserts [sumRows + 1]string
}

var (
	hourly = newSpan("gateway_usage_hours", 6, "user_id, hour, key_id, provider, model, tier", (*sumsKey).ofUser)
	daily  = newSpan("gateway_usage_days", 6, "user_id, day, key_id, provider, model, tier", (*sumsKey).ofUser)

	teamHourly = newSpan("gateway_team_hours", 4, "hour, team_id, provider, model", (*sumsKey).ofTeam)
	teamDaily  = newSpan("gateway_team_days", 4, "day, team_id, provider, model", (*sumsKey).ofTeam)

	// The sums of all teams together.
	modelHourly = newSpan("gateway_model_hours", 3, "hour, provider, model", (*sumsKey).ofModel)
	modelDaily  = newSpan("gateway_model_days", 3, "day, provider, model", (*sumsKey).ofModel)

	// The sums of each user within a team. Requests of no team are not included.
	memberDaily = newSpan("gateway_member_days", 3, "team_id, day, user_id", (*sumsKey).ofMember)

	labelDaily = newSpan("gateway_label_days", 6, "day, kind, name, team_id, provider, model", (*sumsKey).ofLabel)
)

// sumsKey is the key of a row in a table of sums. Fields that a table does not have are empty: rows by team have no
// user, key and tier, rows by user have no team, and rows by model have none of these. Rows by member have a team and a
// user, and no provider and model. Totals of users and keys have only the user or the key, and the day untilNow. Rows
// by label have the kind of the label in tier and its name in key.
type sumsKey struct {
	team, user                 string
	time                         int64 // Unix hours or days
	key, provider, model, tier string
}

func (a *sumsKey) compare(b *sumsKey) int {
	return cmp.Or(
		strings.Compare(a.user, b.user), cmp.Compare(a.time, b.time), strings.Compare(a.team, b.team),
		strings.Compare(a.key, b.key),
		strings.Compare(a.provider, b.provider), strings.Compare(a.model, b.model), strings.Compare(a.tier, b.tier))
}

func (a *sumsKey) ofUser(dst []any) []any {
	return append(dst, a.user, a.time, a.key, a.provider, a.model, a.tier)
}

func (a *sumsKey) ofTeam(dst []any) []any { return append(dst, a.time, a.team, a.provider, a.model) }

func (a *sumsKey) ofModel(dst []any) []any { return append(dst, a.time, a.provider, a.model) }

func (a *sumsKey) ofMember(dst []any) []any { return append(dst, a.team, a.time, a.user) }

func (a *sumsKey) ofUserTotal(dst []any) []any { return append(dst, a.time, a.user) }

func (a *sumsKey) ofKeyTotal(dst []any) []any { return append(dst, a.time, a.key) }

func (a *sumsKey) ofLabel(dst []any) []any {
	return append(dst, a.time, a.tier, a.key, a.team, a.provider, a.model)
}

// sums are the numbers of a row, in the order of sumColumns.
type sums [numberOfSums]int64

// The indexes of sums.
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
	sumWritten
	numberOfSums
)

var sumColumns = [numberOfSums]string{
	"requests", "succeeded", "failed", "cancelled", "failed_attempts", "input_tokens", "cached_tokens", "output_tokens",
	"reasoning_tokens", "cost_micro_usd", "unpriced", "latency_us", "first_token_us", "first_tokens", "written_tokens",
}

// sumsRow is a row of a table of sums.
type sumsRow struct {
	sumsKey
	sums
}

// codeClientLeft is the code of a request whose client left before the end.
const codeClientLeft = "client_closed_request"

// Limits of the amounts that one record adds. The numbers come from providers, and a sum that overflows would prevent
// all later batches from being written.
const (
	MaxRecordTokens  = 1_000_000_000
	maxRecordCost    = 1_000 * MicrosPerUSD
	maxRecordLatency = 1_000_000 * time.Second
)

// bounded returns n if it lies between 0 and limit, and otherwise the nearer of the two.
func bounded[T int64 | time.Duration](n, limit T) T { return max(0, min(n, limit)) }

// tokens returns the token counts that a record adds to sums and budgets, limited to MaxRecordTokens each.
func (r *Record) tokens() (input, output int64) {
	return bounded(r.InputTokens, MaxRecordTokens), bounded(r.OutputTokens, MaxRecordTokens)
}

// cost returns the cost that a record adds to sums and budgets. It is 0 if the price is not known.
func (r *Record) cost() int64 {
	if !r.CostKnown {
		return 0
	}
	return bounded(r.CostMicroUSD, maxRecordCost)
}

func unixHour(t time.Time) int64 { return schema.Micros(t) / time.Hour.Microseconds() }

func unixDay(t time.Time) int64 { return unixHour(t) / 24 }

// batchSums are the rows of sums to which a batch is added. They are sorted, so that nodes that write the same rows do
// not deadlock.
type batchSums struct {
	hours, days, teamHours, teamDays, modelHours, modelDays, memberDays, labels []*sumsRow
	userTotals, keyTotals, teamTotals                                           []*sumsRow
}

// rollUp sums a batch for each table of sums. By hour and by day it sums for users, for teams and for the whole
// organisation; by day only for users within teams and for labels; and over all time for the totals.
func rollUp(records []Record) batchSums {
	byHour, byDay, byTeamHour, byTeamDay := make(sumsTable), make(sumsTable), make(sumsTable), make(sumsTable)
	byModelHour, byModelDay, byMember := make(sumsTable), make(sumsTable), make(sumsTable)
	ofUsers, ofKeys, ofTeams := make(sumsTable), make(sumsTable), make(sumsTable)
	var byLabel sumsTable // most batches have none
	for i := range records {
		r := &records[i]
		key := sumsKey{
			team: r.TeamID, user: r.UserID, time: unixHour(r.At), key: r.KeyID,
			provider: r.Provider, model: tidy(r.Model), tier: tierText(r.Tier),
		}
		byHour.row(key).add(r)
		if len(r.Tags) > 0 || r.EndUser != "" {
			if byLabel == nil {
				byLabel = make(sumsTable)
			}
			byLabel.addLabels(&key, r)
		}
		for j := range r.FailedAttempts {
			a := &r.FailedAttempts[j]
			if a.Code == codeClientLeft { // it did not fail
				continue
			}
			key.provider, key.model = schema.Storable(a.Provider), tidy(a.Model)
			byHour.row(key)[sumFailedAttempts]++
		}
	}
	// The rows by hour are separated by team only to compute the sums by team.
	byUser := make(sumsTable)
	for _, hour := range byHour {
		key := hour.sumsKey
		team := sumsKey{team: key.team, time: key.time, provider: key.provider, model: key.model}
		byTeamHour.row(team).addAll(&hour.sums)
		team.time /= 24
		byTeamDay.row(team).addAll(&hour.sums)
		ofTeams.row(sumsKey{team: key.team, time: untilNow, provider: key.provider, model: key.model}).addAll(&hour.sums)
		ofUsers.row(sumsKey{user: key.user, time: untilNow}).addAll(&hour.sums)
		ofKeys.row(sumsKey{key: key.key, time: untilNow}).addAll(&hour.sums)
		team.team = ""
		byModelDay.row(team).addAll(&hour.sums)
		team.time = key.time
		byModelHour.row(team).addAll(&hour.sums)
		if key.team != "" {
			byMember.row(sumsKey{team: key.team, user: key.user, time: key.time / 24}).addAll(&hour.sums)
		}
		key.team = ""
		byUser.row(key).addAll(&hour.sums)
		key.time /= 24
		byDay.row(key).addAll(&hour.sums)
	}
	return batchSums{
		byUser.sorted(), byDay.sorted(), byTeamHour.sorted(), byTeamDay.sorted(), byModelHour.sorted(), byModelDay.sorted(),
		byMember.sorted(), byLabel.sorted(), ofUsers.sorted(), ofKeys.sorted(), ofTeams.sorted(),
	}
}

// addAll adds the sums of another row.
func (s *sums) addAll(other *sums) {
	for i, n := range other {
		s[i] += n
	}
}

// sumsTable holds the rows of a table of sums by their keys.
type sumsTable map[sumsKey]*sumsRow

// row returns the sums of the row with a key, and creates the row if it does not exist.
func (t sumsTable) row(key sumsKey) *sums {
	row, ok := t[key]
	if !ok {
		row = &sumsRow{sumsKey: key}
		t[key] = row
	}
	return &row.sums
}

// sorted returns the rows in the order of their keys.
func (t sumsTable) sorted() []*sumsRow {
	return slices.SortedFunc(maps.Values(t), func(a, b *sumsRow) int { return a.compare(&b.sumsKey) })
}

// add adds a record to the sums.
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
	s[sumCached] += bounded(r.CachedTokens, MaxRecordTokens)
	s[sumOutput] += output
	s[sumWritten] += bounded(r.WrittenTokens, MaxRecordTokens)
	s[sumReasoning] += bounded(r.ReasoningTokens, MaxRecordTokens)
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

// sumRows is the number of rows to which one full statement adds. Most batches have fewer rows.
const sumRows = 20

// newSpan returns the description of a table of sums. key lists the columns of the table's primary key, separated by
// commas, and keys is their number. values appends the values of these columns to dst.
func newSpan(table string, keys int, key string, values func(k *sumsKey, dst []any) []any) *span {
	s := &span{table: table, key: key, values: values, width: keys + int(numberOfSums)}
	for n := 1; n <= sumRows; n++ {
		s.upserts[n] = s.upsert(n)
	}
	return s
}

// upsert returns the statement that adds sums to n rows.
func (s *span) upsert(n int) string {
	row := "(?" + strings.Repeat(",?", s.width-1) + ")"
	added := make([]string, 0, numberOfSums)
	for _, c := range sumColumns {
		added = append(added, c+" = "+s.table+"."+c+" + excluded."+c)
	}
	return "INSERT INTO " + s.table + " (" + s.key + ", " + strings.Join(sumColumns[:], ", ") + ") VALUES " + row +
		strings.Repeat(","+row, n-1) +
		" ON CONFLICT (" + s.key + ") DO UPDATE SET " + strings.Join(added, ", ")
}

// addSums adds the sums of a batch to the rows in the database. Full statements are prepared once, as in insertUsage.
func (s *Ledger) addSums(c store.Conn, to *span, rows []*sumsRow) error {
	values := make([]any, 0, min(len(rows), sumRows)*to.width)
	args := func(part []*sumsRow) []any {
		values = values[:0]
		for _, row := range part {
			values = to.values(&row.sumsKey, values)
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
