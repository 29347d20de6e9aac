package query

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
)

// extract checks ["extract", columns, query?, ["group_by", ...]?].
func (c *checker) extract(q *query, v *value, outermost bool) error {
	if len(v.items) < 2 || len(v.items) > 4 {
		return c.malformed(v, "extract takes columns, a query and a group_by clause")
	}
	rest := v.items[2:]
	var group *value
	if n := len(rest); n > 0 && rest[n-1].operator() == "group_by" {
		group, rest = rest[n-1], rest[:n-1]
	}
	if len(rest) > 1 {
		return c.malformed(v, "extract takes one query, and group_by comes last")
	}
	if err := c.columns(q, v.items[1]); err != nil {
		return err
	}
	if len(rest) == 1 && rest[0].kind != kindNull && (!rest[0].isList() || len(rest[0].items) > 0) {
		var err error
		if q.where, err = c.clause(q.entity, rest[0], outermost, 0); err != nil {
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

// columns reads what is extracted; an empty list means all fields.
func (c *checker) columns(q *query, v *value) error {
	items := []*value{v}
	if v.isList() && v.operator() != "function" {
		items = v.items
	}
	if len(items) > maxColumns {
		return refuse("extract takes at most %d columns", maxColumns)
	}
	var names []string
	for _, item := range items {
		if item.isText() {
			names = append(names, item.text)
		} else if item.operator() != "function" {
			return refuse("Can't extract %s: it is neither a field nor a function", item.notation())
		}
	}
	if err := unknownFields("Can't extract", q.entity, names, (*field).extractable); err != nil {
		return err
	}
	used := make(map[string]int)
	for _, item := range items {
		var col column
		if item.isText() {
			f := q.entity.field(item.text)
			col = column{key: f.name, field: f}
			if used[f.name] > 0 {
				continue // named twice, shown once
			}
			used[f.name]++
		} else {
			var err error
			if col, err = c.function(q.entity, item); err != nil {
				return err
			}
			used["()"+col.function]++
			if n := used["()"+col.function]; n > 1 {
				col.key += "_" + strconv.Itoa(n)
			}
		}
		q.columns = append(q.columns, col)
	}
	return nil
}

// function reads ["function", name, args...].
func (c *checker) function(e *entity, v *value) (column, error) {
	args := v.items[1:]
	if len(args) == 0 || !args[0].isText() {
		return column{}, c.malformed(v, "a function needs a name")
	}
	name := args[0].text
	args = args[1:]
	switch name {
	case "count", "min", "max", "avg", "sum", "to_string":
	default:
		return column{}, c.malformed(v, "function '"+clip(name)+"' is unknown")
	}
	col := column{key: name, function: name}
	most := 1
	if name == "to_string" {
		most = 2
	}
	if len(args) > most || len(args) < most && name != "count" {
		return column{}, c.malformed(v, "function '"+name+"' takes "+strconv.Itoa(most)+" argument(s)")
	}
	if len(args) == 0 {
		return col, nil
	}
	if !args[0].isText() {
		return column{}, c.malformed(v, "the argument of a function must be a field")
	}
	if err := unknownFields("Can't extract", e, []string{args[0].text}, comparable); err != nil {
		return column{}, err
	}
	col.field = e.field(args[0].text)
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
		if !args[1].isText() {
			return column{}, c.malformed(v, "the template of to_string must be a string")
		}
		check := tochar.CheckNumber
		switch kind {
		case typeTime:
			check = tochar.CheckTime
		case typeAbsent:
			check = tochar.Check // a time or a number: nobody will know
		default:
		}
		if err := check(args[1].text); err != nil {
			return column{}, refuse("%s", err)
		}
		col.template = args[1].text
	}
	return col, nil
}

func (c *checker) groupBy(q *query, v *value) error {
	if len(v.items) < 2 {
		return c.malformed(v, "group_by takes at least one column")
	}
	if len(v.items) > maxColumns {
		return refuse("group_by takes at most %d columns", maxColumns)
	}
	q.grouped = true
	for _, item := range v.items[1:] {
		switch {
		case item.operator() == "function":
			col, err := c.function(q.entity, item)
			if err != nil {
				return err
			}
			if col.function != "to_string" {
				return c.malformed(v, "group_by takes no aggregate")
			}
			q.group = append(q.group, col)
		case item.isText():
			f := q.entity.field(item.text)
			if f == nil || !comparable(f) {
				return refuse("%q is niether a valid column name nor function name", clip(item.text))
			}
			q.group = append(q.group, column{key: f.name, field: f})
		default:
			return c.malformed(v, "group_by takes fields and functions")
		}
	}
	return nil
}

// grouping refuses a plain column beside aggregates that no group has one
// value of.
func (c *checker) grouping(q *query, v *value) error {
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
		found := false
		for _, g := range q.group {
			found = found || g.field.name == col.field.name && g.function == col.function && g.template == col.template
		}
		if !found {
			return refuse("column '%s' must appear in the group_by clause or be used in an aggregate function", clip(col.key))
		}
	}
	return nil
}
