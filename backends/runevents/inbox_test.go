package runevents

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// startOnSQLite returns a service with an inbox, and its database.
func startOnSQLite(t *testing.T) (s *Service, p testDatabase) {
	t.Helper()
	p = testDatabase{store.SQLite, filepath.Join(t.TempDir(), "test.db")}
	return p.start(t), p
}

// blockFiling keeps the service from filing reports until release is called.
func (s *Service) blockFiling(t *testing.T) (release func()) {
	t.Helper()
	if err := s.inbox.filing.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { s.inbox.filing.Release(1) })
}

// inboxRows returns the number of reports that are acknowledged but not filed.
func (s *Service) inboxRows(t *testing.T) (n int64) {
	t.Helper()
	err := s.db.Read(t.Context(), func(c store.Conn) error { return c.Row("SELECT count(*) FROM run_inbox").Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *Service) get(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// sendReports submits small reports of the given number of nodes concurrently.
func (s *Service) sendReports(t *testing.T, nodes int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() {
			if _, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "x", Payload: minimalReport("a.example.com", fmt.Sprintf("n%d.example.com", i))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestInbox checks that an acknowledged report is durable, is filed later, and is in every answer after its
// acknowledgement.
func TestInbox(t *testing.T) {
	t.Parallel()
	s, _ := startOnSQLite(t)
	for i := range 3 {
		release := s.blockFiling(t)
		defer release()
		s.sendReports(t, i+1)
		if n := s.inboxRows(t); n != int64(i+1) {
			t.Errorf("%d reports wait after %d were acknowledged", n, i+1)
		}
		release()
		w := s.get("/store/query/v4/reports?query=" + url.QueryEscape(`["extract",[["function","count"]]]`))
		if got, want := w.Body.String(), fmt.Sprintf(`[{"count":%d}]`, i+1); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if n := s.inboxRows(t); n != 0 {
			t.Errorf("%d reports wait behind a query", n)
		}
	}
	s.checkIntegrity(t)
}

// TestInboxOfOtherProcess checks that the reports that a process has acknowledged are in the answers of another process
// on the same file, for instance the next one after a kill, and are stored once.
func TestInboxOfOtherProcess(t *testing.T) {
	t.Parallel()
	s, p := startOnSQLite(t)
	s.sendReports(t, 40)
	// The other process files the reports as they were acknowledged, however long it keeps events itself.
	other := p.start(t, func(o *Options) { o.EventTTL = time.Hour })
	if n := other.queryInt(t, "SELECT count(*) FROM run_reports"); n != 40 {
		t.Errorf("the other one sees %d reports", n)
	}
	if n := s.queryInt(t, "SELECT count(*) FROM run_events"); n != 40 {
		t.Errorf("%d events, want 40", n)
	}
	other.sendReports(t, 50) // 40 of them were sent before
	s.sendReports(t, 60)
	var wg sync.WaitGroup
	for _, service := range []*Service{s, other, s, other} {
		wg.Go(func() {
			if err := service.Settle(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 60 || s.inboxRows(t) != 0 {
		t.Errorf("%d reports, want 60, and %d wait", n, s.inboxRows(t))
	}
	s.checkIntegrity(t)
}

// TestInboxBeyondMemory checks that reports that arrive faster than they are filed are only kept in the table
// beyond some hundreds, and that none is lost.
func TestInboxBeyondMemory(t *testing.T) {
	t.Parallel()
	s, _ := startOnSQLite(t)
	release := s.blockFiling(t)
	defer release()
	const reports = 2*inboxReports + 70
	for range 7 {
		s.sendReports(t, reports/7)
	}
	s.sendReports(t, reports)
	if n := len(s.inbox.reports); n != 2*inboxReports {
		t.Errorf("%d are kept in memory, want %d", n, 2*inboxReports)
	}
	release()
	if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != reports || s.inboxRows(t) != 0 {
		t.Errorf("%d reports, want %d, and %d wait", n, reports, s.inboxRows(t))
	}
	if s.inbox.bytes != 0 || s.inbox.length.Load() != 0 {
		t.Errorf("%d bytes and %d reports seem to be kept", s.inbox.bytes, s.inbox.length.Load())
	}
	s.checkIntegrity(t)
}

// TestInboxKeepsGzip checks that a gzip body is stored as it arrived, unless it is longer than its text, and that
// it can be read after a kill.
func TestInboxKeepsGzip(t *testing.T) {
	t.Parallel()
	s, p := startOnSQLite(t)
	defer s.blockFiling(t)()
	longer := bytes.Join(append(slices.Repeat([][]byte{gzipText(t, nil)}, 200), gzipText(t, minimalReport("a.example.com", "b.example.com"))), nil)
	for i, body := range [][]byte{gzipText(t, minimalReport()), longer} {
		if w := s.post(leastURL, body, "Content-Encoding", "gzip"); w.Code != http.StatusOK {
			t.Fatalf("report %d: %d %s", i, w.Code, w.Body)
		}
		var unchanged bool
		err := s.db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT payload = ? FROM run_inbox ORDER BY id DESC", body).Scan(&unchanged)
		})
		if err != nil || unchanged != (i == 0) {
			t.Errorf("report %d is kept as it came: %t %v", i, unchanged, err)
		}
	}
	if n := p.start(t).queryInt(t, "SELECT count(*) FROM run_reports"); n != 2 {
		t.Errorf("%d reports, want 2", n)
	}
}

// TestInboxIsFiledByItself checks that a full batch is filed without a query.
func TestInboxIsFiledByItself(t *testing.T) {
	t.Parallel()
	s, _ := startOnSQLite(t)
	s.sendReports(t, inboxReports)
	for s.inboxRows(t) != 0 { // ends with the test
		if t.Context().Err() != nil {
			t.Fatal("it is not filed")
		}
	}
}

// TestInboxAtClose checks that a service that closes leaves no reports in the inbox.
func TestInboxAtClose(t *testing.T) {
	t.Parallel()
	s, p := startOnSQLite(t)
	s.sendReports(t, 5)
	s.Close()
	other := p.start(t)
	if n := other.inboxRows(t); n != 0 {
		t.Errorf("%d reports wait", n)
	}
	if n := other.queryInt(t, "SELECT count(*) FROM run_reports"); n != 5 {
		t.Errorf("%d reports", n)
	}
}

// TestInboxFault checks that a report that cannot be filed is acknowledged nevertheless, because it is durable. The
// status reports the failure, queries continue, and the report is filed when that is possible.
func TestInboxFault(t *testing.T) {
	t.Parallel()
	s, p := startOnSQLite(t)
	s.exec(t, "ALTER TABLE run_report_details RENAME TO away")
	s.sendReports(t, 3)
	if err := s.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "run_report_details") {
		t.Errorf("settled: %v", err)
	}
	if w := s.get("/store/query/v4/events"); w.Code != http.StatusOK {
		t.Errorf("a query: %d %s", w.Code, w.Body)
	}
	next := p.start(t) // after a kill: the bound counts what was left
	if err := next.Settle(t.Context()); err == nil || next.inbox.length.Load() != 3 {
		t.Errorf("the next process: %v, and %d seem to wait", err, next.inbox.length.Load())
	}
	if s.sendReports(t, 4); s.status() != http.StatusServiceUnavailable { // three again
		t.Errorf("status %d while nothing can be filed", s.status())
	}
	s.exec(t, "ALTER TABLE away RENAME TO run_report_details")
	if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 4 || s.inboxRows(t) != 0 {
		t.Errorf("%d reports, want 4, and %d wait", n, s.inboxRows(t))
	}
	if s.status() != http.StatusOK {
		t.Errorf("status %d afterwards", s.status())
	}
	if list, err := s.Rejected(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("rejected: %+v %v", list, err)
	}
	s.checkIntegrity(t)
}

// TestInboxRejects checks that a report that the database refuses, and rows that cannot be read, are added to the
// list of rejected commands and do not affect other reports.
func TestInboxRejects(t *testing.T) {
	t.Parallel()
	s, _ := startOnSQLite(t)
	s.exec(t, "CREATE UNIQUE INDEX once ON run_reports (configuration_version)")
	for i, version := range []string{"v1", "v2", "v2", "v3"} {
		payload := minimalReport("a.example.com", fmt.Sprintf("n%d.example.com", i), `"v1"`, `"`+version+`"`)
		if _, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "x", Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	s.exec(t, "INSERT INTO run_inbox (version, received, since, payload) VALUES (8, 1, 1, X'06FF'), (8, 1, 1, X''), (7, 1, 1, X'01010000FEFF5B')")
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 3 || s.inboxRows(t) != 0 {
		t.Errorf("%d reports, want 3, and %d wait", n, s.inboxRows(t))
	}
	list, err := s.Rejected(t.Context())
	if err != nil || len(list) != 4 {
		t.Fatalf("rejected: %+v %v", list, err)
	}
	_, c, err := s.RejectedCommand(t.Context(), list[len(list)-1].ID)
	if err != nil || !strings.Contains(string(c.Payload), `"v2"`) || c.Version != 8 || c.Certname != "n2.example.com" {
		t.Errorf("the refused one: %+v %s %v", c, c.Payload, err)
	}
	damaged := 0
	for _, r := range list {
		if _, c, err := s.RejectedCommand(t.Context(), r.ID); err == nil && string(c.Payload) == "\x06\xff" {
			damaged++
		}
	}
	if damaged != 1 {
		t.Errorf("%d rows of damaged bytes are kept as they are, want 1: %+v", damaged, list)
	}
}

// TestInboxSharedByTwoProcesses checks that a process that still holds a report which another one has filed does not
// mistake the next report of the emptied inbox for it.
func TestInboxSharedByTwoProcesses(t *testing.T) {
	t.Parallel()
	s, p := startOnSQLite(t)
	other := p.start(t)
	release := s.blockFiling(t)
	s.sendReports(t, 1)
	if err := other.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := Command{Name: storeReport, Version: 8, Certname: "x", Payload: minimalReport("a.example.com", "second.example.com")}
	if _, err := other.Process(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	release()
	for _, service := range []*Service{s, other} {
		if err := service.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 2 || s.inboxRows(t) != 0 {
		t.Errorf("%d reports, want 2, and %d wait", n, s.inboxRows(t))
	}
}

// TestInboxFull checks that reports are no longer acknowledged if none can be filed for a long time.
func TestInboxFull(t *testing.T) {
	t.Parallel()
	s, _ := startOnSQLite(t)
	s.inbox.length.Store(maxInbox)
	if _, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "x", Payload: minimalReport()}); !errors.Is(err, ErrBusy) {
		t.Errorf("stored: %v", err)
	}
	if w := s.post(leastURL, minimalReport()); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if err := s.Settle(t.Context()); err != nil { // finds that there is nothing
		t.Fatal(err)
	}
	if w := s.post(leastURL, minimalReport()); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
