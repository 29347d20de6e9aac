package spending

import (
	"testing"
	"time"
)

// TestForecast checks forecasts that continue the spending of the last week, of the days there are if they are fewer,
// or of today.
func TestForecast(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		today := StartOfDay(start)
		noon := func(day time.Time) { n.clock.Offset.Store(int64(day.Add(12 * time.Hour).Sub(start))) }
		spend := func(day time.Time, dollars int64) {
			t.Helper()
			log.Add(
				Record{
					At:           day.Add(time.Hour),
					UserID:       "ada",
					Provider:     "alpha",
					Model:        "large",
					Status:       200,
					CostMicroUSD: dollars * MicrosPerUSD,
					CostKnown:    true,
				},
			)
			if err := log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := func(name string, today, month int64, end float64) {
			t.Helper()
			f, err := n.Forecast(t.Context())
			// The clock is some milliseconds off noon.
			if diff := f.MonthEnd - MicroUSD(
				end*MicrosPerUSD,
			); err != nil || f.Today != MicroUSD(today*MicrosPerUSD) || f.Month != MicroUSD(month*MicrosPerUSD) || diff < -10_000 ||
				diff > 10_000 {
				t.Errorf("%s: %s today, %s this month, %s at its end, error %v", name, f.Today, f.Month, f.MonthEnd, err)
			}
		}
		first := today.AddDate(0, 0, 1-today.Day()) // the first of March
		noon(first)
		want("nothing", 0, 0, 0)
		spend(first, 5)
		want("today's pace", 5, 5, 310)
		noon(first.AddDate(0, 0, 1))
		spend(first.AddDate(0, 0, 1), 1)
		want("the pace of yesterday", 1, 6, 6+5*29.5)
		noon(first.AddDate(0, 0, 4))
		want("that of four days", 0, 6, 6+1.5*26.5)
		noon(first.AddDate(0, 0, 10))
		spend(first.AddDate(0, 0, 9), 14)
		want("that of a week, in which the first days are not", 0, 20, 20+2*20.5)
		noon(first.AddDate(0, 0, 20))
		want("a week in which nothing was spent", 0, 20, 20)
		noon(first.AddDate(0, 1, 2))
		for day := range 7 {
			spend(first.AddDate(0, 1, 2-1-day), 3)
		}
		want("that of a week that began in the month before", 0, 6, 6+3*27.5)
	})
}
