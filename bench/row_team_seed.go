package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// teamTable describes how one table is filled with groups of rows, such as the rows of a user or of a day.
type teamTable struct {
	// groups is the number of groups, and groupSize is the number of rows in each group.
	groups, groupSize int64
	target            string // the table and its columns
	// values is a list of SQL expressions, one for each column. In it, n is the number of a row, g is the number of its
	// group, and i is its number in the group. All three count from 0. The method statement replaces the words in braces.
	values string
}

// teamTables returns a description of each table. The rows of large tables are in the order of their keys.
func teamTables(requests int64) []teamTable {
	recent := requests * teamHours / 24 / teamDays // requests that are not older than the sums by hour
	const (
		day, hour = `{today} - 364 + `, `{today} * 24 - 2136 + `
		timings   = `gateway_timings (unit, kind, slot, team_id, provider, model, bucket, requests)`
	)
	return []teamTable{
		{teamTeams, 1, `gateway_teams (id, name, created_at)`, `{team g}, 'Team ' || (1000 + g), {now} - {year}`},
		{
			teamUsers, 1, `gateway_users (id, created_at, email, name, team_id)`,
			`{user g}, {now} - {year}, 'person.' || g || '@example.com', 'Person ' || g || ' of many', {team g / 50}`,
		},
		{
			teamUsers, 1, `gateway_team_members (team_id, user_id, added_at)`, `{team g / 50}, {user g}, {now} - {year}`,
		},
		{
			teamUsers, 5, `gateway_keys (id, user_id, hash, masked, label, is_primary, effort_mode, created_at)`,
			`{key n}, {user g}, 'hash of ' || n, 'ak-…' || n, 'key ' || i, CASE i WHEN 0 THEN 1 ELSE 0 END, 'override',
			{now} - {year}`,
		},
		{
			teamUsers, requests / 2 / teamUsers, `gateway_usage_days (user_id, day, key_id, provider, model, tier, {sums})`,
			`{user g}, ` + day + `(i * 365 + g * 37 % 365) / {per}, {key g * 5 + i % 5}, {model g + i}, 'medium', {values}`,
		},
		{
			teamUsers, recent / teamUsers, `gateway_usage_hours (user_id, hour, key_id, provider, model, tier, {sums})`,
			`{user g}, ` + hour + `(i * 2160 + g * 37 % 2160) / {per}, {key g * 5 + i % 5}, {model g + i}, 'medium', {values}`,
		},
		{
			teamDays, teamTeams * teamModels, `gateway_team_days (day, team_id, provider, model, {sums})`,
			day + `g, {team i / 20}, {model i}, {values}`,
		},
		{
			teamHours, min(recent/teamHours, teamTeams*teamModels),
			`gateway_team_hours (hour, team_id, provider, model, {sums})`,
			hour + `g, {team i * 1237 % 4000 / 20}, {model i * 1237 % 4000}, {values}`,
		},
		{
			teamDays, teamModels, `gateway_model_days (day, provider, model, {sums})`, day + `g, {model i}, {values}`,
		},
		{
			teamHours, teamModels, `gateway_model_hours (hour, provider, model, {sums})`, hour + `g, {model i}, {values}`,
		},
		{
			teamTeams, teamDays * teamUsers / teamTeams, `gateway_member_days (team_id, day, user_id, {sums})`,
			`{team g}, ` + day + `i / 50, {user g * 50 + i % 50}, {values}`,
		},
		{
			teamDays, 1000, `gateway_label_days (day, kind, name, team_id, provider, model, {sums})`,
			day + `g, CASE WHEN i < 500 THEN 'end_user' ELSE 'tag' END, 'label ' || (1000 + i % 500), {team i}, {model i}, {values}`,
		},
		{
			recent, 1, `gateway_usage_records (at, user_id, record)`,
			`{now} - {90 days} + (g + 1) * ({90 days} / {groups}), {user g * 7919}, '["req_' || (1000000000 + g) || '","' ||
			{key g * 7919 % 10000 * 5 + g % 5} || '","chat_completions","keychain-high","high","provider-' || (g % 5) ||
			'","model-' || (g % 20) || '",1,200,"",1,"",' || (1000 + g % 997) || ',0,' || (300 + g % 251) || ',0,"exact",' ||
			(1000 + g % 9973) || ',2345000,456000,"pk_1","",null,"' || {team g * 7919 % 10000 / 50} || '"]'`,
		},
		{
			200_000, 1, `gateway_audit (at, actor, action, subject, details, team_id)`,
			`{now} - {year} + g * ({year} / {groups}), {user 0}, 'member.set', {user g}, '{}', {team g}`,
		},
		{
			20_000, 1, `gateway_alerts (event, kind, subject, holder, name, budget, begins, ends, threshold, amount, spent,
			created_at)`, `'event_' || g, 'budget.threshold', 'user', {user g}, 'Person ' || (g % 10000), 'usd_per_month',
			{now} - {90 days}, {now}, 80 + g / 10000, 100000000, 80000000, {now} - {90 days} + g * ({90 days} / {groups})`,
		},
		{
			20_000, 2, `gateway_alert_messages (alert_id, channel, target, state, attempts, leased_until, answer)`,
			`1 + g, CASE i WHEN 0 THEN 'mail' ELSE 'webhook' END, 'operator@example.com', 'sent', 1, 0, '250 ok'`,
		},
		// The following rows are counts of latencies: for all requests and for each model by hour and by day, and for each
		// team by day. The first bucket of each is for failures.
		{teamHours, 25, timings, `3600, 'all', ` + hour + `g, '', '', '', {bucket i % 25}`},
		{teamHours, teamModels * 10, timings, `3600, 'model', ` + hour + `g, '', {model i / 10}, {bucket i % 10}`},
		{teamDays, 30, timings, `86400, 'all', ` + day + `g, '', '', '', {bucket i % 30}`},
		{teamDays, teamModels * 25, timings, `86400, 'model', ` + day + `g, '', {model i / 25}, {bucket i % 25}`},
		{teamDays, teamTeams * 20, timings, `86400, 'team', ` + day + `g, {team i / 20}, '', '', {bucket i % 20}`},
	}
}

// teamWords are the words in braces that have an expression as an argument, and their replacements.
var teamWords = []struct {
	word        *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`\{team ([^{}]*)\}`), `('team_' || (1000 + ($1) % 200))`},
	{regexp.MustCompile(`\{user ([^{}]*)\}`), `('user_' || (10000 + ($1) % 10000))`},
	{regexp.MustCompile(`\{key ([^{}]*)\}`), `('gk_' || (100000 + ($1)))`},
	{regexp.MustCompile(`\{model ([^{}]*)\}`), `'provider-' || (($1) % 5), 'model-' || (10 + ($1) % 20)`},
	{regexp.MustCompile(`\{bucket ([^{}]*)\}`), `CASE $1 WHEN 0 THEN -1 ELSE 22 + $1 END, 1 + n % 17`},
}

// teamSums are the columns that all tables of sums have, and the values of a row.
const (
	teamSums = `requests, succeeded, failed, cancelled, failed_attempts, input_tokens, cached_tokens, output_tokens,
		reasoning_tokens, cost_micro_usd, unpriced, latency_us, first_token_us, first_tokens, written_tokens`
	teamValues = `20, 19, 1, 0, n % 50 / 49, 20000 + n % 997 * 10, n % 499, 4000 + n % 251, n % 101, 10000 + n * 7919 % 9973,
		0, 40000000 + n % 997 * 1000, 9000000, 20, n % 307`
)

// statement returns the SQL statement that inserts the rows with numbers from start (inclusive) to end (exclusive).
func (t *teamTable) statement(start, end int64, now time.Time) string {
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	text := strings.NewReplacer(
		"{sums}", teamSums, "{values}", teamValues, "{groups}", decimal(t.groups), "{per}", decimal(t.groupSize),
		"{now}", decimal(now.UnixMicro()), "{today}", decimal(now.Unix()/86400),
		"{year}", decimal(teamDays*24*time.Hour.Microseconds()), "{90 days}", decimal(teamHours*time.Hour.Microseconds()),
	).Replace("INSERT INTO " + t.target + " SELECT " + t.values)
	for _, w := range teamWords {
		text = w.word.ReplaceAllString(text, w.replacement)
	}
	return fmt.Sprintf(`%s FROM (WITH RECURSIVE numbers (n) AS (SELECT CAST(%d AS BIGINT) UNION ALL
		SELECT n + 1 FROM numbers WHERE n + 1 < %d) SELECT n, n / %d AS g, n %% %[4]d AS i FROM numbers) AS counted`,
		text, start, end, t.groupSize)
}

// teamTotal describes how a table is filled with the totals of all days.
type teamTotal struct{ table, keys, days string }

var teamTotals = []teamTotal{
	{"gateway_user_totals", "user_id", "gateway_usage_days"},
	{"gateway_key_totals", "key_id", "gateway_usage_days"},
	{"gateway_team_totals", "team_id, provider, model", "gateway_team_days"},
}

// statement returns the SQL statement that fills the table. It inserts the rows that the gateway itself writes with
// each request.
func (t *teamTotal) statement() string {
	sums := strings.ReplaceAll(strings.Join(strings.Fields(teamSums), " "), ", ", "), sum(")
	return fmt.Sprintf("INSERT INTO %[1]s (day, %[2]s, %[3]s) SELECT 2147483647, %[2]s, sum(%[4]s) FROM %[5]s GROUP BY %[2]s",
		t.table, t.keys, teamSums, sums, t.days)
}

// fillTeam fills the tables, and lets the gateway's own job compute the totals of past days.
func fillTeam(ctx context.Context, db *store.DB, ledger *spending.Ledger, requests int64) error {
	const batchRows = 100_000 // the number of rows in one transaction
	now := time.Now()
	for _, t := range teamTables(requests) {
		began := time.Now()
		rows := t.groups * t.groupSize
		for start := int64(0); start < rows; start += batchRows {
			err := db.Write(ctx, func(c store.Conn) error {
				_, err := c.Exec(t.statement(start, min(start+batchRows, rows), now))
				return err
			})
			if err != nil {
				return fmt.Errorf("%.40s: %w", t.target, err)
			}
		}
		fmt.Fprintf(os.Stderr, "%v: %d rows of %.25s in %.1f s\n", db.Dialect(), rows, t.target, time.Since(began).Seconds())
	}
	began := time.Now()
	for _, t := range teamTotals {
		err := db.Write(ctx, func(c store.Conn) error {
			_, err := c.Exec(t.statement())
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", t.table, err)
		}
	}
	fmt.Fprintf(os.Stderr, "%v: the totals until now in %.1f s\n", db.Dialect(), time.Since(began).Seconds())
	began = time.Now()
	swept := make(chan string, 1)
	retention := spending.NewRetention(ledger, zap.NewNop(), func(_, outcome string, _ int) { swept <- outcome })
	defer retention.Close()
	retention.Keep(0)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case outcome := <-swept:
		if outcome != jobs.OutcomeOK {
			return fmt.Errorf("computing the totals of days: %s", outcome)
		}
	}
	fmt.Fprintf(os.Stderr, "%v: the totals of days in %.1f s\n", db.Dialect(), time.Since(began).Seconds())
	return analyze(ctx, db)
}
