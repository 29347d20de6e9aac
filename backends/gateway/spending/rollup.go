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

// tableSpec describes a database table of sums: its columns, and the statements that add to its rows.
type tableSpec struct {
	table      string                            // the name of the table
	keyColumns string                            // the columns of the primary key, separated by commas
	appendKey  func(k *sumsKey, dst []any) []any // appends the values of keyColumns to dst
	width      int                               // number of columns: those of the key, and sumColumns
	upserts    [sumRows + 1]string               // upserts[n] is the statement that adds to n rows
}

var (
	hourly = newTableSpec("gateway_usage_hours", 6, "user_id, hour, key_id, provider, model, tier", (*sumsKey).ofUser)
	daily  = newTableSpec("gateway_usage_days", 6, "user_id, day, key_id, provider, model, tier", (*sumsKey).ofUser)

	teamHourly = newTableSpec("gateway_team_hours", 4, "hour, team_id, provider, model", (*sumsKey).ofTeam)
	teamDaily  = newTableSpec("gateway_team_days", 4, "day, team_id, provider, model", (*sumsKey).ofTeam)

	// The sums of all teams together.
	modelHourly = newTableSpec("gateway_model_hours", 3, "hour, provider, model", (*sumsKey).ofModel)
	modelDaily  = newTableSpec("gateway_model_days", 3, "day, provider, model", (*sumsKey).ofModel)

	// The sums of each user within a team. Requests of no team are not included.
	memberDaily = newTableSpec("gateway_member_days", 3, "team_id, day, user_id", (*sumsKey).ofMember)

	labelDaily = newTableSpec("gateway_label_days", 6, "day, kind, name, team_id, provider, model", (*sumsKey).ofLabel)
)

// sumsKey is the key of a row in a table of sums. Fields that a table does not have are empty: rows by team have no
// user, key and tier, rows by user have no team, and rows by model have none of these. Rows by member have a team and a
// user, and no provider and model. Totals of users and keys have only the user or the key, and the day untilNow. Rows
// by label have the kind of the label in tier and its name in key.
type sumsKey struct {
	team, user                 string
	slot                       int64 // Unix hours or days
	key, provider, model, tier string
}

func (a *sumsKey) compare(b *sumsKey) int {
	return cmp.Or(
		strings.Compare(a.user, b.user), cmp.Compare(a.slot, b.slot), strings.Compare(a.team, b.team),
		strings.Compare(a.key, b.key),
		strings.Compare(a.provider, b.provider), strings.Compare(a.model, b.model), strings.Compare(a.tier, b.tier))
}

func (a *sumsKey) ofUser(dst []any) []any {
	return append(dst, a.user, a.slot, a.key, a.provider, a.model, a.tier)
}

func (a *sumsKey) ofTeam(dst []any) []any { return append(dst, a.slot, a.team, a.provider, a.model) }

func (a *sumsKey) ofModel(dst []any) []any { return append(dst, a.slot, a.provider, a.model) }

func (a *sumsKey) ofMember(dst []any) []any { return append(dst, a.team, a.slot, a.user) }

func (a *sumsKey) ofUserTotal(dst []any) []any { return append(dst, a.slot, a.user) }

func (a *sumsKey) ofKeyTotal(dst []any) []any { return append(dst, a.slot, a.key) }

func (a *sumsKey) ofLabel(dst []any) []any {
	return append(dst, a.slot, a.tier, a.key, a.team, a.provider, a.model)
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
	sumFirstToken  // the sum of the times to the first token
	sumFirstTokens // the number of these times
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

// bounded limits n to the range from 0 to limit.
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

// batchSums holds the sums of a batch of records. For each table it has the rows to which the sums are added. The rows
// are sorted, so that nodes that write the same rows at the same time do not deadlock.
type batchSums struct {
	hours, days, teamHours, teamDays, modelHours, modelDays, memberDays, labels []*sumsRow
	userTotals, keyTotals, teamTotals                                           []*sumsRow
}

// rollUp sums a batch for each table of sums. It sums by hour and by day for users, for teams and for the whole
// organisation. For users within teams and for labels it sums only by day. For the totals it sums over all time.
func rollUp(records []Record) batchSums {
	byHour, byUserDay, byTeamHour, byTeamDay := make(sumsTable), make(sumsTable), make(sumsTable), make(sumsTable)
	byModelHour, byModelDay, byMemberDay := make(sumsTable), make(sumsTable), make(sumsTable)
	ofUsers, ofKeys, ofTeams := make(sumsTable), make(sumsTable), make(sumsTable)
	var byLabel sumsTable // nil unless a record has labels
	for i := range records {
		r := &records[i]
		key := sumsKey{
			team: r.TeamID, user: r.UserID, slot: unixHour(r.At), key: r.KeyID,
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
			if a.Code == codeClientLeft { // the attempt did not fail
				continue
			}
			key.provider, key.model = schema.Storable(a.Provider), tidy(a.Model)
			byHour.row(key)[sumFailedAttempts]++
		}
	}
	// The keys in byHour have all fields. The rows of each table are sums of these rows, with fewer fields in the keys.
	byUserHour := make(sumsTable)
	for _, row := range byHour {
		hour, day := row.slot, row.slot/24

		ofUser := row.sumsKey
		ofUser.team = ""
		byUserHour.row(ofUser).addAll(&row.sums)
		ofUser.slot = day
		byUserDay.row(ofUser).addAll(&row.sums)
		ofUsers.row(sumsKey{user: row.user, slot: untilNow}).addAll(&row.sums)
		ofKeys.row(sumsKey{key: row.key, slot: untilNow}).addAll(&row.sums)

		ofModel := sumsKey{slot: hour, provider: row.provider, model: row.model}
		byModelHour.row(ofModel).addAll(&row.sums)
		ofModel.slot = day
		byModelDay.row(ofModel).addAll(&row.sums)

		ofTeam := sumsKey{team: row.team, slot: hour, provider: row.provider, model: row.model}
		byTeamHour.row(ofTeam).addAll(&row.sums)
		ofTeam.slot = day
		byTeamDay.row(ofTeam).addAll(&row.sums)
		ofTeam.slot = untilNow
		ofTeams.row(ofTeam).addAll(&row.sums)
		if row.team != "" {
			byMemberDay.row(sumsKey{team: row.team, user: row.user, slot: day}).addAll(&row.sums)
		}
	}
	return batchSums{
		hours: byUserHour.sorted(), days: byUserDay.sorted(),
		teamHours: byTeamHour.sorted(), teamDays: byTeamDay.sorted(),
		modelHours: byModelHour.sorted(), modelDays: byModelDay.sorted(),
		memberDays: byMemberDay.sorted(), labels: byLabel.sorted(),
		userTotals: ofUsers.sorted(), keyTotals: ofKeys.sorted(), teamTotals: ofTeams.sorted(),
	}
}

// addAll adds the sums of another row.
func (s *sums) addAll(addend *sums) {
	for i, n := range addend {
		s[i] += n
	}
}

// sumsTable holds the rows of a table of sums in memory, by their keys.
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
	if r.FirstToken >= time.Microsecond {
		s[sumFirstToken] += bounded(r.FirstToken, maxRecordLatency).Microseconds()
		s[sumFirstTokens]++
	}
}

// sumRows is the number of rows to which one full statement adds. Most batches have fewer rows.
const sumRows = 20

// newTableSpec returns the description of a table of sums. keyColumns lists the columns of the table's primary key,
// separated by commas, and keyWidth is their number. appendKey appends the values of these columns to dst.
func newTableSpec(
	table string, keyWidth int, keyColumns string, appendKey func(k *sumsKey, dst []any) []any,
) *tableSpec {
	s := &tableSpec{table: table, keyColumns: keyColumns, appendKey: appendKey, width: keyWidth + int(numberOfSums)}
	for n := 1; n <= sumRows; n++ {
		s.upserts[n] = s.upsert(n)
	}
	return s
}

// upsert returns the statement that adds sums to n rows, and inserts the rows that do not exist.
func (s *tableSpec) upsert(n int) string {
	row := "(?" + strings.Repeat(",?", s.width-1) + ")"
	added := make([]string, 0, numberOfSums)
	for _, c := range sumColumns {
		added = append(added, c+" = "+s.table+"."+c+" + excluded."+c)
	}
	return "INSERT INTO " + s.table + " (" + s.keyColumns + ", " + strings.Join(sumColumns[:], ", ") + ") VALUES " + row +
		strings.Repeat(","+row, n-1) +
		" ON CONFLICT (" + s.keyColumns + ") DO UPDATE SET " + strings.Join(added, ", ")
}

// addSums adds rows to the rows of a table that have the same keys. A full statement, with sumRows rows, is prepared
// only once, as in insertUsage.
func (s *Ledger) addSums(c store.Conn, table *tableSpec, rows []*sumsRow) error {
	values := make([]any, 0, min(len(rows), sumRows)*table.width)
	args := func(part []*sumsRow) []any {
		values = values[:0]
		for _, row := range part {
			values = table.appendKey(&row.sumsKey, values)
			for _, n := range row.sums {
				values = append(values, n)
			}
		}
		return values
	}
	if len(rows) >= 2*sumRows { // preparing pays off from the second execution
		full, err := c.Prepare(table.upserts[sumRows])
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
		if _, err := c.Exec(table.upserts[len(part)], args(part)...); err != nil {
			return err
		}
	}
	return nil
}
