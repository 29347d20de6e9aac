package events

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestEventsOutage checks that while PostgreSQL is down reports and queries get a 503 with a Retry-After. The service
// recovers by itself, no acknowledged report is lost, and refused reports can be sent again.
func TestEventsOutage(t *testing.T) {
	t.Parallel()
	pg := testenv.NewPostgres(t)
	n := newEvents(t, pg.DSN())
	s := n.submit(6, false)
	readers := n.read(3)
	s.await(t, 100)
	readers.await(t, http.StatusOK, 20)

	pg.Stop()
	unavailable := func(label string, a *e2e.Answer) {
		t.Helper()
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || strings.Contains(a.Body, "127.0.0.1") || strings.Contains(a.Body, "tollgate@") {
			t.Errorf("%s: %d %v %s", label, a.Status, a.Header, a.Body)
		}
	}
	e2e.Eventually(t, e2e.WaitLimit, "the service says that it is not ready", func() error {
		a := e2e.Get(t, e2e.Client, n.base+"/store/status/v1/simple", "")
		if a.Status != http.StatusServiceUnavailable || a.Body != "error" {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	a := e2e.Do(t, e2e.Client, http.MethodPost, n.base+e2e.Submission, "", string(agentRun("late.example.com")), "Content-Type", "application/json")
	unavailable("submission", a)
	if a.Body != `{"error":"The database is not available right now, try again shortly"}` {
		t.Errorf("submission: %s", a.Body)
	}
	a = e2e.Get(t, e2e.Client, n.base+"/store/query/v4/events", "")
	unavailable("query", a)
	if a.Body != "the database is not available right now, try again shortly" {
		t.Errorf("query: %s", a.Body)
	}
	if a := e2e.Get(t, e2e.Client, n.base+"/store/", ""); a.Status != http.StatusOK {
		t.Errorf("the page: %d", a.Status)
	}
	readers.await(t, http.StatusServiceUnavailable, 3)

	pg.Start()
	before := s.count()
	n.healthy()
	s.await(t, before+100)
	readers.await(t, http.StatusOK, readers.count(http.StatusOK)+20)
	close(s.stop)
	s.work.Wait()
	readers.end()
	for _, refusal := range s.refusals {
		if !strings.HasPrefix(refusal, "503 ") {
			t.Errorf("a refusal of another kind: %s", refusal)
		}
	}
	for label, times := range readers.seen {
		if status, _, _ := strings.Cut(label, " "); status != "200" && status != "503" {
			t.Errorf("%d queries were answered by %s", times, label)
		}
	}
	if len(s.failed) != len(s.refusals) || len(s.failed) == 0 {
		t.Errorf("%d reports failed, %d by a refusal", len(s.failed), len(s.refusals))
	}
	n.AwaitLog("database is back")
	if times := strings.Count(n.Logs.String(), `"msg":"database unavailable"`); times > 3 {
		t.Errorf("the outage is logged %d times", times)
	}
	if list := n.Tool("events", "rejected", "list", "--json"); strings.TrimSpace(list) != "null" && strings.TrimSpace(list) != "[]" {
		t.Errorf("good reports are rejected: %s", list)
	}
	n.verify(s.acknowledged)
	for _, run := range append(s.failed, s.acknowledged[:20]...) {
		if status, body, err := n.request(http.MethodPost, e2e.Submission, run.report()); err != nil || status != http.StatusOK {
			t.Errorf("again: %d %s %v", status, body, err)
		}
	}
	if stored, all := n.verify(append(s.failed, s.acknowledged...)), len(s.failed)+len(s.acknowledged); stored != all {
		t.Errorf("%d reports, want %d", stored, all)
	}
	n.Stop()
}

// readers send queries until they are stopped, and count the answers by status.
type readers struct {
	stop chan struct{}
	work sync.WaitGroup
	mu   sync.Mutex
	seen map[string]int
}

func (n *eventsNode) read(workers int) *readers {
	r := &readers{stop: make(chan struct{}), seen: make(map[string]int)}
	paths := []string{
		"/store/query/v4/events?limit=20&query=" + url.QueryEscape(`["=","latest_report?",true]`),
		"/store/query/v4?query=" + url.QueryEscape("events[status, count()]{ group by status }"),
		"/store/query/v4/event-counts?summarize_by=certname",
	}
	for w := range workers {
		r.work.Go(func() {
			for {
				select {
				case <-r.stop:
					return
				default:
				}
				status, body, err := n.request(http.MethodGet, paths[w%len(paths)], nil)
				label := fmt.Sprint(status)
				switch {
				case err != nil:
					label = "broken " + err.Error()
				case status == http.StatusOK && !json.Valid([]byte(body)):
					label = "cut"
				case status != http.StatusOK:
					label += " " + body
				}
				r.mu.Lock()
				r.seen[label]++
				r.mu.Unlock()
			}
		})
	}
	return r
}

func (r *readers) end() {
	close(r.stop)
	r.work.Wait()
}

// count returns how many answers had a status.
func (r *readers) count(status int) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for label, times := range r.seen {
		if strings.HasPrefix(label, fmt.Sprint(status)) {
			n += times
		}
	}
	return n
}

func (r *readers) await(t *testing.T, status, n int) {
	t.Helper()
	e2e.Eventually(t, e2e.WaitLimit, fmt.Sprintf("%d queries are answered by %d", n, status), func() error {
		if seen := r.count(status); seen < n {
			return fmt.Errorf("%d of %d", seen, n)
		}
		return nil
	})
}
