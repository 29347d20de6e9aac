package spending

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// maxTools limits the number of tool names in a record.
const maxTools = 16

// AddUsage adds a usage to the usage in the record: its tokens, and the calls of tools that the provider ran. The
// calls of tools beyond maxTools are left out.
func (r *Record) AddUsage(u *wire.Usage) {
	r.InputTokens += u.Prompt
	r.CachedTokens += u.CacheRead
	r.WrittenTokens += u.CacheWrite
	r.OutputTokens += u.Completion
	r.ReasoningTokens += u.Reasoning
	if u.Served == nil || len(u.Served.Calls) == 0 {
		return
	}
	if r.ServerTools == nil {
		r.ServerTools = make(map[string]int64, len(u.Served.Calls))
	}
	for tool, calls := range u.Served.Calls {
		if _, known := r.ServerTools[tool]; known || len(r.ServerTools) < maxTools {
			r.ServerTools[tool] += calls
		}
	}
}

// Cost returns the price of a usage at a model, and whether the price is known. servedAs are the words for the way in
// which the request was served; see catalog.Price.Factors.
func Cost(m *catalog.Model, u *wire.Usage, servedAs []string) (microUSD int64, known bool) {
	t := catalog.Tokens{
		Input: u.Prompt - u.CacheRead - u.CacheWrite, Cached: u.CacheRead, Output: u.Completion,
		Written: u.CacheWrite - u.CacheWriteHour, WrittenHour: u.CacheWriteHour, Served: servedAs,
	}
	if u.Served != nil {
		t.Calls = u.Served.Calls
	}
	return m.Cost(t)
}
