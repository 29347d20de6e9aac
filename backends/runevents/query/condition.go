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

// sqlBool returns an SQL condition that is always true or always false.
func sqlBool(b bool) string {
	if b {
		return sqlTrue
	}
	return sqlFalse
}

// expr returns the SQL condition of a clause or, if negated is true, of its negation. "not" is passed down to the
// comparisons. A comparison with null is neither true nor false, so null meets neither a comparison nor its negation.
// The exception is a match with a regular expression: no regular expression matches null, so null meets the negation
// of a match. For some fields null also meets the negation of an equality; see nullIsValue.
func (s *selectCompiler) expr(x expr, negated bool) string {
	switch x := x.(type) {
	case *andExpr:
		return s.joinConditions(x.list, negated, negated) // "not (a and b)" is "(not a) or (not b)"
	case *orExpr:
		return s.joinConditions(x.list, negated, !negated)
	case *notExpr:
		return s.expr(x.operand, !negated)
	case *constExpr:
		return sqlBool(x.truth != negated)
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
			return isLatestReport(s.column("e", "report"), x.truth != negated)
		}
		return isLatestReport(s.column("r", "id"), x.truth != negated)
	case *nodeExpr:
		return s.nodeState(x, negated)
	}
	panic("query: unknown clause")
}

// joinConditions joins the conditions in list, or their negations, by OR if useOr is true, and otherwise by AND. It
// nests long lists in halves, because SQLite limits the depth of an expression.
func (s *selectCompiler) joinConditions(list []expr, negated, useOr bool) string {
	if len(list) == 1 {
		return s.expr(list[0], negated)
	}
	word := " AND "
	if useOr {
		word = " OR "
	}
	if !useOr && len(list) < 32 {
		// Query planners handle an unnested chain of conditions best.
		parts := make([]string, len(list))
		for i, x := range list {
			parts[i] = s.expr(x, negated)
		}
		return "(" + strings.Join(parts, word) + ")"
	}
	half := len(list) / 2
	return "(" + s.joinConditions(list[:half], negated, useOr) + word + s.joinConditions(list[half:], negated, useOr) + ")"
}

// isLatestReport returns an SQL condition on report, an SQL expression for the ID of a report: that the report is the
// latest one of a node. If truth is false, the condition is that it is not.
func isLatestReport(report string, truth bool) string {
	word := " IN"
	if !truth {
		word = " NOT IN"
	}
	return report + word + " (SELECT latest_report FROM run_nodes WHERE latest_report IS NOT NULL)"
}

// opposite maps each operator to its negation.
var opposite = map[string]string{"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// compare returns the SQL condition of a comparison or, if negated is true, of its negation.
func (s *selectCompiler) compare(x *compareExpr, negated bool) string {
	f := x.field
	acceptNull := negated && x.op == "=" && s.nullIsValue(f)
	if f.alwaysNull {
		return sqlBool(acceptNull)
	}
	if f.kind == typePath {
		return s.textCondition(f, func(col string) string {
			return s.anyElement(col, func(element string) string { return element + " = " + s.c.text(x.value.(string)) },
				negated, acceptNull)
		}, acceptNull)
	}
	op := x.op
	if negated {
		op = opposite[op]
	}
	if table, key, ok := s.idOf(f); ok {
		// An unknown value gets the ID -1, which differs from all IDs.
		return orNull(f, key, key+" "+op+" COALESCE((SELECT id FROM "+table+" WHERE "+valueColumn(table)+" = "+
			s.c.literal(x.value)+"), -1)", acceptNull)
	}
	col := s.column(f.alias, f.column)
	return orNull(f, col, col+" "+op+" "+s.c.literal(x.value), acceptNull)
}

// nullIsValue reports whether null counts as a value that differs from all others, so that a negated equality includes
// null. It does for the values of properties, and for all fields of a query with distinct_resources, which has older
// semantics.
func (s *selectCompiler) nullIsValue(f *field) bool { return f.kind == typeJSON || s.c.distinct != nil }

// orNull returns test, an SQL condition on the field's column col. If acceptNull is true, the condition is extended so
// that it also accepts null.
func orNull(f *field, col, test string, acceptNull bool) string {
	if !acceptNull || !f.nullable {
		return test
	}
	return "(" + test + " OR " + col + " IS NULL)"
}

// manyValues is the smallest number of values for which an array is passed as a single parameter.
const manyValues = 50

// in returns the SQL condition of an "in" clause with an array or, if negated is true, of its negation.
func (s *selectCompiler) in(x *inExpr, negated bool) string {
	f := x.field
	if len(x.values) == 0 {
		return sqlBool(negated)
	}
	acceptNull := negated && s.nullIsValue(f)
	if f.alwaysNull {
		return sqlBool(acceptNull)
	}
	word := " IN ("
	if negated {
		word = " NOT IN ("
	}
	if table, key, ok := s.idOf(f); ok {
		test := key + word + "SELECT id FROM " + table + " WHERE " + valueColumn(table) + " IN (" + s.values(x.values) + "))"
		if negated && !acceptNull && f.nullable { // if no stored value matches, NOT IN (SELECT …) is true even for null
			test = "(" + test + " AND " + key + " IS NOT NULL)"
		}
		return orNull(f, key, test, acceptNull)
	}
	col := s.column(f.alias, f.column)
	return orNull(f, col, col+word+s.values(x.values)+")", acceptNull)
}

// values returns the SQL for values in the parentheses of IN: a list of parameters or, for many values, a SELECT from
// one parameter that contains all values as a JSON array. All values have the same type, apart from integers and
// floating-point numbers, which can be mixed.
func (s *selectCompiler) values(values []any) string {
	if len(values) < manyValues {
		placeholders := make([]string, len(values))
		for i, v := range values {
			placeholders[i] = s.c.literal(v)
		}
		return strings.Join(placeholders, ", ")
	}
	array := []byte{'['}
	element := "value" // the SQL expression that converts an element of the array to the type of the column
	if s.c.postgres() {
		element = "value::bigint"
	}
	for i, v := range values {
		if i > 0 {
			array = append(array, ',')
		}
		switch v := v.(type) {
		case string:
			array = jsontext.AppendQuoted(array, v)
			element = "value"
		case []byte:
			array = jsontext.AppendQuoted(array, hex.EncodeToString(v))
			element = "unhex(value)"
			if s.c.postgres() {
				element = "decode(value, 'hex')"
			}
		case int64:
			array = strconv.AppendInt(array, v, 10)
		case float64:
			array = strconv.AppendFloat(array, v, 'f', -1, 64)
		case bool:
			digit := byte('0')
			if v {
				digit = '1'
			}
			array = append(array, digit)
		}
	}
	if s.c.postgres() {
		for _, v := range values {
			if _, ok := v.(float64); ok {
				element = "value::double precision" // one such number makes all of them floating-point numbers
			}
		}
		return "SELECT " + element + " FROM json_array_elements_text(" + s.c.arg(string(append(array, ']'))) +
			"::json) AS t(value)"
	}
	return "SELECT " + element + " FROM json_each(" + s.c.arg(string(append(array, ']'))) + ")"
}

// null returns the SQL condition of a test for null or, if negated is true, of its negation.
func (s *selectCompiler) null(x *nullExpr, negated bool) string {
	f := x.field
	wantNull := x.null != negated
	if f.alwaysNull {
		return sqlBool(wantNull)
	}
	if !f.nullable {
		return sqlBool(!wantNull)
	}
	col := s.column(f.alias, f.column)
	if x.orJSONNull && f.kind == typeJSON {
		if wantNull {
			return "(" + col + " IS NULL OR " + col + " = 'null')"
		}
		return col + " <> 'null'" // this excludes NULL, too
	}
	if wantNull {
		return col + " IS NULL"
	}
	return col + " IS NOT NULL"
}

// textCondition returns an SQL condition on a field whose texts are shared by many rows. test returns the condition on
// an SQL expression for the text. If possible, the condition is evaluated once for each text in its table, and the rows
// are selected by the IDs of the texts that meet it. If the result is small and the table is large, the condition is
// evaluated for each row of the result instead. If acceptNull is true, null meets the condition, too.
func (s *selectCompiler) textCondition(f *field, test func(column string) string, acceptNull bool) string {
	if f.dictionary != "" {
		col := s.column(f.alias, f.column)
		return orNull(f, col, col+" IN (SELECT id FROM "+f.dictionary+" WHERE "+test("name")+")", acceptNull)
	}
	j := s.q.entity.join(f.alias)
	// The latest reports refer to only a few rows of a large joined table, unless all reports share the rows of that
	// table.
	fewRows := s.narrow || s.latest && j != nil && !j.reused
	if j == nil || j.large && fewRows {
		return test(s.column(f.alias, f.column))
	}
	key := s.column(j.keyAlias, j.key)
	if s.latest && j.reused && !s.c.postgres() {
		key = "+" + key // the sign prevents the use of an index, which would find the events of all runs
	}
	return orNull(f, key, key+" IN (SELECT x.id FROM "+j.table+" x WHERE "+test("x."+f.column)+")", acceptNull && j.outer)
}

// match returns the SQL condition that a field matches a regular expression or, if negated is true, that it is null or
// does not match.
func (s *selectCompiler) match(x *matchExpr, negated bool) string {
	f := x.field
	if f.alwaysNull {
		return sqlBool(negated)
	}
	test := s.regexp(x.pattern)
	return s.textCondition(f, func(col string) string {
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

// regexp adds the pattern p to the parameters. It returns a function that returns the SQL condition that text, an SQL
// expression, matches p or, if negated is true, that it is null or does not match p.
func (s *selectCompiler) regexp(p *pattern.Pattern) func(text string, negated bool) string {
	if s.c.postgres() {
		placeholder := s.c.arg(p.Source) + "::text"
		return func(text string, negated bool) string {
			if s.c.collation != "" {
				text += " COLLATE " + s.c.collation
			}
			return trueOrNot("("+text+" ~ "+placeholder+")", negated)
		}
	}
	m, _ := p.Matcher() // the checks have refused patterns without a matcher
	id := pattern.Hold(m)
	s.c.patterns = append(s.c.patterns, id)
	placeholder := s.c.arg(id)
	return func(text string, negated bool) string {
		return trueOrNot("run_match("+placeholder+", "+text+")", negated)
	}
}

// trueOrNot returns test, an SQL condition, or, if negated is true, the condition that test is false or null.
func trueOrNot(test string, negated bool) string {
	if negated {
		return test + " IS NOT TRUE"
	}
	return test
}

// anyElement returns the SQL condition that col, an expression for a JSON array of texts, has an element that meets
// test. If negated is true, the condition is that no element meets test; if acceptNull is true as well, null is
// accepted instead of an array.
func (s *selectCompiler) anyElement(col string, test func(element string) string, negated, acceptNull bool) string {
	table := "json_each(" + col + ")"
	element := "value"
	if s.c.postgres() {
		table = "json_array_elements_text(" + col + "::json) AS t(value)"
		element = `(value COLLATE "C")`
	}
	exists := "EXISTS (SELECT 1 FROM " + table + " WHERE " + test(element) + ")"
	switch {
	case negated && acceptNull:
		return "NOT " + exists
	case negated:
		return "(" + col + " IS NOT NULL AND NOT " + exists + ")"
	}
	return "(" + col + " IS NOT NULL AND " + exists + ")"
}

// nodeState returns the SQL condition on the state of the node to which a row belongs. A node is active if it is
// neither deactivated nor expired. It counts as inactive if it was deactivated or expired after compiler.cutoff, so a
// node that is about to be deleted is neither. If negated is true, nodeState returns the negation.
func (s *selectCompiler) nodeState(x *nodeExpr, negated bool) string {
	var test string
	if x.active {
		test = "deactivated_at IS NULL AND expired_at IS NULL"
		if negated {
			test = "deactivated_at IS NOT NULL OR expired_at IS NOT NULL"
		}
	} else {
		cutoff := s.c.arg(s.c.cutoff)
		test = "deactivated_at > " + cutoff + " OR expired_at > " + cutoff
		if negated {
			// An active node must meet the negation, although the comparisons are null for it.
			test = "NOT COALESCE(deactivated_at > " + cutoff + ", 1 = 0) AND NOT COALESCE(expired_at > " + cutoff + ", 1 = 0)"
		}
	}
	return s.column(s.q.entity.alias, s.q.entity.node) + " IN (SELECT id FROM run_nodes WHERE " + test + ")"
}

// inQuery returns the SQL condition that the values of some fields are a row of an inner query or, if negated is true,
// that they are not. It compares IDs instead of values if IDs of the same table represent both.
func (s *selectCompiler) inQuery(x *inQueryExpr, negated bool) string {
	if x.query.entity.absent() {
		return sqlBool(negated)
	}
	inner := s.c.newSelect(x.query)
	aggregated := x.query.aggregates()
	left := make([]string, len(x.fields))  // expressions for the fields
	right := make([]string, len(x.fields)) // columns of the inner query, unless it is aggregated
	for i, f := range x.fields {
		left[i] = s.value(f)
		col := x.query.columns[i]
		if aggregated {
			if f.kind == typeHash { // see groupable
				left[i] = s.c.hex(left[i])
			}
			continue
		}
		right[i] = inner.value(col.field)
		table, key, ok := s.idOf(f)
		innerTable, innerKey, innerOK := inner.idOf(col.field)
		if ok && innerOK && table == innerTable {
			left[i], right[i] = key, innerKey
		}
	}
	var sql string
	if aggregated {
		sql, _ = inner.aggregate()
	} else {
		sql = inner.selectRows(right)
	}
	operator := " IN ("
	if negated {
		operator = " NOT IN ("
	}
	row := strings.Join(left, ", ")
	if len(left) > 1 {
		row = "(" + row + ")"
	}
	return row + operator + sql + ")"
}
