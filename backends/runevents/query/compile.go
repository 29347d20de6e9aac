package query

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// cellKind is how a column of the result is converted to JSON.
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

// cell is a member of the rows of the answer.
type cell struct {
	key  string
	kind cellKind
	// href is the last part of the link of an expanded list. If a cell has one, the hash of the report is the last
	// column of the row.
	href string
}

// statement is a compiled query.
type statement struct {
	sql   string
	args  []any
	held  []int64 // IDs of patterns to be released
	cells []cell
	parts []part // their columns follow after the cells
	// hash is the index of the column with the report's hash, which links need, or -1.
	hash int
}

func (s *statement) release() {
	for _, id := range s.held {
		pattern.Release(id)
	}
}

// compiler compiles checked queries to SQL. Everything that comes from a client is a parameter. Parameters are
// numbered, so that parts of the query can be compiled in any order.
type compiler struct {
	dialect   store.Dialect
	collation string // for regular expressions on PostgreSQL, quoted; empty for that of the column
	cutoff    int64  // nodes that became inactive before are about to be deleted
	distinct  *window
	args      []any
	held      []int64
	levels    int
}

// scope is the state of one SELECT: its entity, and the tables that it joins.
type scope struct {
	c      *compiler
	q      *query
	suffix string
	joined map[string]bool
	// narrow means that other clauses keep the result small. Texts are then tested on its rows; otherwise once for
	// all rows that share them.
	narrow bool
	// latest means that only latest reports are selected, whose number may be large but is limited by that of nodes.
	latest bool
}

func (c *compiler) postgres() bool { return c.dialect == store.Postgres }

// arg adds a parameter and returns its placeholder.
func (c *compiler) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// text adds a text parameter. On PostgreSQL it has an explicit type, for contexts from which the type cannot be
// inferred.
func (c *compiler) text(s string) string {
	if c.postgres() {
		return c.arg(s) + "::text"
	}
	return c.arg(s)
}

// literal adds a parameter of any type with which a clause compares.
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

// open returns the scope of a query or inner query, with a suffix that keeps the aliases of its tables unique. It
// notes whether the query is restricted to the latest reports, and whether an equality makes its result small.
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

// column returns a column of the base table or of a table that is joined.
func (s *scope) column(alias, name string) string {
	if alias != s.q.entity.alias {
		s.joined[alias] = true
	}
	return alias + s.suffix + "." + name
}

// value returns the expression of a field's value, with shared texts looked up.
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

// identity returns the expression of the ID that represents the value of a field, and the table in which the IDs
// are unique. It reports false if there is no such ID.
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

// naming returns the column whose value an ID of a table represents.
func naming(table string) string {
	switch table {
	case "run_reports":
		return "hash"
	case "run_nodes":
		return "certname"
	}
	return "name"
}

// from returns the FROM clause. It must be called when all columns have been written.
func (s *scope) from() string {
	e := s.q.entity
	if s.c.distinct != nil && s.suffix == "" && e.name == "events" {
		return s.youngest(s.c.distinct) + s.joins()
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

// where returns the WHERE clause, which is empty if there is no condition.
func (s *scope) where() string {
	if s.q.where == nil {
		return ""
	}
	return " WHERE " + s.expr(s.q.where, false)
}

// plain returns a SELECT of the given items without aggregates.
func (s *scope) plain(items []string) string {
	where := s.where()
	order := s.orderBy(s.value)
	return "SELECT " + strings.Join(items, ", ") + " FROM " + s.from() + where + order + s.page()
}

// orderBy returns the ORDER BY clause. Nulls sort as the largest values. Further columns make the order total, so
// that it is the same on each page.
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

// pathOrder returns the expression by which arrays are ordered element by element.
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

// aggregate returns a SELECT with functions and groups. An inner SELECT computes their inputs for each row, so that
// every value has a name in the outer one.
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
	numbers, condensed := s.q.numbers()
	within, counted := s.q.hours()
	counted = counted && (s.c.distinct == nil || s.suffix != "")
	condensed = condensed && len(numbers) > 0
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
		from = s.counted(numbers, within)
	case condensed:
		from = s.condensed(numbers, []string{"COUNT(*) AS n"})
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

// summed returns the expression of a column with an aggregate function.
func (s *scope) summed(col column, sums sums, inner *innerColumns) (item string, kind cellKind) {
	if col.function == "count" && col.field == nil {
		return sums.rows(), cellInteger
	}
	n := inner.name(s.grouped(col.field))
	switch col.function {
	case "count":
		return sums.count(n), cellInteger
	case "avg":
		// AVG is exact on PostgreSQL but not on SQLite. This yields the same on both.
		return sums.double(n) + " / NULLIF(" + sums.count(n) + ", 0)", cellFloat
	case "sum":
		return sums.integer(n), cellInteger
	default: // min, max
		return strings.ToUpper(col.function) + "(" + n + ")", groupedKind(column{field: col.field})
	}
}

// innerColumns are the named columns of the inner SELECT, without duplicates.
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

// grouped returns the expression of a field for groups and aggregates. Byte strings are converted to texts, because
// PostgreSQL has no MIN for them.
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

// format returns the expression of to_string.
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

// rows compiles the query of an answer.
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
			st.sql = s.after(items)
		} else {
			st.sql = s.plain(items)
		}
	}
	st.args, st.held = c.args, c.held
	return st
}

// total compiles the query that counts the rows without paging.
func (c *compiler) total(q *query) *statement {
	whole := *q
	whole.limit, whole.offset, whole.order = 0, 0, nil
	s := c.open(&whole)
	var sql string
	if whole.aggregates() {
		sql, _ = s.aggregate()
	} else {
		sql = s.plain([]string{"1 AS one"})
	}
	return &statement{sql: "SELECT COUNT(*) FROM (" + sql + ") counted", args: c.args, held: c.held, hash: -1}
}
