package posts

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// Difference is a part in which two versions of something differ.
type Difference struct{ What, From, To string }

// Differences leaves out what is the same.
func Differences(list []Difference) (out []Difference) {
	for _, d := range list {
		if d.From != d.To {
			out = append(out, d)
		}
	}
	return out
}

// InLog returns what differs, in one line for the log.
func InLog(list []Difference) string {
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = d.What + ": " + kernel.Brief(d.From) + " → " + kernel.Brief(d.To)
	}
	return strings.Join(lines, "; ")
}
