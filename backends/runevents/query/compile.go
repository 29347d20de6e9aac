package query

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// cellKind is how a column of the result becomes JSON.
type cellKind int

const (
	cellText    cellKind = iota
	cellInteger          // as it is
	cellFloat
	cellBool   // 0 or 1
	cellTime   // Unix milliseconds
	cellHash   // bytes to hex
	cellJSON   // as it is
	cellPacked // packed JSON
)

// cell is one key of the rows of the answer.
type cell struct {
	key  string
	kind cellKind
	// href is the last part of the link that an expanded list comes with; the
	// row ends in a column with the hash then.
	href string
}

// statement is what goes to the database.
type statement struct {
	sql   string
	args  []any
	held  []int64 // patterns to release
	cells []cell
	parts []part // their numbers come after the cells
	// hash is the number of the column with the report's hash, for links; -1.
	hash int
}

func (s *statement) release() {
	for _, id := range s.held {
		pattern.Release(id)
	}
}

// compiler writes checked queries as SQL. Everything that came from outside is
// a parameter. Parameters are numbered, so that parts can be written in any
// order.
type compiler struct {
	dialect   store.Dialect
	collation string // of regular expressions on PostgreSQL, quoted; empty: the column's
	cutoff    int64  // nodes inactive since before are about to be deleted
	distinct  *window
	args      []any
	held      []int64
	levels    int
}

// scope is one SELECT: its entity, and which tables it has to join.
type scope struct {
	c      *compiler
	q      *query
	suffix string
	joined map[string]bool
	// narrow is a query that other clauses keep small: texts are then tested on
	// its rows. Otherwise they are tested once for all rows that share them.
	narrow bool
	// latest is a query of latest reports only, which is narrow but may have many
	// rows.
	latest bool
}

func (c *compiler) postgres() bool { return c.dialect == store.Postgres }

// arg adds a parameter and returns its name.
func (c *compiler) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// text adds a text parameter. PostgreSQL is told the type where it cannot be
// inferred.
func (c *compiler) text(s string) string {
	if c.postgres() {
		return c.arg(s) + "::text"
	}
	return c.arg(s)
}

// literal adds a parameter of any type that a clause compares with.
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

// column is a column of the base or of a joined table.
func (s *scope) column(alias, name string) string {
	if alias != s.q.entity.alias {
		s.joined[alias] = true
	}
	return alias + s.suffix + "." + name
}

// value is what a field shows, dictionaries looked up.
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

// identity is the number that stands for the value of a field, and the table
// that gives the numbers; ok tells whether there is one.
func (s *scope) identity(f *field) (table, key string, ok bool) {
	e := s.q.entity
	unique := f.kind == typeHash || f.name == "certname" || (f.name == "name" && (e.table == environments || e.table == producers))
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

// naming is the column that the numbers of a table stand for.
func naming(table string) string {
	switch table {
	case "run_reports":
		return "hash"
	case "run_nodes":
		return "certname"
	}
	return "name"
}

// from writes the tables, once all columns are known.
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
		fmt.Fprintf(&b, " JOIN %s %s%s ON %s%s.id = %s%s.%s", j.table, j.alias, s.suffix, j.alias, s.suffix, j.keyAlias, s.suffix, j.key)
	}
	return b.String()
}

// where writes the clause of the query; empty: none.
func (s *scope) where() string {
	if s.q.where == nil {
		return ""
	}
	return " WHERE " + s.expr(s.q.where, false)
}

// plain writes a SELECT without aggregates of the items given.
func (s *scope) plain(items []string) string {
	where := s.where()
	order := s.orderBy(s.value)
	return "SELECT " + strings.Join(items, ", ") + " FROM " + s.from() + where + order + s.page()
}

// orderBy writes the order; nulls are the largest. What is equal keeps one
// order from page to page.
func (s *scope) orderBy(value func(*field) string) string {
	if len(s.q.order) == 0 {
		return ""
	}
	parts := make([]string, 0, len(s.q.order)+len(s.q.entity.order))
	direction := ""
	seen := make(map[string]bool) // a planner takes a repeated column for another
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

// pathOrder is what arrays are ordered by: element by element.
func (c *compiler) pathOrder(col string) string {
	if c.postgres() {
		return "CASE WHEN " + col + ` IS NOT NULL THEN ARRAY(SELECT value COLLATE "C" FROM json_array_elements_text(` + col + "::json) AS t(value)) END"
	}
	return "run_path_order(" + col + ")"
}

func (s *scope) page() string {
	page := ""
	switch {
	case s.q.limit > 0:
		page = " LIMIT " + s.c.arg(s.q.limit)
	case s.q.offset > 0 && !s.c.postgres():
		page = " LIMIT -1" // SQLite has no OFFSET without
	}
	if s.q.offset > 0 {
		page += " OFFSET " + s.c.arg(s.q.offset)
	}
	return page
}

// aggregate writes a SELECT with functions and groups: what they need is
// computed row by row inside, so that every value has a name outside.
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
	sql := "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(inner.sql, ", ") + " FROM " + from + ") g" + s.suffix
	if len(group) > 0 {
		sql += " GROUP BY " + strings.Join(group, ", ")
	}
	return sql + order + s.page(), cells
}

// summed is one column that sums up a group.
func (s *scope) summed(col column, sums sums, inner *innerColumns) (item string, kind cellKind) {
	if col.function == "count" && col.field == nil {
		return sums.rows(), cellInteger
	}
	n := inner.name(s.grouped(col.field))
	switch col.function {
	case "count":
		return sums.count(n), cellInteger
	case "avg":
		// AVG of PostgreSQL is exact, SQLite's is not; this is the same on both.
		return sums.double(n) + " / NULLIF(" + sums.count(n) + ", 0)", cellFloat
	case "sum":
		return sums.integer(n), cellInteger
	default: // min, max
		return strings.ToUpper(col.function) + "(" + n + ")", groupedKind(column{field: col.field})
	}
}

// innerColumns are what the groups are made of, each read once under a name.
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

// grouped is the value of a field as groups and aggregates take it: there is
// no smallest of byte strings on PostgreSQL.
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

// format is to_string.
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

// rows writes the SELECT of an answer.
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

// total writes the SELECT of the number of rows without a page.
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
