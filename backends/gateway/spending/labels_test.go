package spending

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// spent returns the lines of a spending report in a short notation.
func (n *node) spent(t *testing.T, q Query) string {
	t.Helper()
	lines, err := n.Spending(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range lines {
		l := &lines[i]
		for _, part := range []*string{l.Team, l.UserID, l.User, l.KeyID, l.Key, l.Tag, l.EndUser, l.Model} {
			if part != nil {
				b.WriteString(*part + " ")
			}
		}
		if l.Hour != nil {
			b.WriteString(l.Hour.Format("15h "))
		}
		fmt.Fprintf(&b, "%d %d %s", l.Requests, l.TotalTokens, l.CostUSD)
		if l.Before != nil {
			fmt.Fprintf(&b, " after %d %d %s", l.Before.Requests, l.Before.TotalTokens, l.Before.CostUSD)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// TestSpendingByAll checks the sums by each group and each permitted combination, and that other combinations are
// refused.
func TestSpendingByAll(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		red := n.team(t, "red")
		key := n.user(t, "alice")
		n.sql(t, `UPDATE gateway_users SET name = 'Alice' WHERE id = 'alice'`)
		for _, r := range []Record{
			{At: start, UserID: "alice", KeyID: key.ID, TeamID: red.ID, Model: "large", InputTokens: 10, WrittenTokens: 4, CostMicroUSD: 3, CostKnown: true, Tags: []string{"a", "b", "a"}, EndUser: "x"},
			{At: start.Add(time.Hour), UserID: "bob", KeyID: "gk_b", Model: "large", InputTokens: 20, CostMicroUSD: 2, CostKnown: true, Tags: []string{"b"}},
			{At: start.AddDate(0, 0, -1), UserID: "alice", KeyID: key.ID, TeamID: red.ID, Model: "small", InputTokens: 30, CostMicroUSD: 1, CostKnown: true, EndUser: "y"},
		} {
			r.Provider = "alpha"
			log.Add(r)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		day, next := StartOfDay(start), StartOfDay(start).AddDate(0, 0, 1)
		label := key.Label
		for _, test := range []struct {
			q    Query
			want string
		}{
			{Query{By: []string{"organisation"}}, "2 30 0.000005"},
			{Query{By: []string{"organisation"}, Compare: true}, "2 30 0.000005 after 1 30 0.000001"},
			{Query{By: []string{"user"}}, "alice Alice 1 10 0.000003; bob 1 20 0.000002"},
			{Query{By: []string{"key", "model"}}, key.ID + " " + label + " large 1 10 0.000003; gk_b large 1 20 0.000002"},
			{Query{By: []string{"tag"}}, "b 2 30 0.000005; a 1 10 0.000003"},
			{Query{By: []string{"tag", "team"}, TeamID: red.ID}, "red a 1 10 0.000003; red b 1 10 0.000003"},
			{Query{By: []string{"end_user", "model"}, Compare: true}, "x large 1 10 0.000003 after 0 0 0"},
			{Query{By: []string{"hour"}}, "10h 1 10 0.000003; 11h 1 20 0.000002"},
			{Query{By: []string{"hour", "team"}, TeamID: red.ID}, "red 10h 1 10 0.000003"},
			{Query{By: []string{"hour", "user"}}, "alice Alice 10h 1 10 0.000003; bob 11h 1 20 0.000002"},
			{Query{By: []string{"key", "hour", "model"}}, key.ID + " " + label + " large 10h 1 10 0.000003; gk_b large 11h 1 20 0.000002"},
			{Query{By: []string{"team"}, Compare: true}, "red 1 10 0.000003 after 1 30 0.000001; 1 20 0.000002 after 0 0 0"},
			{Query{By: []string{"organisation"}, From: next, To: next.AddDate(0, 0, 1)}, "0 0 0"},
		} {
			if test.q.From.IsZero() {
				test.q.From, test.q.To = day, next
			}
			if got := n.spent(t, test.q); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(test.want), " ") {
				t.Errorf("%+v: %s, want %s", test.q, got, test.want)
			}
		}
		lines, err := n.Spending(t.Context(), Query{By: []string{"organisation"}, From: day, To: next})
		if err != nil || lines[0].WrittenTokens != 4 || *lines[0].USDPerMillion != 166_666 {
			t.Errorf("%+v, error %v", lines, err)
		}
		for param, queries := range map[string][]Query{
			"by": {
				{By: []string{"user", "team"}},
				{By: []string{"key"}, TeamID: red.ID},
				{By: []string{"tag", "end_user"}},
				{By: []string{"tag", "hour"}},
				{By: []string{"user", "tag"}},
				{By: []string{"user", "hour", "tag"}},
				{By: []string{"user", "hour", "team"}},
				{By: []string{"day", "hour"}},
				{By: []string{"nothing"}},
			},
			"compare": {{By: []string{"day"}, Compare: true}, {By: []string{"hour"}, Compare: true}},
			"from":    {{By: []string{"hour"}, From: start.AddDate(0, 0, -32), To: start}},
		} {
			for _, q := range queries {
				_, err := n.Spending(t.Context(), q)
				wantRefusal(t, err, http.StatusBadRequest, "invalid_value", param)
			}
		}
	})
}

// TestLabelsAreBounded checks that further labels are counted together once a day has MaxLabels labels, while several
// nodes write.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		nodes := []*node{p.start(t), p.start(t)}
		names := func(kind string) (count, others int64) {
			t.Helper()
			err := nodes[0].db.Read(t.Context(), func(c store.Conn) error {
				return c.Row(`SELECT count(DISTINCT name), CAST(coalesce(sum(CASE WHEN name = ? THEN requests END), 0) AS BIGINT)
					FROM gateway_label_days WHERE kind = ?`, OtherLabels, kind).Scan(&count, &others)
			})
			if err != nil {
				t.Fatal(err)
			}
			return count, others
		}
		logs := []*Log{quietLog(nodes[0]), quietLog(nodes[1])}
		const more = 40
		for i := range MaxLabels + more {
			r := record(i)
			r.At, r.Provider, r.Model = start, "alpha", "large"
			r.Tags, r.EndUser = []string{fmt.Sprint("tag ", i)}, "one"
			logs[i%2].Add(r)
			if i%100 == 99 || i == MaxLabels+more-1 {
				for _, log := range logs {
					if err := log.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if count, others := names(labelTag); count != MaxLabels+1 || others != more {
			t.Errorf("%d names of tags, %d others", count, others)
		}
		if count, others := names(labelEndUser); count != 1 || others != 0 {
			t.Errorf("%d names of end users, %d others", count, others)
		}
		// A known label keeps its own row, and another day has room for new labels.
		for i, day := range []time.Time{start, start.AddDate(0, 0, 1)} {
			r := record(i)
			r.At, r.Tags = day, []string{"tag 1", "fresh"}
			logs[0].Add(r)
		}
		if err := logs[0].Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if count, others := names(labelTag); count != MaxLabels+2 || others != more+1 {
			t.Errorf("%d names of tags, %d others", count, others)
		}
	})
}
