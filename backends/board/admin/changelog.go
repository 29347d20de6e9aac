package admin

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// Difference is a change of one property. What names the property; From and To are its values before and after the
// change.
type Difference struct{ What, From, To string }

// Differences returns the entries of list whose From and To differ.
func Differences(list []Difference) (out []Difference) {
	for _, d := range list {
		if d.From != d.To {
			out = append(out, d)
		}
	}
	return out
}

// InLog formats differences as one line for the moderation log.
func InLog(list []Difference) string {
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = d.What + ": " + kernel.ForLog(d.From) + " → " + kernel.ForLog(d.To)
	}
	return strings.Join(lines, "; ")
}
