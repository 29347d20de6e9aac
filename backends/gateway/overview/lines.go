package overview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
)

// subject identifies a line: an hour or day, a model, or a team.
type subject struct {
	begin                 int64
	team, provider, model string
}

// line is a Line with the counts from which its rates and percentiles are computed.
type line struct {
	Line
	counts timings.Counts
}

// lines returns the lines of a group, which is hour, day, model or team, with the spending and the counts of the query
// q. Hours and days are in order of time; models and teams are ordered by cost, the highest first. It returns at most
// maxLines.
func (s *Source) lines(ctx context.Context, group string, q timings.Query) ([]*line, error) {
	spent, err := s.Ledger.Spending(ctx, spending.Query{From: q.From, To: q.To, By: []string{group}, Brief: true})
	if err != nil {
		return nil, err
	}
	counted, err := timings.Read(ctx, s.DB, q)
	if err != nil {
		return nil, err
	}
	found := make(map[subject]*line, len(spent))
	list := make([]*line, 0, len(spent))
	get := func(k subject, about Line) *line {
		if found[k] == nil {
			found[k] = &line{Line: about}
			list = append(list, found[k])
		}
		return found[k]
	}
	for i := range spent {
		k, about, err := ofSpent(&spent[i])
		if err != nil {
			return nil, err
		}
		if q.Kind == timings.Model && k.provider == "" {
			continue // requests without an answer
		}
		l := get(k, about)
		l.TotalTokens, l.CostUSD = spent[i].TotalTokens, spent[i].CostUSD
	}
	for _, c := range counted {
		k := subject{team: c.TeamID, provider: c.Provider, model: c.Model}
		var about Line
		switch q.Kind {
		case timings.All:
			k.begin, about.At = c.Slot.Unix(), &c.Slot
		case timings.Model:
			about.Provider, about.Model = &c.Provider, &c.Model
		case timings.Team:
			about.TeamID = &c.TeamID
		}
		get(k, about).counts.Add(&c.Counts)
	}
	for _, l := range list {
		l.complete()
	}
	slices.SortStableFunc(list, func(a, b *line) int {
		if a.At != nil && b.At != nil {
			return a.At.Compare(*b.At)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Requests, a.Requests))
	})
	return list[:min(len(list), maxLines)], nil
}

// ofSpent returns the subject of a line of spending, and a Line in which only the names of the subject are set.
func ofSpent(l *spending.Line) (k subject, about Line, err error) {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	k = subject{team: text(l.TeamID), provider: text(l.Provider), model: text(l.Model)}
	about = Line{TeamID: l.TeamID, Team: l.Team, Provider: l.Provider, Model: l.Model}
	about.At = l.Hour
	if l.Day != "" {
		day, err := time.Parse(time.DateOnly, l.Day)
		if err != nil {
			return k, about, err
		}
		about.At = &day
	}
	if about.At != nil {
		k.begin = about.At.Unix()
	}
	return k, about, nil
}

// complete sets the fields that are computed from the counts.
func (l *line) complete() {
	c := &l.counts
	l.Requests, l.Failed = c.Total(), c.Failed
	if l.Requests > 0 {
		l.ErrorRate = new(float64(l.Failed) / float64(l.Requests))
	}
	if c.Answered > 0 {
		for _, p := range []struct {
			into **int64
			part float64
		}{{&l.P50, 0.5}, {&l.P95, 0.95}, {&l.P99, 0.99}} {
			*p.into = new(c.Percentile(p.part).Milliseconds())
		}
	}
}

// total returns the sum of the lines of hours or days.
func total(lines []*line) *line {
	all := new(line)
	for _, l := range lines {
		all.counts.Add(&l.counts)
		all.TotalTokens += l.TotalTokens
		all.CostUSD += l.CostUSD
	}
	all.complete()
	return all
}

// plain returns the Line of each line.
func plain(lines []*line) []*Line {
	list := make([]*Line, len(lines))
	for i, l := range lines {
		list[i] = &l.Line
	}
	return list
}
