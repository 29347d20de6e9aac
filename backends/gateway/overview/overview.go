// Package overview summarizes the model gateway for its operator: what all users together have spent and are expected
// to spend this month, how many requests failed, and how long answers took, over time, by model and by team.
package overview

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Overview is the summary of a period.
type Overview struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Unit is the length of the lines in OverTime: hour or day.
	Unit string `json:"unit"`
	// Spend covers today and this month, independently of the period.
	Spend    spending.Forecast `json:"spend"`
	Totals   *Line             `json:"totals"`
	OverTime []*Line           `json:"over_time"`
	ByModel  []*Line           `json:"by_model"`
	ByTeam   []*Line           `json:"by_team"`
}

// Line is the summary of all requests, of an hour or day, of a model, or of a team.
type Line struct {
	At *time.Time `json:"at,omitempty"`
	// Provider, Model, TeamID and Team are as in spending.Line.
	Provider *string `json:"provider,omitempty"`
	Model    *string `json:"model,omitempty"`
	TeamID   *string `json:"team_id,omitempty"`
	Team     *string `json:"team,omitempty"`
	// Requests is the number of requests that were answered or failed, and Failed is the number of failed ones. In the
	// line of a model, Requests and Failed count attempts at that model, including attempts after which another model
	// answered.
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	// ErrorRate is Failed divided by Requests, and nil if Requests is zero.
	ErrorRate *float64 `json:"error_rate"`
	// P50, P95 and P99 are percentiles of the time until an answer was complete. They are nil if there was no answer.
	P50 *int64 `json:"latency_ms_p50"`
	P95 *int64 `json:"latency_ms_p95"`
	P99 *int64 `json:"latency_ms_p99"`
	// TotalTokens and CostUSD include requests whose clients disconnected.
	TotalTokens int64             `json:"total_tokens"`
	CostUSD     spending.MicroUSD `json:"cost_usd"`
}

// Limits of an overview.
const (
	// MaxDays is the length of the longest period.
	MaxDays     = 31
	hourlyDays  = 2 // the longest period for which OverTime has hours
	maxLines    = 1000
	defaultDays = 30
)

// Source reads overviews.
type Source struct {
	Ledger *spending.Ledger
	DB     *store.DB
	Now    func() time.Time
}

// Read returns the overview of the UTC days in [start, end). A zero end means tomorrow, and a zero start means 30 days
// before end. A period that is empty or longer than MaxDays is an error with status 400.
func (s *Source) Read(ctx context.Context, start, end time.Time) (*Overview, error) {
	o, err := s.newOverview(start, end)
	if err != nil {
		return nil, err
	}
	unit := timings.Day
	o.Unit = "day"
	if o.To.Sub(o.From) <= hourlyDays*24*time.Hour {
		unit, o.Unit = timings.Hour, "hour"
	}
	times := timings.Query{Kind: timings.All, Unit: unit, From: o.From, To: o.To, PerUnit: true}
	models := timings.Query{Kind: timings.Model, Unit: unit, From: o.From, To: o.To}
	teams := timings.Query{Kind: timings.Team, Unit: timings.Day, From: o.From, To: o.To}
	// The parts are independent of each other, so they are read concurrently.
	var reading sync.WaitGroup
	var overTime, byModel, byTeam []*line
	errs := make([]error, 4)
	reading.Go(func() { overTime, errs[0] = s.lines(ctx, o.Unit, times) })
	reading.Go(func() { byModel, errs[1] = s.lines(ctx, "model", models) })
	reading.Go(func() { byTeam, errs[2] = s.lines(ctx, "team", teams) })
	reading.Go(func() { o.Spend, errs[3] = s.Ledger.Forecast(ctx) })
	reading.Wait()
	o.Totals = &total(overTime).Line
	o.OverTime, o.ByModel, o.ByTeam = publicLines(overTime), publicLines(byModel), publicLines(byTeam)
	return o, errors.Join(errs...)
}

// newOverview returns an overview with only its period set, in whole UTC days. The error has status 400 if the period
// is not allowed.
func (s *Source) newOverview(start, end time.Time) (*Overview, error) {
	o := &Overview{From: start, To: end}
	if end.IsZero() {
		o.To = s.Now().AddDate(0, 0, 1)
	}
	o.To = spending.StartOfDay(o.To)
	if start.IsZero() {
		o.From = o.To.AddDate(0, 0, -defaultDays)
	}
	o.From = spending.StartOfDay(o.From)
	length := o.To.Sub(o.From)
	validYears := o.From.Year() >= 1970 && o.To.Year() <= 9998
	if length <= 0 || length > MaxDays*24*time.Hour || !validYears {
		return nil, apierror.New(
			http.StatusBadRequest, "invalid_value", "from must be at least one day and at most %d days before to", MaxDays,
		).With("from")
	}
	return o, nil
}
