package query

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limits of one query.
const (
	maxClauses      = 2_000
	maxPatterns     = 16
	maxInnerQueries = 16 // inner queries
	maxColumns      = 64
)

// checker validates the clauses of a request and converts them to a query.
type checker struct {
	entities map[string]*entity
	dialect  store.Dialect

	clauses, patterns, innerQueries int // numbers so far
	// unknown collects an error text for each name that is not a field, so that one error can list all of them.
	unknown []string
	// namesState means that a clause of the query restricts the state of nodes.
	namesState bool
	// namesType means that a clause of the outermost query restricts the type of reports.
	namesType bool
}

// root checks the query at the endpoint of the entity e. A nil clause selects all rows.
func (c *checker) root(e *entity, v *syntax.Value) (*query, error) {
	q, err := c.selection(e, v, true)
	if err != nil {
		return nil, err
	}
	if len(c.unknown) > 0 {
		return nil, refuse("%s", syntax.Clip(strings.Join(c.unknown, "\n")))
	}
	return q, nil
}

// outermost checks the query at the root endpoint, which names the entity itself.
func (c *checker) outermost(v *syntax.Value) (*query, error) {
	if v.Operator() != "from" {
		return nil, errNoQuery
	}
	q, err := c.from(v, true)
	if err != nil {
		return nil, err
	}
	if len(c.unknown) > 0 {
		return nil, refuse("%s", syntax.Clip(strings.Join(c.unknown, "\n")))
	}
	return q, nil
}

// selection checks a query for rows of e: an extract clause, or a predicate. outermost is false for inner queries.
func (c *checker) selection(e *entity, v *syntax.Value, outermost bool) (*query, error) {
	q := &query{entity: e}
	if selectsAll(v) {
		return q, nil
	}
	if !v.IsList() {
		return nil, refuse("%s is not well-formed: a query must be a list", v.Notation())
	}
	var err error
	switch v.Operator() {
	case "extract":
		err = c.extract(q, v, outermost)
	case "group_by":
		err = refuse("%s is not well-formed: 'group_by' belongs into 'extract'", v.Notation())
	default:
		q.where, err = c.clause(e, v, outermost, 0)
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

// selectsAll reports whether a query has no condition: it is missing, null or an empty list.
func selectsAll(v *syntax.Value) bool {
	return v == nil || v.Kind == syntax.Null || v.IsList() && len(v.Items) == 0
}

// malformed returns the error for the clause v.
func (c *checker) malformed(v *syntax.Value, reason string) error {
	return refuse("%s is not well-formed: %s", v.Notation(), reason)
}

// clause checks a predicate on rows of e. outermost is false in inner queries. depth is the number of clauses that
// contain this one.
func (c *checker) clause(e *entity, v *syntax.Value, outermost bool, depth int) (expr, error) {
	if c.clauses++; c.clauses > maxClauses {
		return nil, refuse("the query holds more than %d clauses", maxClauses)
	}
	if depth > syntax.MaxDepth {
		return nil, refuse("the query is nested more than %d deep", syntax.MaxDepth)
	}
	if !v.IsList() {
		return nil, c.malformed(v, "a clause must be a list")
	}
	if len(v.Items) == 0 {
		return nil, refuse("[] is not well-formed: queries must contain at least one operator")
	}
	op := v.Operator()
	args := v.Items[1:]
	switch op {
	case "and", "or":
		if len(args) == 0 {
			return nil, refuse("'%s' takes at least one argument, but none were supplied", op)
		}
		list := make([]expr, len(args))
		for i, a := range args {
			var err error
			if list[i], err = c.clause(e, a, outermost, depth+1); err != nil {
				return nil, err
			}
		}
		if op == "or" {
			return &orExpr{list}, nil
		}
		return &andExpr{list}, nil
	case "not":
		if len(args) != 1 {
			return nil, refuse("'not' takes exactly one argument, but %d were supplied", len(args))
		}
		negated, err := c.clause(e, args[0], outermost, depth+1)
		return &notExpr{negated}, err
	case "=", "!=", "<", "<=", ">", ">=", "~", "~>":
		if len(args) != 2 {
			return nil, refuse("%s requires exactly two arguments", op)
		}
		return c.comparison(e, v, op, args[0], args[1], outermost)
	case "null?":
		if len(args) != 2 {
			return nil, refuse("null? requires exactly two arguments")
		}
		return c.null(e, v, args[0], args[1])
	case "in":
		return c.in(e, v, args)
	case "subquery":
		return c.subquery(e, v, args)
	case "extract", "group_by", "from":
		return nil, c.malformed(v, "'"+op+"' is allowed as the outermost clause only")
	case "":
		return nil, c.malformed(v, "a clause must begin with an operator")
	}
	return nil, c.malformed(v, "query operator '"+syntax.Clip(op)+"' is unknown")
}

// field returns the field of e with the name v. If there is no such field, field adds an error to c.unknown and
// returns nil. The caller then uses an arbitrary predicate instead of the clause and continues the check.
func (c *checker) field(e *entity, v *syntax.Value) *field {
	if v.IsText() {
		if f := e.field(v.Text); f != nil && f.queryable() {
			return f
		}
	}
	if len(c.unknown) < 32 {
		c.unknown = append(c.unknown, "'"+v.Plain()+"' is not a queryable object for "+e.name+
			". Known queryable objects are "+quotedList(e.names((*field).queryable)))
	}
	return nil
}

// comparison checks a clause that compares the field in name with the value v. Instead of a field, name can be
// node_state, ["node", "active"] or ["fact", ...]. outermost is false in inner queries.
func (c *checker) comparison(
	e *entity, clause *syntax.Value, op string, name, v *syntax.Value, outermost bool,
) (expr, error) {
	if e.node != "" && isFact(name) {
		return c.absent(clause, op, name, v)
	}
	if e.node != "" && (name.IsList() || name.IsText() && name.Text == "node_state") {
		return c.nodeState(clause, op, name, v)
	}
	if e.absent() {
		c.namesState = c.namesState || isState(name)
		return c.absent(clause, op, name, v)
	}
	if name.IsList() {
		return nil, c.malformed(clause, "a field must be a name")
	}
	f := c.field(e, name)
	if f == nil { // c.unknown contains the error
		return &constExpr{true}, nil
	}
	if e.name == "reports" && f.name == "type" {
		c.namesType = c.namesType || outermost
		if op == "=" && v.IsText() && v.Text == "any" {
			return &constExpr{true}, nil
		}
	}
	switch op {
	case "=":
		return c.equality(f, v)
	case "!=":
		equal, err := c.equality(f, v)
		return &notExpr{equal}, err
	case "~":
		return c.match(f, v)
	case "~>":
		return nil, refuse("Query operator ~> is not allowed on field %s", f.name)
	}
	switch f.kind {
	case typeTime:
		ms, err := timeValue(v)
		return &compareExpr{f, op, ms}, err
	case typeNumber:
		if v.Kind != syntax.Number {
			return nil, numericError(v, f)
		}
		n, err := numeric(v)
		return &compareExpr{f, op, n}, err
	default:
		return nil, refuse("Query operators >,>=,<,<= are not allowed on field %s", f.name)
	}
}

// absent checks a comparison with a fact, or on an entity that is never stored, and returns a predicate that no row
// meets. name may be a list of names, and any value is accepted.
func (c *checker) absent(clause *syntax.Value, op string, name, v *syntax.Value) (expr, error) {
	if _, ok := fieldNames(name); !ok {
		return nil, c.malformed(clause, "a field must be a name or a list of names")
	}
	if op == "~" && v.IsText() {
		_, err := c.pattern(v.Text)
		return &constExpr{false}, err
	}
	return &constExpr{false}, nil
}

// numericError returns the error for a value v that is not a number. The field f contains numbers.
func numericError(v *syntax.Value, f *field) error {
	return refuse("Argument %s is incompatible with numeric field %q.", v.Notation(), f.name)
}

// typeError returns the error for a value v of the wrong type. typeName is the type that the field f needs.
func typeError(v *syntax.Value, f *field, typeName string) error {
	return refuse("Argument %s is incompatible with field '%s': it takes %s", v.Notation(), f.name, typeName)
}

// numeric returns the number v as int64 if it is an integer, and otherwise as float64.
func numeric(v *syntax.Value) (any, error) {
	if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
		return n, nil
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsInf(n, 0) {
		return nil, refuse("Argument %s is out of range", v.Notation())
	}
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 { // an integer with a fraction or exponent, such as 1e3
		return int64(n), nil
	}
	return n, nil
}

// timeValue converts the value for a time field, a text or a number of milliseconds, to Unix milliseconds.
func timeValue(v *syntax.Value) (int64, error) {
	switch v.Kind {
	case syntax.String:
		if ms, ok := syntax.ParseTime(v.Text); ok {
			return ms, nil
		}
	case syntax.Number:
		if ms, err := strconv.ParseInt(v.Text, 10, 64); err == nil && ms <= syntax.MaxEpoch && ms >= -syntax.MaxEpoch {
			return ms, nil
		}
	default:
	}
	return 0, refuse("'%s' is not a valid timestamp value", v.Plain())
}

// textual returns the value for a text field. It returns an error for U+0000, which PostgreSQL does not store in texts.
func textual(v *syntax.Value, f *field) (string, error) {
	if !v.IsText() {
		return "", typeError(v, f, "a string")
	}
	if strings.ContainsRune(v.Text, 0) {
		return "", refuse("Argument of field '%s' holds U+0000, which no value has", f.name)
	}
	return v.Text, nil
}

// decodeHash decodes a SHA-1 in lower-case hexadecimal. ok is false for any other text, including a SHA-1 in upper
// case: such a text matches no row.
func decodeHash(s string) (sum []byte, ok bool) {
	if len(s) != 40 || strings.ToLower(s) != s {
		return nil, false
	}
	b, err := hex.DecodeString(s)
	return b, err == nil
}

// equality checks a comparison of a field with v by the operator =.
func (c *checker) equality(f *field, v *syntax.Value) (expr, error) {
	if v.Kind == syntax.Null && f.kind != typeTime {
		return &nullExpr{field: f, null: true, orJSONNull: true}, nil
	}
	switch f.kind { // other types are compared as text, below
	case typeLatest:
		if v.Kind != syntax.Bool {
			return nil, typeError(v, f, "true or false")
		}
		return &latestExpr{f, v.Truth}, nil
	case typeBool:
		if v.Kind != syntax.Bool {
			return nil, typeError(v, f, "true or false")
		}
		return &compareExpr{f, "=", v.Truth}, nil
	case typeNumber:
		if v.Kind != syntax.Number {
			return nil, numericError(v, f)
		}
		n, err := numeric(v)
		return &compareExpr{f, "=", n}, err
	case typeTime:
		ms, err := timeValue(v)
		return &compareExpr{f, "=", ms}, err
	case typeJSON:
		return &compareExpr{f, "=", v.Canonical()}, nil
	case typePath:
		if v.Kind == syntax.Number {
			return &compareExpr{f, "=", v.Text}, nil
		}
	case typeHash:
		s, err := textual(v, f)
		if err != nil {
			return nil, err
		}
		b, ok := decodeHash(s)
		if !ok {
			b = []byte{} // no hash is empty, so no row meets the comparison
		}
		return &compareExpr{f, "=", b}, nil
	default:
	}
	s, err := textual(v, f)
	return &compareExpr{f, "=", s}, err
}

// match checks a comparison with ~ and compiles its pattern.
func (c *checker) match(f *field, v *syntax.Value) (expr, error) {
	switch f.kind {
	case typeText, typeHash, typePath, typeJSON:
	default:
		return nil, refuse("regex not supported on field %s", f.name)
	}
	if v.Kind == syntax.Null {
		return &constExpr{false}, nil
	}
	s, err := textual(v, f)
	if err != nil {
		return nil, err
	}
	p, err := c.pattern(s)
	if err != nil {
		return nil, err
	}
	return &matchExpr{f, p}, nil
}

// pattern validates a regular expression. A pattern that is too complex for the matcher is refused here, before any
// rows are read.
func (c *checker) pattern(source string) (*pattern.Pattern, error) {
	if c.patterns++; c.patterns > maxPatterns {
		return nil, refuse("the query holds more than %d regular expressions", maxPatterns)
	}
	p, err := pattern.Compile(source)
	if err == nil && c.dialect != store.Postgres {
		_, err = p.Matcher()
	}
	if err != nil {
		return nil, refuse("%s", err)
	}
	return p, nil
}

// null checks the clause ["null?", name, v]. With v = true it selects the rows in which the field is null, and with
// v = false all others.
func (c *checker) null(e *entity, clause, name, v *syntax.Value) (expr, error) {
	if e.absent() {
		return c.absent(clause, "null?", name, v)
	}
	if name.IsList() {
		return nil, c.malformed(clause, "a field must be a name")
	}
	f := c.field(e, name)
	if f == nil { // c.unknown contains the error
		return &constExpr{true}, nil
	}
	if v.Kind != syntax.Bool {
		return nil, refuse("null? requires true or false as its second argument, not %s", v.Notation())
	}
	return &nullExpr{field: f, null: v.Truth}, nil
}

// nodeState checks ["=", ["node", "active"], bool] and ["=", "node_state", state], or the same clauses with "!=".
func (c *checker) nodeState(clause *syntax.Value, op string, name, v *syntax.Value) (expr, error) {
	state := ""
	switch {
	case op != "=" && op != "!=":
		return nil, c.malformed(clause, "the state of a node takes the operator = only")
	case name.IsText():
		if v.IsText() {
			state = strings.ToLower(v.Text)
		}
	case isState(name):
		if v.Kind != syntax.Bool {
			return nil, c.malformed(clause, "[\"node\" \"active\"] is true or false")
		}
		state = "inactive"
		if v.Truth {
			state = "active"
		}
	default:
		return nil, c.malformed(clause, "the only lists in the place of a field are [\"node\" \"active\"] and [\"fact\" name]")
	}
	var x expr
	switch state {
	case "active", "inactive":
		x = &nodeExpr{state == "active"}
	case "any":
		x = &constExpr{true}
	default:
		return nil, refuse("'%s' is not a valid node_state: use 'active', 'inactive' or 'any'", v.Plain())
	}
	c.namesState = true
	if op == "!=" {
		x = &notExpr{x}
	}
	return x, nil
}

// isState reports whether name refers to the state of a node instead of a field.
func isState(name *syntax.Value) bool {
	if name.IsText() {
		return name.Text == "node_state"
	}
	return len(name.Items) == 2 && name.Items[0].IsText() && name.Items[0].Text == "node" && name.Items[1].IsText() &&
		name.Items[1].Text == "active"
}

// isFact reports whether name refers to a fact of the node instead of a field. Facts are never stored.
func isFact(name *syntax.Value) bool {
	return len(name.Items) == 2 && name.Operator() == "fact" && name.Items[1].IsText()
}

// fieldNames returns the names in v, which is a name or a list of names. ok is false if v is neither, or if the list is
// empty or too long.
func fieldNames(v *syntax.Value) (names []string, ok bool) {
	if v.IsText() {
		return []string{v.Text}, true
	}
	if !v.IsList() || len(v.Items) == 0 || len(v.Items) > maxColumns {
		return nil, false
	}
	names = make([]string, len(v.Items))
	for i, item := range v.Items {
		if !item.IsText() {
			return nil, false
		}
		names[i] = item.Text
	}
	return names, true
}

// unknownFields returns an error if names contains names that are not fields of the entity, or fields that allowed does
// not accept. Otherwise it returns nil. The error lists these names. They are inserted into format at the percent sign,
// or after format if it has none.
func unknownFields(format string, e *entity, names []string, allowed func(*field) bool) error {
	var wrong []string
	for _, n := range names {
		if f := e.field(n); f == nil || !allowed(f) {
			wrong = append(wrong, n)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	word := "field"
	if len(wrong) > 1 {
		word = "fields"
	}
	prefix, suffix, _ := strings.Cut(format, "%")
	return refuse("%s unknown '%s' %s %s%s. Acceptable fields are %s", prefix, e.name, word, quotedList(wrong), suffix,
		quotedList(e.names(allowed)))
}

// comparable reports whether a field can be used in lists of fields that are compared, sorted or grouped.
func comparable(f *field) bool { return f.queryable() && f.extractable() }

// asError returns the *Error in the chain of err, or nil if there is none.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
