package query_test

import (
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestASTOnly checks that the root endpoint returns the JSON form of a valid query.
func TestASTOnly(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite)
	for q, want := range map[string]string{
		`nodes{}`: `["from","nodes"]`,
		`events[certname, count()]{ file ~ "^/a\\.b" and status != 'noop' group by certname order by certname desc limit 5 offset 2 }`: `["from","events",["extract",["certname",["function","count"]],["and",["~","file","^/a\\.b"],["not",["=","status","noop"]]],["group_by","certname"]],["order_by",[["certname","desc"]]],["limit",5],["offset",2]]`,
		`nodes[certname]{ reports { status = "failed" } or certname in ["ü", 'b'] or expired is not null }`:                            `["from","nodes",["extract",["certname"],["or",["subquery","reports",["=","status","failed"]],["in","certname",["array",["ü","b"]]],["null?","expired",false]]]]`,
		`["from", "nodes", ["=", "certname", "a"]]`: `["from","nodes",["=","certname","a"]]`,
	} {
		if a := b.get("", "query", q, "ast_only", "true"); a.status != http.StatusOK || a.body != want {
			t.Errorf("%s: %d %s, want %s", q, a.status, a.body, want)
		}
		if a := b.get("", "query", q, "ast_only", "false"); a.status != http.StatusOK || a.body != "[]" {
			t.Errorf("%s: %d %s", q, a.status, a.body)
		}
	}
	for _, q := range []string{`nodes{ nope = 1 }`, `nodes{`, `["=","certname","a"]`, ``} {
		if a := b.get("", "query", q, "ast_only", "true"); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", q, a.status, a.body)
		}
	}
}
