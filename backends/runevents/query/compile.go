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

// cell describes a member of the rows in the answer.
type cell struct {
	key  string
	kind cellKind
	// href is the last part of the link to an expanded list, or empty. If a cell has a link, the last column of the row
	// is the hash of the report.
	href string
}

// statement is a compiled query.
type statement struct {
	sql      string
	args     []any
	patterns []int64 // IDs of patterns to be released
	cells    []cell
	parts    []part // their columns follow after the cells
	// hash is the index of the column with the report's hash, from which links are made, or -1.
	hash int
}

func (s *statement) release() {
	for _, id := range s.patterns {
		pattern.Release(id)
	}
}

// compiler compiles checked queries to SQL. All data from the client is passed in parameters. The parameters are
// numbered, so the parts of a query can be compiled in any order.
type compiler struct {
	dialect   store.Dialect
	collation string // quoted collation for regular expressions on PostgreSQL; empty for the column's collation
	cutoff    int64  // nodes that became inactive before this time are about to be deleted
	distinct  *window
	args      []any
	patterns  []int64
	levels    int
}

// scope is the state of compiling one SELECT: its query, and the tables that it joins.
type scope struct {
	c      *compiler
	q      *query
	suffix string
	joined map[string]bool
	// narrow means that other clauses keep the result small. Conditions on shared texts are then tested for each row;
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

// open returns a scope for a query or inner query, with narrow and latest set according to the conditions of the query.
// The suffix of the scope keeps the aliases of its tables unique.
func (c *compiler) open(q *query) *scope {
	s := &scope{c: c, q: q, joined: make(map[string]bool)}
	if c.levels > 0 {
		s.suffix = strconv.Itoa(c.levels)
	}
	c.levels++
	conjuncts(q.where, func(x expr) {
		switch x := x.(type) {
		case *latestExpr:
			s.latest = s.latest || x.truth
		case *compareExpr:
			switch x.field.name {
			case "report", "certname", "hash", "resource_title":
				s.narrow = s.narrow || x.op == "="
			}
		}
	})
	return s
}

// column returns a column of the table with the given alias, which is the base table or a joined one; the table is
// joined if necessary.
func (s *scope) column(alias, name string) string {
	if alias != s.q.entity.alias {
		s.joined[alias] = true
	}
	return alias + s.suffix + "." + name
}

// value returns the SQL expression of a field's value. Shared texts are looked up in their table.
func (s *scope) value(f *field) string {
	if f.unknowable {
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

// identity returns the SQL expression of the ID that represents the value of a field, and the table to which the ID
// belongs. ok is false if no ID represents the value.
func (s *scope) identity(f *field) (table, key string, ok bool) {
	e := s.q.entity
	unique := f.kind == typeHash || f.name == "certname" ||
		(f.name == "name" && (e.table == environments || e.table == producers))
	switch {
	case f.unknowable:
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
func (s *scope) from() string {
	e := s.q.entity
	if s.c.distinct != nil && s.suffix == "" && e.name == "events" {
		return s.latestEvents(s.c.distinct) + s.joins()
	}
	return e.table + " " + e.alias + s.suffix + s.joins()
}

func (s *scope) joins() string {
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
func (s *scope) where() string {
	if s.q.where == nil {
		return ""
	}
	return " WHERE " + s.expr(s.q.where, false)
}

// plain returns a SELECT of the given expressions, without aggregates.
func (s *scope) plain(items []string) string {
	where := s.where()
	order := s.orderBy(s.value)
	return "SELECT " + strings.Join(items, ", ") + " FROM " + s.from() + where + order + s.page()
}

// orderBy returns the ORDER BY clause; value returns the expression for a field. Nulls sort as the largest values.
// Further columns make the order total, so that all pages of an answer have the same order.
func (s *scope) orderBy(value func(*field) string) string {
	if len(s.q.order) == 0 {
		return ""
	}
	parts := make([]string, 0, len(s.q.order)+len(s.q.entity.order))
	direction := ""
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
		if o.field.nullable {
			if o.desc {
				v += " DESC NULLS FIRST"
			} else {
				v += " NULLS LAST"
			}
		} else {
			v += direction
		}
		parts = append(parts, v)
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

func (s *scope) page() string {
	page := ""
	switch {
	case s.q.limit > 0:
		page = " LIMIT " + s.c.arg(s.q.limit)
	case s.q.offset > 0 && !s.c.postgres():
		page = " LIMIT -1" // SQLite requires LIMIT with OFFSET
	}
	if s.q.offset > 0 {
		page += " OFFSET " + s.c.arg(s.q.offset)
	}
	return page
}

// aggregate returns a SELECT with functions and groups, and the cells for its columns. An inner SELECT computes the
// arguments of the functions for each row, so that the outer SELECT can refer to each of them by name.
func (s *scope) aggregate() (string, []cell) {
	inner := innerColumns{names: make(map[string]string)}
	templates := make(map[string]string)
	plain := func(col column) string {
		if col.function != "to_string" {
			return inner.name(s.grouped(col.field))
		}
		id := col.field.name + "\x00" + col.template
		if _, ok := templates[id]; !ok {
			templates[id] = s.c.format(s.value(col.field), col)
		}
		return inner.name(templates[id])
	}
	columns, condensed := s.q.groupColumns()
	bounds, counted := s.q.hours()
	counted = counted && (s.c.distinct == nil || s.suffix != "")
	condensed = condensed && len(columns) > 0
	sums := sums{grouped: counted || condensed, postgres: s.c.postgres()}
	group := make([]string, 0, len(s.q.group))
	outer := make([]string, 0, len(s.q.columns))
	cells := make([]cell, 0, len(s.q.columns))
	for i, col := range s.q.columns {
		var item string
		var kind cellKind
		if col.function == "" || col.function == "to_string" {
			item, kind = plain(col), groupedKind(col)
		} else {
			item, kind = s.summed(col, sums, &inner)
		}
		outer = append(outer, item+" AS c"+strconv.Itoa(i))
		cells = append(cells, cell{key: col.key, kind: kind})
	}
	for _, col := range s.q.group {
		group = append(group, plain(col))
	}
	order := s.orderBy(func(f *field) string { return inner.name(s.grouped(f)) })
	if len(inner.sql) == 0 {
		inner.sql = append(inner.sql, "1 AS k0")
	}
	if counted || condensed {
		inner.sql = append(inner.sql, s.column(s.q.entity.alias, "n"))
	}
	var from string
	switch {
	case counted:
		from = s.counted(columns, bounds)
	case condensed:
		from = s.condensed(columns, []string{"COUNT(*) AS n"})
	default:
		where := s.where()
		from = s.from() + where
	}
	sql := "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(inner.sql, ", ") + " FROM " + from +
		") g" + s.suffix
	if len(group) > 0 {
		sql += " GROUP BY " + strings.Join(group, ", ")
	}
	return sql + order + s.page(), cells
}

// summed returns the SQL expression of a column with an aggregate function.
func (s *scope) summed(col column, sums sums, inner *innerColumns) (item string, kind cellKind) {
	if col.function == "count" && col.field == nil {
		return sums.rows(), cellInteger
	}
	n := inner.name(s.grouped(col.field))
	switch col.function {
	case "count":
		return sums.count(n), cellInteger
	case "avg":
		// AVG is exact on PostgreSQL but not on SQLite. This expression has the same result on both.
		return sums.double(n) + " / NULLIF(" + sums.count(n) + ", 0)", cellFloat
	case "sum":
		return sums.integer(n), cellInteger
	default: // min, max
		return strings.ToUpper(col.function) + "(" + n + ")", groupedKind(column{field: col.field})
	}
}

// innerColumns holds the columns of the inner SELECT of an aggregate, with their names and without duplicates.
type innerColumns struct {
	sql   []string
	names map[string]string
}

func (c *innerColumns) name(sql string) string {
	if n, ok := c.names[sql]; ok {
		return n
	}
	n := "k" + strconv.Itoa(len(c.sql))
	c.names[sql] = n
	c.sql = append(c.sql, sql+" AS "+n)
	return n
}

// grouped returns the SQL expression of a field in groups and aggregates. Byte strings are converted to texts, because
// PostgreSQL has no MIN for byte strings.
func (s *scope) grouped(f *field) string {
	if f.kind == typeHash {
		return s.c.hex(s.value(f))
	}
	return s.value(f)
}

func groupedKind(col column) cellKind {
	if col.function == "to_string" || col.field.kind == typeHash {
		return cellText
	}
	return kindOf(col.field)
}

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

// format returns the SQL expression of the function to_string for a value.
func (c *compiler) format(value string, col column) string {
	switch {
	case !c.postgres():
		name := "run_format_number"
		if col.field.kind == typeTime {
			name = "run_format_time"
		}
		return name + "(" + value + ", " + c.arg(col.template) + ")"
	case col.field.kind == typeTime:
		return "to_char(" + tochar.Timestamp(value) + ", " + c.arg(tochar.ForPostgres(col.template)) + "::text)"
	}
	return "to_char(" + value + ", " + c.arg(col.template) + "::text)"
}

// rows compiles the statement that reads the rows of an answer.
func (c *compiler) rows(q *query) *statement {
	s := c.open(q)
	st := &statement{hash: -1}
	if q.aggregates() {
		st.sql, st.cells = s.aggregate()
	} else {
		var items []string
		columns := q.columns
		if len(columns) == 0 {
			for _, f := range q.entity.fields {
				if f.extractable() {
					columns = append(columns, column{key: f.name, field: f})
				}
			}
		}
		if s.inParts(columns) {
			items = s.split(st, columns)
			columns = nil
		}
		linked := false
		for _, col := range columns {
			var item, href string
			kind := kindOf(col.field)
			switch {
			case col.function == "to_string":
				item, kind = c.format(s.value(col.field), col), cellText
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
			st.hash = len(items)
			items = append(items, s.column("r", "hash"))
		}
		if s.deferred() {
			st.sql = s.sortedFirst(items)
		} else {
			st.sql = s.plain(items)
		}
	}
	st.args, st.patterns = c.args, c.patterns
	return st
}

// total compiles the statement that counts the rows of an answer, ignoring paging.
func (c *compiler) total(q *query) *statement {
	unpaged := *q
	unpaged.limit, unpaged.offset, unpaged.order = 0, 0, nil
	s := c.open(&unpaged)
	var sql string
	if unpaged.aggregates() {
		sql, _ = s.aggregate()
	} else {
		sql = s.plain([]string{"1 AS one"})
	}
	return &statement{sql: "SELECT COUNT(*) FROM (" + sql + ") counted", args: c.args, patterns: c.patterns, hash: -1}
}
