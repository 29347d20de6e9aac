package query

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
)

// Bounds of what one query may ask for.
const (
	maxClauses  = 2_000
	maxPatterns = 16
	maxInner    = 16 // queries inside the query
	maxColumns  = 64
)

// checker turns clauses into a checked query.
type checker struct {
	entities map[string]*entity

	clauses, patterns, inner int
	// unknown gathers what names no field: all of it is told at once.
	unknown []string
	// What the clauses of the outermost query say by themselves.
	namesState, namesType bool
}

// root checks the clause of an endpoint; nil: none.
func (c *checker) root(e *entity, v *value) (*query, error) {
	q, err := c.selection(e, v, true)
	if err != nil {
		return nil, err
	}
	if len(c.unknown) > 0 {
		return nil, refuse("%s", clip(strings.Join(c.unknown, "\n")))
	}
	return q, nil
}

// outermost checks the clause of the root endpoint, which names its entity.
func (c *checker) outermost(v *value) (*query, error) {
	if v.operator() != "from" {
		return nil, errNoQuery
	}
	q, err := c.from(v, true)
	if err != nil {
		return nil, err
	}
	if len(c.unknown) > 0 {
		return nil, refuse("%s", clip(strings.Join(c.unknown, "\n")))
	}
	return q, nil
}

// selection checks a clause that may be an extract.
func (c *checker) selection(e *entity, v *value, outermost bool) (*query, error) {
	q := &query{entity: e}
	if v == nil || v.kind == kindNull || v.isList() && len(v.items) == 0 {
		return q, nil
	}
	if !v.isList() {
		return nil, refuse("%s is not well-formed: a query must be a list", v.notation())
	}
	var err error
	switch v.operator() {
	case "extract":
		err = c.extract(q, v, outermost)
	case "group_by":
		err = refuse("%s is not well-formed: 'group_by' belongs into 'extract'", v.notation())
	default:
		q.where, err = c.clause(e, v, outermost, 0)
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (c *checker) malformed(v *value, reason string) error {
	return refuse("%s is not well-formed: %s", v.notation(), reason)
}

// clause checks one predicate.
func (c *checker) clause(e *entity, v *value, outermost bool, depth int) (expr, error) {
	if c.clauses++; c.clauses > maxClauses {
		return nil, refuse("the query holds more than %d clauses", maxClauses)
	}
	if depth > maxDepth {
		return nil, refuse("the query is nested more than %d deep", maxDepth)
	}
	if !v.isList() {
		return nil, c.malformed(v, "a clause must be a list")
	}
	if len(v.items) == 0 {
		return nil, refuse("[] is not well-formed: queries must contain at least one operator")
	}
	op := v.operator()
	args := v.items[1:]
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
		of, err := c.clause(e, args[0], outermost, depth+1)
		return &notExpr{of}, err
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
	return nil, c.malformed(v, "query operator '"+clip(op)+"' is unknown")
}

// field looks up what a clause compares; nil: it is no field, and noted.
func (c *checker) field(e *entity, v *value) *field {
	if v.isText() {
		if f := e.byName[v.text]; f != nil && f.queryable() {
			return f
		}
	}
	if len(c.unknown) < 32 {
		c.unknown = append(c.unknown, "'"+v.plain()+"' is not a queryable object for "+e.name+
			". Known queryable objects are "+quotedList(e.names((*field).queryable)))
	}
	return nil
}

func (c *checker) comparison(e *entity, clause *value, op string, name, v *value, outermost bool) (expr, error) {
	if e.node != "" && (name.isList() || name.isText() && name.text == "node_state") {
		return c.nodeState(clause, op, name, v, outermost)
	}
	if name.isList() {
		return nil, c.malformed(clause, "a field must be a name")
	}
	f := c.field(e, name)
	if f == nil {
		return &constExpr{true}, nil
	}
	if outermost && e.name == "reports" && f.name == "type" {
		c.namesType = true
		if op == "=" && v.isText() && v.text == "any" {
			return &constExpr{true}, nil
		}
	}
	switch op {
	case "=":
		return c.equality(f, v)
	case "!=":
		of, err := c.equality(f, v)
		return &notExpr{of}, err
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
		if v.kind != kindNumber {
			return nil, incompatible(v, f)
		}
		n, err := numeric(v)
		return &compareExpr{f, op, n}, err
	default:
		return nil, refuse("Query operators >,>=,<,<= are not allowed on field %s", f.name)
	}
}

func incompatible(v *value, f *field) error {
	return refuse("Argument %s is incompatible with numeric field %q.", v.notation(), f.name)
}

// needs is the refusal of a value of the wrong type.
func needs(v *value, f *field, what string) error {
	return refuse("Argument %s is incompatible with field '%s': it takes %s", v.notation(), f.name, what)
}

// numeric is an int64 where the number is whole, else a float64.
func numeric(v *value) (any, error) {
	if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
		return n, nil
	}
	n, err := strconv.ParseFloat(v.text, 64)
	if err != nil || math.IsInf(n, 0) {
		return nil, refuse("Argument %s is out of range", v.notation())
	}
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n), nil
	}
	return n, nil
}

// timeValue reads the value of a time field.
func timeValue(v *value) (int64, error) {
	switch v.kind {
	case kindString:
		if ms, ok := parseTime(v.text); ok {
			return ms, nil
		}
	case kindNumber:
		if ms, err := strconv.ParseInt(v.text, 10, 64); err == nil && ms <= maxEpoch && ms >= -maxEpoch {
			return ms, nil
		}
	default:
	}
	return 0, refuse("'%s' is not a valid timestamp value", v.plain())
}

// textual reads the value of a text field. PostgreSQL has no U+0000 in text.
func textual(v *value, f *field) (string, error) {
	if !v.isText() {
		return "", needs(v, f, "a string")
	}
	if strings.ContainsRune(v.text, 0) {
		return "", refuse("Argument of field '%s' holds U+0000, which no value has", f.name)
	}
	return v.text, nil
}

// hash reads a SHA-1. Other text, and hex in upper case, equals none of them.
func hash(s string) ([]byte, bool) {
	if len(s) != 40 || strings.ToLower(s) != s {
		return nil, false
	}
	b, err := hex.DecodeString(s)
	return b, err == nil
}

func (c *checker) equality(f *field, v *value) (expr, error) {
	if v.kind == kindNull && f.kind != typeTime {
		return &nullExpr{field: f, null: true, sent: true}, nil
	}
	switch f.kind {
	case typeLatest:
		if v.kind != kindBool {
			return nil, needs(v, f, "true or false")
		}
		return &latestExpr{f, v.truth}, nil
	case typeBool:
		if v.kind != kindBool {
			return nil, needs(v, f, "true or false")
		}
		return &compareExpr{f, "=", v.truth}, nil
	case typeNumber:
		if v.kind != kindNumber {
			return nil, incompatible(v, f)
		}
		n, err := numeric(v)
		return &compareExpr{f, "=", n}, err
	case typeTime:
		ms, err := timeValue(v)
		return &compareExpr{f, "=", ms}, err
	case typeJSON:
		return &compareExpr{f, "=", string(v.appendCanonical(nil))}, nil
	case typePath:
		if v.kind == kindNumber {
			return &compareExpr{f, "=", v.text}, nil
		}
	case typeHash:
		s, err := textual(v, f)
		if err != nil {
			return nil, err
		}
		b, ok := hash(s)
		if !ok {
			b = []byte{} // equals none, and null is still no answer
		}
		return &compareExpr{f, "=", b}, nil
	default:
	}
	s, err := textual(v, f)
	return &compareExpr{f, "=", s}, err
}

func (c *checker) match(f *field, v *value) (expr, error) {
	switch f.kind {
	case typeText, typeHash, typePath, typeJSON:
	default:
		return nil, refuse("regex not supported on field %s", f.name)
	}
	if v.kind == kindNull {
		return &constExpr{false}, nil
	}
	s, err := textual(v, f)
	if err != nil {
		return nil, err
	}
	if c.patterns++; c.patterns > maxPatterns {
		return nil, refuse("the query holds more than %d regular expressions", maxPatterns)
	}
	p, err := compilePattern(s)
	if err != nil {
		return nil, err
	}
	return &matchExpr{f, p}, nil
}

func (c *checker) null(e *entity, clause, name, v *value) (expr, error) {
	if name.isList() {
		return nil, c.malformed(clause, "a field must be a name")
	}
	f := c.field(e, name)
	if f == nil {
		return &constExpr{true}, nil
	}
	if v.kind != kindBool {
		return nil, refuse("null? requires true or false as its second argument, not %s", v.notation())
	}
	return &nullExpr{field: f, null: v.truth}, nil
}

// nodeState checks ["=", ["node", "active"], bool] and ["=", "node_state", word].
func (c *checker) nodeState(clause *value, op string, name, v *value, outermost bool) (expr, error) {
	state := ""
	switch {
	case op != "=" && op != "!=":
		return nil, c.malformed(clause, "the state of a node takes the operator = only")
	case name.isText():
		if v.isText() {
			state = strings.ToLower(v.text)
		}
	case len(name.items) == 2 && name.items[0].isText() && name.items[0].text == "node" &&
		name.items[1].isText() && name.items[1].text == "active":
		if v.kind != kindBool {
			return nil, c.malformed(clause, "[\"node\" \"active\"] is true or false")
		}
		if state = "active"; !v.truth {
			state = "inactive"
		}
	default:
		return nil, c.malformed(clause, "the only list in the place of a field is [\"node\" \"active\"]")
	}
	var x expr
	switch state {
	case "active", "inactive":
		x = &nodeExpr{state == "active"}
	case "any":
		x = &constExpr{true}
	default:
		return nil, refuse("'%s' is not a valid node_state: use 'active', 'inactive' or 'any'", v.plain())
	}
	if outermost {
		c.namesState = true
	}
	if op == "!=" {
		x = &notExpr{x}
	}
	return x, nil
}

// fields reads a name or a list of names.
func fieldNames(v *value) ([]string, bool) {
	if v.isText() {
		return []string{v.text}, true
	}
	if !v.isList() || len(v.items) == 0 || len(v.items) > maxColumns {
		return nil, false
	}
	names := make([]string, len(v.items))
	for i, item := range v.items {
		if !item.isText() {
			return nil, false
		}
		names[i] = item.text
	}
	return names, true
}

// unknownFields is the refusal of names that are no fields of the entity.
func unknownFields(format string, e *entity, names []string, allowed func(*field) bool) error {
	var wrong []string
	for _, n := range names {
		if f := e.byName[n]; f == nil || !allowed(f) {
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
	return refuse("%s unknown '%s' %s %s%s. Acceptable fields are %s", prefix, e.name, word, quotedList(wrong), suffix, quotedList(e.names(allowed)))
}

func comparable(f *field) bool { return f.queryable() && f.extractable() }

func (c *checker) in(e *entity, clause *value, args []*value) (expr, error) {
	if len(args) != 2 {
		return nil, refuse("in requires exactly two arguments")
	}
	names, ok := fieldNames(args[0])
	if !ok {
		return nil, c.malformed(clause, "'in' takes a field or a list of fields")
	}
	of := args[1]
	op := of.operator()
	if op == "array" && len(names) == 1 && names[0] == "latest_report?" && e.byName[names[0]] != nil {
		return nil, refuse("Operator in...array is not supported on field latest_report?")
	}
	if err := unknownFields("Can't match on% for 'in'", e, names, comparable); err != nil {
		return nil, err
	}
	fields := make([]*field, len(names))
	for i, n := range names {
		fields[i] = e.byName[n]
	}
	switch op {
	case "array":
		if len(of.items) != 2 || !of.items[1].isList() {
			return nil, refuse("Operator array requires a vector argument")
		}
		if len(fields) != 1 {
			return nil, c.malformed(clause, "'array' takes one field")
		}
		return c.inArray(fields[0], of.items[1].items)
	case "extract", "from":
		q, err := c.innerQuery(of)
		if err != nil {
			return nil, err
		}
		if len(q.columns) == 0 {
			return nil, c.malformed(clause, "the inner query must extract what is compared")
		}
		if len(q.columns) != len(fields) {
			return nil, c.malformed(clause, "the lists of fields on both sides must have the same length")
		}
		for i, f := range fields {
			if !sameType(f, q.columns[i]) {
				return nil, c.malformed(clause, "'"+f.name+"' and '"+q.columns[i].key+"' hold values of different types")
			}
		}
		return &inQueryExpr{fields, q}, nil
	}
	return nil, c.malformed(clause, "'in' takes an 'array', 'extract' or 'from' clause")
}

func sameType(f *field, col column) bool {
	if col.function == "count" {
		return f.kind == typeNumber
	}
	if col.function != "" && col.function != "min" && col.function != "max" {
		return false
	}
	return f.kind == col.field.kind
}

func (c *checker) inArray(f *field, items []*value) (expr, error) {
	if f.kind == typePath {
		return nil, refuse("Operator in...array is not supported on array types")
	}
	x := &inExpr{field: f}
	for _, v := range items {
		if v.kind == kindNull {
			if f.kind == typeJSON {
				return c.inJSON(f, items)
			}
			continue // equals nothing
		}
		switch f.kind {
		case typeTime:
			if ms, err := timeValue(v); err == nil {
				x.values = append(x.values, ms)
			}
		case typeNumber:
			if v.kind != kindNumber {
				return nil, incompatible(v, f)
			}
			n, err := numeric(v)
			if err != nil {
				return nil, err
			}
			x.values = append(x.values, n)
		case typeBool:
			if v.kind != kindBool {
				return nil, needs(v, f, "true or false")
			}
			x.values = append(x.values, v.truth)
		case typeJSON:
			x.values = append(x.values, string(v.appendCanonical(nil)))
		default:
			if v.kind == kindNumber {
				v = textValue(v.text)
			}
			s, err := textual(v, f)
			if err != nil {
				return nil, err
			}
			if f.kind != typeHash {
				x.values = append(x.values, s)
			} else if b, ok := hash(s); ok {
				x.values = append(x.values, b)
			}
		}
	}
	return x, nil
}

// inJSON is a list with a null in it, which equals what was sent as null.
func (c *checker) inJSON(f *field, items []*value) (expr, error) {
	var rest []*value
	for _, v := range items {
		if v.kind != kindNull {
			rest = append(rest, v)
		}
	}
	x, err := c.inArray(f, rest)
	return &orExpr{[]expr{x, &nullExpr{field: f, null: true, sent: true}}}, err
}

// innerQuery checks ["extract", cols, ["select_<entity>", q]] or ["from", ...].
func (c *checker) innerQuery(v *value) (*query, error) {
	if c.inner++; c.inner > maxInner {
		return nil, refuse("the query holds more than %d inner queries", maxInner)
	}
	if v.operator() == "from" {
		return c.from(v, false)
	}
	if len(v.items) != 3 || !v.items[2].isList() {
		return nil, c.malformed(v, "the extract of a subquery takes fields and a select clause")
	}
	selected := v.items[2]
	name, ok := strings.CutPrefix(selected.operator(), "select_")
	e := c.entities[strings.ReplaceAll(name, "-", "_")]
	if !ok || e == nil || strings.Contains(name, "-") {
		if wanted := strings.ReplaceAll(selected.operator(), "-", "_"); wanted != selected.operator() && c.entities[strings.TrimPrefix(wanted, "select_")] != nil {
			return nil, refuse("Unsupported subquery `%s` - did you mean `%s`?", clip(selected.operator()), clip(wanted))
		}
		if selected.operator() == "" {
			return nil, c.malformed(v, "a select clause must begin with its name")
		}
		return nil, refuse("Unsupported subquery `%s`", clip(selected.operator()))
	}
	if len(selected.items) > 2 {
		return nil, c.malformed(selected, "a select clause takes one query")
	}
	clauses := []*value{textValue("extract"), v.items[1]}
	if len(selected.items) == 2 && (!selected.items[1].isList() || len(selected.items[1].items) > 0) {
		clauses = append(clauses, selected.items[1])
	}
	return c.selection(e, listValue(clauses...), false)
}

// errNoQuery is a root query of another form.
var errNoQuery = refuse(`Your initial query must be of the form: ["from",<entity>,(<optional-query>)]. Check your query and try again.`)

// from checks ["from", entity, query?, paging...].
func (c *checker) from(v *value, outermost bool) (*query, error) {
	if len(v.items) < 2 || !v.items[1].isText() {
		if outermost {
			return nil, errNoQuery
		}
		return nil, c.malformed(v, "'from' takes the name of an entity")
	}
	e := c.entities[v.items[1].text]
	if e == nil {
		return nil, refuse("Invalid entity '%s' in query", clip(v.items[1].text))
	}
	rest := v.items[2:]
	var clause *value
	if len(rest) > 0 && !isPaging(rest[0]) {
		clause, rest = rest[0], rest[1:]
	}
	q, err := c.selection(e, clause, outermost)
	if err != nil {
		return nil, err
	}
	for _, p := range rest {
		if !isPaging(p) {
			return nil, c.malformed(p, "'from' takes a query, then 'order_by', 'limit' and 'offset'")
		}
		if err := c.paging(q, p); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func isPaging(v *value) bool {
	switch v.operator() {
	case "order_by", "limit", "offset":
		return true
	}
	return false
}

func (c *checker) paging(q *query, v *value) error {
	if len(v.items) != 2 {
		return refuse("%s requires exactly one argument", v.operator())
	}
	arg := v.items[1]
	switch v.operator() {
	case "limit":
		n, err := limitOf(arg.plain())
		q.limit = n
		return err
	case "offset":
		n, err := offsetOf(arg.plain())
		q.offset = n
		return err
	}
	if !arg.isList() || len(arg.items) > maxColumns {
		return c.malformed(v, "order_by takes a list")
	}
	for _, item := range arg.items {
		name, direction := item, ""
		if item.isList() && len(item.items) > 0 && len(item.items) < 3 {
			name = item.items[0]
			if len(item.items) == 2 {
				direction = strings.ToLower(item.items[1].plain())
			}
		}
		if !name.isText() || direction != "" && direction != "asc" && direction != "desc" {
			return c.malformed(v, "order_by takes names, or lists of a name and 'asc' or 'desc'")
		}
		if err := q.orderBy(name.text, direction == "desc"); err != nil {
			return err
		}
	}
	return nil
}

// orderBy adds a field to the order of a checked query.
func (q *query) orderBy(name string, desc bool) error {
	f := q.entity.byName[name]
	if f == nil || !comparable(f) {
		return refuse("Unrecognized column '%s' specified in :order_by; Supported columns are %s",
			clip(name), quotedList(q.entity.names(comparable)))
	}
	if q.aggregates() {
		found := false
		for _, g := range q.group {
			found = found || g.field == f && g.function == ""
		}
		if !found {
			return refuse("order_by of a grouped query takes the columns of group_by, not '%s'", clip(name))
		}
	}
	q.order = append(q.order, ordering{f, desc})
	return nil
}

// subquery checks ["subquery", entity, q], which relates rows by themselves.
func (c *checker) subquery(e *entity, clause *value, args []*value) (expr, error) {
	if len(args) == 0 || len(args) > 2 || !args[0].isText() {
		return nil, c.malformed(clause, "'subquery' takes an entity and a query")
	}
	if c.inner++; c.inner > maxInner {
		return nil, refuse("the query holds more than %d inner queries", maxInner)
	}
	other := c.entities[args[0].text]
	r, ok := e.relations[args[0].text]
	if other == nil || !ok {
		return nil, refuse("No implicit relationship for entity '%s' with '%s'", clip(args[0].text), e.name)
	}
	q := &query{entity: other, columns: []column{{key: r.foreign, field: other.byName[r.foreign]}}}
	if len(args) == 2 && args[1].kind != kindNull {
		switch args[1].operator() {
		case "extract", "from", "group_by":
			return nil, c.malformed(clause, "'subquery' takes a plain query")
		}
		if !args[1].isList() || len(args[1].items) > 0 {
			var err error
			if q.where, err = c.clause(other, args[1], false, 0); err != nil {
				return nil, err
			}
		}
	}
	return &inQueryExpr{[]*field{e.byName[r.local]}, q}, nil
}

// asError gives any error of the checks as the one type.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
