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
	// From (inclusive) and To (exclusive) bound the period, in UTC days or, with the group hour, in hours. With hours
	// From is rounded down and To is rounded up to a whole hour. A zero To means tomorrow. A zero From means 30 days
	// before To, or one day with the group hour.
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

	// only limits the query, which has one column, to these values of that column. Empty means all values.
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

// spendingGroup is a group that a Query can sum by.
type spendingGroup struct {
	name    string
	columns []string
	title   string // the column of another table with the name of the group, or empty
	// into returns the destinations in a line for the columns and the title. A day or hour is scanned into slot.
	into func(line *Line, slot *int64) []any
}

// spendingGroups are in the order of the columns.
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

// spendingTitles are the tables that name groups.
var spendingTitles = []struct{ group, table string }{
	{byTeam, " LEFT JOIN gateway_teams AS t ON t.id = d.team_id"},
	{byUser, " LEFT JOIN gateway_users AS u ON u.id = d.user_id"},
	{byKey, " LEFT JOIN gateway_keys AS k ON k.id = d.key_id"},
}

// spendingSource is a table with the sums for a Query.
type spendingSource struct {
	table, unit string
	// models is the table with the same sums for all teams together. It is empty if the rows of table are not by team.
	models string
	users  bool // whether its rows are by user
	kind   string
	groups []string // the groups that not every source has
}

// memberDays is the source of the sums by user within a team.
var memberDays = spendingSource{table: "gateway_member_days", unit: "day"}

var spendingSources = []spendingSource{
	{"gateway_team_days", "day", "gateway_model_days", false, "", nil},
	{"gateway_usage_days", "day", "", true, "", []string{byUser, byKey}},
	{"gateway_team_hours", "hour", "gateway_model_hours", false, "", []string{byHour}},
	{"gateway_usage_hours", "hour", "", true, "", []string{byUser, byKey, byHour}},
	{"gateway_label_days", "day", "", false, labelTag, []string{byTag}},
	{"gateway_label_days", "day", "", false, labelEndUser, []string{byEndUser}},
}

func (q *Query) has(group string) bool { return slices.Contains(q.By, group) }

// check sets the defaults of the query, and returns the source of its sums and the groups of its lines.
func (q *Query) check(now time.Time) (source *spendingSource, groups []*spendingGroup, err error) {
	if len(q.By) == 0 {
		q.By = []string{byTeam, "model"}
	}
	for _, name := range q.By {
		if !slices.ContainsFunc(spendingGroups, func(g spendingGroup) bool { return g.name == name }) {
			return nil, nil, invalid("by",
				"by must name some of organisation, team, user, key, provider, model, tag, end_user, day, hour; %.40q is none of them", name)
		}
	}
	var special []string // groups that not all sources have
	for _, name := range []string{byUser, byKey, byTag, byEndUser, byHour} {
		if q.has(name) {
			special = append(special, name)
		}
	}
	index := slices.IndexFunc(spendingSources, func(s spendingSource) bool {
		return !slices.ContainsFunc(special, func(name string) bool { return !slices.Contains(s.groups, name) })
	})
	if index < 0 {
		return nil, nil, invalid("by", "there are no sums by %s together", strings.Join(special, " and "))
	}
	source = &spendingSources[index]
	if q.TeamID != "" && slices.Equal(special, []string{byUser}) {
		if q.has("provider") || q.has("model") {
			return nil, nil, invalid("by", "there are no sums by the users and the models of a team together: ask for each alone")
		}
		source = &memberDays
	}
	switch {
	case source.users && (q.has(byTeam) || q.TeamID != ""):
		return nil, nil, invalid("by", "there are no sums by teams and their users and keys: ask for one team, or leave user and key out")
	case q.has(byDay) && q.has(byHour):
		return nil, nil, invalid("by", "by has either day or hour")
	case q.Compare && (q.has(byDay) || q.has(byHour)):
		return nil, nil, invalid("compare", "compare is not for days and hours: leave them out of by")
	}
	if q.Limit <= 0 || q.Limit > MaxLines {
		q.Limit = MaxLines
	}
	length := defaultUsageDays
	if q.has(byHour) {
		length = 1
	}
	if q.To.IsZero() {
		q.To = StartOfDay(now).AddDate(0, 0, 1)
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(0, 0, -length)
	}
	if !representable(q.From) || !representable(q.To) || !q.From.Before(q.To) || !schema.StorableID(q.TeamID) {
		return nil, nil, invalid("from", "from must be a day before to, both in the years 1970 to 9998")
	}
	if q.has(byHour) && q.To.Sub(q.From) > maxSpendingHours*time.Hour {
		return nil, nil, invalid("from", "by hour is for at most %d days: ask for less or by day", maxSpendingHours/24)
	}
	for i := range spendingGroups {
		if q.has(spendingGroups[i].name) {
			groups = append(groups, &spendingGroups[i])
		}
	}
	return source, groups, nil
}

// Spending returns sums of the spending of all users. Lines are ordered by day or hour if these are among the groups,
// then by cost and by tokens, the largest first. It returns at most Query.Limit lines. The sums lag behind the requests
// by at most FlushInterval.
func (s *Ledger) Spending(ctx context.Context, q Query) ([]Line, error) {
	source, groups, err := q.check(s.now())
	if err != nil {
		return nil, err
	}
	from, to := q.bounds(source)
	if q.has(byDay) || q.has(byHour) {
		return s.linesByTime(ctx, &q, source, groups, from, to)
	}
	lines, err := s.spendingLines(ctx, &q, source, groups, from, to)
	if err != nil || !q.Compare {
		return lines, err
	}
	q.Limit = MaxLines
	if columns, _ := columnsOf(groups); len(columns) == 1 {
		for i := range lines { // the top lines of the two periods may differ
			q.only = append(q.only, lines[i].subject())
		}
	}
	earlier, err := s.spendingLines(ctx, &q, source, groups, max(0, 2*from-to), from)
	if err != nil {
		return nil, err
	}
	previous := make(map[string]*SpentBefore, len(earlier))
	for i := range earlier {
		e := &earlier[i]
		previous[e.about()] = &SpentBefore{e.Requests, e.TotalTokens, e.CostUSD}
	}
	for i := range lines {
		if lines[i].Before = previous[lines[i].about()]; lines[i].Before == nil {
			lines[i].Before = new(SpentBefore)
		}
	}
	return lines, nil
}

// linesByTime returns the lines of a query by day or hour. It reads ever longer parts of the period until the limit is
// reached, so that it does not read the rows of the whole period.
func (s *Ledger) linesByTime(
	ctx context.Context, q *Query, source *spendingSource, groups []*spendingGroup, from, to int64,
) (lines []Line, err error) {
	for width := int64(2); from < to && len(lines) < q.Limit; width *= 4 {
		part, err := s.spendingLines(ctx, q, source, groups, from, min(from+width, to))
		if err != nil {
			return nil, err
		}
		lines = append(lines, part...)
		from += width
	}
	return lines[:min(len(lines), q.Limit)], nil
}

// bounds returns the query's days or hours, from (inclusive) to (exclusive), as numbers since 1970.
func (q *Query) bounds(source *spendingSource) (from, to int64) {
	if source.unit == byHour {
		return unixHour(q.From), unixHour(q.To.Add(time.Hour - 1))
	}
	return unixDay(q.From), unixDay(q.To.Add(24*time.Hour - 1))
}

// texts returns the values of all groups that a line can have, other than its time.
func (l *Line) texts() [7]*string {
	return [...]*string{l.TeamID, l.UserID, l.KeyID, l.Provider, l.Model, l.Tag, l.EndUser}
}

// about joins the group values to one string, which is unique among the lines of a query without days and hours.
func (l *Line) about() string {
	var b strings.Builder
	for _, text := range l.texts() {
		if text != nil {
			b.WriteString(*text)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// subject returns the group value of a line with a single group, which is not a time.
func (l *Line) subject() string {
	for _, text := range l.texts() {
		if text != nil {
			return *text
		}
	}
	return ""
}

// spendingLines returns the sums of the days or hours from (inclusive) to (exclusive).
func (s *Ledger) spendingLines(
	ctx context.Context, q *Query, source *spendingSource, groups []*spendingGroup, from, to int64,
) ([]Line, error) {
	statement, args, err := s.spendingStatement(ctx, q, source, groups, from, to)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, func(row store.Row) (Line, error) { return scanSpending(row, groups, source.unit) },
		statement, args...)
}

// scanSpending scans a line with the columns of groups.
func scanSpending(row store.Row, groups []*spendingGroup, unit string) (line Line, err error) {
	slot := int64(-1)
	var n sums
	cells := make([]any, 0, 6+len(n))
	for _, g := range groups {
		cells = append(cells, g.into(&line, &slot)...)
	}
	for i := range n {
		cells = append(cells, &n[i])
	}
	if err := row.Scan(cells...); err != nil {
		return line, err
	}
	switch {
	case slot < 0:
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
