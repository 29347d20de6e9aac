package spending

import (
	"context"
	"time"
)

// Forecast is what all users have spent, and what they will have at the end of the month.
type Forecast struct {
	// Today and Month are what was spent since the UTC day and the calendar month began.
	Today MicroUSD `json:"today"`
	Month MicroUSD `json:"this_month"`
	// MonthEnd is Month, and for the rest of the month what a day has cost on average in the seven
	// days before today, or in those since the first request. Where there is no such day, today's pace
	// goes on.
	MonthEnd MicroUSD `json:"month_end"`
}

// paceDays is from how many days before today a Forecast knows what a day costs: a whole week, whose
// days differ.
const paceDays = 7

// leastPace is the least part of a day whose pace is taken for a whole day's.
const leastPace = time.Hour

// Forecast returns what was spent today and this month, and what the month will have cost.
func (s *Ledger) Forecast(ctx context.Context) (Forecast, error) {
	now := s.now()
	today := StartOfDay(now)
	month, week := startOfMonth(today), today.AddDate(0, 0, -paceDays)
	from := month
	if week.Before(from) {
		from = week
	}
	lines, err := s.Spending(ctx, Query{From: from, To: today.AddDate(0, 0, 1), By: []string{byDay}})
	if err != nil {
		return Forecast{}, err
	}
	var f Forecast
	var inWeek MicroUSD
	days := 0 // of the week, from the first one on that something was spent
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
		days = paceDays // something was spent before the week, which may have begun with quiet days
	}
	perDay := float64(f.Today) * float64(24*time.Hour) / float64(max(now.Sub(today), leastPace))
	if days > 0 {
		perDay = float64(inWeek) / float64(days)
	}
	left := month.AddDate(0, 1, 0).Sub(now)
	f.MonthEnd = f.Month + MicroUSD(perDay*float64(left)/float64(24*time.Hour))
	return f, nil
}
