package query

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// counts is a query of /event-counts, which counts the events of each subject by status.
type counts struct {
	events    *query
	subject   string // certname, resource or containing_class
	byNode    bool   // count_by=certname
	filter    *countFilter
	order     []countOrder
	limit     int64
	offset    int64
	aggregate bool // /aggregate-event-counts
}

// countFilter is the condition counts_filter on a column of countColumns.
type countFilter struct {
	column, op string
	value      any // int64 or float64
}

// countOrder is an element of order_by.
type countOrder struct {
	column   string
	nullable bool
	desc     bool
}

// countColumns are the members of a row of counts. countStatuses are the IDs of the statuses that they count.
var (
	countColumns  = []string{"failures", "noops", "skips", "successes"}
	countStatuses = []string{wordFailure, wordNoop, wordSkipped, wordSuccess}
)

// subjects maps each kind of subject to the columns that identify a subject.
var subjects = map[string][]string{
	"certname":         {"certname"},
	"resource":         {"resource_type", "resource_title"},
	"containing_class": {"containing_class"},
}

// checkSummarizeBy returns an error unless s is a kind of subject.
func checkSummarizeBy(s string) error {
	if subjects[s] == nil {
		return refuse("Unsupported value for 'summarize_by': '%s'", syntax.Clip(s))
	}
	return nil
}

// checkCountFilter checks the parameter counts_filter. It returns nil if the filter is missing or empty.
func checkCountFilter(v *syntax.Value) (*countFilter, error) {
	if v == nil || v.Kind == syntax.Null || v.IsList() && len(v.Items) == 0 {
		return nil, nil // no filter
	}
	op := v.Operator()
	if !slices.Contains([]string{"=", "<", "<=", ">", ">="}, op) {
		return nil, refuse("%s is not well-formed: query operator '%s' is unknown", v.Notation(), syntax.Clip(op))
	}
	if len(v.Items) != 3 {
		return nil, refuse("%s requires exactly two arguments", op)
	}
	name := v.Items[1].Plain()
	if !v.Items[1].IsText() || !slices.Contains(countColumns, name) {
		return nil, refuse("%s operator does not support object '%s' for event counts", op, name)
	}
	if v.Items[2].Kind != syntax.Number {
		return nil, refuse("Argument %s is incompatible with numeric field %q.", v.Items[2].Notation(), name)
	}
	n, err := numeric(v.Items[2])
	return &countFilter{name, op, n}, err
}

// orderBy checks the terms of order_by and adds them to the order.
func (q *counts) orderBy(terms []orderTerm) error {
	columns := slices.Concat(countColumns, subjects[q.subject])
	for _, t := range terms {
		if !slices.Contains(columns, t.field) {
			return refuse("Unrecognized column '%s' specified in :order_by; Supported columns are %s",
				syntax.Clip(t.field), quotedList(slices.Sorted(slices.Values(columns))))
		}
		q.order = append(q.order, countOrder{t.field, t.field == "containing_class", t.desc})
	}
	return nil
}

// subjectCounts returns a SELECT with one row for each subject: the columns that identify the subject, and the columns
// in countColumns. The events are counted by the IDs of their subjects before the subjects are looked up. If q.byNode
// is true, events of the same node and status count once.
func (c *compiler) subjectCounts(q *counts) string {
	s := c.newSelect(q.events)
	names := subjects[q.subject]
	idColumn := "resource" // identifies the subject in the table of events
	if q.subject == "certname" {
		idColumn = "node"
	}
	inner := make([]string, 0, len(names)+len(countColumns))
	for _, name := range names {
		inner = append(inner, s.value(s.q.entity.byName[name])+" AS "+name)
	}
	sum := func(value, name string) string { return "CAST(SUM(" + value + ") AS BIGINT) AS " + name }
	countIf := func(status, word string) string { return "CASE WHEN " + status + " = " + word + " THEN 1 ELSE 0 END" }
	outer := slices.Clone(names)
	if q.byNode {
		columns := []string{"node", "status"}
		if idColumn != "node" {
			columns = append(columns, idColumn)
		}
		for i, name := range countColumns {
			outer = append(outer, sum(countIf("status", countStatuses[i]), name))
		}
		inner = append(inner, s.column("e", "node")+" AS node", s.column("e", "status")+" AS status")
		// Resources with different IDs may be the same subject.
		inner[0] = "DISTINCT " + inner[0]
		return c.groupBySubject(q, outer, inner, s.groupedEvents(columns, nil))
	}
	countsByID := make([]string, len(countColumns))
	for i, name := range countColumns {
		countsByID[i] = sum(countIf(s.column("e", "status"), countStatuses[i]), name)
		inner = append(inner, s.column("e", name))
		outer = append(outer, sum(name, name))
	}
	return c.groupBySubject(q, outer, inner, s.groupedEvents([]string{idColumn}, countsByID))
}

// groupBySubject returns a SELECT that groups the counts by subject and applies the filter. inner are the columns of
// the inner SELECT, fromClause is its FROM clause, and outer are the columns of the SELECT that groups its rows.
func (c *compiler) groupBySubject(q *counts, outer, inner []string, fromClause string) string {
	names := subjects[q.subject]
	sql := "SELECT " + strings.Join(slices.Concat(names, countColumns), ", ") + " FROM (SELECT " +
		strings.Join(outer, ", ") +
		" FROM (SELECT " + strings.Join(inner, ", ") + " FROM " + fromClause + ") t GROUP BY " + strings.Join(names, ", ") +
		") counts"
	if f := q.filter; f != nil {
		sql += " WHERE " + f.column + " " + f.op + " " + c.literal(f.value)
	}
	return sql
}

// countRows compiles a query for counts of events or, if q.aggregate is true, for totals of these counts.
func (c *compiler) countRows(q *counts) *statement {
	st := &statement{hashColumn: -1}
	sql := c.subjectCounts(q)
	if q.aggregate {
		items := make([]string, 0, len(countColumns)+1)
		for _, name := range countColumns {
			// The number of subjects with such events.
			items = append(items, "COALESCE(SUM(CASE WHEN "+name+" > 0 THEN 1 ELSE 0 END), 0)")
			st.cells = append(st.cells, cell{key: name, kind: cellInteger})
		}
		st.cells = append(st.cells, cell{key: "total", kind: cellInteger})
		sql = "SELECT " + strings.Join(append(items, "COUNT(*)"), ", ") + " FROM (" + sql + ") subjects"
	} else {
		for _, name := range subjects[q.subject] {
			st.cells = append(st.cells, cell{key: strings.TrimPrefix(name, "resource_"), kind: cellText})
		}
		for _, name := range countColumns {
			st.cells = append(st.cells, cell{key: name, kind: cellInteger})
		}
		if len(subjects[q.subject]) == 1 {
			st.cells[0].key = "title"
		}
		sql += q.orderSQL() + (&selectCompiler{c: c, q: &query{limit: q.limit, offset: q.offset}}).limitClause()
	}
	st.sql, st.args, st.patterns = sql, c.args, c.patterns
	return st
}

// orderSQL returns the ORDER BY clause, or an empty string if the request has no order. The clause ends with the
// columns of the subject, which makes the order total. Nulls sort as the largest values.
func (q *counts) orderSQL() string {
	parts := make([]string, 0, len(q.order)+2)
	for _, o := range q.order {
		switch {
		case o.desc && o.nullable:
			parts = append(parts, o.column+" DESC NULLS FIRST")
		case o.desc:
			parts = append(parts, o.column+" DESC")
		case o.nullable:
			parts = append(parts, o.column+" NULLS LAST")
		default:
			parts = append(parts, o.column)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " ORDER BY " + strings.Join(append(parts, subjects[q.subject]...), ", ")
}

// countTotal compiles the statement that counts the subjects, ignoring paging.
func (c *compiler) countTotal(q *counts) *statement {
	sql := "SELECT COUNT(*) FROM (" + c.subjectCounts(q) + ") subjects"
	return &statement{sql: sql, args: c.args, patterns: c.patterns, hashColumn: -1}
}

// subjectRow appends the current row of counts to the buffer as a JSON object. The columns that identify the subject
// become the member "subject".
func (rw *rowWriter) subjectRow(q *counts) error {
	n := len(subjects[q.subject])
	rw.buf = append(rw.buf, `{"subject_type":`...)
	rw.buf = append(jsontext.AppendQuoted(rw.buf, q.subject), `,"subject":`...)
	cells, keys := rw.cells, rw.keys
	for i := range n { // the first key begins with the brace of this object
		rw.buf = append(rw.buf, keys[i]...)
		if err := rw.cell(cells[i], rw.values[i]); err != nil {
			return err
		}
	}
	rw.buf = append(rw.buf, '}')
	for i := n; i < len(cells); i++ {
		rw.buf = append(rw.buf, keys[i]...)
		if err := rw.cell(cells[i], rw.values[i]); err != nil {
			return err
		}
	}
	rw.buf = append(rw.buf, '}')
	return nil
}
