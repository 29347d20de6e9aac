package pages

import (
	"slices"
	"strings"
)

// Change is a line of a diff, for {{template "diff" .List}}.
type Change struct {
	Kind string // same, gone (only in the previous text) or came (only in the current text)
	Text string
}

// maxDiff limits the number of changed lines that are compared; the work grows with its square.
const maxDiff = 400

// Diff compares two texts line by line. If too many lines differ, the result has all lines of previous before all lines
// of current.
func Diff(previous, current string) []Change {
	a, b := strings.Split(previous, "\n"), strings.Split(current, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	out := appendLines(nil, "same", a[:head])
	out = appendChanges(out, a[head:len(a)-tail], b[head:len(b)-tail])
	return appendLines(out, "same", a[len(a)-tail:])
}

// appendLines appends lines of one kind to out.
func appendLines(out []Change, kind string, text []string) []Change {
	for _, line := range text {
		out = append(out, Change{kind, line})
	}
	return out
}

// appendChanges appends the changes between a and b, which have no equal lines at the beginning and the end, to out. It
// finds their longest common subsequence.
func appendChanges(out []Change, a, b []string) []Change {
	if len(a) > maxDiff || len(b) > maxDiff {
		return appendLines(appendLines(out, "gone", a), "came", b)
	}
	common := make([][]int, len(a)+1) // length of the longest common subsequence of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, oldLine := range slices.Backward(a) {
		for j, newLine := range slices.Backward(b) {
			if oldLine == newLine {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, Change{"same", a[i]})
			i++
			j++
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, Change{"gone", a[i]})
			i++
		default:
			out = append(out, Change{"came", b[j]})
			j++
		}
	}
	return appendLines(appendLines(out, "gone", a[i:]), "came", b[j:])
}
