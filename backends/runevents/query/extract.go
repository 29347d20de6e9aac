package query

import (
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
)

// extract checks ["extract", columns, query?, ["group_by", ...]?] and sets its parts in q.
func (c *checker) extract(q *query, v *syntax.Value, outermost bool) error {
	if len(v.Items) < 2 || len(v.Items) > 4 {
		return c.malformed(v, "extract takes columns, a query and a group_by clause")
	}
	clauses := v.Items[2:]
	var group *syntax.Value
	if n := len(clauses); n > 0 && clauses[n-1].Operator() == "group_by" {
		group, clauses = clauses[n-1], clauses[:n-1]
	}
	if len(clauses) > 1 {
		return c.malformed(v, "extract takes one query, and group_by comes last")
	}
	if err := c.columns(q, v.Items[1]); err != nil {
		return err
	}
	if len(clauses) == 1 && !selectsAll(clauses[0]) {
		var err error
		if q.where, err = c.clause(q.entity, clauses[0], outermost, 0); err != nil {
			return err
		}
	}
	if group != nil {
		if err := c.groupBy(q, group); err != nil {
			return err
		}
	}
	return c.grouping(q, v)
}

// columns checks the columns in an extract clause and sets them in q. An empty list means all fields.
func (c *checker) columns(q *query, v *syntax.Value) error {
	items := []*syntax.Value{v} // a single field or function
	if v.IsList() && v.Operator() != "function" {
		items = v.Items
	}
	if len(items) > maxColumns {
		return refuse("extract takes at most %d columns", maxColumns)
	}
	var names []string
	for _, item := range items {
		if item.IsText() {
			names = append(names, item.Text)
		} else if item.Operator() != "function" {
			return refuse("Can't extract %s: it is neither a field nor a function", item.Notation())
		}
	}
	if err := unknownFields("Can't extract", q.entity, names, (*field).extractable); err != nil {
		return err
	}
	usedFields := make(map[string]bool)
	usedFunctions := make(map[string]int)
	for _, item := range items {
		if item.IsText() {
			f := q.entity.field(item.Text)
			if !usedFields[f.name] { // a repeated field becomes one column
				usedFields[f.name] = true
				q.columns = append(q.columns, column{key: f.name, field: f})
			}
			continue
		}
		col, err := c.function(q.entity, item)
		if err != nil {
			return err
		}
		usedFunctions[col.function]++
		if n := usedFunctions[col.function]; n > 1 {
			col.key += "_" + strconv.Itoa(n)
		}
		q.columns = append(q.columns, col)
	}
	return nil
}

// function checks ["function", name, args...], a function of a field of e, and returns it as a column.
func (c *checker) function(e *entity, v *syntax.Value) (column, error) {
	args := v.Items[1:]
	if len(args) == 0 || !args[0].IsText() {
		return column{}, c.malformed(v, "a function needs a name")
	}
	name := args[0].Text
	args = args[1:]
	if !slices.Contains([]string{"count", "min", "max", "avg", "sum", "to_string"}, name) {
		return column{}, c.malformed(v, "function '"+syntax.Clip(name)+"' is unknown")
	}
	col := column{key: name, function: name}
	arity := 1 // the argument of count may be missing
	if name == "to_string" {
		arity = 2
	}
	if len(args) > arity || len(args) < arity && name != "count" {
		return column{}, c.malformed(v, "function '"+name+"' takes "+strconv.Itoa(arity)+" argument(s)")
	}
	if len(args) == 0 { // count
		return col, nil
	}
	if !args[0].IsText() {
		return column{}, c.malformed(v, "the argument of a function must be a field")
	}
	if err := unknownFields("Can't extract", e, []string{args[0].Text}, comparable); err != nil {
		return column{}, err
	}
	col.field = e.field(args[0].Text)
	kind := col.field.kind
	switch name {
	case "avg", "sum":
		if kind != typeNumber && kind != typeAbsent {
			return column{}, refuse("function '%s' takes a numeric field, not '%s'", name, col.field.name)
		}
	case "min", "max":
		if kind == typeBool || kind == typePath || kind == typeJSON {
			return column{}, refuse("function '%s' takes an ordered field, not '%s'", name, col.field.name)
		}
	case "to_string":
		if kind != typeTime && kind != typeNumber && kind != typeAbsent {
			return column{}, refuse("function 'to_string' takes a time or numeric field, not '%s'", col.field.name)
		}
		if !args[1].IsText() {
			return column{}, c.malformed(v, "the template of to_string must be a string")
		}
		check := tochar.CheckNumber
		switch kind {
		case typeTime:
			check = tochar.CheckTime
		case typeAbsent:
			check = tochar.Check // valid for times or numbers: there are no values
		default:
		}
		if err := check(args[1].Text); err != nil {
			return column{}, refuse("%s", err)
		}
		col.template = args[1].Text
	}
	return col, nil
}

// groupBy checks a group_by clause and sets its columns in q.
func (c *checker) groupBy(q *query, v *syntax.Value) error {
	if len(v.Items) < 2 {
		return c.malformed(v, "group_by takes at least one column")
	}
	if len(v.Items) > maxColumns {
		return refuse("group_by takes at most %d columns", maxColumns)
	}
	q.grouped = true
	for _, item := range v.Items[1:] {
		switch {
		case item.Operator() == "function":
			col, err := c.function(q.entity, item)
			if err != nil {
				return err
			}
			if col.function != "to_string" {
				return c.malformed(v, "group_by takes no aggregate")
			}
			q.group = append(q.group, col)
		case item.IsText():
			f := q.entity.field(item.Text)
			if f == nil || !comparable(f) {
				return refuse("%q is niether a valid column name nor function name", syntax.Clip(item.Text))
			}
			q.group = append(q.group, column{key: f.name, field: f})
		default:
			return c.malformed(v, "group_by takes fields and functions")
		}
	}
	return nil
}

// grouping returns an error if a column that is not aggregated is not in the group_by clause.
func (c *checker) grouping(q *query, v *syntax.Value) error {
	if !q.aggregates() {
		return nil
	}
	if len(q.columns) == 0 {
		return c.malformed(v, "group_by needs columns to extract")
	}
	for _, col := range q.columns {
		if col.function != "" && col.function != "to_string" {
			continue
		}
		isGroup := func(g column) bool {
			return g.field.name == col.field.name && g.function == col.function && g.template == col.template
		}
		if !slices.ContainsFunc(q.group, isGroup) {
			return refuse("column '%s' must appear in the group_by clause or be used in an aggregate function",
				syntax.Clip(col.key))
		}
	}
	return nil
}
