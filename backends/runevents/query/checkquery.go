package query

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
)

// in checks an "in" clause. Its arguments are the fields, and an array of values or an inner query.
func (c *checker) in(e *entity, clause *syntax.Value, args []*syntax.Value) (expr, error) {
	if len(args) != 2 {
		return nil, refuse("in requires exactly two arguments")
	}
	names, ok := fieldNames(args[0])
	if !ok {
		return nil, c.malformed(clause, "'in' takes a field or a list of fields")
	}
	values := args[1]
	op := values.Operator()
	if op == "array" && e.node != "" && isFact(args[0]) { // facts are not stored
		return &constExpr{false}, nil
	}
	if op == "array" && len(names) == 1 && names[0] == "latest_report?" && e.byName[names[0]] != nil {
		return nil, refuse("Operator in...array is not supported on field latest_report?")
	}
	if err := unknownFields("Can't match on% for 'in'", e, names, comparable); err != nil {
		return nil, err
	}
	fields := make([]*field, len(names))
	for i, n := range names {
		fields[i] = e.field(n)
	}
	switch op {
	case "array":
		if len(values.Items) != 2 || !values.Items[1].IsList() {
			return nil, refuse("Operator array requires a vector argument")
		}
		if len(fields) != 1 {
			return nil, c.malformed(clause, "'array' takes one field")
		}
		return c.inArray(fields[0], values.Items[1].Items)
	case "extract", "from":
		q, err := c.innerQuery(values)
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

// sameType reports whether the values of a field can be compared with those of a column of an inner query. Fields that
// are never stored have no values, so they can be compared with any column.
func sameType(f *field, col column) bool {
	if f.kind == typeAbsent || col.field != nil && col.field.kind == typeAbsent {
		return true
	}
	if col.function == "count" {
		return f.kind == typeNumber
	}
	if col.function != "" && col.function != "min" && col.function != "max" {
		return false
	}
	return f.kind == col.field.kind
}

// inArray checks the values of an "in" clause with an array. A null in the array matches nothing, unless the field
// contains JSON. A text that is not a time or a hash matches nothing, either, in a field that contains times or hashes.
func (c *checker) inArray(f *field, items []*syntax.Value) (expr, error) {
	if f.kind == typePath {
		return nil, refuse("Operator in...array is not supported on array types")
	}
	x := &inExpr{field: f}
	if f.kind == typeAbsent {
		return x, nil
	}
	for _, v := range items {
		if v.Kind == syntax.Null {
			if f.kind == typeJSON {
				return c.inJSON(f, items)
			}
			continue // matches nothing
		}
		switch f.kind {
		case typeTime:
			if ms, err := timeValue(v); err == nil {
				x.values = append(x.values, ms)
			}
		case typeNumber:
			if v.Kind != syntax.Number {
				return nil, numericError(v, f)
			}
			n, err := numeric(v)
			if err != nil {
				return nil, err
			}
			x.values = append(x.values, n)
		case typeBool:
			if v.Kind != syntax.Bool {
				return nil, typeError(v, f, "true or false")
			}
			x.values = append(x.values, v.Truth)
		case typeJSON:
			x.values = append(x.values, v.Canonical())
		default:
			if v.Kind == syntax.Number {
				v = syntax.TextValue(v.Text)
			}
			s, err := textual(v, f)
			if err != nil {
				return nil, err
			}
			if f.kind != typeHash {
				x.values = append(x.values, s)
			} else if b, ok := decodeHash(s); ok {
				x.values = append(x.values, b)
			}
		}
	}
	return x, nil
}

// inJSON checks an array that contains null, for a field that contains JSON. The null matches values that were sent as
// null.
func (c *checker) inJSON(f *field, items []*syntax.Value) (expr, error) {
	var nonNull []*syntax.Value
	for _, v := range items {
		if v.Kind != syntax.Null {
			nonNull = append(nonNull, v)
		}
	}
	x, err := c.inArray(f, nonNull)
	return &orExpr{[]expr{x, &nullExpr{field: f, null: true, orJSONNull: true}}}, err
}

// innerQuery checks the inner query of an "in" clause: ["extract", columns, ["select_<entity>", query]] or ["from",
// ...].
func (c *checker) innerQuery(v *syntax.Value) (*query, error) {
	if c.innerQueries++; c.innerQueries > maxInnerQueries {
		return nil, refuse("the query holds more than %d inner queries", maxInnerQueries)
	}
	if v.Operator() == "from" {
		return c.from(v, false)
	}
	if len(v.Items) != 3 || !v.Items[2].IsList() {
		return nil, c.malformed(v, "the extract of a subquery takes fields and a select clause")
	}
	selected := v.Items[2]
	operator := selected.Operator()
	if operator == "" {
		return nil, c.malformed(v, "a select clause must begin with its name")
	}
	entityName, isSelect := strings.CutPrefix(operator, "select_")
	e := c.entities[entityName]
	if !isSelect || e == nil {
		suggestion := strings.ReplaceAll(operator, "-", "_")
		if suggestion != operator && c.entities[strings.TrimPrefix(suggestion, "select_")] != nil {
			return nil, refuse("Unsupported subquery `%s` - did you mean `%s`?", syntax.Clip(operator), syntax.Clip(suggestion))
		}
		return nil, refuse("Unsupported subquery `%s`", syntax.Clip(operator))
	}
	if len(selected.Items) > 2 {
		return nil, c.malformed(selected, "a select clause takes one query")
	}
	clauses := []*syntax.Value{syntax.TextValue("extract"), v.Items[1]}
	if len(selected.Items) == 2 && !selectsAll(selected.Items[1]) {
		clauses = append(clauses, selected.Items[1])
	}
	return c.selection(e, syntax.ListValue(clauses...), false)
}

// errNoQuery is the error for a query at the root endpoint that is not a from clause.
var errNoQuery = refuse(`Your initial query must be of the form: ["from",<entity>,(<optional-query>)]. Check your query and try again.`)

// from checks ["from", entity, query?, paging...]. outermost is false for an inner query.
func (c *checker) from(v *syntax.Value, outermost bool) (*query, error) {
	if len(v.Items) < 2 || !v.Items[1].IsText() {
		if outermost {
			return nil, errNoQuery
		}
		return nil, c.malformed(v, "'from' takes the name of an entity")
	}
	e := c.entities[v.Items[1].Text]
	if e == nil {
		return nil, refuse("Invalid entity '%s' in query", syntax.Clip(v.Items[1].Text))
	}
	paging := v.Items[2:]
	var clause *syntax.Value
	if len(paging) > 0 && !paging[0].IsPaging() {
		clause, paging = paging[0], paging[1:]
	}
	q, err := c.selection(e, clause, outermost)
	if err != nil {
		return nil, err
	}
	for _, p := range paging {
		if !p.IsPaging() {
			return nil, c.malformed(p, "'from' takes a query, then 'order_by', 'limit' and 'offset'")
		}
		if err := c.paging(q, p); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// paging checks a limit, offset or order_by clause, and sets it in q.
func (c *checker) paging(q *query, v *syntax.Value) error {
	if len(v.Items) != 2 {
		return refuse("%s requires exactly one argument", v.Operator())
	}
	arg := v.Items[1]
	switch v.Operator() {
	case "limit":
		n, err := limitOf(arg.Plain())
		q.limit = n
		return err
	case "offset":
		n, err := offsetOf(arg.Plain())
		q.offset = n
		return err
	}
	// The clause is order_by.
	if !arg.IsList() || len(arg.Items) > maxColumns {
		return c.malformed(v, "order_by takes a list")
	}
	for _, item := range arg.Items {
		name, direction := item, ""
		if item.IsList() && len(item.Items) > 0 && len(item.Items) < 3 {
			name = item.Items[0]
			if len(item.Items) == 2 {
				direction = strings.ToLower(item.Items[1].Plain())
			}
		}
		if !name.IsText() || direction != "" && direction != "asc" && direction != "desc" {
			return c.malformed(v, "order_by takes names, or lists of a name and 'asc' or 'desc'")
		}
		if err := q.orderBy(name.Text, direction == "desc"); err != nil {
			return err
		}
	}
	return nil
}

// orderBy adds the field with the given name, in descending order if desc is true, to the order of a checked query. An
// aggregated query can only be ordered by the fields in group_by.
func (q *query) orderBy(name string, desc bool) error {
	f := q.entity.field(name)
	if f == nil || !comparable(f) {
		return refuse("Unrecognized column '%s' specified in :order_by; Supported columns are %s",
			syntax.Clip(name), quotedList(q.entity.names(comparable)))
	}
	if q.aggregates() {
		if !slices.ContainsFunc(q.group, func(g column) bool { return g.field.name == f.name && g.function == "" }) {
			return refuse("order_by of a grouped query takes the columns of group_by, not '%s'", syntax.Clip(name))
		}
	}
	q.order = append(q.order, ordering{f, desc})
	return nil
}

// subquery checks ["subquery", entity, q] and converts it to an "in" expression on the fields that relate e to the
// other entity. If q is missing, null or an empty list, all rows of the other entity are selected.
func (c *checker) subquery(e *entity, clause *syntax.Value, args []*syntax.Value) (expr, error) {
	if len(args) == 0 || len(args) > 2 || !args[0].IsText() {
		return nil, c.malformed(clause, "'subquery' takes an entity and a query")
	}
	if c.innerQueries++; c.innerQueries > maxInnerQueries {
		return nil, refuse("the query holds more than %d inner queries", maxInnerQueries)
	}
	other := c.entities[args[0].Text]
	relation, related := e.relations[args[0].Text]
	if other == nil || !related {
		return nil, refuse("No implicit relationship for entity '%s' with '%s'", syntax.Clip(args[0].Text), e.name)
	}
	q := &query{entity: other, columns: []column{{key: relation.foreign, field: other.field(relation.foreign)}}}
	if len(args) == 2 && !selectsAll(args[1]) {
		switch args[1].Operator() {
		case "extract", "from", "group_by":
			return nil, c.malformed(clause, "'subquery' takes a plain query")
		}
		var err error
		if q.where, err = c.clause(other, args[1], false, 0); err != nil {
			return nil, err
		}
	}
	return &inQueryExpr{[]*field{e.field(relation.local)}, q}, nil
}
