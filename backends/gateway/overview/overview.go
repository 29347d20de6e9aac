// Package overview is what the operator of the model gateway looks at first: what all users together
// have spent and will have spent this month, how many requests failed, and how long answers take, over
// time, by model and by team.
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

// Overview is what is to be seen of a time.
type Overview struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Unit is hour or day: what the lines of OverTime are of.
	Unit string `json:"unit"`
	// Spend is of today and of this month, whatever time was asked for.
	Spend    spending.Forecast `json:"spend"`
	Totals   *Line             `json:"totals"`
	OverTime []*Line           `json:"over_time"`
	ByModel  []*Line           `json:"by_model"`
	ByTeam   []*Line           `json:"by_team"`
}

// Line is what is to be seen of all, of an hour or day, of a model, or of a team.
type Line struct {
	At *time.Time `json:"at,omitempty"`
	// Provider and Model, TeamID and Team are as in a spending.Line.
	Provider *string `json:"provider,omitempty"`
	Model    *string `json:"model,omitempty"`
	TeamID   *string `json:"team_id,omitempty"`
	Team     *string `json:"team,omitempty"`
	// Requests were answered or failed. Of a model they are what was sent to it: the attempts that
	// failed over to another model are in it, too.
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	// ErrorRate is the part that failed; nil: there are no requests.
	ErrorRate *float64 `json:"error_rate"`
	// The percentiles of how long answers took; nil: there are none.
	P50 *int64 `json:"latency_ms_p50"`
	P95 *int64 `json:"latency_ms_p95"`
	P99 *int64 `json:"latency_ms_p99"`
	// TotalTokens and CostUSD are those of all requests, also of ones that were cancelled.
	TotalTokens int64             `json:"total_tokens"`
	CostUSD     spending.MicroUSD `json:"cost_usd"`
}

// Bounds of an answer.
const (
	// MaxDays is how long the time is at most.
	MaxDays     = 31
	hourlyDays  = 2 // up to which hours are told apart
	maxLines    = 1000
	defaultDays = 30
)

// Source is where an overview is read from.
type Source struct {
	Ledger *spending.Ledger
	DB     *store.DB
	Now    func() time.Time
}

// Read returns the overview of the UTC days from a time to another, whose day is not in it. The zero
// time stands for 30 days before the end, and for tomorrow.
func (s *Source) Read(ctx context.Context, from, to time.Time) (*Overview, error) {
	o, err := s.begin(from, to)
	if err != nil {
		return nil, err
	}
	slots, unit := timings.Query{Kind: timings.All, Unit: timings.Day, From: o.From, To: o.To, Apart: true}, "day"
	if o.To.Sub(o.From) <= hourlyDays*24*time.Hour {
		slots.Unit, unit = timings.Hour, "hour"
	}
	o.Unit = unit
	models := timings.Query{Kind: timings.Model, Unit: slots.Unit, From: o.From, To: o.To}
	teams := timings.Query{Kind: timings.Team, Unit: timings.Day, From: o.From, To: o.To}
	// They are read beside each other: each is of other rows.
	var reading sync.WaitGroup
	var overTime, byModel, byTeam []*line
	errs := make([]error, 4)
	reading.Go(func() { overTime, errs[0] = s.lines(ctx, unit, slots) })
	reading.Go(func() { byModel, errs[1] = s.lines(ctx, "model", models) })
	reading.Go(func() { byTeam, errs[2] = s.lines(ctx, "team", teams) })
	reading.Go(func() { o.Spend, errs[3] = s.Ledger.Forecast(ctx) })
	reading.Wait()
	o.Totals, o.OverTime, o.ByModel, o.ByTeam = &total(overTime).Line, plain(overTime), plain(byModel), plain(byTeam)
	return o, errors.Join(errs...)
}

func (s *Source) begin(from, to time.Time) (*Overview, error) {
	o := &Overview{From: from, To: to}
	if to.IsZero() {
		o.To = s.Now().AddDate(0, 0, 1)
	}
	o.To = spending.StartOfDay(o.To)
	if from.IsZero() {
		o.From = o.To.AddDate(0, 0, -defaultDays)
	}
	o.From = spending.StartOfDay(o.From)
	if length := o.To.Sub(o.From); length <= 0 || length > MaxDays*24*time.Hour || o.From.Year() < 1970 || o.To.Year() > 9998 {
		return nil, apierror.New(http.StatusBadRequest, "invalid_value", "from must be a day before to, at most %d days", MaxDays).With("from")
	}
	return o, nil
}
