package query

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

const (
	sqlTrue  = "1 = 1"
	sqlFalse = "1 = 0"
)

func truth(b bool) string {
	if b {
		return sqlTrue
	}
	return sqlFalse
}

// expr compiles a clause or, if negated is true, its negation. "not" is passed down to the comparisons. A comparison
// with null is neither true nor false, so null meets neither a comparison nor its negation. The exception is a match:
// no regular expression matches null, so null meets its negation. For some fields the same holds for equality; see
// nullIsValue.
func (s *scope) expr(x expr, negated bool) string {
	switch x := x.(type) {
	case *andExpr:
		return s.list(x.list, negated, negated)
	case *orExpr:
		return s.list(x.list, negated, !negated)
	case *notExpr:
		return s.expr(x.operand, !negated)
	case *constExpr:
		return truth(x.truth != negated)
	case *compareExpr:
		return s.compare(x, negated)
	case *inExpr:
		return s.in(x, negated)
	case *nullExpr:
		return s.null(x, negated)
	case *matchExpr:
		return s.match(x, negated)
	case *inQueryExpr:
		return s.inQuery(x, negated)
	case *latestExpr:
		if s.q.entity.name == "events" {
			return latest(s.column("e", "report"), x.truth != negated)
		}
		return latest(s.column("r", "id"), x.truth != negated)
	case *nodeExpr:
		return s.node(x, negated)
	}
	panic("query: unknown clause")
}

// list joins the conditions in list by OR if or is true, and otherwise by AND. It nests them in halves, because SQLite
// limits the depth of an expression.
func (s *scope) list(list []expr, negated, or bool) string {
	if len(list) == 1 {
		return s.expr(list[0], negated)
	}
	word := " AND "
	if or {
		word = " OR "
	}
	half := len(list) / 2
	if !or && len(list) < 32 {
		// Query planners handle an unnested chain of conditions best.
		parts := make([]string, len(list))
		for i, x := range list {
			parts[i] = s.expr(x, negated)
		}
		return "(" + strings.Join(parts, word) + ")"
	}
	return "(" + s.list(list[:half], negated, or) + word + s.list(list[half:], negated, or) + ")"
}

func latest(report string, truth bool) string {
	word := " IN"
	if !truth {
		word = " NOT IN"
	}
	return report + word + " (SELECT latest_report FROM run_nodes WHERE latest_report IS NOT NULL)"
}

// opposite maps each operator to its negation.
var opposite = map[string]string{"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// compare returns the SQL condition of a comparison, or of its negation.
func (s *scope) compare(x *compareExpr, negated bool) string {
	f := x.field
	nulls := negated && x.op == "=" && s.nullIsValue(f)
	if f.unknowable {
		return truth(nulls)
	}
	if f.kind == typePath {
		return s.shared(f, func(col string) string {
			return s.anyElement(col, func(element string) string { return element + " = " + s.c.text(x.value.(string)) },
				negated, nulls)
		}, nulls)
	}
	op := x.op
	if negated {
		op = opposite[op]
	}
	if table, key, ok := s.identity(f); ok {
		return orNull(f, key, key+" "+op+" COALESCE((SELECT id FROM "+table+" WHERE "+valueColumn(table)+" = "+
			s.c.literal(x.value)+"), -1)", nulls)
	}
	col := s.column(f.alias, f.column)
	return orNull(f, col, col+" "+op+" "+s.c.literal(x.value), nulls)
}

// nullIsValue reports whether null counts as a value of the field that differs from all others. A negated equality then
// includes null. This holds for values of properties and, with distinct_resources, which has older semantics, for every
// field.
func (s *scope) nullIsValue(f *field) bool { return f.kind == typeJSON || s.c.distinct != nil }

// orNull extends the SQL test of the field's column col: if nulls is true, it also accepts null.
func orNull(f *field, col, test string, nulls bool) string {
	if !nulls || !f.nullable {
		return test
	}
	return "(" + test + " OR " + col + " IS NULL)"
}

// manyValues is the number of values from which on an array is passed as a single parameter.
const manyValues = 50

// in returns the SQL condition of an "in" clause with an array, or of its negation.
func (s *scope) in(x *inExpr, negated bool) string {
	f := x.field
	if len(x.values) == 0 {
		return truth(negated)
	}
	nulls := negated && s.nullIsValue(f)
	if f.unknowable {
		return truth(nulls)
	}
	word := " IN ("
	if negated {
		word = " NOT IN ("
	}
	if table, key, ok := s.identity(f); ok {
		test := key + word + "SELECT id FROM " + table + " WHERE " + valueColumn(table) + " IN (" + s.values(x.values) + "))"
		if negated && !nulls && f.nullable { // NOT IN an empty list includes null
			test = "(" + test + " AND " + key + " IS NOT NULL)"
		}
		return orNull(f, key, test, nulls)
	}
	col := s.column(f.alias, f.column)
	return orNull(f, col, col+word+s.values(x.values)+")", nulls)
}

// values returns the SQL for values in the parentheses of IN.
func (s *scope) values(values []any) string {
	if len(values) < manyValues {
		names := make([]string, len(values))
		for i, v := range values {
			names[i] = s.c.literal(v)
		}
		return strings.Join(names, ", ")
	}
	b := []byte{'['}
	element := "value"
	if s.c.postgres() {
		element = "value::bigint"
	}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := v.(type) {
		case string:
			b = jsontext.AppendQuoted(b, v)
			element = "value"
		case []byte:
			b = jsontext.AppendQuoted(b, hex.EncodeToString(v))
			if element = "unhex(value)"; s.c.postgres() {
				element = "decode(value, 'hex')"
			}
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case float64:
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		case bool:
			n := byte('0')
			if v {
				n = '1'
			}
			b = append(b, n)
		}
	}
	if s.c.postgres() {
		for _, v := range values {
			if _, ok := v.(float64); ok {
				element = "value::double precision"
			}
		}
		return "SELECT " + element + " FROM json_array_elements_text(" + s.c.arg(string(append(b, ']'))) +
			"::json) AS t(value)"
	}
	return "SELECT " + element + " FROM json_each(" + s.c.arg(string(append(b, ']'))) + ")"
}

// null returns the SQL condition of a test for null, or of its negation.
func (s *scope) null(x *nullExpr, negated bool) string {
	f := x.field
	want := x.null != negated
	if f.unknowable {
		return truth(want)
	}
	if !f.nullable {
		return truth(!want)
	}
	col := s.column(f.alias, f.column)
	if x.sent && f.kind == typeJSON {
		if want {
			return "(" + col + " IS NULL OR " + col + " = 'null')"
		}
		return col + " <> 'null'"
	}
	if want {
		return col + " IS NULL"
	}
	return col + " IS NOT NULL"
}

// shared returns an SQL test of a text column. The test is evaluated once for each distinct text or, in a narrow query,
// for each row. If nulls is true, it also accepts null.
func (s *scope) shared(f *field, test func(column string) string, nulls bool) string {
	if f.dictionary != "" {
		col := s.column(f.alias, f.column)
		return orNull(f, col, col+" IN (SELECT id FROM "+f.dictionary+" WHERE "+test("name")+")", nulls)
	}
	j := s.q.entity.join(f.alias)
	if j == nil || j.large && (s.narrow || s.latest && !j.lasting) {
		return test(s.column(f.alias, f.column))
	}
	key := s.column(j.keyAlias, j.key)
	if s.latest && j.lasting && !s.c.postgres() {
		key = "+" + key // no index: it would find the events of all runs
	}
	return orNull(f, key, key+" IN (SELECT x.id FROM "+j.table+" x WHERE "+test("x."+f.column)+")", nulls && j.outer)
}

// match returns the SQL condition of a comparison with a pattern, or of its negation.
func (s *scope) match(x *matchExpr, negated bool) string {
	f := x.field
	if f.unknowable {
		return truth(negated)
	}
	test := s.regexp(x.pattern)
	return s.shared(f, func(col string) string {
		switch f.kind {
		case typePath:
			return s.anyElement(col, func(element string) string { return test(element, false) }, negated, negated)
		case typeHash:
			return test(s.c.hex(col), negated)
		case typeJSON:
			return test(s.c.plainText(col), negated)
		default:
			return test(col, negated)
		}
	}, negated)
}

// hex returns an SQL expression for the bytes in a column in hexadecimal.
func (c *compiler) hex(col string) string {
	if c.postgres() {
		return "encode(" + col + ", 'hex')"
	}
	return "lower(hex(" + col + "))"
}

// plainText returns an SQL expression for a JSON value in a column as text: a string without quotes, and any other
// value as JSON.
func (c *compiler) plainText(col string) string {
	if c.postgres() {
		return "(" + col + "::json #>> '{}')"
	}
	return "CASE json_type(" + col + ") WHEN 'null' THEN NULL WHEN 'text' THEN " + col + " ->> '$' ELSE " + col + " END"
}

// regexp returns a function that returns an SQL condition: text, which is an SQL expression, matches p or, if negated
// is true, does not match p or is null.
func (s *scope) regexp(p *pattern.Pattern) func(text string, negated bool) string {
	if s.c.postgres() {
		name := s.c.arg(p.Source) + "::text"
		return func(text string, negated bool) string {
			if s.c.collation != "" {
				text += " COLLATE " + s.c.collation
			}
			return isTrue("("+text+" ~ "+name+")", negated)
		}
	}
	m, _ := p.Matcher() // the checks have refused patterns without a matcher
	id := pattern.Hold(m)
	s.c.patterns = append(s.c.patterns, id)
	name := s.c.arg(id)
	return func(text string, negated bool) string {
		return isTrue("run_match("+name+", "+text+")", negated)
	}
}

func isTrue(test string, negated bool) string {
	if negated {
		return test + " IS NOT TRUE"
	}
	return test
}

// anyElement returns the SQL condition that an element of the array of texts in col meets test. If negated is true, the
// condition is that no element does. nulls is as in shared.
func (s *scope) anyElement(col string, test func(element string) string, negated, nulls bool) string {
	from := "json_each(" + col + ")"
	element := "value"
	if s.c.postgres() {
		from = "json_array_elements_text(" + col + "::json) AS t(value)"
		element = `(value COLLATE "C")`
	}
	exists := "EXISTS (SELECT 1 FROM " + from + " WHERE " + test(element) + ")"
	switch {
	case negated && nulls:
		return "NOT " + exists
	case negated:
		return "(" + col + " IS NOT NULL AND NOT " + exists + ")"
	}
	return "(" + col + " IS NOT NULL AND " + exists + ")"
}

// node returns an SQL condition on the state of the node to which a row belongs.
func (s *scope) node(x *nodeExpr, negated bool) string {
	test := "deactivated_at IS NULL AND expired_at IS NULL"
	switch {
	case x.active && negated:
		test = "deactivated_at IS NOT NULL OR expired_at IS NOT NULL"
	case !x.active && !negated:
		cutoff := s.c.arg(s.c.cutoff)
		test = "deactivated_at > " + cutoff + " OR expired_at > " + cutoff
	case !x.active:
		cutoff := s.c.arg(s.c.cutoff)
		test = "NOT COALESCE(deactivated_at > " + cutoff + ", 1 = 0) AND NOT COALESCE(expired_at > " + cutoff + ", 1 = 0)"
	}
	return s.column(s.q.entity.alias, s.q.entity.node) + " IN (SELECT id FROM run_nodes WHERE " + test + ")"
}

// inQuery returns the SQL condition that the values of some fields are a row of an inner query. It compares IDs instead
// of values if IDs of the same table represent both.
func (s *scope) inQuery(x *inQueryExpr, negated bool) string {
	if x.query.entity.absent() {
		return truth(negated)
	}
	inner := s.c.open(x.query)
	simple := !x.query.aggregates()
	left := make([]string, len(x.fields))
	right := make([]string, len(x.fields))
	for i, f := range x.fields {
		left[i] = s.value(f)
		col := x.query.columns[i]
		if !simple {
			if f.kind == typeHash {
				left[i] = s.c.hex(left[i])
			}
			continue
		}
		right[i] = inner.value(col.field)
		table, key, ok := s.identity(f)
		table2, key2, ok2 := inner.identity(col.field)
		if ok && ok2 && table == table2 {
			left[i], right[i] = key, key2
		}
	}
	var sql string
	if simple {
		sql = inner.plain(right)
	} else {
		sql, _ = inner.aggregate()
	}
	word := " IN ("
	if negated {
		word = " NOT IN ("
	}
	row := strings.Join(left, ", ")
	if len(left) > 1 {
		row = "(" + row + ")"
	}
	return row + word + sql + ")"
}
