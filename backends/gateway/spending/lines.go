package spending

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Query selects sums of the spending of all users.
type Query struct {
	// From (inclusive) and To (exclusive) bound the period in UTC days. If By contains hour, they bound it in hours: From
	// is rounded down and To is rounded up to a whole hour. A zero To means tomorrow. A zero From means 30 days before To
	// or, if By contains hour, one day before To.
	From, To time.Time
	// By lists the groups to sum by: organisation (everything in one line), team, user, key, provider, model, tag,
	// end_user, day, hour. If it is empty the groups are team and model. Users and keys cannot be combined with team,
	// tag and end_user, and users within a team cannot be combined with provider and model. Tags and end users cannot
	// be combined with each other or with hour.
	By []string
	// TeamID limits the query to one team. Empty means all requests. TeamID cannot be combined with keys.
	TeamID string
	// Compare adds the spending of the preceding period of the same length. Compare cannot be combined with days and
	// hours.
	Compare bool
	// Limit is the maximum number of lines. It is at most MaxLines, which is also the default. Queries by day or hour
	// return the first lines, other queries those with the highest cost.
	Limit int
	// Brief permits the result to have 0 for all sums except tokens and cost, which halves the time of a query over
	// many teams.
	Brief bool

	// only limits a query with a single group column to these values of the column. Empty means all values.
	only []any
}

// Line is a line of a Query's result: the values of its groups, and the sums.
type Line struct {
	// TeamID and the team's name Team are empty for requests of no team. A team that was removed has an id and no name.
	TeamID *string `json:"team_id,omitempty"`
	Team   *string `json:"team,omitempty"`
	// User is the name of the user with the id UserID, and may be empty.
	UserID *string `json:"user_id,omitempty"`
	User   *string `json:"user,omitempty"`
	// Key is the label of the key with the id KeyID.
	KeyID    *string `json:"key_id,omitempty"`
	Key      *string `json:"key,omitempty"`
	Provider *string `json:"provider,omitempty"`
	Model    *string `json:"model,omitempty"`
	// Tag and EndUser are OtherLabels for labels beyond MaxLabels. Requests without a label are in no line, and
	// requests with several tags are in several lines.
	Tag     *string    `json:"tag,omitempty"`
	EndUser *string    `json:"end_user,omitempty"`
	Day     string     `json:"day,omitempty"` // 2006-01-02, UTC
	Hour    *time.Time `json:"hour,omitempty"`
	UsageSums
	// WrittenTokens is the part of InputTokens that providers have put into their caches.
	WrittenTokens int64 `json:"written_tokens"`
	// USDPerMillion is the average price of a million of TotalTokens. It is nil if TotalTokens is zero.
	USDPerMillion *MicroUSD `json:"usd_per_million"`
	// Before is the spending in the preceding period. It is nil unless Query.Compare was set.
	Before *SpentBefore `json:"before,omitempty"`
}

// SpentBefore holds the sums of a line in the preceding period.
type SpentBefore struct {
	Requests    int64    `json:"requests"`
	TotalTokens int64    `json:"total_tokens"`
	CostUSD     MicroUSD `json:"cost_usd"`
}

// Limits of the result.
const (
	MaxLines = 10_000
	// maxSpendingHours is the length limit for the period of a query by hours. Sums by hour are kept for hoursKept
	// days.
	maxSpendingHours = 31 * 24
)

// The names of the groups of a Query to which code refers.
const (
	byOrganisation = "organisation"
	byTeam         = "team"
	byUser         = "user"
	byKey          = "key"
	byTag          = labelTag
	byEndUser      = labelEndUser
	byDay          = "day"
	byHour         = groupHour
)

// spendingGroup is a group that a Query can sum by. In SQL, d is the table with the sums.
type spendingGroup struct {
	name    string
	columns []string // the columns of d to group by
	// nameColumn is the column with the name of a team, user or key in the table that nameTables joins, or empty.
	nameColumn string
	// destinations returns the fields of a line into which columns and nameColumn are scanned. A day or hour, as a
	// number since 1970, is scanned into slot.
	destinations func(line *Line, slot *int64) []any
}

// spendingGroups lists the groups in the order in which a statement selects their columns.
var spendingGroups = []spendingGroup{
	{byOrganisation, nil, "", func(*Line, *int64) []any { return nil }},
	{byDay, []string{"d.day"}, "", func(_ *Line, slot *int64) []any { return []any{slot} }},
	{byHour, []string{"d.hour"}, "", func(_ *Line, slot *int64) []any { return []any{slot} }},
	{byTeam, []string{"d.team_id"}, "t.name", func(l *Line, _ *int64) []any { return []any{&l.TeamID, &l.Team} }},
	{byUser, []string{"d.user_id"}, "u.name", func(l *Line, _ *int64) []any { return []any{&l.UserID, &l.User} }},
	{byKey, []string{"d.key_id"}, "k.label", func(l *Line, _ *int64) []any { return []any{&l.KeyID, &l.Key} }},
	{byTag, []string{"d.name"}, "", func(l *Line, _ *int64) []any { return []any{&l.Tag} }},
	{byEndUser, []string{"d.name"}, "", func(l *Line, _ *int64) []any { return []any{&l.EndUser} }},
	{"provider", []string{"d.provider"}, "", func(l *Line, _ *int64) []any { return []any{&l.Provider} }},
	{"model", []string{"d.provider", "d.model"}, "", func(l *Line, _ *int64) []any {
		return []any{&l.Provider, &l.Model}
	}},
}

// nameTables lists the joins that provide the name columns of groups.
var nameTables = []struct{ group, table string }{
	{byTeam, " LEFT JOIN gateway_teams AS t ON t.id = d.team_id"},
	{byUser, " LEFT JOIN gateway_users AS u ON u.id = d.user_id"},
	{byKey, " LEFT JOIN gateway_keys AS k ON k.id = d.key_id"},
}

// spendingSource is a table with the sums for a Query.
type spendingSource struct {
	table string
	unit  string // the column with the time of a row: day or hour
	// modelTable is the table with the same sums for all teams together. It is empty if the table in the field table has
	// no rows by team.
	modelTable string
	byUser     bool     // whether the primary key of table begins with user_id
	labelKind  string   // for gateway_label_days: the kind of labels to read
	groups     []string // the groups of this source, without those that every source has
}

// memberDays is the source of the sums by user within a team.
var memberDays = spendingSource{table: "gateway_member_days", unit: "day"}

// spendingSources lists the sources for all queries, except those that memberDays serves. The first one that has the
// groups of a query serves it.
var spendingSources = []spendingSource{
	{table: "gateway_team_days", unit: "day", modelTable: "gateway_model_days"},
	{table: "gateway_usage_days", unit: "day", byUser: true, groups: []string{byUser, byKey}},
	{table: "gateway_team_hours", unit: "hour", modelTable: "gateway_model_hours", groups: []string{byHour}},
	{table: "gateway_usage_hours", unit: "hour", byUser: true, groups: []string{byUser, byKey, byHour}},
	{table: "gateway_label_days", unit: "day", labelKind: labelTag, groups: []string{byTag}},
	{table: "gateway_label_days", unit: "day", labelKind: labelEndUser, groups: []string{byEndUser}},
}

func (q *Query) has(group string) bool { return slices.Contains(q.By, group) }

// check validates the query and sets its defaults. It returns the source of the sums, and the groups of the lines in
// the order of spendingGroups.
func (q *Query) check(now time.Time) (source *spendingSource, groups []*spendingGroup, err error) {
	if len(q.By) == 0 {
		q.By = []string{byTeam, "model"}
	}
	for _, name := range q.By {
		if !slices.ContainsFunc(spendingGroups, func(g spendingGroup) bool { return g.name == name }) {
			return nil, nil, invalid("by", "by must name some of organisation, team, user, key, provider, model, tag, "+
				"end_user, day, hour; %.40q is not a group", name)
		}
	}
	if source, err = q.chooseSource(); err != nil {
		return nil, nil, err
	}
	switch {
	case q.has(byDay) && q.has(byHour):
		return nil, nil, invalid("by", "by cannot combine day and hour: use one of them")
	case q.Compare && (q.has(byDay) || q.has(byHour)):
		return nil, nil, invalid("compare", "compare cannot be used with day or hour: leave them out of by")
	}
	if q.Limit <= 0 || q.Limit > MaxLines {
		q.Limit = MaxLines
	}
	if err := q.setPeriod(now); err != nil {
		return nil, nil, err
	}
	for i := range spendingGroups {
		if q.has(spendingGroups[i].name) {
			groups = append(groups, &spendingGroups[i])
		}
	}
	return source, groups, nil
}

// chooseSource returns the source of the sums for the groups and the team of the query, or an error if the groups
// cannot be combined.
func (q *Query) chooseSource() (*spendingSource, error) {
	var required []string // the groups of the query that not every source has
	for _, name := range []string{byUser, byKey, byTag, byEndUser, byHour} {
		if q.has(name) {
			required = append(required, name)
		}
	}
	index := slices.IndexFunc(spendingSources, func(s spendingSource) bool {
		lacks := func(name string) bool { return !slices.Contains(s.groups, name) }
		return !slices.ContainsFunc(required, lacks)
	})
	if index < 0 {
		return nil, invalid("by", "by cannot combine %s", strings.Join(required, " and "))
	}
	source := &spendingSources[index]
	if q.TeamID != "" && slices.Equal(required, []string{byUser}) { // the users within a team
		if q.has("provider") || q.has("model") {
			return nil, invalid("by", "within a team, by cannot combine user with provider or model: make two requests")
		}
		source = &memberDays
	}
	if source.byUser && (q.has(byTeam) || q.TeamID != "") {
		return nil, invalid("by",
			"by cannot combine team with user or key: ask for the users of one team, or leave out user and key")
	}
	return source, nil
}

// setPeriod sets the defaults of From and To, and checks both.
func (q *Query) setPeriod(now time.Time) error {
	if q.To.IsZero() {
		q.To = StartOfDay(now).AddDate(0, 0, 1)
	}
	if q.From.IsZero() {
		defaultDays := defaultUsageDays
		if q.has(byHour) {
			defaultDays = 1
		}
		q.From = q.To.AddDate(0, 0, -defaultDays)
	}
	if !representable(q.From) || !representable(q.To) || !q.From.Before(q.To) || !schema.StorableID(q.TeamID) {
		return invalid("from", "from must be before to, and both must be in the years 1970 to 9998")
	}
	if q.has(byHour) && q.To.Sub(q.From) > maxSpendingHours*time.Hour {
		return invalid("from", "by hour, the period can have at most %d days: shorten it, or use day in by",
			maxSpendingHours/24)
	}
	return nil
}

// Spending returns sums of the spending of all users. Lines are ordered by day or hour if these are among the groups,
// then by cost and by tokens, the largest first. It returns at most Query.Limit lines. The sums lag behind the requests
// by at most FlushInterval.
func (s *Ledger) Spending(ctx context.Context, q Query) ([]Line, error) {
	source, groups, err := q.check(s.now())
	if err != nil {
		return nil, err
	}
	start, end := q.bounds(source)
	if q.has(byDay) || q.has(byHour) {
		return s.linesByTime(ctx, &q, source, groups, start, end)
	}
	lines, err := s.spendingLines(ctx, &q, source, groups, start, end)
	if err != nil || !q.Compare {
		return lines, err
	}
	if err := s.compare(ctx, &q, source, groups, start, end, lines); err != nil {
		return nil, err
	}
	return lines, nil
}

// compare sets Line.Before in lines. These are the lines of the days or hours from start (inclusive) to end
// (exclusive). compare changes q to a query for the preceding period.
func (s *Ledger) compare(
	ctx context.Context, q *Query, source *spendingSource, groups []*spendingGroup, start, end int64, lines []Line,
) error {
	// The lines with the highest cost in the preceding period may be others than in this one, so q.Limit does not apply to
	// the preceding period.
	q.Limit = MaxLines
	if columns, _ := columnsOf(groups); len(columns) == 1 { // read the other period for these lines only
		for i := range lines {
			q.only = append(q.only, lines[i].singleValue())
		}
	}
	previousFrom := max(0, start-(end-start))
	previousLines, err := s.spendingLines(ctx, q, source, groups, previousFrom, start)
	if err != nil {
		return err
	}
	previous := make(map[string]*SpentBefore, len(previousLines))
	for i := range previousLines {
		line := &previousLines[i]
		previous[line.groupKey()] = &SpentBefore{line.Requests, line.TotalTokens, line.CostUSD}
	}
	for i := range lines {
		if lines[i].Before = previous[lines[i].groupKey()]; lines[i].Before == nil {
			lines[i].Before = new(SpentBefore)
		}
	}
	return nil
}

// linesByTime returns the lines of a query by day or hour. It reads one part of the period after another, each four
// times as long as the one before, until it has q.Limit lines, so that it need not read the rows of the whole period.
func (s *Ledger) linesByTime(
	ctx context.Context, q *Query, source *spendingSource, groups []*spendingGroup, start, end int64,
) (lines []Line, err error) {
	for width := int64(2); start < end && len(lines) < q.Limit; width *= 4 {
		part, err := s.spendingLines(ctx, q, source, groups, start, min(start+width, end))
		if err != nil {
			return nil, err
		}
		lines = append(lines, part...)
		start += width
	}
	return lines[:min(len(lines), q.Limit)], nil
}

// bounds returns the query's days or hours, from start (inclusive) to end (exclusive), as numbers since 1970.
func (q *Query) bounds(source *spendingSource) (start, end int64) {
	if source.unit == byHour {
		return unixHour(q.From), unixHour(q.To.Add(time.Hour - 1))
	}
	return unixDay(q.From), unixDay(q.To.Add(24*time.Hour - 1))
}

// groupValues returns the values of all groups that a line can have, except day and hour. Values of groups that are not
// in the query are nil.
func (l *Line) groupValues() [7]*string {
	return [...]*string{l.TeamID, l.UserID, l.KeyID, l.Provider, l.Model, l.Tag, l.EndUser}
}

// groupKey joins the group values to one string, which is unique among the lines of a query without days and hours.
func (l *Line) groupKey() string {
	var b strings.Builder
	for _, text := range l.groupValues() {
		if text != nil {
			b.WriteString(*text)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// singleValue returns the group value of a line with a single group that is not day or hour.
func (l *Line) singleValue() string {
	for _, text := range l.groupValues() {
		if text != nil {
			return *text
		}
	}
	return ""
}

// spendingLines returns the sums of the days or hours from start (inclusive) to end (exclusive).
func (s *Ledger) spendingLines(
	ctx context.Context, q *Query, source *spendingSource, groups []*spendingGroup, start, end int64,
) ([]Line, error) {
	statement, args, err := s.spendingStatement(ctx, q, source, groups, start, end)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, func(row store.Row) (Line, error) { return scanSpending(row, groups, source.unit) },
		statement, args...)
}

// scanSpending scans a line with the columns of groups.
func scanSpending(row store.Row, groups []*spendingGroup, unit string) (line Line, err error) {
	slot := int64(-1) // stays negative if the lines are neither by day nor by hour
	var n sums
	cells := make([]any, 0, 6+len(n))
	for _, g := range groups {
		cells = append(cells, g.destinations(&line, &slot)...)
	}
	for i := range n {
		cells = append(cells, &n[i])
	}
	if err := row.Scan(cells...); err != nil {
		return line, err
	}
	switch {
	case slot < 0: // no time to set
	case unit == byHour:
		hour := fromHour(slot)
		line.Hour = &hour
	default:
		line.Day = fromHour(slot * 24).Format(time.DateOnly)
	}
	line.UsageSums, line.WrittenTokens = n.report(), n[sumWritten]
	if tokens := line.TotalTokens; tokens > 0 {
		line.USDPerMillion = new(MicroUSD(float64(n[sumCost]) * 1e6 / float64(tokens)))
	}
	return line, nil
}
