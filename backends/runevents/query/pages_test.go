package query_test

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPagesOfReports checks that the lists of a report are only read for reports on the page, not to sort all
// reports, and are not kept in memory. The error of a list that cannot be read names the list.
func TestPagesOfReports(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		const oldest = `[{"field":"end_time"}]`
		hashes := func(rows []map[string]any) (list []string) {
			for _, row := range rows {
				list = append(list, row["hash"].(string))
			}
			return list
		}
		all := b.rows(t, "/reports", "order_by", oldest)
		want := hashes(b.rows(t, "/reports", "order_by", oldest, "query", `["extract","hash"]`))
		wantEqual(t, "reports", hashes(all), want)
		index := slices.IndexFunc(all, func(row map[string]any) bool { return row["certname"] == "special.example.com" })
		if index < 0 || len(all) < 30 {
			t.Fatalf("the report that is to be damaged is number %d of %d", index, len(all))
		}
		for _, pairs := range [][]string{{}, {"offset", "3"}, {"limit", "4"}, {"limit", "4", "offset", "3"}} {
			statement, plan := b.Explain(t, request("/reports", append(pairs, "order_by", `[{"field":"certname"},{"field":"end_time","order":"desc"}]`)...), "reports", query.Scope{})
			if _, after, ok := strings.Cut(plan, "SCAN p"); b.db.Dialect() == store.SQLite && (!ok || strings.Contains(after, "TEMP B-TREE")) {
				t.Errorf("%q: lists are read and then sorted\n%s\n%s", pairs, statement, plan)
			}
		}
		err := b.db.Write(t.Context(), func(c store.Conn) error {
			n, err := c.Exec("UPDATE run_changes SET new_value = '{' WHERE id IN (SELECT e.change FROM run_events e JOIN run_reports r ON r.id = e.report WHERE r.hash = ? AND e.status <> 4)", unhex(t, want[index]))
			if n == 0 {
				t.Error("nothing is damaged")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for offset := 0; offset < len(all); offset += 10 {
			a := b.get("/reports", "order_by", oldest, "limit", "10", "offset", strconv.Itoa(offset))
			if damaged := offset <= index && index < offset+10; damaged == (a.status == http.StatusOK) {
				t.Errorf("page from %d: %d %.300s", offset, a.status, a.body)
			} else if damaged {
				continue
			}
			page := b.rows(t, "/reports", "order_by", oldest, "limit", "10", "offset", strconv.Itoa(offset), "include_total", "true")
			wantEqual(t, "page from "+strconv.Itoa(offset), page, all[offset:min(offset+10, len(all))])
		}
		some := b.rows(t, "", "query", `reports[hash, logs, resource_events]{ status = 'failed' and certname ~ '^[a-w]' order by status, end_time desc limit 3 offset 1 }`)
		wantEqual(t, "in PQL", hashes(some), hashes(b.rows(t, "", "query", `reports[hash]{ status = 'failed' and certname ~ '^[a-w]' order by status, end_time desc limit 3 offset 1 }`)))
		if len(some) != 3 || some[0]["resource_events"] == nil {
			t.Errorf("%v", some)
		}
	})
}

func unhex(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
