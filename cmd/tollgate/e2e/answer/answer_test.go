package answer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// desk is a node with the shipped Caddyfile, the shipped corpus and a key.
type desk struct {
	*e2e.Node
	base, key string
	client    *http.Client
}

// newDesk changes the shipped file by pairs.
func newDesk(t *testing.T, dsn string, replace ...string) *desk {
	t.Helper()
	port := e2e.FreePort(t)
	if dsn != "" {
		replace = append(replace, "\t\tdatabase sqlite data/tollgate.db\n", "\t\tdatabase postgres {env.TOLLGATE_DSN}\n")
	}
	config := e2e.Shipped(t, "answer", append([]string{"skip_install_trust", "skip_install_trust\n\tauto_https disable_redirects"}, replace...)...)
	d := &desk{Node: e2e.NewNode(t, config, "TOLLGATE_DOMAIN=localhost:"+port, "TOLLGATE_DSN="+dsn), base: "https://localhost:" + port}
	d.Tool("answer", "sample", "documents")
	d.Tool("answer", "ingest", "documents/corpus")
	d.key = strings.TrimSpace(d.Tool("answer", "key", "create", "--label", "desk"))
	d.begin()
	return d
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

// do sends a request with the key; the connection may break.
func (d *desk) do(method, path, body string) *e2e.Answer {
	d.T.Helper()
	r, err := http.NewRequestWithContext(e2e.BackgroundContext, method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.T.Fatal(err)
	}
	r.Header.Set("X-Api-Key", d.key)
	r.Header.Set("Content-Type", "application/json")
	return e2e.Read(d.client.Do(r)) //nolint:bodyclose // Read does
}

// asked is a question of the shipped set that has an answer.
const asked = `{"query":"What was the revenue of Quillmarsh Instruments in fiscal 2025?"}`

// used is how many answers were charged, and how many are under way.
func (d *desk) used() (used, pending int) {
	d.T.Helper()
	var told struct{ Result struct{ Used, Pending int } }
	a := d.do(http.MethodGet, "/v1/quota", "")
	if a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), &told) != nil {
		d.T.Fatalf("%d %s", a.Status, a.Body)
	}
	return told.Result.Used, told.Result.Pending
}

// TestAnswers: 5 of 50 questions at once are accepted, and charged once.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dsn := ""
			if engine == "postgres" {
				dsn = testenv.Postgres(t).DSN()
			}
			d := newDesk(t, dsn)
			var mu sync.Mutex
			var work sync.WaitGroup
			statuses := make(map[int]int)
			for range 50 {
				work.Go(func() {
					a := d.do(http.MethodPost, "/v1/answer", asked)
					mu.Lock()
					defer mu.Unlock()
					statuses[a.Status]++
					switch {
					case a.Status == http.StatusOK && !strings.Contains(a.Body, `"success":true`):
						t.Errorf("%s", a.Body)
					case a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") == "":
						t.Errorf("no Retry-After: %v", a.Header)
					}
				})
			}
			work.Wait()
			if statuses[http.StatusOK] != 5 || statuses[http.StatusTooManyRequests] != 45 {
				t.Errorf("statuses %v", statuses)
			}
			if used, pending := d.used(); used != 5 || pending != 0 {
				t.Errorf("%d used, %d pending", used, pending)
			}
			d.Stop()
		})
	}
}

// TestAnswersKilled: a server that is killed while it answers has charged what it has
// answered and stored, nothing twice, and nothing stays reserved.
func TestAnswersKilled(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", "\t\tquota 1000 month\n", "\t\tquota 1000 month\n\t\trate 100000\n\t\tqueued 1000\n")
	var mu sync.Mutex
	var work sync.WaitGroup
	ids := make(map[string]bool)
	for range 200 {
		work.Go(func() {
			for {
				a := d.do(http.MethodPost, "/v1/answer", asked)
				if a.Status != http.StatusOK { // it is gone
					return
				}
				var told struct{ Result struct{ ID string } }
				if json.Unmarshal([]byte(a.Body), &told) != nil {
					return
				}
				mu.Lock()
				if ids[told.Result.ID] {
					t.Errorf("%s was given twice", told.Result.ID)
				}
				ids[told.Result.ID] = true
				mu.Unlock()
			}
		})
	}
	e2e.Eventually(t, e2e.WaitLimit, "answers are given", func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(ids) < 250 {
			return fmt.Errorf("%d answers", len(ids))
		}
		return nil
	})
	d.Kill()
	work.Wait()
	d.begin()
	used, pending := d.used()
	if used < len(ids) || used > len(ids)+200 || pending > 200 {
		t.Errorf("%d used and %d pending, %d were answered", used, pending, len(ids))
	}
	for id := range ids { // some of them
		if a := d.do(http.MethodGet, "/v1/answers/"+id, ""); a.Status != http.StatusOK || !strings.Contains(a.Body, `"status":"done"`) {
			t.Errorf("%s: %d %s", id, a.Status, a.Body)
		}
		if mu.Lock(); len(ids) > 20 {
			delete(ids, id)
		}
		mu.Unlock()
	}
	d.Stop()
}

// TestAnswersReload: reloads lose no question that was accepted.
func TestAnswersReload(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", "\t\tquota 1000 month\n", "\t\tquota 100000 month\n\t\trate 100000\n")
	stop := make(chan struct{})
	var mu sync.Mutex
	var work sync.WaitGroup
	answered := 0
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a := d.do(http.MethodPost, "/v1/answer", asked)
				if a.Err == nil && a.Status != http.StatusOK {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				mu.Lock()
				if a.Err == nil {
					answered++
				}
				mu.Unlock()
			}
		})
	}
	text, err := os.ReadFile(d.Path("Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		config := string(text)
		if i%2 == 0 {
			config = strings.Replace(config, "rate 100000", "rate 90000", 1)
		}
		d.Load(config)
		e2e.Eventually(t, e2e.WaitLimit, "questions are answered", func() error {
			mu.Lock()
			defer mu.Unlock()
			if answered < 10*(i+1) {
				return fmt.Errorf("%d", answered)
			}
			return nil
		})
	}
	close(stop)
	work.Wait()
	if used, pending := d.used(); used < answered || pending != 0 {
		t.Errorf("%d used, %d pending, %d answered", used, pending, answered)
	}
	d.Stop()
}

// TestAnswersOperated: who holds the admin endpoint's socket sees how an answer came about,
// and makes and ends keys; a question that is asked again is remembered.
func TestAnswersOperated(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	var told struct{ Result struct{ ID string } }
	for i := range 2 {
		if a := d.do(http.MethodPost, "/v1/answer", asked); a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), &told) != nil {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		trace, err := d.Admin(http.MethodGet, "/admin/answer/traces/"+told.Result.ID, "", "")
		if err != nil || !strings.Contains(trace, `"status":"done"`) || !strings.Contains(trace, `"name":"search"`) || !strings.Contains(trace, `"query":"What was`) || strings.Contains(trace, `"remembered":true`) != (i == 1) {
			t.Errorf("%s %v", trace, err)
		}
	}
	if used, _ := d.used(); used != 2 {
		t.Errorf("%d used", used)
	}
	if got, err := d.Admin(http.MethodGet, "/admin/answer/traces/ans_none", "", ""); err == nil {
		t.Errorf("%s", got)
	}
	for _, path := range []string{"/admin/answer/traces/" + told.Result.ID, "/admin/answer/keys"} {
		if a := d.do(http.MethodGet, path, ""); a.Status != http.StatusNotFound {
			t.Errorf("for clients: %d %s", a.Status, a.Body)
		}
	}
	text, err := d.Admin(http.MethodPost, "/admin/answer/keys", "application/json", `{"label":"second","limit":7,"expires_seconds":3600}`)
	var made struct {
		ID    int64
		Key   string
		Limit int
	}
	if err != nil || json.Unmarshal([]byte(text), &made) != nil || made.Key == "" || made.Limit != 7 {
		t.Fatalf("%s %v", text, err)
	}
	d.key = made.Key
	if a := d.do(http.MethodGet, "/v1/quota", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, `"totalLimit":7`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if list, err := d.Admin(http.MethodGet, "/admin/answer/keys", "", ""); err != nil || !strings.Contains(list, `"label":"second"`) || strings.Contains(list, made.Key) {
		t.Errorf("%s %v", list, err)
	}
	if _, err := d.Admin(http.MethodPost, "/admin/answer/keys", "application/json", `{"name":"x"}`); err == nil {
		t.Error("a key without a label")
	}
	if _, err := d.Admin(http.MethodPost, fmt.Sprintf("/admin/answer/keys/%d/revoke", made.ID), "", ""); err != nil {
		t.Error(err)
	}
	if a := d.do(http.MethodGet, "/v1/quota", ""); a.Status != http.StatusUnauthorized {
		t.Errorf("revoked: %d %s", a.Status, a.Body)
	}
	d.Stop()
}

// TestPage is the page as people use it: the cases of testdata/npm/answer.mjs run in a
// headless Chromium.
func TestPage(t *testing.T) {
	t.Parallel()
	program, browser := e2e.NodeProgram(t), e2e.Chromium(t)
	d := newDesk(t, "")
	e2e.RunNode(t, program, "answer.mjs", "CHROMIUM="+browser, "ANSWER_URL="+d.base, "ANSWER_KEY="+d.key, "SHOTS="+os.Getenv("TOLLGATE_SHOTS"))
	d.Stop()
}
