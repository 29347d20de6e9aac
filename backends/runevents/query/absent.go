package query

// nothing is the answer about an entity that is never stored, and how many rows
// it has without a page: functions without groups have one row.
func (q *query) nothing() (rows []byte, total string) {
	if !q.aggregates() || len(q.group) > 0 {
		return []byte("[]"), "0"
	}
	if q.offset > 0 {
		return []byte("[]"), "1"
	}
	rows = append(rows, '[')
	sep := byte('{')
	for _, col := range q.columns {
		rows = append(appendString(append(rows, sep), col.key), ':')
		sep = ','
		if col.function == "count" {
			rows = append(rows, '0')
		} else {
			rows = append(rows, "null"...)
		}
	}
	return append(rows, '}', ']'), "1"
}
