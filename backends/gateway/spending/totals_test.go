package spending

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// lastOfTotals is the upper bound of the days for which anyRequest makes records.
const lastOfTotals = 230

// dayOfTotals returns the beginning of a day. Day 0 is a Wednesday.
func dayOfTotals(day int) time.Time { return time.Date(2025, 1, 1+day, 0, 0, 0, 0, time.UTC) }

// anyRequest returns a random record on one of many days, often at the very beginning or end of the day.
func anyRequest(random *rand.Rand) Record {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	moment := dayOfTotals(random.IntN(lastOfTotals))
	moment = moment.Add([]time.Duration{0, 12 * time.Hour, 24*time.Hour - time.Microsecond}[random.IntN(3)])
	r := Record{
		At: moment, UserID: pick("alice", "bob", "carol", ""), KeyID: pick("gk_1", "gk_2", "gk_3"), TeamID: pick("red", "blue", ""),
		Provider: pick("alpha", "beta"), Model: pick("large", "small"), InputTokens: random.Int64N(1000),
		OutputTokens: random.Int64N(100), WrittenTokens: random.Int64N(10), CostMicroUSD: random.Int64N(1000), CostKnown: true,
		Code: pick("", "", "server_error"), Status: 200, Latency: time.Second,
	}
	if random.IntN(4) == 0 {
		r.Tags, r.EndUser = []string{pick("a", "b")}, pick("x", "y")
	}
	if random.IntN(5) == 0 {
		r.FailedAttempts = []apierror.Attempt{{Provider: "gamma", Model: "vast", Status: 500}}
	}
	return r
}

// lineOf returns the groups of the report line to which a record belongs. If it belongs to none, ok is false.
func lineOf(r *Record, grouping []string) (groups string, ok bool) {
	for _, name := range grouping {
		text := ""
		switch name {
		case byTeam:
			text = r.TeamID
		case byUser:
			text = r.UserID
		case byKey:
			text = r.KeyID
		case byTag:
			if len(r.Tags) == 0 {
				return "", false
			}
			text = r.Tags[0]
		case byEndUser:
			if r.EndUser == "" {
				return "", false
			}
			text = r.EndUser
		case "provider":
			text = r.Provider
		case "model":
			text = r.Provider + "/" + r.Model
		case byDay:
			text = r.At.Format(time.DateOnly)
		case byHour:
			text = r.At.Truncate(time.Hour).Format(time.DateTime)
		}
		groups += name + "=" + text + " "
	}
	return groups, true
}

// addUp returns the lines that Spending should return, computed from the records.
func addUp(records []Record, q *Query) map[string]string {
	sum := make(map[string]*[5]int64)
	add := func(r *Record, numbers [5]int64) {
		groups, ok := lineOf(r, q.By)
		if !ok {
			return
		}
		if sum[groups] == nil {
			sum[groups] = new([5]int64)
		}
		for i, n := range numbers {
			sum[groups][i] += n
		}
	}
	first, end := StartOfDay(q.From), StartOfDay(q.To.Add(dayLong-1))
	if q.has(byHour) {
		first, end = q.From.Truncate(time.Hour), q.To.Add(time.Hour-1).Truncate(time.Hour)
	}
	for i := range records {
		r := records[i]
		if r.At.Before(first) || !r.At.Before(end) || q.TeamID != "" && r.TeamID != q.TeamID {
			continue
		}
		add(&r, [5]int64{1, r.InputTokens + r.OutputTokens, r.CostMicroUSD, r.WrittenTokens, 0})
		if len(r.FailedAttempts) > 0 && !q.has(byTag) && !q.has(byEndUser) { // for the failed model
			r.Provider, r.Model = "gamma", "vast"
			add(&r, [5]int64{4: 1})
		}
	}
	texts := make(map[string]string)
	for groups, numbers := range sum {
		texts[groups] = fmt.Sprint(*numbers)
	}
	return texts
}

// linesOf returns the lines of Spending in the format of addUp.
func (n *node) linesOf(t *testing.T, q Query) map[string]string {
	t.Helper()
	lines, err := n.Spending(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	texts := make(map[string]string)
	value := func(text *string) string {
		if text == nil {
			return ""
		}
		return *text
	}
	for i := range lines {
		l := &lines[i]
		if *l == (Line{}) || len(q.By) == 1 && q.By[0] == byOrganisation && l.Requests+l.FailedAttempts == 0 {
			continue
		}
		r := Record{
			TeamID: value(l.TeamID), UserID: value(l.UserID), KeyID: value(l.KeyID), Tags: []string{value(l.Tag)},
			EndUser: value(l.EndUser), Provider: value(l.Provider), Model: value(l.Model),
		}
		if l.Day != "" {
			r.At, _ = time.Parse(time.DateOnly, l.Day)
		}
		if l.Hour != nil {
			r.At = *l.Hour
		}
		groups, _ := lineOf(&r, q.By)
		texts[groups] = fmt.Sprint([5]int64{l.Requests, l.TotalTokens, int64(l.CostUSD), l.WrittenTokens, l.FailedAttempts})
	}
	return texts
}

// TestSpendingMatchesRecords compares sums by all groups and over random days with sums of the records, while totals
// are computed for more and more days and those of old days are deleted.
func TestSpendingMatchesRecords(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		random := rand.New(rand.NewPCG(1, 2))
		var records []Record
		write := func(first, end int) {
			t.Helper()
			for len(records) < end*3 {
				if r := anyRequest(random); r.At.Before(dayOfTotals(end)) && !r.At.Before(dayOfTotals(first)) {
					records = append(records, r)
					log.Add(r)
				}
			}
			if err := log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		groupings := [][]string{
			{"organisation"},
			{"team"},
			{"user"},
			{"key"},
			{"provider"},
			{"model"},
			{"tag"},
			{"end_user"},
			{"day"},
			{"team", "model"},
			{"team", "provider"},
			{"user", "organisation"},
			{"user", "model"},
			{"user", "key"},
			{"user", "day"},
			{"team", "day"},
			{"tag", "model"},
			{"key", "provider"},
		}
		compare := func(now int) {
			t.Helper()
			for range 150 {
				first := dayOfTotals(random.IntN(now+10) - 5)
				end := first.AddDate(0, 0, 1+random.IntN(now))
				q := Query{From: first.Add(time.Duration(random.IntN(2)) * time.Hour), To: end.Add(-time.Duration(random.IntN(2)) * time.Hour)}
				if random.IntN(2) == 0 {
					q.To = dayOfTotals(now + 1)
				}
				q.By = groupings[random.IntN(len(groupings))]
				if random.IntN(3) == 0 && !q.has(byKey) && (!q.has(byUser) || !q.has("model")) {
					q.TeamID = "red"
				}
				if random.IntN(6) == 0 {
					q.From = dayOfTotals(now).Add(-time.Duration(random.IntN(500)) * 20 * time.Minute)
					q.To = q.From.Add(time.Duration(1+random.IntN(300)) * 20 * time.Minute)
					q.By = [][]string{{"hour"}, {"team", "hour"}, {"hour", "model"}}[random.IntN(3)]
				}
				if !q.From.Before(q.To) {
					continue
				}
				got, want := n.linesOf(t, q), addUp(records, &q)
				if !maps.Equal(got, want) {
					t.Fatalf("on day %d, %+v:\ngot  %v\nwant %v", now, q, got, want)
				}
			}
		}
		sweep := func(day int, clock time.Duration) {
			t.Helper()
			n.clock.Offset.Store(int64(dayOfTotals(day).Add(clock).Sub(start)))
			if err := idle(n, 0).turn(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
		stored := func() (days []int) {
			t.Helper()
			for _, table := range allTotals {
				list, err := read(t.Context(), n.Ledger, scanDay, "SELECT DISTINCT day FROM "+table.table+" WHERE day < ? ORDER BY day", untilNow)
				if err != nil {
					t.Fatal(err)
				}
				days = days[:0]
				for _, day := range list {
					days = append(days, int(day-unixDay(dayOfTotals(0))))
				}
			}
			return days
		}
		write(0, 2)
		compare(2)
		write(2, 60)
		sweep(60, 12*time.Hour) // computes the totals for the first time, as after an upgrade
		if days := stored(); len(days) != 57 || days[0] != 1 || days[56] != 57 {
			t.Errorf("there are totals of %v", days)
		}
		compare(60)
		write(60, 61) // a record of a day without totals changes no totals
		sweep(61, time.Hour)
		compare(61)
		write(61, 150)
		sweep(150, 0)
		write(150, lastOfTotals)
		sweep(lastOfTotals, 23*time.Hour)
		days := stored()
		compare(lastOfTotals)
		for _, day := range days {
			if dayOfTotals(day).Weekday() != time.Monday && day < lastOfTotals-dailyTotals-spareTotals {
				t.Errorf("the totals of day %d are still there", day)
			}
		}
		if last := days[len(days)-1]; last != lastOfTotals-3 || !slices.Contains(days, 5) {
			t.Errorf("there are totals of %v", days)
		}
	})
}

// TestSpendingLineLimit checks that a report by day with too many lines has the lines of the first days, in order.
func TestSpendingLineLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		const users = 1500
		first := unixDay(dayOfTotals(0))
		n.sql(t, fmt.Sprintf(`INSERT INTO gateway_usage_days (user_id, day, key_id, provider, model, tier, %s)
			SELECT 'user_' || (10000 + n %% %d), %d + n / %[2]d, '', '', '', ''%[4]s FROM (WITH RECURSIVE numbers (n) AS (SELECT 0
			UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < %[5]d) SELECT n FROM numbers) AS counted`,
			strings.Join(sumColumns[:], ", "), users, first, strings.Repeat(", n", len(sumColumns)), users*10))
		lines, err := n.Spending(t.Context(), Query{From: dayOfTotals(0), To: dayOfTotals(10), By: []string{byDay, byUser}})
		if err != nil || len(lines) != MaxLines {
			t.Fatal(len(lines), err)
		}
		for i := range lines {
			day, place := i/users, i%users
			if l := &lines[i]; l.Day != dayOfTotals(day).Format(time.DateOnly) || l.Requests != int64((day+1)*users-1-place) {
				t.Fatalf("line %d is %s %d", i, l.Day, l.Requests)
			}
		}
	})
}

// TestLimit checks that a limited list has the users with the highest costs, and compares them with what the same users
// spent before.
func TestLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		for i := range 9 {
			for day, cost := range []int64{int64(9 - i), int64(1 + i)} {
				log.Add(Record{
					At: dayOfTotals(day), UserID: fmt.Sprint("user-", i), KeyID: "gk", Provider: "alpha", Model: "large", CostMicroUSD: cost, CostKnown: true,
				})
			}
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines, err := n.Spending(t.Context(), Query{
			From: dayOfTotals(1), To: dayOfTotals(2), By: []string{byUser}, Limit: 2, Compare: true,
		})
		got := make([]string, 0, len(lines))
		for i := range lines {
			got = append(got, fmt.Sprintf("%s %d %d", *lines[i].UserID, int64(lines[i].CostUSD), int64(lines[i].Before.CostUSD)))
		}
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, []string{"user-8 9 1", "user-7 8 2"})
	})
}
