package admin_test

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// many is the number of clients, users and issuances.
const many = 100_000

// less is the number of events and mappings.
const less = many / 5

// crowded are databases with many rows of each kind. The i-th client is client-00000i, its user personi@example.com.
// Some rows have the same creation time.
var crowded = storetest.Fixture{Schemas: []store.Schema{authserver.Schema()}, Fill: func(ctx context.Context, db *store.DB) error {
	return db.Write(ctx, func(c store.Conn) error {
		const numbers, padded, at = " WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ?)", "substr(CAST(1000000 + i AS TEXT), 2)", "1700000000000000 + i / 7"
		fewer := fmt.Sprintf(" WHERE i <= %d", less)
		for _, statement := range []string{
			"INSERT INTO authserver_clients (id, name, auth_method, redirects, grants, responses, status, source, agent, issued_at, updated_at)" + numbers +
				" SELECT 'client-' || " + padded + ", 'Application ' || " + padded + ", 'none', '[]', '[]', '[]', CASE WHEN i % 1000 = 0 THEN 'suspended' ELSE 'active' END," +
				" CASE WHEN i % 1000 = 1 THEN 'admin' ELSE 'dcr' END, CASE WHEN i % 1000 = 2 THEN 1 ELSE 0 END, " + at + ", 0 FROM n",
			"INSERT INTO authserver_users (id, email, email_key, name, created_at, updated_at)" + numbers +
				" SELECT 'user-' || " + padded + ", 'Person' || i || '@example.com', 'person' || i || '@example.com', 'Person ' || i, " + at + ", 0 FROM n",
			"INSERT INTO authserver_issuances (jti, user_id, client_id, issued_at, expires_at)" + numbers +
				" SELECT 'jti-' || i, 'user-' || " + padded + ", 'client-' || " + padded + ", " + at + ", 9000000000000000 FROM n",
			"INSERT INTO authserver_audit (action, actor_id, client_id, created_at)" + numbers +
				" SELECT CASE WHEN i % 1000 = 0 THEN 'family.revoked' ELSE 'token.issued' END, CASE WHEN i % 2 = 0 THEN 'user-000001' ELSE 'user-' || " + padded + " END," +
				" CASE WHEN i % 10 = 0 THEN 'client-' || " + padded + " ELSE 'client-000001' END, " + at + " FROM n" + fewer,
			"INSERT INTO authserver_idps (id, name, issuer, enabled, created_at, updated_at)" + numbers +
				" SELECT 'idp-' || i, 'I', 'https://idp.example/' || i, 1, 0, 0 FROM n WHERE i <= 2",
			"INSERT INTO authserver_xaa_subjects (id, idp_id, idp_subject, user_id, created_at)" + numbers +
				" SELECT 'mapping-' || " + padded + ", CASE WHEN i % 1000 = 0 THEN 'idp-2' ELSE 'idp-1' END, 'subject-' || i, 'user-000001', " + at + " FROM n" + fewer,
		} {
			if _, err := c.Exec(statement, many); err != nil {
				return err
			}
		}
		if c.Dialect() == store.Postgres { // as autovacuum does soon
			_, err := c.Exec("ANALYZE authserver_clients, authserver_users, authserver_issuances, authserver_audit, authserver_xaa_subjects")
			return err
		}
		return nil
	})
}}

// TestManyPlans checks the query plans of lists with many rows: each page starts with an index lookup, and no page
// sorts or reads all rows.
func TestManyPlans(t *testing.T) {
	t.Parallel()
	crowded.OnBoth(t, func(t *testing.T, db *store.DB) {
		place := kernel.Place{At: 1700000000001400, ID: "client-050000"}
		pages := map[string]kernel.Page{
			"the first page": {Limit: 51}, "the next": {Limit: 51, After: place}, "the newest": {Limit: 51, Newest: true}, "the next newest": {Limit: 51, Newest: true, After: place},
		}
		filter := tokens.IssuanceFilter{Live: true}
		events := func(q audit.Query) kernel.Listing {
			q.Since, q.Until = time.UnixMicro(1700000000000000), time.UnixMicro(1700000000000000+many)
			return q.Listing()
		}
		for name, test := range map[string]struct {
			kernel.Listing
			index string // on PostgreSQL; SQLite uses the row id instead
		}{
			"clients":                   {clients.Filter{}.Listing(), "authserver_clients_issued"},
			"active clients":            {clients.Filter{Status: clients.Active}.Listing(), "authserver_clients_issued"},
			"suspended of clients":      {clients.Filter{Status: clients.Suspended}.Listing(), "authserver_clients_status"},
			"few of clients":            {clients.Filter{Source: clients.Admin}.Listing(), "authserver_clients_source"},
			"agents of clients":         {clients.Filter{Agent: "true"}.Listing(), "authserver_clients_agents"},
			"users":                     {users.Listing(""), "authserver_users_created"},
			"tokens":                    {filter.Listing(0), "authserver_issuances_pkey"},
			"tokens of a user":          {tokens.IssuanceFilter{User: "user-000001"}.Listing(0), "authserver_issuances_user"},
			"tokens of clients":         {tokens.IssuanceFilter{Client: "client-000001"}.Listing(0), "authserver_issuances_client"},
			"mappings":                  {xaa.Mappings(""), "authserver_xaa_subjects_created"},
			"mappings of a few":         {xaa.Mappings("idp-2"), "authserver_xaa_subjects_idp"},
			"events":                    {events(audit.Query{}), "authserver_audit_created"},
			"events by many":            {events(audit.Query{Actor: "user-000001"}), "authserver_audit_actor"},
			"events of one":             {events(audit.Query{Actor: "user-000003"}), "authserver_audit_actor"},
			"events with many":          {events(audit.Query{Client: "client-000001"}), "authserver_audit_client"},
			"events of a client":        {events(audit.Query{Client: "client-000010"}), "authserver_audit_client"},
			"events of one do":          {events(audit.Query{Action: "family.revoked"}), "authserver_audit_action"},
			"events by many, of a kind": {events(audit.Query{Actor: "user-000001", Action: "token."}), "authserver_audit_actor"},
			"events of two choices":     {events(audit.Query{Actor: "user-000001", Client: "client-000010"}), "authserver_audit_client"},
		} {
			for pageName, page := range pages {
				if page.After != (kernel.Place{}) && test.Table == "authserver_audit" {
					continue // these pages use only an offset
				}
				if page.After != (kernel.Place{}) && test.At == "" {
					page.After = kernel.Place{At: many / 2}
				}
				statement, args := test.Page(page)
				plan, err := storetest.Plan(t, db, false, statement, args...)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, pageName, err)
				}
				want, bad := test.index, []string{"Seq Scan", `"Bitmap`}
				if strings.Contains(name, " of ") { // few enough rows to be sorted
					bad = bad[:1]
				} else {
					bad = append(bad, `"Sort"`)
				}
				if db.Dialect() == store.SQLite {
					bad = []string{"TEMP B-TREE"}
					switch {
					case test.At != "" && page.After != (kernel.Place{}):
						want = "SEARCH " + test.Table + " USING INDEX " + want + " (" // before the condition
					case strings.HasSuffix(want, "_pkey") && page.After != (kernel.Place{}):
						want = "SEARCH " + test.Table + " USING INTEGER PRIMARY KEY (rowid"
					case strings.HasSuffix(want, "_pkey"):
						want = "SCAN " + test.Table
					}
				}
				if !strings.Contains(plan, want) {
					t.Errorf("%s, %s: not by %s:\n%s", name, pageName, want, plan)
				}
				for _, word := range bad {
					if strings.Contains(plan, word) {
						t.Errorf("%s, %s: %s in\n%s", name, pageName, word, plan)
					}
				}
			}
		}
	})
}

// TestManyPages checks that the pages of a list with many rows contain each row once, in either order, and that
// counting is bounded.
func TestManyPages(t *testing.T) {
	t.Parallel()
	crowded.OnBoth(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, authtest.On(t, db), "", nil)
		ids := func(reply map[string]any, name string) (ids []string) {
			for _, row := range reply[name].([]any) {
				ids = append(ids, row.(map[string]any)["id"].(string))
			}
			return ids
		}
		for _, test := range []struct{ name, query, first, last string }{
			{"clients", "&order=newest", "client-100000", "client-000001"},
			{"users", "&order=oldest", "user-000001", "user-100000"},
			{"issuances", "", "100000", "1"},
			{"subject_mappings", "", "mapping-000001", "mapping-020000"},
		} {
			path, rows := "/"+test.name, many
			if test.name == "subject_mappings" {
				path, rows = "/xaa/subject-mappings", less
			}
			seen, cursor := make(map[string]bool, many), ""
			first, last := "", ""
			for page := 0; page == 0 || cursor != ""; page++ {
				reply := a.do("GET", path+"?limit=1000"+test.query+"&cursor="+url.QueryEscape(cursor), "", 200)
				for _, id := range ids(reply, test.name) {
					if first == "" {
						first = id
					}
					last, seen[id] = id, true
				}
				next, more := reply["next"].(string)
				if more != reply["has_more"].(bool) || page > many/1000 {
					t.Fatalf("%s: page %d: %q, has_more %v", test.name, page, next, reply["has_more"])
				}
				cursor = next
			}
			if len(seen) != rows || first != test.first || last != test.last {
				t.Errorf("%s%s: %d from %s to %s", test.name, test.query, len(seen), first, last)
			}
		}
		for query, want := range map[string]struct {
			total  float64
			capped bool
			page   int
			first  string
		}{
			"clients?count=true":                                    {10_000, true, 50, "client-000001"},
			"clients?count=true&status=suspended&limit=1000":        {100, false, 100, "client-001000"},
			"clients?count=true&status=suspended":                   {100, false, 50, "client-001000"},
			"clients?count=true&status=suspended&offset=60":         {100, false, 40, "client-061000"},
			"clients?count=true&q=APPLICATION+0999":                 {100, false, 50, "client-099900"},
			"clients?count=true&q=client-099999":                    {1, false, 1, "client-099999"},
			"clients?count=true&q=client-099999&status=suspended":   {0, false, 0, ""},
			"users?count=true":                                      {10_000, true, 50, "user-100000"},
			"users?count=true&q=pERSON777@example.com":              {1, false, 1, "user-000777"},
			"users?count=true&q=user-000777":                        {1, false, 1, "user-000777"},
			"users?count=true&q=Person+9999":                        {11, false, 11, "user-099999"},
			"tokens?count=true":                                     {10_000, true, 50, "100000"},
			"tokens?count=true&client=client-000777":                {1, false, 1, "777"},
			"issuances?count=true&user=user-000778&limit=1":         {1, false, 1, "778"},
			"issuances?count=true&jti=jti-5&order=oldest":           {1, false, 1, "5"},
			"issuances?count=true&resource=nothing&order=oldest":    {0, false, 0, ""},
			"clients?count=true&q=nobody%00":                        {0, false, 0, ""},
			"users?count=true&q=nobody%00":                          {0, false, 0, ""},
			"clients?count=true&limit=1&status=active&order=newest": {10_000, true, 1, "client-099999"},
		} {
			reply := a.do("GET", "/"+query, "", 200)
			found := ids(reply, query[:strings.Index(query, "?")])
			if reply["total"] != want.total || reply["total_capped"] != want.capped || len(found) != want.page || want.page > 0 && found[0] != want.first {
				t.Errorf("%s: total %v, capped %v, %d from %v", query, reply["total"], reply["total_capped"], len(found), found[:min(1, len(found))])
			}
		}
		if reply := a.do("GET", "/xaa/subject-mappings?count=true&idp_id=idp-2&order=newest&limit=10", "", 200); reply["total"] != 20.0 || !slices.Equal(ids(reply, "subject_mappings")[:2], []string{"mapping-020000", "mapping-019000"}) {
			t.Errorf("mappings of a few: %v", reply)
		}
		for name, want := range map[string]float64{"clients": 10_000, "users": 10_000, "users_active": 10_000, "tokens_live": 10_000, "resources": 0} {
			if got := a.do("GET", "/stats?most=10000", "", 200)[name]; got != want {
				t.Errorf("%s: %v", name, got)
			}
		}
		if got := fmt.Sprint(a.do("GET", "/stats", "", 200)); !strings.Contains(got, "clients:100000 clients_active:99900") || !strings.Contains(got, "tokens_live:100000") {
			t.Error(got)
		}
		// With names=true the response contains the names of the clients, users and resources that its rows refer to.
		a.do("POST", "/resources", `{"slug":"files","uri":"https://files.example"}`, 201)
		files := a.do("GET", "/resources/files", "", 200)["id"].(string)
		if err := db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("UPDATE authserver_issuances SET resource_id = ?, agent_chain = 'client-000001 gone' WHERE id = 778", files+" other")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"clients": map[string]any{"client-000778": "Application 000778", "client-000001": "Application 000001"}, "users": map[string]any{"user-000778": "Person778@example.com"}, "resources": map[string]any{files: "files"},
		}
		if got := a.do("GET", "/issuances?jti=jti-778&names=true", "", 200)["names"]; !reflect.DeepEqual(got, want) {
			t.Errorf("names: %v, want %v", got, want)
		}
		if got := a.do("GET", "/issuances?jti=jti-778", "", 200); got["names"] != nil {
			t.Errorf("names without names=true: %v", got)
		}
		if got := a.do("GET", "/tokens?limit=1000&names=true", "", 200)["names"].(map[string]any)["users"].(map[string]any); len(got) < 1000 || got["user-099500"] != "Person99500@example.com" {
			t.Errorf("%d names", len(got))
		}
		a.do("GET", "/issuances?names=1", "", 400)

		next := a.do("GET", "/clients?limit=1", "", 200)["next"].(string)
		for _, bad := range []string{"clients?cursor=x", "clients?cursor=" + next + "&offset=1", "clients?order=up", "clients?count=1", "stats?most=-1", "stats?most=x", "users?cursor=" + strings.Repeat("A", 5000)} {
			a.do("GET", "/"+bad, "", 400)
		}
		// A cursor remains valid after its row is deleted.
		a.do("DELETE", "/clients/client-000001?force=true", "", 204)
		if got := ids(a.do("GET", "/clients?limit=1&cursor="+next, "", 200), "clients"); len(got) != 1 || got[0] != "client-000002" {
			t.Errorf("after a deleted row: %v", got)
		}
	})
}
