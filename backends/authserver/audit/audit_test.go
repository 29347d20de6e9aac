package audit_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

func TestFeed(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		f := audit.New(k.Server)
		start := k.Clock.Now()
		for i := range 120 {
			action := "token.issued"
			if i%3 == 0 {
				action = "tokens.other"
			}
			f.Add(t.Context(), kernel.Event{Action: action, Actor: "ann", Client: "c" + strconv.Itoa(i%2), Detail: []string{"n", strconv.Itoa(i)}})
			k.Clock.Pass(time.Second)
		}
		all := audit.Query{Since: start, Until: k.Clock.Now()}
		list, more, err := f.List(t.Context(), all, 100, 0)
		if err != nil || len(list) != 100 || !more || list[0].Detail != "n=119" || list[0].Actor != "ann" || !list[0].CreatedAt.Equal(start.Add(119*time.Second)) {
			t.Fatalf("%d, %t, %+v, error %v", len(list), more, list[:1], err)
		}
		for name, test := range map[string]struct {
			change func(q *audit.Query)
			want   int
		}{
			"action":  {func(q *audit.Query) { q.Action = "token.issued" }, 80},
			"prefix":  {func(q *audit.Query) { q.Action = "token." }, 80},
			"none":    {func(q *audit.Query) { q.Action = "token" }, 0},
			"client":  {func(q *audit.Query) { q.Client = "c1" }, 60},
			"actor":   {func(q *audit.Query) { q.Actor = "bob" }, 0},
			"until":   {func(q *audit.Query) { q.Until = start.Add(9 * time.Second) }, 10},
			"since":   {func(q *audit.Query) { q.Since = start.Add(110 * time.Second) }, 10},
			"nothing": {func(q *audit.Query) { q.Until = start.Add(-time.Second) }, 0},
		} {
			q := all
			test.change(&q)
			if list, more, err := f.List(t.Context(), q, 1000, 0); err != nil || more || len(list) != test.want {
				t.Errorf("%s: %d, %t, error %v", name, len(list), more, err)
			}
		}
		if list, more, err := f.List(t.Context(), all, 50, 100); err != nil || more || len(list) != 20 || list[19].Detail != "n=0" {
			t.Errorf("%d, %t, error %v", len(list), more, err)
		}
		type traced struct{}
		k.Trace = func(ctx context.Context) string { id, _ := ctx.Value(traced{}).(string); return id }
		f.Add(context.WithValue(t.Context(), traced{}, "4bf92f3577b34da6a3ce929d0e0e4736"), kernel.Event{Action: "traced"})
		f.Add(t.Context(), kernel.Event{Action: "traced"})
		all.Action, all.Until = "traced", k.Clock.Now()
		if list, _, err := f.List(t.Context(), all, 10, 0); err != nil || len(list) != 2 || list[0].Trace != "" || list[1].Trace != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%+v, error %v", list, err)
		}
		k.Clock.Pass(time.Hour)
		if n, err := f.Sweep(t.Context(), time.Hour+10*time.Second); err != nil || n != 110 {
			t.Errorf("%d swept, error %v", n, err)
		}
	})
}

// TestLostEventsAreCounted checks that events are counted as lost, and nothing blocks, if the database is closed.
func TestLostEventsAreCounted(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	m := new(meter)
	k.Server.Meter = m
	f := audit.New(k.Server)
	if err := k.DB.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.Add(t.Context(), kernel.Event{Action: "a"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.Run(ctx)
	if m.lost != 3 {
		t.Errorf("%d lost", m.lost)
	}
}

type meter struct{ lost int }

func (m *meter) Count(name, _ string) {
	if name == "audit_events_dropped_total" {
		m.lost++
	}
}

func (m *meter) Observe(string, string, time.Duration) {}

func TestPairs(t *testing.T) {
	t.Parallel()
	for want, pairs := range map[string][]string{
		``: nil, `a=1 b=2`: {"a", "1", "b", "2"}, `a="x y" b="\"q\\"`: {"a", "x y", "b", `"q\`}, `a=""`: {"a", ""}, `a=xy`: {"a", "x\n\x00y"},
	} {
		if got := audit.Pairs(pairs); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func FuzzValue(f *testing.F) {
	f.Add("upstream", "first", "cause", `it said "no" \ to us`)
	f.Add("a", "", "b", "c=d")
	f.Fuzz(func(t *testing.T, name, value, name2, value2 string) {
		audit.Value(value, name) // any text must be accepted
		if strings.ContainsAny(name+name2, "= \"") || name == name2 {
			return
		}
		text := audit.Pairs([]string{name, value, name2, value2})
		want := audit.Pairs([]string{"x", value2}) // without the characters that Pairs removes
		got, ok := audit.Value(text, name2)
		if pairs := audit.Pairs([]string{"x", got}); !ok || pairs != want {
			t.Errorf("%s: %s is %q, %v", text, name2, got, ok)
		}
	})
}

func TestValue(t *testing.T) {
	t.Parallel()
	const text = `upstream=first reason="" cause="he said \"no=x\" \\" last=1`
	for name, want := range map[string]string{"upstream": "first", "reason": "", "cause": `he said "no=x" \`, "last": "1"} {
		if got, ok := audit.Value(text, name); !ok || got != want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	for _, other := range []string{"", "no", "x", "no="} {
		if got, ok := audit.Value(text, other); ok {
			t.Errorf("%s: %q", other, got)
		}
	}
}
