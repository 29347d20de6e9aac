package query

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
)

// query is a checked query: every name is known, and every value has the type of its field. Only checked queries are
// compiled.
type query struct {
	entity  *entity
	columns []column // nil for all fields
	where   expr     // nil for all rows
	group   []column // columns of the group_by clause
	grouped bool     // the query has a group_by clause
	order   []ordering
	limit   int64 // 0 for no limit
	offset  int64
}

// aggregates reports whether the rows of the query are results of aggregate functions.
func (q *query) aggregates() bool {
	return q.grouped || slices.ContainsFunc(q.columns, func(c column) bool {
		return c.function != "" && c.function != "to_string"
	})
}

// column is a column of the rows: a field, or a function of a field.
type column struct {
	key      string // in the JSON object
	field    *field // nil for the function count without an argument, which counts rows
	function string // count, min, max, avg, sum or to_string; empty for the field itself
	template string // of to_string
}

// ordering is an element of order_by.
type ordering struct {
	field *field
	desc  bool
}

// expr is a checked predicate.
type expr interface{ isExpr() }

type (
	andExpr   struct{ list []expr }
	orExpr    struct{ list []expr }
	notExpr   struct{ operand expr }
	constExpr struct{ truth bool } // every row meets the predicate, or no row
	// compareExpr compares a field with a value by = < <= > or >=. The value has the type of the database column.
	compareExpr struct {
		field *field
		op    string
		value any // string, int64, float64, bool, []byte
	}
	// inExpr tests whether the field has one of the values, which are as in compareExpr.
	inExpr struct {
		field  *field
		values []any
	}
	// nullExpr tests whether the field is null. If its own field null is false, it tests whether the field is not null.
	nullExpr struct {
		field *field
		null  bool
		// orJSONNull means that the JSON value null, as a report contained it, counts as null, too.
		orJSONNull bool
	}
	// matchExpr tests whether the field, as text, matches the pattern.
	matchExpr struct {
		field   *field
		pattern *pattern.Pattern
	}
	// inQueryExpr tests whether the values of some fields are a row of an inner query.
	inQueryExpr struct {
		fields []*field
		query  *query
	}
	// latestExpr tests whether the report of a row is the latest one of its node or, if truth is false, whether it is
	// not.
	latestExpr struct {
		field *field
		truth bool
	}
	// nodeExpr tests whether the node to which a row belongs is active. If its field active is false, it tests whether the
	// node is inactive.
	nodeExpr struct{ active bool }
)

func (*andExpr) isExpr()     {}
func (*orExpr) isExpr()      {}
func (*notExpr) isExpr()     {}
func (*constExpr) isExpr()   {}
func (*compareExpr) isExpr() {}
func (*inExpr) isExpr()      {}
func (*nullExpr) isExpr()    {}
func (*matchExpr) isExpr()   {}
func (*inQueryExpr) isExpr() {}
func (*latestExpr) isExpr()  {}
func (*nodeExpr) isExpr()    {}

// and returns the conjunction of predicates. A nil predicate counts as true.
func and(list ...expr) expr {
	var remaining []expr
	for _, x := range list {
		if x != nil {
			remaining = append(remaining, x)
		}
	}
	switch len(remaining) {
	case 0:
		return nil
	case 1:
		return remaining[0]
	}
	return &andExpr{remaining}
}

// conjuncts calls fn with each part of a conjunction, including nested ones. A predicate that is not a conjunction is
// its only part; nil has no parts.
func conjuncts(x expr, fn func(expr)) {
	if a, ok := x.(*andExpr); ok {
		for _, part := range a.list {
			conjuncts(part, fn)
		}
		return
	}
	if x != nil {
		fn(x)
	}
}
