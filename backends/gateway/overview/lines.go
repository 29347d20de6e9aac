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
	slot                  int64 // the beginning of the hour or day, in Unix seconds
	team, provider, model string
}

// line is a Line with the counts from which setRates computes its fields.
type line struct {
	Line
	counts timings.Counts
}

// lines returns the lines of a group, with the spending and the counts of the query q. The group is hour, day, model
// or team. Hours and days are in order of time; models and teams are ordered by cost, the highest first. lines
// returns at most maxLines.
func (s *Source) lines(ctx context.Context, group string, q timings.Query) ([]*line, error) {
	spent, err := s.Ledger.Spending(ctx, spending.Query{From: q.From, To: q.To, By: []string{group}, Brief: true})
	if err != nil {
		return nil, err
	}
	counted, err := timings.Read(ctx, s.DB, q)
	if err != nil {
		return nil, err
	}
	bySubject := make(map[subject]*line, len(spent))
	list := make([]*line, 0, len(spent))
	// lineOf returns the line of a subject. If the line does not exist, lineOf adds it with the names of the subject.
	lineOf := func(key subject, names Line) *line {
		if bySubject[key] == nil {
			bySubject[key] = &line{Line: names}
			list = append(list, bySubject[key])
		}
		return bySubject[key]
	}
	for i := range spent {
		key, names, err := subjectOf(&spent[i])
		if err != nil {
			return nil, err
		}
		if q.Kind == timings.Model && key.provider == "" {
			continue // requests without an answer
		}
		l := lineOf(key, names)
		l.TotalTokens, l.CostUSD = spent[i].TotalTokens, spent[i].CostUSD
	}
	for _, c := range counted {
		key := subject{team: c.TeamID, provider: c.Provider, model: c.Model}
		var names Line
		switch q.Kind {
		case timings.All:
			key.slot, names.At = c.Slot.Unix(), &c.Slot
		case timings.Model:
			names.Provider, names.Model = &c.Provider, &c.Model
		case timings.Team:
			names.TeamID = &c.TeamID
		}
		lineOf(key, names).counts.Add(&c.Counts)
	}
	for _, l := range list {
		l.setRates()
	}
	slices.SortStableFunc(list, func(a, b *line) int {
		if a.At != nil && b.At != nil {
			return a.At.Compare(*b.At)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Requests, a.Requests))
	})
	return list[:min(len(list), maxLines)], nil
}

// subjectOf returns the subject of a line of spending, and a Line in which only the time and the names of the subject
// are set.
func subjectOf(l *spending.Line) (key subject, names Line, err error) {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	key = subject{team: text(l.TeamID), provider: text(l.Provider), model: text(l.Model)}
	names = Line{At: l.Hour, TeamID: l.TeamID, Team: l.Team, Provider: l.Provider, Model: l.Model}
	if l.Day != "" {
		day, err := time.Parse(time.DateOnly, l.Day)
		if err != nil {
			return key, names, err
		}
		names.At = &day
	}
	if names.At != nil {
		key.slot = names.At.Unix()
	}
	return key, names, nil
}

// setRates sets the fields that are computed from the counts: numbers of requests, the error rate and percentiles.
func (l *line) setRates() {
	c := &l.counts
	l.Requests, l.Failed = c.Total(), c.Failed
	if l.Requests > 0 {
		l.ErrorRate = new(float64(l.Failed) / float64(l.Requests))
	}
	if c.Answered > 0 {
		l.P50 = new(c.Percentile(0.5).Milliseconds())
		l.P95 = new(c.Percentile(0.95).Milliseconds())
		l.P99 = new(c.Percentile(0.99).Milliseconds())
	}
}

// total returns the sum of the lines of hours or days.
func total(lines []*line) *line {
	sum := new(line)
	for _, l := range lines {
		sum.counts.Add(&l.counts)
		sum.TotalTokens += l.TotalTokens
		sum.CostUSD += l.CostUSD
	}
	sum.setRates()
	return sum
}

// publicLines returns the Line of each line.
func publicLines(lines []*line) []*Line {
	list := make([]*Line, len(lines))
	for i, l := range lines {
		list[i] = &l.Line
	}
	return list
}
