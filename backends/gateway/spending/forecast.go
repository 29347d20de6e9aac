package spending

import (
	"context"
	"time"
)

// Forecast holds the spending of all users, and an estimate for the end of the month.
type Forecast struct {
	// Today and Month are the spending since the beginning of the UTC day and of the calendar month.
	Today MicroUSD `json:"today"`
	Month MicroUSD `json:"this_month"`
	// MonthEnd is Month plus, for each remaining day of the month, the average spending of the seven days before today.
	// If the gateway's first use was less than seven days ago, the average is over the days since then. On the day of
	// the first use, the spending of today is extrapolated.
	MonthEnd MicroUSD `json:"month_end"`
}

// paceDays is the number of days before today that are averaged: a whole week, because weekends differ from other days.
const paceDays = 7

// minPace is the shortest time since midnight for which the spending of today is extrapolated to a day. If less time
// has passed, the extrapolation assumes that minPace has passed.
const minPace = time.Hour

// Forecast computes the spending of today and of this month, and estimates that of the whole month.
func (s *Ledger) Forecast(ctx context.Context) (Forecast, error) {
	now := s.now()
	today := StartOfDay(now)
	month, week := startOfMonth(today), today.AddDate(0, 0, -paceDays)
	start := month
	if week.Before(start) {
		start = week
	}
	lines, err := s.Spending(ctx, Query{From: start, To: today.AddDate(0, 0, 1), By: []string{byDay}})
	if err != nil {
		return Forecast{}, err
	}
	var f Forecast
	var inWeek MicroUSD
	days := 0 // number of days before today since the first spending, at most paceDays
	for i := range lines {
		l := &lines[i]
		day, err := time.Parse(time.DateOnly, l.Day)
		if err != nil {
			return Forecast{}, err
		}
		if !day.Before(month) {
			f.Month += l.CostUSD
		}
		switch {
		case day.Equal(today):
			f.Today = l.CostUSD
		case !day.Before(week):
			inWeek += l.CostUSD
			days = max(days, int(today.Sub(day)/(24*time.Hour)))
		}
	}
	if len(lines) > 0 && lines[0].Day < week.Format(time.DateOnly) {
		days = paceDays // the gateway was in use already when the week began
	}
	perDay := float64(f.Today) * float64(24*time.Hour) / float64(max(now.Sub(today), minPace))
	if days > 0 { // otherwise only the pace of today is known
		perDay = float64(inWeek) / float64(days)
	}
	restOfMonth := month.AddDate(0, 1, 0).Sub(now)
	f.MonthEnd = f.Month + MicroUSD(perDay*float64(restOfMonth)/float64(24*time.Hour))
	return f, nil
}
