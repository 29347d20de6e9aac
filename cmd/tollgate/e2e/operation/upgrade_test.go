package operation

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// masterOfUpgrade is the master key of the databases in testdata/upgrade, and of nothing else.
const masterOfUpgrade = "dXBncmFkZS11cGdyYWRlLXVwZ3JhZGUtdXBncmFkZSE="

// earlier is a node on a database that an earlier release has filled; see testdata/upgrade/README.md. The node has the
// keys and tokens that the release showed once.
type earlier struct {
	*e2e.Node
	// Base URLs.
	gateway, board, events, authserver, administration, cms, answer string

	noted map[string]string
	db    *sql.DB
	dsn   string // of PostgreSQL
}

// newEarlier makes the node for an engine on an empty database, and does not start it. The node is configured to delete
// nothing because of its age.
func newEarlier(t *testing.T, engine string, up *e2e.Upstream) *earlier {
	t.Helper()
	base := func() string { return "http://127.0.0.1:" + e2e.FreePort(t) }
	e := &earlier{
		gateway: base(), board: base(), events: base(), authserver: base(), administration: base(), cms: base(), answer: base(),
		noted: make(map[string]string),
	}
	database, dsn := "sqlite data/tollgate.db", ""
	if engine == "postgres" {
		database, dsn = "postgres {env.TOLLGATE_DSN}", testenv.Postgres(t).DSN()
	}
	e.Node = e2e.NewNode(t, `{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
	skip_install_trust
	tollgate {
		database `+database+`
		keyring aes {env.TOLLGATE_MASTER_KEY}
		allow_networks 127.0.0.0/8
		catalog {
			provider openai {
				base_url `+up.URL+`/v1
			}
		}
	}
}
`+e.gateway+` {
	tollgate gateway {
		request_log forever
	}
}
`+e.board+` {
	tollgate board {
		no_flood
		attachments database
	}
}
`+e.events+` {
	tollgate events {
		submit any
		read any
		resource_events_ttl 36500d
		report_ttl 36500d
		node_ttl 36500d
		node_purge_ttl 36500d
	}
}
`+e.authserver+` {
	tollgate authserver {
		config authserver.yaml
	}
}
`+e.administration+` {
	tollgate authserver {
		config authserver.yaml
		listener admin
	}
}
`+e.cms+` {
	tollgate cms {
		site site
	}
}
`+e.answer+` {
	tollgate answer {
		quota 1000 month
		cache off
	}
}
`, "TOLLGATE_MASTER_KEY="+masterOfUpgrade, "TOLLGATE_DSN="+dsn, "AUTHSERVER_KEY="+strings.Repeat("0123456789abcdef", 4))
	e.dsn = dsn
	for file, text := range map[string]string{
		"authserver.yaml": `
server: {issuer: 'http://localhost:1'} # which nobody asks
signing: {key_store: postgres_key}
data_encryption: {driver: aes_master, aes_master: {key_env: AUTHSERVER_KEY}}
session: {secret: a secret of the cookies of browsers in these tests}
resources: [{slug: notes, uri: '` + notes + `', display_name: Notes, scopes: [{name: 'notes:read'}]}]
`,
		"site/config.json": `{"auth":"jwt","content":"write","jwtSecret":"` + strings.Repeat("secret", 8) + `"}`,
	} {
		err := os.MkdirAll(filepath.Dir(e.Path(file)), 0o700)
		if err == nil {
			err = os.WriteFile(e.Path(file), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if engine == "postgres" {
		e.db, err = sql.Open("pgx", dsn+"&default_query_exec_mode=simple_protocol") // allows several statements at once
	} else {
		e.db, err = sql.Open("sqlite", e.Path("data", "tollgate.db"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.db.Close() })
	e.db.SetMaxOpenConns(1)
	return e
}

// load restores the database from a dump. The first lines of the dump contain the keys and tokens.
func (e *earlier) load(file string) {
	e.T.Helper()
	dump, err := os.ReadFile(file)
	if err != nil {
		e.T.Fatal(err)
	}
	for line := range strings.Lines(string(dump)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "-- "), ": ")
		if !strings.HasPrefix(line, "-- ") || !ok {
			break
		}
		e.noted[name] = value
	}
	if _, err := e.db.ExecContext(e.T.Context(), string(dump)); err != nil {
		e.T.Fatalf("%s: %v", file, err)
	}
}

// counts returns how many rows each table has.
func (e *earlier) counts(engine string) map[string]int {
	e.T.Helper()
	query := "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE 'CREATE VIRTUAL%'"
	if engine == "postgres" { // loading the dump empties the search_path
		query = "SELECT 'public.' || relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace"
	}
	rows, err := e.db.QueryContext(e.T.Context(), query)
	if err != nil {
		e.T.Fatal(err)
	}
	defer rows.Close()
	counts := make(map[string]int)
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			e.T.Fatal(err)
		}
		counts[name] = 0
	}
	if err := rows.Err(); err != nil {
		e.T.Fatal(err)
	}
	rows.Close()
	for name := range counts {
		var n int
		query := "SELECT count(*) FROM " + name
		if strings.TrimPrefix(name, "public.") == "board_settings" { // without the progress of jobs of newer versions
			query += " WHERE name NOT IN ('" + search.SettingIndexed + "', '" + accounts.SettingNames + "')"
		}
		if err := e.db.QueryRowContext(e.T.Context(), query).Scan(&n); err != nil {
			e.T.Fatalf("%s: %v", name, err)
		}
		counts[name] = n
	}
	return counts
}

// serving waits until all services answer.
func (e *earlier) serving() {
	e.T.Helper()
	for _, address := range []string{
		e.gateway + "/health", e.board + "/api/v1/forums", e.events + "/store/status/v1/simple",
		e.authserver + "/ready", e.cms + "/readyz", e.answer + "/readyz",
	} {
		e2e.Eventually(e.T, e2e.StartLimit, address+" answers", func() error {
			if a := e2e.Get(e.T, e2e.Client, address, ""); a.Status != 200 {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
	}
}

// releases returns the folders in testdata/upgrade, from the oldest release to the newest.
func releases(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("testdata/upgrade")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, "testdata/upgrade/"+entry.Name())
		}
	}
	slices.SortFunc(folders, func(a, b string) int {
		var numbers [2][3]int
		for i, folder := range []string{a, b} {
			n := &numbers[i]
			if _, err := fmt.Sscanf(path.Base(folder), "%d.%d.%d", &n[0], &n[1], &n[2]); err != nil {
				t.Fatalf("%s is not named after a release: %v", folder, err)
			}
		}
		return slices.Compare(numbers[0][:], numbers[1][:])
	})
	return folders
}

// newest returns the file with the database of the newest release that has one for an engine.
func newest(t *testing.T, engine string) (file string) {
	t.Helper()
	for _, folder := range releases(t) {
		dump := folder + "/" + engine + ".sql"
		if _, err := os.Stat(dump); err == nil {
			file = dump
		}
	}
	return file
}

// TestUpgrade checks that the database of each release keeps every row and works with this program: people can sign in,
// keys and tokens are valid, secrets open, and the threads, usage, reports, pages and documents are there and can be
// changed. With -release it writes the databases of a release instead.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, folder := range releases(t) {
		for _, engine := range []string{"sqlite", "postgres"} {
			t.Run(path.Base(folder)+"/"+engine, func(t *testing.T) {
				t.Parallel()
				if *release != "" {
					t.Skip("the databases of a release are written")
				}
				up := e2e.NewUpstream(t)
				e := newEarlier(t, engine, up)
				e.load(folder + "/" + engine + ".sql")
				before := e.counts(engine)
				e.Start()
				e.serving()
				after := e.counts(engine)
				filled := 0
				for table, n := range before {
					if n > 0 {
						filled++
					}
					switch left, ok := after[table]; {
					case strings.HasPrefix(strings.TrimPrefix(table, "public."), "schema_") && left >= n: // later migrations add rows
					case table == "board_search_config" && left >= n: // later migrations configure the index
					case !ok || left != n:
						t.Errorf("%s has %d rows of %d", table, left, n)
					}
				}
				if filled < 100 {
					t.Errorf("%d of %d tables had rows", filled, len(before))
				}
				e.looks(up)
				e.Stop()
			})
		}
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		if *release != "" {
			t.Run(*release+"/"+engine, func(t *testing.T) { writeRelease(t, engine) })
		}
	}
}

// looks checks all services.
func (e *earlier) looks(up *e2e.Upstream) {
	e.T.Helper()
	e.lookAtBoard()
	e.lookAtGateway(up)
	e.lookAtEvents()
	e.lookAtAuthserver()
	e.lookAtCMS()
	e.lookAtAnswer()
}

// sends sends a request and fails the test if the answer has another status.
func (e *earlier) sends(status int, address, key, body string, header ...string) string {
	e.T.Helper()
	a := e2e.Do(e.T, e2e.Client, http.MethodPost, address, key, body, header...)
	if a.Status != status {
		e.T.Errorf("%s: %d %s, want %d", address, a.Status, a.Body, status)
	}
	return a.Body
}

// has fails the test if the answer to a GET lacks one of the parts.
func (e *earlier) has(address, key string, parts ...string) {
	e.T.Helper()
	a := e2e.Get(e.T, e2e.Client, address, key)
	for _, part := range parts {
		if a.Status != 200 || !strings.Contains(a.Body, part) {
			e.T.Errorf("%s: %d, without %q: %s", address, a.Status, part, a.Body)
		}
	}
}

// lookAtBoard checks members, threads and their posts, attachments and notifications.
func (e *earlier) lookAtBoard() {
	e.T.Helper()
	api, ada := e.board+"/api/v1", e.noted["ada"]
	e.has(api+"/me", ada, `"username":"ada"`, "posts:write")
	e.has(api+"/forums", ada, `"slug":"private"`)
	e.has(api+"/threads/1/posts", ada, "the start", "an answer that was edited", "sent once")
	e.has(api+"/threads/1/posts/2/revisions", e.noted["root"], "an answer", `"reason":"a mistake"`)
	e.has(api+"/threads/1/posts/"+e.noted["once"]+"/attachments", ada, `"name":"words.txt"`)
	e.has(api+"/attachments/1", ada, "a file of some words")
	e.has(api+"/search?q=start", ada, `"threadTitle":"A thread"`)
	e.has(api+"/notifications", ada, `"actorUsername":"bob"`)
	e.has(api+"/subscriptions", ada, `"title":"A thread"`)
	e.has(api+"/moderation/queue", e.noted["root"], "a held post")
	// A repeated submission gets the answer of the first, and a new post is stored.
	reply := e.sends(201, api+"/threads/1/posts", e.noted["bob"], `{"message":"sent once"}`, "Idempotency-Key", "once")
	if !strings.Contains(reply, `"id":`+e.noted["once"]+",") {
		e.T.Errorf("sent again: %s, want %s", reply, e.noted["once"])
	}
	e.sends(201, api+"/threads/1/posts", e.noted["bob"], `{"message":"written after the upgrade"}`)
	e.has(api+"/threads/1/posts?limit=100", "", "written after the upgrade")

	browser := e.signIn("ada")
	if a := e2e.Get(e.T, browser, e.board+"/account/email", ""); a.Status != 200 || !strings.Contains(a.Body, "ada@example.com") {
		e.T.Errorf("the account page: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(e.T, e.signIn("root"), e.board+"/admin/webhooks", ""); a.Status != 200 || !strings.Contains(a.Body, "http://127.0.0.1:9/hook") {
		e.T.Errorf("the webhooks: %d %s", a.Status, a.Body)
	}
}

// signIn signs a member in and returns an HTTP client with the member's cookies.
func (e *earlier) signIn(name string) *http.Client {
	e.T.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		e.T.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: e2e.StartLimit}
	e.form(c, "/login", url.Values{"name": {name}, "password": {"correct horse"}})
	return c
}

// form submits a form of a page.
func (e *earlier) form(c *http.Client, path string, values url.Values) *e2e.Answer {
	e.T.Helper()
	token := e2e.FormToken.FindStringSubmatch(e2e.Do(e.T, c, http.MethodGet, e.board+path, "", "").Body)
	if token == nil {
		e.T.Fatalf("%s has no form", path)
	}
	values.Set("token", token[1])
	a := e2e.Do(e.T, c, http.MethodPost, e.board+path, "", values.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	if a.Status != 200 {
		e.T.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	return a
}
