package overview

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: []store.Schema{schema.Gateway()}}

var noon = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

// noUses is a source of key uses without any.
type noUses struct{}

func (noUses) Take(time.Time) map[string]int64          { return nil }
func (noUses) GiveBack(map[string]int64)                {}
func (noUses) Write(store.Conn, map[string]int64) error { return nil }

// source writes records to the database and returns a Source that reads them.
func source(t *testing.T, db *store.DB, records ...spending.Record) *Source {
	t.Helper()
	now := func() time.Time { return noon }
	ledger := spending.NewLedger(db, zap.NewNop(), now)
	log := spending.NewLog(ledger, noUses{}, zap.NewNop())
	for i, r := range records {
		r.UserID, r.RequestID = "ada", fmt.Sprint(i)
		log.Add(r)
	}
	if err := log.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return &Source{Ledger: ledger, DB: db, Now: now}
}

// said describes lines in a short notation.
func said(lines []*Line) string {
	var b strings.Builder
	for _, l := range lines {
		if l.At != nil {
			b.WriteString(l.At.Format("02T15 "))
		}
		for _, name := range []*string{l.TeamID, l.Team, l.Provider, l.Model} {
			if name != nil {
				b.WriteString(*name + " ")
			}
		}
		fmt.Fprintf(&b, "%d-%d", l.Requests, l.Failed)
		if l.P50 != nil {
			fmt.Fprintf(&b, " %d/%d/%ds", *l.P50/1000, *l.P95/1000, *l.P99/1000)
		}
		fmt.Fprintf(&b, " $%s; ", l.CostUSD)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// TestRead checks spending, failures and latencies over time, by model and by team.
func TestRead(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		if err := db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec(`INSERT INTO gateway_teams (id, name, created_at) VALUES ('team_red', 'red', 0)`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		answer := func(moment time.Time, team, model string, took time.Duration, dollars int64) spending.Record {
			return spending.Record{
				At: moment, TeamID: team, Provider: "alpha", Model: model, Status: 200, Latency: took, InputTokens: 10,
				CostMicroUSD: dollars * spending.MicrosPerUSD, CostKnown: true,
			}
		}
		fallback := answer(noon.AddDate(0, 0, -1), "", "large", 4*time.Second, 1)
		fallback.FailedAttempts = []apierror.Attempt{
			{Provider: "beta", Model: "small", Status: 500, Code: "server_error", LatencyMS: 3000},
		}
		failed := spending.Record{
			At:             noon.AddDate(0, 0, -2),
			TeamID:         "team_red",
			Status:         502,
			Code:           "all_providers_failed",
			Latency:        time.Second,
			FailedAttempts: fallback.FailedAttempts,
		}
		left := answer(noon, "", "large", time.Second, 2)
		left.Code, left.Status = "client_closed_request", 499
		s := source(
			t,
			db,
			answer(
				noon.Add(-2*time.Hour),
				"team_red",
				"large",
				16*time.Second,
				3,
			),
			answer(noon.Add(-time.Hour), "team_red", "tiny", 2*time.Second, 0),
			fallback,
			failed,
			left,
			answer(noon.AddDate(0, -1, 0), "", "old", time.Second, 50),
		)

		o, err := s.Read(t.Context(), time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if o.Unit != "day" || o.From.Format(time.DateOnly) != "2026-04-21" || o.To.Format(time.DateOnly) != "2026-05-21" {
			t.Errorf("%s from %s to %s", o.Unit, o.From, o.To)
		}
		// The two days with records before today cost a dollar together. At this pace, the eleven and a half days left
		// cost 5.75.
		if o.Spend.Today != 5*spending.MicrosPerUSD || o.Spend.Month != 6*spending.MicrosPerUSD ||
			o.Spend.MonthEnd.String() != "11.75" {
			t.Errorf("%+v", o.Spend)
		}
		for _, test := range []struct {
			name, got, want string
		}{
			{"totals", said([]*Line{o.Totals}), "4-1 3/15/16s $6"},
			{"over time", said(o.OverTime), "18T00 1-1 $0; 19T00 1-0 3/4/4s $1; 20T00 2-0 2/16/16s $5"},
			{"by model", said(o.ByModel), "alpha large 2-0 1/16/16s $6; beta small 2-2 $0; alpha tiny 1-0 1/2/2s $0"},
			{"by team", said(o.ByTeam), "team_red red 3-1 2/16/16s $3;  1-0 3/4/4s $3"},
		} {
			if strings.Join(strings.Fields(test.got), " ") != strings.Join(strings.Fields(test.want), " ") {
				t.Errorf("%s: %q, want %q", test.name, test.got, test.want)
			}
		}

		today := spending.StartOfDay(noon)
		o, err = s.Read(t.Context(), today, time.Time{})
		if err != nil || o.Unit != "hour" || said(o.OverTime) != "20T10 1-0 14/16/16s $3; 20T11 1-0 1/2/2s $0; 20T12 0-0 $2" {
			t.Errorf("%s, error %v", said(o.OverTime), err)
		}
		for _, times := range [][2]time.Time{{today, today}, {today, today.AddDate(0, 0, MaxDays+1)}, {today.AddDate(-60, 0, 0), time.Time{}}} {
			_, err := s.Read(t.Context(), times[0], times[1])
			if e, ok := apierror.From(err); !ok || e.Status != http.StatusBadRequest || e.Param != "from" {
				t.Errorf("%v: error %v", times, err)
			}
		}
	})
}
