package catalog

import "slices"

// efforts in rising order.
var efforts = [...]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// EffortNone asks for an answer without reasoning.
const EffortNone = "none"

func effortRank(effort string) int { return slices.Index(efforts[:], effort) }

// EffortFor returns the reasoning effort to send to m for the one that was
// asked for: the same if m knows it, else the next lower that m knows, else
// the next higher. It reports false when none should be sent: m does not
// reason, takes no effort, or the one asked for is no known word.
//
// Rounding never turns reasoning off: "none" is sent only when it was asked
// for. m need not be part of the catalog, as long as its provider is.
func (c *Catalog) EffortFor(m *Model, effort string) (string, bool) {
	asked := effortRank(effort)
	if asked < 0 || !m.Reasoning {
		return "", false
	}
	known := m.ReasoningEfforts
	if known == nil {
		p, ok := c.Provider(m.Provider)
		if !ok {
			return "", false
		}
		known = p.Shape.ReasoningEfforts
	}
	below, above := -1, len(efforts)
	for _, k := range known {
		switch rank := effortRank(k); {
		case rank < 0 || (rank == 0 && asked != 0):
		case rank <= asked:
			below = max(below, rank)
		default:
			above = min(above, rank)
		}
	}
	switch {
	case below >= 0:
		return efforts[below], true
	case above < len(efforts):
		return efforts[above], true
	}
	return "", false
}
