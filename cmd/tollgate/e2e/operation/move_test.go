package operation

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// moved is a node with every service, whose database is moved.
type moved struct {
	*services
	dsn     string
	headers map[string][]string
}

// newMoved makes the node and stores data in every service.
func newMoved(t *testing.T) *moved {
	t.Helper()
	up := e2e.NewUpstream(t)
	m := &moved{services: newServices(t, "", "database sqlite data/tollgate.db\nallow_networks 127.0.0.0/8"), dsn: testenv.Postgres(t).DSN()}
	m.headers = m.offline()
	m.Env = append(m.Env, "TOLLGATE_DSN="+m.dsn)
	m.Tool("answer", "sample", "documents")
	m.Tool("answer", "ingest", "documents/corpus")
	if err := os.MkdirAll(m.Path("reports"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := os.WriteFile(m.Path("reports", fmt.Sprint(i, ".json")), e2e.AgentRunAt("a.example.com", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.Tool("events", "generate", "--nodes", "20", "--runs", "5", "reports")
	m.Tool("authserver", "user", "add", "ann@example.com", "--name", "Ann", "--generate")
	site := `{"auth":"jwt","content":"read","jwtSecret":"` + strings.Repeat("secret", 8) + `"}`
	if err := os.WriteFile(m.Path("site", "config.json"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	m.begin()
	maps.Copy(m.headers, m.credentials())
	m.Tool("keychain", "models", "add", "own/large", "--user", "ada", "--base-url", up.Base(), "--model", "large", "--tier", "high")
	m.Tool("keychain", "teams", "add", "Research")
	m.Tool("keychain", "teams", "join", "Research", "ada")
	m.Tool("keychain", "teams", "limit", "Research", "--usd-per-month", "50")
	m.Tool("keychain", "organisation", "limit", "--rate-limit", "1000")
	for range 3 {
		e2e.Eventually(t, e2e.WaitLimit, "the model is known", func() error {
			a := e2e.Do(t, e2e.Client, http.MethodPost, m.base["gateway"]+"/v1/chat/completions", "", e2e.Prompt("own/large", false), m.headers["gateway"]...)
			if a.Status != http.StatusOK {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
	}
	a := e2e.Do(t, e2e.Client, http.MethodPost, m.base["authserver"]+"/oauth/register", "", `{"client_name":"App","redirect_uris":["https://app.example.com/back"]}`, "Content-Type", "application/json")
	if a.Status != http.StatusCreated && a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	password := strings.TrimSpace(m.Tool("cms", "user", "password", "ann", "--generate"))
	a = e2e.Do(t, e2e.Client, http.MethodPost, m.base["cms"]+"/api/auth", "", fmt.Sprintf(`{"username":"ann","password":%q}`, password), "Content-Type", "application/json")
	m.headers["cms"] = []string{"Authorization", "Bearer " + gjson.Get(a.Body, "jwt").Str}
	m.sends()
	m.Stop()
	return m
}

// sends submits a report and returns when it is acknowledged. At that time, queries may not find the report yet.
func (m *moved) sends() {
	m.T.Helper()
	a := e2e.Do(m.T, e2e.Client, http.MethodPost, m.base["events"]+e2e.Submission, "", string(e2e.AgentRunAt("late.example.com", 50)), "Content-Type", "application/json")
	if a.Status != http.StatusOK {
		m.T.Fatalf("%d %s", a.Status, a.Body)
	}
}

// on configures the node to use a database.
func (m *moved) on(database string) {
	m.T.Helper()
	text, err := os.ReadFile(m.Path("Caddyfile"))
	if err != nil {
		m.T.Fatal(err)
	}
	m.Configure(regexp.MustCompile(`(?m)^database .*$`).ReplaceAllLiteralString(string(text), "database "+database))
}

// volatile matches values that a service generates anew for each answer.
var volatile = regexp.MustCompile(`"(id|created|elapsed_ms|request_id|trace_id|last_used_at|expires_at)":("[^"]*"|[0-9.]+)`)

// answers returns the answers of the services about their stored data, by request.
func (m *moved) answers() map[string]string {
	m.T.Helper()
	m.begin()
	all := make(map[string]string)
	ask := func(client, method, address, body string) {
		m.T.Helper()
		var headers []string
		if client != "" {
			headers = m.headers[client]
		}
		if body != "" {
			headers = append(slices.Clone(headers), "Content-Type", "application/json")
		}
		a := e2e.Do(m.T, e2e.Client, method, address, "", body, headers...)
		if a.Status != http.StatusOK || len(a.Body) < 20 {
			m.T.Errorf("%s %s: %d %s %v", method, address, a.Status, a.Body, a.Err)
		}
		if strings.HasPrefix(address, m.base["events"]) {
			a.Body = unordered(m.T, a.Body)
		}
		all[method+" "+address+" "+body] = a.Body
	}
	board := m.base["board"] + "/api/v1"
	for _, path := range []string{"/forums", "/forums/4/threads", "/threads/1/posts", "/search?q=the", "/search?q=board", "/me", "/notifications"} {
		ask("board", http.MethodGet, board+path, "")
	}
	for _, path := range []string{`reports?query=["extract",["hash","certname","status","receive_time","configuration_version"]]`, "events?limit=500&order_by=[{%22field%22:%22timestamp%22}]", "nodes", "environments", "event-counts?summarize_by=certname", "aggregate-event-counts?summarize_by=resource"} {
		ask("", http.MethodGet, m.base["events"]+"/store/query/v4/"+path, "")
	}
	for _, path := range []string{"/keychain-keys", "/models", "/usage/recent", "/preferences", "/usage?group=model"} {
		ask("gateway, a user", http.MethodGet, m.base["gateway"]+"/users/ada"+path, "")
	}
	ask("gateway", http.MethodGet, m.base["gateway"]+"/v1/models", "")
	ask("answer", http.MethodPost, m.base["answer"]+"/v1/answer", `{"query":"What was the revenue of Halden Instruments in fiscal 2023?"}`)
	for _, words := range []string{"home", "nothing"} {
		ask("cms", http.MethodGet, m.base["cms"]+"/api/content/pages?selector=title~="+words, "")
	}
	ask("", http.MethodGet, m.base["authserver"]+"/.well-known/jwks.json", "")
	for _, command := range []string{"answer corpus list --json", "answer corpus stats --json", "cms export -", "cms user list", "authserver user list", "keychain teams limit Research", "keychain organisation limit"} {
		all[command] = m.Tool(strings.Fields(command)...)
	}
	m.Stop()
	for request, answer := range all {
		all[request] = volatile.ReplaceAllString(answer, "")
	}
	return all
}

// unordered returns the elements of a JSON list in an order and spelling that do not depend on the engine.
func unordered(t *testing.T, body string) string {
	t.Helper()
	var list []any
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	lines := make([]string, len(list))
	for i, element := range list {
		text, err := json.Marshal(element)
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = string(text)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (m *moved) same(name string, got, want map[string]string) {
	m.T.Helper()
	for request, answer := range want {
		if got[request] != answer {
			m.T.Errorf("%s: %s\n%s\nwant\n%s", name, request, got[request], answer)
		}
	}
}

// report is the report on a move.
type report struct {
	Resumed bool
	Tables  []struct {
		Name, Digest string
		Rows         int
	}
}

func (m *moved) move(args ...string) (r report) {
	m.T.Helper()
	if err := json.Unmarshal([]byte(m.Tool(append(append([]string{"move"}, args...), "--json")...)), &r); err != nil {
		m.T.Fatal(err)
	}
	return r
}

// settled returns the answers once two in a row are the same: reports and indexes are processed after the requests that
// submitted them.
func (m *moved) settled() (answers map[string]string) {
	m.T.Helper()
	e2e.Eventually(m.T, e2e.WaitLimit, "the services have processed everything", func() error {
		before := answers
		if answers = m.answers(); !maps.Equal(before, answers) {
			return errors.New("the answers still change")
		}
		return nil
	})
	return answers
}

// TestMoveDatabase checks that the data of every service is the same on SQLite, after a move to PostgreSQL, and after
// the move back, and that each service answers as before. A process that is killed during a move loses nothing.
func TestMoveDatabase(t *testing.T) {
	t.Parallel()
	m := newMoved(t)
	before := m.settled()

	m.Start()
	if msg := refused(m.Node, "move", "--to", "{env.TOLLGATE_DSN}"); !strings.Contains(msg, "stop the server first") {
		t.Errorf("while a server runs: %s", msg)
	}
	m.Stop()
	if msg := refused(m.Node, "move", "--to", "data/other.db"); !strings.Contains(msg, "a database is written as sqlite:<file> or postgres://") {
		t.Errorf("a target without an engine: %s", msg)
	}
	m.killed("move", "--to", "{env.TOLLGATE_DSN}")
	forward := m.move("--to", "{env.TOLLGATE_DSN}")
	if !forward.Resumed {
		t.Error("the move after the kill did not resume")
	}
	filled := 0
	for _, table := range forward.Tables {
		if table.Rows > 0 {
			filled++
		}
	}
	if filled < 60 {
		t.Errorf("%d of %d tables had rows", filled, len(forward.Tables))
	}
	backward := m.move("--from", "{env.TOLLGATE_DSN}", "--to", "sqlite:data/back.db")
	if !slices.Equal(backward.Tables, forward.Tables) {
		t.Errorf("%+v\nwant\n%+v", backward.Tables, forward.Tables)
	}
	m.on("postgres {env.TOLLGATE_DSN}")
	m.same("postgres", m.answers(), before)
	m.on("sqlite data/back.db")
	m.same("back on sqlite", m.answers(), before)
}

// holdMove makes a move into PostgreSQL wait, once a first table is done, while another session holds the advisory lock
// 1.
const holdMove = `CREATE FUNCTION hold_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF NEW.value LIKE '%"done":true%' AND EXISTS (SELECT FROM tollgate_moving WHERE value LIKE '%"done":true%') THEN
		PERFORM pg_advisory_xact_lock(1);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER hold BEFORE INSERT OR UPDATE ON tollgate_moving FOR EACH ROW EXECUTE FUNCTION hold_move()`

// killed runs a move into PostgreSQL and kills it after the first and before the last table is done.
func (m *moved) killed(args ...string) {
	m.T.Helper()
	ctx, cancel := context.WithTimeout(m.T.Context(), e2e.WaitLimit)
	defer cancel()
	db, err := sql.Open("pgx", m.dsn)
	if err != nil {
		m.T.Fatal(err)
	}
	defer db.Close()
	holder, err := db.Conn(ctx) // the lock belongs to this connection
	if err != nil {
		m.T.Fatal(err)
	}
	defer holder.Close()
	if _, err := holder.ExecContext(ctx, "SELECT pg_advisory_lock(1)"); err != nil {
		m.T.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, e2e.Binary, args...)
	cmd.Dir, cmd.Env = m.Dir, m.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		m.T.Fatal(err)
	}
	await := func(condition, query string) {
		m.T.Helper()
		for holds := false; !holds; time.Sleep(10 * time.Millisecond) {
			if err := db.QueryRowContext(ctx, query).Scan(&holds); err != nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				m.T.Fatalf("waiting until %s: %v\n%s", condition, err, out.String())
			}
		}
	}
	await("the move has marked its target", "SELECT to_regclass('tollgate_moving') IS NOT NULL")
	if _, err := db.ExecContext(ctx, holdMove); err != nil {
		m.T.Error(err)
	}
	await("the move waits for the lock", `SELECT EXISTS (SELECT FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
	if err := cmd.Process.Kill(); err != nil {
		m.T.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		m.T.Fatalf("the move ended before it was killed:\n%s", out.String())
	}
	// The session of the move ends when it gets the lock and finds that its client has gone.
	if _, err := holder.ExecContext(ctx, "SELECT pg_advisory_unlock(1)"); err != nil {
		m.T.Fatal(err)
	}
}

// TestMoveEarlierRelease checks that a database that an earlier release has filled works on the other engine: members
// can sign in, keys and tokens are valid, secrets open, the threads, usage and reports are there, and new ones can be
// stored.
func TestMoveEarlierRelease(t *testing.T) {
	t.Parallel()
	for oldEngine, newEngine := range map[string]string{"sqlite": "postgres", "postgres": "sqlite"} {
		t.Run("from "+oldEngine, func(t *testing.T) {
			t.Parallel()
			up := e2e.NewUpstream(t)
			first, second := newEarlier(t, oldEngine, up), newEarlier(t, newEngine, up)
			first.load(newest(t, oldEngine))
			if err := first.db.Close(); err != nil {
				t.Fatal(err)
			}
			target := "sqlite:" + second.Path("data", "tollgate.db")
			if newEngine == "postgres" {
				target = "{env.TARGET}"
				i := slices.IndexFunc(second.Env, func(v string) bool { return strings.HasPrefix(v, "TOLLGATE_DSN=") })
				first.Env = append(first.Env, "TARGET="+strings.TrimPrefix(second.Env[i], "TOLLGATE_DSN="))
			}
			if output := first.Tool("move", "--to", target); !strings.Contains(output, "board_posts") || !strings.Contains(output, "equal") {
				t.Errorf("it tells\n%s", output)
			}
			second.noted = first.noted
			second.Start()
			second.serving()
			second.looks(up)
			second.Stop()
		})
	}
}
