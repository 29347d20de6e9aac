package tables

import "math"

// SumsUp reports whether a row without a name is the sum of at least two rows above it in its group, in each column
// with a figure. In a table without groups it must be the sum of all rows above it.
func (t *Table) SumsUp(row int) bool {
	if t.Rows[row].Label != "" {
		return false
	}
	group := t.Rows[row].Group
	first := row
	for first > 0 && t.Rows[first-1].Group == group && t.Rows[first-1].Label != "" {
		first--
	}
	// If the row before the first one is in the same group, it has no label: it is another sum, and it already includes
	// the rows before it.
	if row-first < 2 || first > 0 && (group == "" || t.Rows[first-1].Group == group) {
		return false
	}
	found := false
	for k := range t.Columns {
		total, ok := t.Figure(row, k)
		if !ok {
			continue
		}
		sum := 0.0
		for i := first; i < row; i++ {
			if f, ok := t.Figure(i, k); ok {
				sum += f.Value
			}
		}
		if math.Abs(sum-total.Value) > 1.5*total.Step { // the figures are rounded
			return false
		}
		found = true
	}
	return found
}
