package query

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// FuzzJSON checks that everything that passes the checks can be compiled, with all input as parameters.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`["=","certname","x"]`, `["extract",[["function","count"],"status"],["and",["~","file","a"],["null?","line",true]],["group_by","status"]]`,
		`["in",["certname"],["from","reports",["extract","certname",["=","type","any"]],["order_by",["certname"]],["limit",1]]]`, `["from","events",["not",["subquery","nodes",[]]]]`,
		`[">","timestamp",5]`, `["=",["node","active"],true]`, `["in","new_value",["array",[null,{"a":[]}]]]`, `["subquery","resources",["and",["=",["parameter","a"],[]],[">","line",5]]]`, `{"a":1}`, `"\ud800"`,
	} {
		f.Add(s)
	}
	all := entities(true)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := syntax.JSON(text, syntax.QueryLimits)
		if err != nil || v == nil {
			return
		}
		canonical := v.Canonical()
		if second, err := syntax.Canonical([]byte(canonical)); err != nil || second != canonical {
			t.Fatalf("%s is not canonical: %v", canonical, err)
		}
		for _, name := range []string{"events", "reports", "nodes"} {
			c := &checker{entities: all}
			if q, err := c.root(all[name], v); err == nil {
				compileBoth(t, q)
			}
		}
		c := &checker{entities: all}
		if q, err := c.outermost(v); err == nil {
			compileBoth(t, q)
		}
	})
}

func compileBoth(t *testing.T, q *query) {
	t.Helper()
	if q.entity.absent() {
		return
	}
	for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
		st := (&compiler{dialect: d}).rows(q)
		st.release()
		if strings.Count(st.sql, "(") != strings.Count(st.sql, ")") {
			t.Errorf("unbalanced: %s", st.sql)
		}
	}
}

// FuzzPQL checks that the parser terminates, and that what it accepts can be checked.
func FuzzPQL(f *testing.F) {
	for _, s := range []string{
		`events[certname, status]{ certname = 'x' }`, `events[count(), to_string(timestamp, "YYYY")]{ group by status }`, `events{ !(a ~ "b" or c in [1,'2']) and reports { x is not null } order by a desc, b limit 5 offset 6 }`,
		`events { [a,b] in reports[c,d]{ e >= 5.5e3 } }`, `facts[name, count()]{ value ~> ["a", 5] group by name order by name }`, `inventory[facts."a b".c]{ facts.match("x")[1] = 5 and trusted."a"b"='c' }`, `x{`, `'`, `events{a='\''}`,
	} {
		f.Add(s)
	}
	all := entities(false)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parsePQL(text)
		if err != nil {
			if asError(err) == nil {
				t.Errorf("%v is not a refusal", err)
			}
			return
		}
		c := &checker{entities: all}
		if q, err := c.outermost(v); err == nil {
			compileBoth(t, q)
		} else if asError(err) == nil {
			t.Errorf("%v is not a refusal", err)
		}
	})
}
