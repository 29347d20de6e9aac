package tables

import "math"

// SumsUp reports whether a row without a name is the sum of the rows above it in its group, or of all rows
// above it if the table has no groups.
func (t *Table) SumsUp(at int) bool {
	if t.Rows[at].Label != "" {
		return false
	}
	group := t.Rows[at].Group
	from := at
	for from > 0 && t.Rows[from-1].Group == group && t.Rows[from-1].Label != "" {
		from--
	}
	if at-from < 2 || from > 0 && (group == "" || t.Rows[from-1].Group == group) { // another sum has closed the group
		return false
	}
	some := false
	for k := range t.Columns {
		total, ok := t.Figure(at, k)
		if !ok {
			continue
		}
		sum := 0.0
		for i := from; i < at; i++ {
			if f, ok := t.Figure(i, k); ok {
				sum += f.Value
			}
		}
		if math.Abs(sum-total.Value) > 1.5*total.Step {
			return false
		}
		some = true
	}
	return some
}
