package answer

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// desk is a node with the shipped Caddyfile, the shipped corpus and an API key.
type desk struct {
	*e2e.Node
	base, key string
	config    string
	client    *http.Client
	db        *sql.DB // a separate connection to the database, as of another process
}

// quick has the options of a desk whose rate limit is not reached, and that generates each answer anew.
const quick = "\t\tquota 1000 month\n\t\trate 100000\n\t\tcache off\n"

// newDesk starts a desk on SQLite, or on the PostgreSQL database with the shipped corpus that dsn names. options
// replace the options of the shipped Caddyfile.
func newDesk(t *testing.T, dsn, options string) *desk {
	t.Helper()
	port := e2e.FreePort(t)
	replace := []string{"skip_install_trust", "skip_install_trust\n\tauto_https disable_redirects", "\t\tquota 1000 month\n", options}
	if dsn != "" {
		replace = append(replace, "\t\tdatabase sqlite data/tollgate.db\n", "\t\tdatabase postgres {env.TOLLGATE_DSN}\n")
	}
	d := &desk{base: "https://localhost:" + port, config: e2e.Shipped(t, "answer", replace...)}
	d.Node = e2e.NewNode(t, d.config, "TOLLGATE_DOMAIN=localhost:"+port, "TOLLGATE_DSN="+dsn)
	if dsn == "" {
		corpusFile.Do(func() {
			fill(d.Node)
			corpusText, _ = os.ReadFile(d.Path("data", "tollgate.db")) // without the file, the corpus is empty
		})
		if err := os.WriteFile(d.Path("data", "tollgate.db"), corpusText, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.key = strings.TrimSpace(d.Tool("answer", "key", "create", "--label", "desk"))
	driver, source := "sqlite", "file:"+d.Path("data", "tollgate.db")+"?_pragma=busy_timeout(10000)"
	if dsn != "" {
		driver, source = "pgx", dsn
	}
	var err error
	if d.db, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.db.Close() })
	d.begin()
	return d
}

// onBoth runs a test on each engine: the DSN of SQLite is empty.
func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg := corpusTemplate.Copy(t, func(dsn string) error {
			fillPostgres(t, dsn)
			return nil
		})
		test(t, pg.DSN())
	})
}

// The shipped corpus is ingested once per engine, and each desk begins with a copy of the result.
var (
	corpusFile     sync.Once
	corpusText     []byte
	corpusTemplate testenv.PostgresTemplate
)

// fill ingests the shipped corpus.
func fill(n *e2e.Node) {
	n.T.Helper()
	n.Tool("answer", "sample", "documents")
	n.Tool("answer", "ingest", "documents/corpus")
}

func fillPostgres(t *testing.T, dsn string) {
	t.Helper()
	fill(e2e.NewNode(t, e2e.Shipped(t, "answer", "\t\tdatabase sqlite data/tollgate.db\n", "\t\tdatabase postgres {env.TOLLGATE_DSN}\n"), "TOLLGATE_DSN="+dsn))
}

func (d *desk) begin() {
	d.T.Helper()
	d.Start()
	d.client = d.Trusting()
	e2e.Eventually(d.T, e2e.WaitLimit, "the service answers", func() error {
		if a := d.do(http.MethodGet, "/v1/quota", ""); a.Status != http.StatusOK {
			return fmt.Errorf("%d %s %w", a.Status, a.Body, a.Err)
		}
		return nil
	})
}

// reload loads another configuration. It also closes the idle connections of the client: the server closes the
// connections of the previous configuration a moment later, perhaps while the next question arrives on one of them.
func (d *desk) reload(config string) {
	d.T.Helper()
	d.Load(config)
	d.client.CloseIdleConnections()
}

// awaitReload asks until an answer satisfies ok: the listener of the previous configuration may still accept a
// connection for a moment after a reload.
func (d *desk) awaitReload(name string, ask func() *e2e.Answer, ok func(*e2e.Answer) bool) {
	d.T.Helper()
	e2e.Eventually(d.T, e2e.WaitLimit, name, func() error {
		a := ask()
		d.client.CloseIdleConnections()
		if !ok(a) {
			return fmt.Errorf("%d %v %s %w", a.Status, a.Header, a.Body, a.Err)
		}
		return nil
	})
}

// do sends a request with the key and with headers as pairs. The connection may break.
func (d *desk) do(method, path, body string, header ...string) *e2e.Answer {
	d.T.Helper()
	r, err := http.NewRequestWithContext(e2e.BackgroundContext, method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.T.Fatal(err)
	}
	r.Header.Set("X-Api-Key", d.key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return e2e.Read(d.client.Do(r)) //nolint:bodyclose // Read does
}

// ask asks a question.
func (d *desk) ask(query string, header ...string) *e2e.Answer {
	d.T.Helper()
	return d.do(http.MethodPost, "/v1/answer", fmt.Sprintf(`{"query":%q}`, query), header...)
}

// asked is a question about the shipped corpus that has an answer.
const asked = "What was the revenue of Quillmarsh Instruments in fiscal 2025?"

// outcome returns the reason why a question has no answer, or "Answered" if it has one.
func outcome(a *e2e.Answer) string {
	switch reason := gjson.Get(a.Body, "error").Str; {
	case a.Err != nil:
		return a.Err.Error()
	case reason == "" && gjson.Get(a.Body, "success").Bool():
		return "Answered"
	default:
		return reason
	}
}

// used returns how many answers were charged and how many are pending.
func (d *desk) used() (used, pending int) {
	d.T.Helper()
	a := d.do(http.MethodGet, "/v1/quota", "")
	result := gjson.Get(a.Body, "result")
	if a.Status != http.StatusOK || !result.IsObject() {
		d.T.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
	}
	if total := result.Get("used").Int() + result.Get("pending").Int(); total > result.Get("totalLimit").Int() || result.Get("isExceeded").Bool() != (total >= result.Get("totalLimit").Int()) {
		d.T.Errorf("the quota is %s", result)
	}
	return int(result.Get("used").Int()), int(result.Get("pending").Int())
}

// settled fails the test unless the quota is settled: according to the API and to the database, the given number of
// answers is charged, each of them is stored, and nothing is reserved.
func (d *desk) settled(used int) {
	d.T.Helper()
	got, pending := d.used()
	if stored := d.count("SELECT COUNT(*) FROM answer_answers WHERE status = 'done'"); got != used || stored != used || pending != 0 {
		d.T.Errorf("%d used, %d stored, %d pending; want %d", got, stored, pending, used)
	}
	if left := d.count("SELECT COUNT(*) FROM answer_reservations") + d.count("SELECT COALESCE(SUM(pending), 0) FROM answer_windows"); left != 0 {
		d.T.Errorf("%d are reserved", left)
	}
}

// count returns the number that an SQL statement selects.
func (d *desk) count(statement string) (n int) {
	d.T.Helper()
	if err := d.db.QueryRowContext(d.T.Context(), statement).Scan(&n); err != nil {
		d.T.Fatal(err)
	}
	return n
}

// later changes the rows of the database as the passing of time would: a minute, or the lease of a reservation, has
// passed at once.
func (d *desk) later(statement string) {
	d.T.Helper()
	if _, err := d.db.ExecContext(d.T.Context(), statement); err != nil {
		d.T.Fatal(err)
	}
}

const (
	minuteLater = "UPDATE answer_accepted SET at = at - 60000000"
	leaseLater  = "UPDATE answer_reservations SET lease = lease - 175000000"
)
