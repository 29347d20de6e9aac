package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/overview"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// The number of requests in a year, see the flag -requests. With 30,000,000 there are 15 million sums by user and day,
// 7 million by hour and as many single requests, which takes an hour and 15 GB. What does not depend on it always has
// its full size: people, keys, and the sums by team and day.
const (
	defaultTeamRequests = 1_000_000
	leastTeamRequests   = 100_000
	mostTeamRequests    = 100_000_000
)

// The size of the organisation. Its models belong to five providers.
const (
	teamUsers  = 10_000
	teamTeams  = 200
	teamModels = 20
	teamDays   = 365
	teamHours  = 90 * 24 // the sums by hour and single requests are kept for 90 days
)

const (
	pageAim = 100 // in milliseconds, as is yearAim
	yearAim = 300
	// pageRows is the number of rows of a page, if a client does not ask for another one.
	pageRows = 100
	oneTeam  = "team_1077"
)

// teamRow fills the database of a gateway with a year of a large organisation, and measures in this process how long
// the pages of its operator take: on SQLite, and in the column "plain" on PostgreSQL.
func teamRow(ctx context.Context, b *bench) ([]line, error) {
	dir, err := os.MkdirTemp(b.dir, "team")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it may be large
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return nil, err
	}
	lines, err := measureTeam(ctx, db, b.requests)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, database)); err != nil {
		return nil, err
	}
	dsn, stop, err := testenv.StartPostgres()
	if err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	defer func() { _ = stop() }() // nothing in it is kept
	if db, err = store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop()); err != nil {
		return nil, fmt.Errorf("opening PostgreSQL: %w", err)
	}
	if err := db.Register(schema.Gateway()); err != nil {
		return nil, fmt.Errorf("opening PostgreSQL: %w", err)
	}
	db.Start(ctx)
	if err := db.WaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening PostgreSQL: %w", err), db.Close())
	}
	other, err := measureTeam(ctx, db, b.requests)
	for i := range other {
		lines[i].beside(other[i])
	}
	return lines, err
}

// measureTeam fills an open database, measures the pages, and closes it.
func measureTeam(ctx context.Context, db *store.DB, requests int64) ([]line, error) {
	defer func() { _ = db.Close() }() // nothing in it is kept
	ring, err := keyring.NewAES(make([]byte, keyring.MasterKeySize))
	if err != nil {
		return nil, fmt.Errorf("making the keyring: %w", err)
	}
	ledger := spending.NewLedger(db, zap.NewNop(), time.Now)
	service, err := keychain.New(db, ring, ledger, zap.NewNop(), time.Now)
	if err != nil {
		return nil, fmt.Errorf("making the keychain: %w", err)
	}
	defer service.Close()
	began := time.Now()
	if err := fillTeam(ctx, db, ledger, requests); err != nil {
		return nil, fmt.Errorf("filling the database: %w", err)
	}
	filled := time.Since(began)
	size, err := db.Size(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at the database: %w", err)
	}
	lines := []line{
		{what: fmt.Sprintf("seconds to write a year of %d requests", requests), tollgate: number(filled.Seconds())},
		{what: "MB of it", tollgate: number(float64(size) / 1e6)},
	}
	summary := &overview.Source{Ledger: ledger, DB: db, Now: time.Now}
	tomorrow := spending.StartOfDay(time.Now()).AddDate(0, 0, 1)
	ofTeam := func(team string, days int, compare bool, by ...string) func() error {
		return func() error {
			_, err := ledger.Spending(ctx, spending.Query{
				From: tomorrow.AddDate(0, 0, -days), To: tomorrow, By: by, Compare: compare, TeamID: team,
			})
			return err
		}
	}
	spent := func(days int, compare bool, by ...string) func() error { return ofTeam("", days, compare, by...) }
	for _, page := range []struct {
		what string
		aim  float64 // 0 for none
		ask  func() error
	}{
		{"overview of 30 days", pageAim, func() error {
			_, err := summary.Read(ctx, time.Time{}, time.Time{})
			return err
		}},
		{"overview of 7 days", pageAim, func() error {
			_, err := summary.Read(ctx, tomorrow.AddDate(0, 0, -7), time.Time{})
			return err
		}},
		{"overview of today and yesterday", pageAim, func() error {
			_, err := summary.Read(ctx, tomorrow.AddDate(0, 0, -2), time.Time{})
			return err
		}},
		{"list of people", pageAim, func() error {
			_, err := service.Users(ctx, "", "", pageRows)
			return err
		}},
		{"search for people", pageAim, func() error {
			_, err := service.Users(ctx, "person 777", "", pageRows)
			return err
		}},
		{"list of teams", pageAim, func() error {
			_, err := service.Teams(ctx, "", pageRows)
			return err
		}},
		{"spending by team, 30 days", pageAim, spent(30, false, "team")},
		{"spending by team, 30 days and those before", 0, spent(30, true, "team")},
		{"spending by user, 30 days", 0, spent(30, false, "user")},
		{"spending by tag, 30 days", 0, spent(30, false, "tag")},
		{"spending by team and model, a year", yearAim, spent(teamDays, false, "team", "model")},
		{"report of a user, 30 days", pageAim, func() error {
			_, err := ledger.Usage(ctx, "user_17777", spending.UsageQuery{})
			return err
		}},
		{"last requests of a user", pageAim, func() error {
			_, err := ledger.Recent(ctx, "user_17777", 0, pageRows)
			return err
		}},
		{"spending of a team by member, 30 days", pageAim, ofTeam(oneTeam, 30, false, "user")},
		{"spending of a team by member, a year", pageAim, ofTeam(oneTeam, teamDays, false, "user")},
		{"spending of a team by day, a year", pageAim, ofTeam(oneTeam, teamDays, false, "day")},
		{"spending of a team by model, a year", pageAim, ofTeam(oneTeam, teamDays, false, "model")},
		{"members of a team", pageAim, func() error {
			_, err := service.Members(ctx, oneTeam, "", pageRows)
			return err
		}},
		{"audit log of a team", pageAim, func() error {
			_, err := service.AuditOf(ctx, oneTeam, 0, pageRows)
			return err
		}},
		{"audit log", pageAim, func() error {
			_, err := service.Audit(ctx, 0, pageRows)
			return err
		}},
		{"alerts", pageAim, func() error {
			_, err := alerts.List(ctx, db, 0, pageRows)
			return err
		}},
	} {
		took, err := quickest(page.ask)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page.what, err)
		}
		l := line{what: "ms: " + page.what, tollgate: number(took)}
		if page.aim > 0 {
			l = below(l.what, took, page.aim)
		}
		fmt.Fprintln(os.Stderr, db.Dialect(), l.what, l.tollgate) // since the whole takes long
		lines = append(lines, l)
	}
	return lines, nil
}

// quickest returns the shortest duration of 11 runs in milliseconds, which depends least on what else the machine does.
func quickest(measured func() error) (float64, error) {
	least := math.Inf(1)
	for range 11 {
		began := time.Now()
		if err := measured(); err != nil {
			return 0, err
		}
		least = min(least, float64(time.Since(began).Microseconds())/1000)
	}
	return least, nil
}

// teamTable fills one table with groups of rows, such as the rows of a user or of a day.
type teamTable struct {
	groups, per int64
	into        string // the table and its columns
	// values has a value for each column. In it n, g and i count from 0: rows, groups, and the rows of a group. Words
	// in braces are replaced, see teamStatement.
	values string
}

// teamTables returns how each table is filled. The rows of the large ones are in the order of their keys.
func teamTables(requests int64) []teamTable {
	recent := requests * teamHours / 24 / teamDays // so many are not older than the sums by hour
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
		// Counts of latencies: by hour and day of all requests and of each model, by day of each team. The first bucket of
		// each is for failures.
		{teamHours, 25, timings, `3600, 'all', ` + hour + `g, '', '', '', {bucket i % 25}`},
		{teamHours, teamModels * 10, timings, `3600, 'model', ` + hour + `g, '', {model i / 10}, {bucket i % 10}`},
		{teamDays, 30, timings, `86400, 'all', ` + day + `g, '', '', '', {bucket i % 30}`},
		{teamDays, teamModels * 25, timings, `86400, 'model', ` + day + `g, '', {model i / 25}, {bucket i % 25}`},
		{teamDays, teamTeams * 20, timings, `86400, 'team', ` + day + `g, {team i / 20}, '', '', {bucket i % 20}`},
	}
}

// teamWords are the words in braces that have an expression in them, and what they are replaced with.
var teamWords = []struct {
	word *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\{team ([^{}]*)\}`), `('team_' || (1000 + ($1) % 200))`},
	{regexp.MustCompile(`\{user ([^{}]*)\}`), `('user_' || (10000 + ($1) % 10000))`},
	{regexp.MustCompile(`\{key ([^{}]*)\}`), `('gk_' || (100000 + ($1)))`},
	{regexp.MustCompile(`\{model ([^{}]*)\}`), `'provider-' || (($1) % 5), 'model-' || (10 + ($1) % 20)`},
	{regexp.MustCompile(`\{bucket ([^{}]*)\}`), `CASE $1 WHEN 0 THEN -1 ELSE 22 + $1 END, 1 + n % 17`},
}

// teamSums are the columns of all tables of sums, and a row of them.
const (
	teamSums = `requests, succeeded, failed, cancelled, failed_attempts, input_tokens, cached_tokens, output_tokens,
		reasoning_tokens, cost_micro_usd, unpriced, latency_us, first_token_us, first_tokens, written_tokens`
	teamValues = `20, 19, 1, 0, n % 50 / 49, 20000 + n % 997 * 10, n % 499, 4000 + n % 251, n % 101, 10000 + n * 7919 % 9973,
		0, 40000000 + n % 997 * 1000, 9000000, 20, n % 307`
)

// statement returns the statement that inserts the rows from one (inclusive) to another (exclusive).
func (t *teamTable) statement(from, to int64, now time.Time) string {
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	text := strings.NewReplacer(
		"{sums}", teamSums, "{values}", teamValues, "{groups}", decimal(t.groups), "{per}", decimal(t.per),
		"{now}", decimal(now.UnixMicro()), "{today}", decimal(now.Unix()/86400),
		"{year}", decimal(teamDays*24*time.Hour.Microseconds()), "{90 days}", decimal(teamHours*time.Hour.Microseconds()),
	).Replace("INSERT INTO " + t.into + " SELECT " + t.values)
	for _, w := range teamWords {
		text = w.word.ReplaceAllString(text, w.by)
	}
	return fmt.Sprintf(`%s FROM (WITH RECURSIVE numbers (n) AS (SELECT CAST(%d AS BIGINT) UNION ALL
		SELECT n + 1 FROM numbers WHERE n + 1 < %d) SELECT n, n / %d AS g, n %% %[4]d AS i FROM numbers) AS counted`,
		text, from, to, t.per)
}

// fillTeam fills the tables, and has the gateway's own job add up the months that are over.
func fillTeam(ctx context.Context, db *store.DB, ledger *spending.Ledger, requests int64) error {
	const together = 100_000 // rows in one transaction
	now := time.Now()
	for _, t := range teamTables(requests) {
		rows := t.groups * t.per
		for from := int64(0); from < rows; from += together {
			err := db.Write(ctx, func(c store.Conn) error {
				_, err := c.Exec(t.statement(from, min(from+together, rows), now))
				return err
			})
			if err != nil {
				return fmt.Errorf("%.40s: %w", t.into, err)
			}
		}
	}
	swept := make(chan string, 1)
	retention := spending.NewRetention(ledger, zap.NewNop(), func(_, outcome string, _ int) { swept <- outcome })
	defer retention.Close()
	retention.Keep(0)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case outcome := <-swept:
		if outcome != jobs.OutcomeOK {
			return fmt.Errorf("adding up the months: %s", outcome)
		}
	}
	if db.Dialect() == store.SQLite {
		return nil
	}
	conn, err := db.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // it has done its work
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return err
}
