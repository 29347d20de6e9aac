package query

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// cellKind determines how a column of the result is converted to JSON.
type cellKind int

const (
	cellText    cellKind = iota
	cellInteger          // unchanged
	cellFloat
	cellBool   // from 0 or 1
	cellTime   // from Unix milliseconds
	cellHash   // from bytes to hexadecimal
	cellJSON   // unchanged
	cellPacked // decompressed JSON
)

// cell describes a member of the JSON objects in the answer.
type cell struct {
	key  string
	kind cellKind
	// href is the last part of the link to a list of a report: "events", "logs" or "metrics". It is empty for other
	// members. If a cell has a link, the last column of the row is the hash of the report.
	href string
}

// statement is a compiled query.
type statement struct {
	sql      string
	args     []any
	patterns []int64 // IDs of patterns to be released
	cells    []cell
	parts    []part // their columns follow after the cells
	// hashColumn is the index of the column with the report's hash, from which links are made, or -1.
	hashColumn int
}

// release releases the patterns. It must be called after the statement has been executed.
func (s *statement) release() {
	for _, id := range s.patterns {
		pattern.Release(id)
	}
}

// compiler compiles checked queries to SQL. All data from the client is passed in parameters. The parameters are
// numbered, so the parts of a query can be compiled in any order.
type compiler struct {
	dialect   store.Dialect
	collation string  // quoted collation for regular expressions on PostgreSQL; empty for the column's collation
	cutoff    int64   // nodes that became inactive before this time are about to be deleted
	distinct  *window // of the request, or nil
	args      []any
	patterns  []int64
	selects   int // number of SELECTs so far, for unique aliases
}

// selectCompiler compiles one SELECT. Its methods return SQL text; a method that returns an expression for a field also
// notes which table must be joined.
type selectCompiler struct {
	c      *compiler
	q      *query
	suffix string          // of the aliases of all tables; empty for the first SELECT
	joined map[string]bool // aliases of the tables to be joined, without the suffix
	// narrow means that an equality keeps the result small. Conditions on shared texts are then tested for each row;
	// otherwise they are tested once for each text.
	narrow bool
	// latest means that only the latest report of each node is selected. The result may be large, but is limited by the
	// number of nodes.
	latest bool
}

func (c *compiler) postgres() bool { return c.dialect == store.Postgres }

// arg adds a parameter with the value v, and returns its placeholder.
func (c *compiler) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// text adds a text parameter, and returns its placeholder. On PostgreSQL the placeholder has an explicit type, because
// some contexts do not determine the type.
func (c *compiler) text(s string) string {
	if c.postgres() {
		return c.arg(s) + "::text"
	}
	return c.arg(s)
}

// literal adds a parameter for a value with which a clause compares, and returns its placeholder.
func (c *compiler) literal(v any) string {
	switch v := v.(type) {
	case float64:
		return "CAST(" + c.arg(v) + " AS DOUBLE PRECISION)"
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		return c.arg(n)
	}
	return c.arg(v)
}

// newSelect returns a selectCompiler for a query or inner query, with narrow and latest set according to the conditions
// of the query, and with a suffix that keeps the aliases of its tables unique.
func (c *compiler) newSelect(q *query) *selectCompiler {
	s := &selectCompiler{c: c, q: q, joined: make(map[string]bool)}
	if c.selects > 0 {
		s.suffix = strconv.Itoa(c.selects)
	}
	c.selects++
	conjuncts(q.where, func(x expr) {
		switch x := x.(type) {
		case *latestExpr:
			s.latest = s.latest || x.truth
		case *compareExpr:
			s.narrow = s.narrow || x.selectsFew()
		}
	})
	return s
}

// selectsFew reports whether few rows meet the comparison: those of one report, node or resource.
func (x *compareExpr) selectsFew() bool {
	switch x.field.name {
	case "report", "certname", "hash", "resource_title":
		return x.op == "="
	}
	return false
}

// column returns the SQL expression of a column of the table with the given alias, which is the base table or a joined
// one; the table is joined if necessary.
func (s *selectCompiler) column(alias, name string) string {
	if alias != s.q.entity.alias {
		s.joined[alias] = true
	}
	return alias + s.suffix + "." + name
}

// value returns the SQL expression of a field's value. A text that is stored once in a dictionary, to which the rows
// refer, is looked up there.
func (s *selectCompiler) value(f *field) string {
	if f.alwaysNull {
		switch {
		case !s.c.postgres():
			return "NULL"
		case f.kind == typeText:
			return "NULL::text"
		}
		return "NULL::bigint"
	}
	col := s.column(f.alias, f.column)
	if f.dictionary != "" {
		return "(SELECT name FROM " + f.dictionary + " WHERE id = " + col + ")"
	}
	return col
}

// idOf returns the table whose IDs represent the values of a field, and key, the SQL expression of the ID for the
// field's value. ok is false if no ID represents the value.
func (s *selectCompiler) idOf(f *field) (table, key string, ok bool) {
	e := s.q.entity
	unique := f.kind == typeHash || f.name == "certname" ||
		(f.name == "name" && (e.table == environmentTable || e.table == producerTable))
	switch {
	case f.alwaysNull:
		return "", "", false
	case f.dictionary != "":
		return f.dictionary, s.column(f.alias, f.column), true
	case !unique:
		return "", "", false
	case f.alias == e.alias:
		return e.table, s.column(e.alias, "id"), true
	}
	j := e.join(f.alias)
	return j.table, s.column(j.keyAlias, j.key), true
}

// valueColumn returns the column that contains the values which the IDs of a table represent.
func valueColumn(table string) string {
	switch table {
	case "run_reports":
		return "hash"
	case "run_nodes":
		return "certname"
	}
	return "name"
}

// from returns the FROM clause. It must be called after all columns have been compiled, because these determine the
// joined tables.
func (s *selectCompiler) from() string {
	e := s.q.entity
	if s.c.distinct != nil && s.suffix == "" && e.name == "events" {
		return s.latestEvents(s.c.distinct) + s.joins()
	}
	return e.table + " " + e.alias + s.suffix + s.joins()
}

// joins returns the JOIN clauses for the tables whose columns have been used so far.
func (s *selectCompiler) joins() string {
	var b strings.Builder
	for _, j := range s.q.entity.joins {
		if !s.joined[j.alias] {
			continue
		}
		if j.outer {
			b.WriteString(" LEFT")
		}
		fmt.Fprintf(&b, " JOIN %s %s%s ON %s%s.id = %s%s.%s", j.table, j.alias, s.suffix, j.alias, s.suffix, j.keyAlias,
			s.suffix, j.key)
	}
	return b.String()
}

// where returns the WHERE clause, or an empty string if the query has no condition.
func (s *selectCompiler) where() string {
	if s.q.where == nil {
		return ""
	}
	return " WHERE " + s.expr(s.q.where, false)
}

// selectRows returns a SELECT of the given expressions, without aggregates.
func (s *selectCompiler) selectRows(items []string) string {
	whereClause := s.where() // must be called before the method from, which joins the tables that the condition uses
	order := s.orderBy(s.value)
	return "SELECT " + strings.Join(items, ", ") + " FROM " + s.from() + whereClause + order + s.limitClause()
}

// orderBy returns the ORDER BY clause, or an empty string if the query has no order. value returns the expression for a
// field. Nulls sort as the largest values. Unless rows are aggregated, further columns make the order total, so that
// all pages of an answer have the same order.
func (s *selectCompiler) orderBy(value func(*field) string) string {
	if len(s.q.order) == 0 {
		return ""
	}
	parts := make([]string, 0, len(s.q.order)+len(s.q.entity.order))
	direction := ""               // of the last field, and of the further columns
	seen := make(map[string]bool) // a planner would confuse a repeated column with another one
	for _, o := range s.q.order {
		v := value(o.field)
		if seen[v] {
			continue
		}
		seen[v] = true
		if o.field.kind == typePath {
			v = s.c.pathOrder(v)
		}
		direction = ""
		if o.desc {
			direction = " DESC"
		}
		nulls := ""
		switch {
		case o.field.nullable && o.desc:
			nulls = " NULLS FIRST"
		case o.field.nullable:
			nulls = " NULLS LAST"
		}
		parts = append(parts, v+direction+nulls)
	}
	if !s.q.aggregates() {
		for _, col := range s.q.entity.order {
			if v := s.column(s.q.entity.alias, col); !seen[v] {
				parts = append(parts, v+direction)
			}
		}
	}
	return " ORDER BY " + strings.Join(parts, ", ")
}

// pathOrder returns the SQL expression that orders arrays, in the column col, element by element.
func (c *compiler) pathOrder(col string) string {
	if c.postgres() {
		return "CASE WHEN " + col + ` IS NOT NULL THEN ARRAY(SELECT value COLLATE "C" FROM json_array_elements_text(` + col +
			"::json) AS t(value)) END"
	}
	return "run_path_order(" + col + ")"
}

// limitClause returns the LIMIT and OFFSET clauses, or an empty string if the query has neither.
func (s *selectCompiler) limitClause() string {
	clause := ""
	switch {
	case s.q.limit > 0:
		clause = " LIMIT " + s.c.arg(s.q.limit)
	case s.q.offset > 0 && !s.c.postgres():
		clause = " LIMIT -1" // SQLite requires LIMIT with OFFSET
	}
	if s.q.offset > 0 {
		clause += " OFFSET " + s.c.arg(s.q.offset)
	}
	return clause
}

// aggregate returns a SELECT with functions and groups, and the cells for its columns. An inner SELECT computes the
// arguments of the functions for each row, so that the outer SELECT can refer to each of them by name. If possible, the
// rows of the inner SELECT are not events but stored counts of events (hourlyCounts) or groups of events
// (groupedEvents). The column n is then the number of events that a row represents.
func (s *selectCompiler) aggregate() (string, []cell) {
	inner := innerColumns{names: make(map[string]string)}
	toString := make(map[string]string) // SQL of to_string by field and template, made once since it adds a parameter
	groupColumn := func(col column) string {
		if col.function != "to_string" {
			return inner.name(s.groupable(col.field))
		}
		key := col.field.name + "\x00" + col.template
		if _, ok := toString[key]; !ok {
			toString[key] = s.c.toString(s.value(col.field), col)
		}
		return inner.name(toString[key])
	}
	columns, useGroups := s.q.eventColumns()
	bounds, useCounts := s.q.countableInterval()
	// The outermost query of distinct_resources reads the latest events only, of which no counts are stored.
	useCounts = useCounts && (s.c.distinct == nil || s.suffix != "")
	useGroups = useGroups && len(columns) > 0
	sums := aggregates{grouped: useCounts || useGroups, postgres: s.c.postgres()}
	group := make([]string, 0, len(s.q.group))
	outer := make([]string, 0, len(s.q.columns))
	cells := make([]cell, 0, len(s.q.columns))
	for i, col := range s.q.columns {
		var item string
		var kind cellKind
		if col.function == "" || col.function == "to_string" {
			item, kind = groupColumn(col), groupableKind(col)
		} else {
			item, kind = s.aggregateItem(col, sums, &inner)
		}
		outer = append(outer, item+" AS c"+strconv.Itoa(i))
		cells = append(cells, cell{key: col.key, kind: kind})
	}
	for _, col := range s.q.group {
		group = append(group, groupColumn(col))
	}
	order := s.orderBy(func(f *field) string { return inner.name(s.groupable(f)) })
	if len(inner.sql) == 0 { // a SELECT needs a column
		inner.sql = append(inner.sql, "1 AS k0")
	}
	if useCounts || useGroups {
		inner.sql = append(inner.sql, s.column(s.q.entity.alias, "n"))
	}
	var source string
	switch {
	case useCounts:
		source = s.hourlyCounts(columns, bounds)
	case useGroups:
		source = s.groupedEvents(columns, []string{"COUNT(*) AS n"})
	default:
		whereClause := s.where() // must be called before the method from, which joins the tables that the condition uses
		source = s.from() + whereClause
	}
	sql := "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(inner.sql, ", ") + " FROM " + source +
		") g" + s.suffix
	if len(group) > 0 {
		sql += " GROUP BY " + strings.Join(group, ", ")
	}
	return sql + order + s.limitClause(), cells
}

// aggregateItem returns the SQL expression of a column with an aggregate function, and the kind of its cell. It adds
// the argument of the function to inner, the columns of the inner SELECT. The methods of sums return the aggregates
// over the rows of that SELECT.
func (s *selectCompiler) aggregateItem(col column, sums aggregates, inner *innerColumns) (item string, kind cellKind) {
	if col.function == "count" && col.field == nil {
		return sums.rows(), cellInteger
	}
	argument := inner.name(s.groupable(col.field))
	switch col.function {
	case "count":
		return sums.count(argument), cellInteger
	case "avg":
		// AVG is exact on PostgreSQL but not on SQLite. This expression has the same result on both.
		return sums.double(argument) + " / NULLIF(" + sums.count(argument) + ", 0)", cellFloat
	case "sum":
		return sums.integer(argument), cellInteger
	default: // min, max
		return strings.ToUpper(col.function) + "(" + argument + ")", groupableKind(column{field: col.field})
	}
}

// innerColumns holds the columns of the inner SELECT of an aggregate, without duplicates.
type innerColumns struct {
	sql   []string          // "expression AS name"
	names map[string]string // by expression
}

// name returns the name of the column with the SQL expression sql. It adds the column if necessary.
func (c *innerColumns) name(sql string) string {
	if n, ok := c.names[sql]; ok {
		return n
	}
	n := "k" + strconv.Itoa(len(c.sql))
	c.names[sql] = n
	c.sql = append(c.sql, sql+" AS "+n)
	return n
}

// groupable returns the SQL expression of a field in groups and aggregates. Hashes, which are byte strings, are
// converted to texts, because PostgreSQL has no MIN for byte strings.
func (s *selectCompiler) groupable(f *field) string {
	if f.kind == typeHash {
		return s.c.hex(s.value(f))
	}
	return s.value(f)
}

// groupableKind returns the kind of the cell for a column that groupable or toString returns.
func groupableKind(col column) cellKind {
	if col.function == "to_string" || col.field.kind == typeHash {
		return cellText
	}
	return kindOf(col.field)
}

// kindOf returns the kind of the cell for the value of a field.
func kindOf(f *field) cellKind {
	switch f.kind {
	case typeHash:
		return cellHash
	case typeTime:
		return cellTime
	case typeNumber:
		return cellInteger
	case typeBool:
		return cellBool
	case typePath, typeJSON:
		return cellJSON
	default:
		return cellText
	}
}

// toString returns the SQL expression of the function to_string with the template of col, applied to value, which is an
// SQL expression.
func (c *compiler) toString(value string, col column) string {
	isTime := col.field.kind == typeTime
	switch {
	case isTime && c.postgres():
		return "to_char(" + tochar.Timestamp(value) + ", " + c.arg(tochar.ForPostgres(col.template)) + "::text)"
	case c.postgres():
		return "to_char(" + value + ", " + c.arg(col.template) + "::text)"
	case isTime:
		return "run_format_time(" + value + ", " + c.arg(col.template) + ")"
	}
	return "run_format_number(" + value + ", " + c.arg(col.template) + ")"
}

// rows compiles the statement that reads the rows of an answer.
func (c *compiler) rows(q *query) *statement {
	s := c.newSelect(q)
	st := &statement{hashColumn: -1}
	if q.aggregates() {
		st.sql, st.cells = s.aggregate()
	} else {
		columns := q.columns
		if len(columns) == 0 {
			for _, f := range q.entity.fields {
				if f.extractable() {
					columns = append(columns, column{key: f.name, field: f})
				}
			}
		}
		var items []string
		if s.inParts(columns) {
			items = s.addInParts(st, columns)
		} else {
			items = s.addColumns(st, columns)
		}
		if s.sortsIDsFirst() {
			st.sql = s.sortIDsFirst(items)
		} else {
			st.sql = s.selectRows(items)
		}
	}
	st.args, st.patterns = c.args, c.patterns
	return st
}

// addColumns adds the columns to st.cells, and returns the SQL expressions that the statement must select. If a column
// has a link, addColumns also sets st.hashColumn.
func (s *selectCompiler) addColumns(st *statement, columns []column) (items []string) {
	linked := false
	for _, col := range columns {
		var item, href string
		kind := kindOf(col.field)
		switch {
		case col.function == "to_string":
			item, kind = s.c.toString(s.value(col.field), col), cellText
		case col.field.kind == typeExpanded:
			item, kind, href = s.expanded(col.field)
			linked = true
		default:
			item = s.value(col.field)
		}
		items = append(items, item)
		st.cells = append(st.cells, cell{key: col.key, kind: kind, href: href})
	}
	if linked {
		st.hashColumn = len(items)
		items = append(items, s.column("r", "hash"))
	}
	return items
}

// total compiles the statement that counts the rows of an answer, ignoring paging.
func (c *compiler) total(q *query) *statement {
	unpaged := *q
	unpaged.limit, unpaged.offset, unpaged.order = 0, 0, nil
	s := c.newSelect(&unpaged)
	var sql string
	if unpaged.aggregates() {
		sql, _ = s.aggregate()
	} else {
		sql = s.selectRows([]string{"1 AS one"})
	}
	return &statement{
		sql: "SELECT COUNT(*) FROM (" + sql + ") counted", args: c.args, patterns: c.patterns, hashColumn: -1,
	}
}
