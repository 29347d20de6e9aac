package runevents

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// exec executes statements in one transaction.
func (s *Service) exec(tb testing.TB, statements ...string) {
	tb.Helper()
	err := s.db.Write(tb.Context(), func(c store.Conn) error {
		for _, statement := range statements {
			if _, err := c.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func (s *Service) status() int {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/store/status/v1/simple", nil))
	return w.Code
}

// TestFaultOfTheDatabase checks that a temporary failure of the database is not attributed to the payload: nothing
// is acknowledged or rejected, and the status reports the failure.
func TestFaultOfTheDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		clock := now
		s := p.start(t, func(o *Options) { o.Now = func() time.Time { return clock } })
		reports := "run_report_details"
		if p.dialect == store.SQLite {
			reports = "run_inbox"
		}
		for name, table := range map[string]string{"report": reports, "node": "run_nodes", "list": "run_rejected"} {
			s.exec(t, "ALTER TABLE "+table+" RENAME TO away")
			url, body := leastURL, minimalReport("v1", name)
			switch name {
			case "node":
				url, body = "/store/cmd/v1?command=deactivate_node&version=3&certname=x", []byte(`{"certname":"a.example.com","producer_timestamp":"2026-03-01T00:00:00Z"}`)
			case "list":
				body = []byte(`{"certname":7}`)
			}
			for _, wait := range []string{"", "&secondsToWaitForCompletion=30"} {
				if w := s.post(url+wait, body); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `{"error":"The command could not be stored`) {
					t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
				}
			}
			if code := s.status(); code != http.StatusServiceUnavailable {
				t.Errorf("%s: status %d while nothing can be stored", name, code)
			}
			s.exec(t, "ALTER TABLE away RENAME TO "+table)
			if w := s.post(url, body); w.Code != http.StatusOK {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
			if code := s.status(); code != http.StatusOK {
				t.Errorf("%s: status %d afterwards", name, code)
			}
		}
		if list, err := s.Rejected(t.Context()); err != nil || len(list) != 1 || s.RejectedCount() != 1 {
			t.Errorf("%d, %+v, %v", s.RejectedCount(), list, err)
		}
		// Without further commands, the failure is forgotten after failingFor.
		_ = s.recordResult(sql.ErrConnDone)
		if code := s.status(); code != http.StatusServiceUnavailable {
			t.Errorf("status %d", code)
		}
		clock = clock.Add(failingFor)
		if code := s.status(); code != http.StatusOK {
			t.Errorf("status %d after failingFor, want 200", code)
		}
	})
}

// TestFaultOfThePayload checks that a report that the database refuses is added to the list of rejected commands, and
// does not keep other reports of its batch from being stored.
func TestFaultOfThePayload(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		s := p.start(t)
		s.exec(t, "CREATE UNIQUE INDEX once ON run_reports (configuration_version)")
		if err := s.Store(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport()}); err != nil {
			t.Fatal(err)
		}
		for i, version := range []string{"v1", "v2"} {
			w := s.post(leastURL, minimalReport("a.example.com", "b.example.com", `"v1"`, `"`+version+`"`))
			if err := s.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if list, err := s.Rejected(t.Context()); w.Code != http.StatusOK || err != nil || len(list) != 1 || list[0].Reason != "the database refused it" {
				t.Errorf("%d: %d %s, %+v %v", i, w.Code, w.Body, list, err)
			}
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 2 || s.status() != http.StatusOK {
			t.Errorf("%d reports, status %d", n, s.status())
		}
	})
}

// TestRejectedBound checks that the list keeps the newest rejected commands, even if their IDs have gaps.
func TestRejectedBound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		s := p.start(t)
		s.exec(t, `INSERT INTO run_rejected (at, command, version, certname, reason, attempts, payload)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1990) SELECT i, 'store report', 8, 'a', 'r', 1, CAST('' AS `+
			map[string]string{"sqlite": "BLOB", "postgres": "BYTEA"}[p.dialect.String()]+`) FROM n`,
			"DELETE FROM run_rejected WHERE id % 2 = 1")
		var last int64
		for range 10 {
			id, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: []byte("{}")})
			if id <= last || !IsPayload(err) {
				t.Fatal(id, err)
			}
			last = id
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_rejected"); n != maxRejected || s.RejectedCount() != maxRejected {
			t.Errorf("%d are kept, %d counted, want %d", n, s.RejectedCount(), maxRejected)
		}
		if n := s.queryInt(t, "SELECT min(at) FROM run_rejected"); n != 2*6 {
			t.Errorf("the oldest entry is that of time %d, want 12, the sixth even number", n)
		}
		if err := s.Store(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: []byte("{}")}); !IsPayload(err) {
			t.Error(err)
		}
		if n := s.queryInt(t, "SELECT max(id) FROM run_rejected"); n != last {
			t.Error("Store has added a command to the list of rejected commands")
		}
	})
}

// TestTimesInTheFuture checks that reports and deactivations with times too far in the future are refused, because no
// purge would delete them.
func TestTimesInTheFuture(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		s := p.start(t)
		latest, far := now.Add(maxAhead).Format(time.RFC3339), now.Add(maxAhead+time.Second).Format(time.RFC3339)
		for name, c := range map[string]struct {
			replace []string
			want    string
		}{
			"near":       {[]string{"2026-03-02T10:00:10.000+00:00", latest, "2026-03-02T10:00:02.000Z", latest}, ""},
			"far report": {[]string{"2026-03-02T10:00:10.000+00:00", far}, "report: producer_timestamp is 2026-04-08T12:00:01.000Z, more than 7 days ahead of the clock of this server"},
			"far event":  {[]string{"2026-03-02T10:00:02.000Z", far}, "report: the timestamp of an event is 2026-04-08T12:00:01.000Z, more than"},
		} {
			if err := s.Store(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport(c.replace...)}); (err == nil) != (c.want == "") || err != nil && (!IsPayload(err) || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_events"); n != 1 {
			t.Errorf("%d events", n)
		}
		// No report could reactivate a node that is deactivated at such a time.
		deactivateAt := func(timestamp string) error {
			return s.Store(t.Context(), Command{Name: deactivateNode, Version: 3, Certname: "a", Payload: []byte(`{"certname":"a.example.com","producer_timestamp":"` + timestamp + `"}`)})
		}
		const want = "deactivate node: producer_timestamp is 2026-04-08T12:00:01.000Z, more than 7 days ahead of the clock of this server"
		if err := deactivateAt(far); !IsPayload(err) || err.Error() != want {
			t.Errorf("far deactivation: %v", err)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_nodes WHERE deactivated_at IS NOT NULL"); n != 0 {
			t.Errorf("%d nodes are deactivated, want 0", n)
		}
		if err := deactivateAt(now.Add(maxAhead).Format(time.RFC3339)); err != nil {
			t.Errorf("near deactivation: %v", err)
		}
	})
}

// TestTwoProcesses checks that everything that two processes concurrently write for the same nodes, resources and
// environments is stored once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		services := []*Service{p.start(t), p.start(t)}
		errs := make(chan error)
		const senders, runs, nodes = 24, 10, 5
		for i := range senders {
			go func() {
				s := services[i%2]
				var err error
				for n := 0; n < runs && err == nil; n++ {
					resource := fmt.Sprintf("/%d", (i*7+n)%13)
					err = s.Store(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport("a.example.com", fmt.Sprintf("n%d.example.com", (i+n)%nodes), `"v1"`, fmt.Sprintf(`"%d-%d"`, i/2, n),
						`"/a"`, `"`+resource+`"`, "production", fmt.Sprintf("e%d", n%3))})
					if err == nil && n%4 == 0 {
						err = s.Store(t.Context(), Command{Name: deactivateNode, Version: 3, Certname: "a", Payload: fmt.Appendf(nil, `{"certname":"n%d.example.com","producer_timestamp":"2026-03-02T10:00:00Z"}`, n%nodes)})
					}
				}
				errs <- err
			}()
		}
		for range senders {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		s := services[0]
		s.checkIntegrity(t)
		// Two senders with neighbouring numbers name other nodes.
		if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != senders*runs {
			t.Errorf("%d reports, want %d", n, senders*runs)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_nodes WHERE deactivated_at IS NOT NULL OR latest_report IS NULL"); n != 0 {
			t.Errorf("%d nodes are inactive or lack their report", n)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_environments"); n != 3 {
			t.Errorf("%d environments", n)
		}
	})
}

// TestContendedNode checks that a writer waits for its turn and does not fail if its node is always changed
// concurrently.
func TestContendedNode(t *testing.T) {
	t.Parallel()
	s := testDatabase{store.Postgres, testenv.Postgres(t).DSN()}.start(t)
	if err := s.Store(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport()}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var work sync.WaitGroup
	for range 8 { // some of them wait for the row at any time
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := s.db.Read(context.Background(), func(c store.Conn) error {
					_, err := c.Exec("UPDATE run_nodes SET expired_at = NULL WHERE certname = 'a.example.com'")
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 50 {
		if err := s.Store(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport(`"v1"`, fmt.Sprintf(`"r%d"`, n))}); err != nil {
			t.Errorf("%d: %v", n, err)
			break
		}
	}
	close(stop)
	work.Wait()
}
