package query

import "github.com/tollgate-gateway/tollgate/backends/runevents/pattern"

// query is a checked query: every name is known, every value has the type of
// its field. Only this reaches the compiler.
type query struct {
	entity  *entity
	columns []column // nil: all fields
	where   expr     // nil: all rows
	group   []column // not nil: grouped
	grouped bool
	order   []ordering
	limit   int64 // 0: none
	offset  int64
}

// aggregates reports whether rows are the results of functions.
func (q *query) aggregates() bool {
	if q.grouped {
		return true
	}
	for _, c := range q.columns {
		if c.function != "" && c.function != "to_string" {
			return true
		}
	}
	return false
}

// column is one key of the answer: a field, or a function of one.
type column struct {
	key      string
	field    *field // nil: count of rows
	function string
	template string // of to_string
}

type ordering struct {
	field *field
	desc  bool
}

// expr is one clause.
type expr interface{ isExpr() }

type (
	andExpr   struct{ list []expr }
	orExpr    struct{ list []expr }
	notExpr   struct{ of expr }
	constExpr struct{ truth bool }
	// compareExpr is = < <= > >=, with a value as the column holds it.
	compareExpr struct {
		field *field
		op    string
		value any // string, int64, float64, bool, []byte
	}
	inExpr struct {
		field  *field
		values []any
	}
	nullExpr struct {
		field *field
		null  bool
		// sent also takes a null that was sent as a value.
		sent bool
	}
	matchExpr struct {
		field   *field
		pattern *pattern.Pattern
	}
	// inQueryExpr is a row of fields among those a query selects.
	inQueryExpr struct {
		fields []*field
		query  *query
	}
	// latestExpr is latest_report?.
	latestExpr struct {
		field *field
		truth bool
	}
	// nodeExpr is the state of the node that a row belongs to.
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

// and joins clauses; nil ones count as true.
func and(list ...expr) expr {
	var kept []expr
	for _, x := range list {
		if x != nil {
			kept = append(kept, x)
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	}
	return &andExpr{kept}
}

// conjuncts calls fn with each clause that every row of the result satisfies.
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
