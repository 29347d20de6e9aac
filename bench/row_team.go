package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/overview"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// These constants are numbers of requests in a year; see the flag -requests. With 30,000,000 requests there are 15
// million sums by user and day, 7 million sums by hour and 7 million single requests. The numbers of people, of keys,
// and of sums by team and day do not depend on the number of requests.
const (
	defaultTeamRequests = 1_000_000
	minTeamRequests     = 100_000
	maxTeamRequests     = 100_000_000
)

// These constants are the size of the organisation. Its models belong to five providers.
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
	// pageRows is the number of rows of a page if a client does not request a different number.
	pageRows = 100
	oneTeam  = "team_1077"
)

// teamRow fills the database of a gateway with the data of a large organisation for a year. Then it measures in this
// process how long the operator's pages take, on SQLite and, in the column "plain", on PostgreSQL. With the flag
// -engine it measures only that engine.
func teamRow(ctx context.Context, b *bench) (lines []line, err error) {
	for _, engine := range []struct {
		name string
		open func(ctx context.Context, dir string) (db *store.DB, stop func() error, err error)
	}{
		{"sqlite", openTeamSQLite},
		{"postgres", openTeamPostgres},
	} {
		if b.engine != "" && b.engine != engine.name {
			continue
		}
		dir, err := os.MkdirTemp(b.dir, "team")
		if err != nil {
			return nil, fmt.Errorf("making a folder: %w", err)
		}
		db, stop, err := engine.open(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", engine.name, err)
		}
		measured, err := measureTeam(ctx, db, b.requests)
		_, _ = stop(), os.RemoveAll(dir) // nothing in it is kept, and it may be large
		if err != nil {
			return nil, err
		}
		if lines == nil {
			lines = measured
			continue
		}
		for i := range measured {
			lines[i].beside(measured[i])
		}
	}
	return lines, nil
}

// openTeamSQLite opens an SQLite database in a folder. The function stop does nothing.
func openTeamSQLite(ctx context.Context, dir string) (db *store.DB, stop func() error, err error) {
	db, err = openDatabase(ctx, dir)
	return db, func() error { return nil }, err
}

// openTeamPostgres opens a database on a temporary PostgreSQL server. The function stop ends the server.
func openTeamPostgres(ctx context.Context, _ string) (db *store.DB, stop func() error, err error) {
	dsn, stop, err := testenv.StartPostgres()
	if err != nil {
		return nil, nil, err
	}
	db, err = store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	if db, err = open(ctx, db, err, schema.Gateway()); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return db, stop, nil
}

// teamGroups are the groupings of spending reports.
var teamGroups = []string{"organisation", "team", "user", "key", "provider", "model", "tag", "end_user", "day", "hour"}

// teamPage is a part of a page, with the function that reads its data.
type teamPage struct {
	label string
	aim   float64 // in milliseconds
	ask   func() error
}

// measureTeam fills an open database, measures the pages, and closes it.
func measureTeam(ctx context.Context, db *store.DB, requests int64) ([]line, error) {
	defer func() { _ = db.Close() }() // nothing in it is kept
	service, ledger, err := newKeychain(db, make([]byte, keyring.MasterKeySize))
	if err != nil {
		return nil, err
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
		{label: fmt.Sprintf("seconds to write a year of %d requests", requests), tollgate: number(filled.Seconds())},
		{label: "MB of it", tollgate: number(float64(size) / 1e6)},
	}
	summary := &overview.Source{Ledger: ledger, DB: db, Now: time.Now}
	tomorrow := spending.StartOfDay(time.Now()).AddDate(0, 0, 1)
	report := func(days int, q spending.Query) func() error {
		q.From, q.To = tomorrow.AddDate(0, 0, -days), tomorrow
		return func() error {
			_, err := ledger.Spending(ctx, q)
			return err
		}
	}
	ofTeam := func(days int, grouping string) func() error {
		return report(days, spending.Query{By: []string{grouping}, TeamID: oneTeam})
	}
	pages := []teamPage{
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
		{"spending by team and model, a year", yearAim, report(teamDays, spending.Query{})},
		{"download by day, team and model, a year", yearAim, report(teamDays, spending.Query{By: []string{"day", "team", "model"}})},
		{"spending of all 10,000 users, a year", yearAim, report(teamDays, spending.Query{By: []string{"user"}})},
		{"report of a user, 30 days", pageAim, func() error {
			_, err := ledger.Usage(ctx, "user_17777", spending.UsageQuery{})
			return err
		}},
		{"last requests of a user", pageAim, func() error {
			_, err := ledger.Recent(ctx, "user_17777", 0, pageRows)
			return err
		}},
		{"spending of a team by member, 30 days", pageAim, ofTeam(30, "user")},
		{"spending of a team by member, a year", pageAim, ofTeam(teamDays, "user")},
		{"spending of a team by day, a year", pageAim, ofTeam(teamDays, "day")},
		{"spending of a team by model, a year", pageAim, ofTeam(teamDays, "model")},
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
	}
	for _, grouping := range teamGroups {
		q := spending.Query{By: []string{grouping}, Limit: 500} // the console sends the same query
		pages = append(pages, teamPage{"spending by " + grouping + ", 7 days", pageAim, report(7, q)})
		if grouping != "hour" {
			pages = append(pages, teamPage{"spending by " + grouping + ", a year", pageAim, report(teamDays, q)})
		}
		if q.Compare = grouping != "day" && grouping != "hour"; q.Compare {
			pages = append(pages,
				teamPage{"spending by " + grouping + ", 30 days and those before", pageAim, report(30, q)})
		}
	}
	for _, page := range pages {
		took, err := quickest(page.ask)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page.label, err)
		}
		l := below("ms: "+page.label, took, page.aim)
		fmt.Fprintln(os.Stderr, db.Dialect(), l.label, l.tollgate) // shows the progress, because all pages together take long
		lines = append(lines, l)
	}
	return lines, nil
}

// quickest returns the shortest duration of 11 runs in milliseconds. The shortest duration depends least on other
// programs on the machine.
func quickest(measured func() error) (float64, error) {
	minimum := math.Inf(1)
	for range 11 {
		began := time.Now()
		if err := measured(); err != nil {
			return 0, err
		}
		minimum = min(minimum, float64(time.Since(began).Microseconds())/1000)
	}
	return minimum, nil
}
