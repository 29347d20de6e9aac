package runevents

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"
)

// TestRealReports stores all real reports, at once and twice.
func TestRealReports(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		s := p.start(t)
		s.storeRealReports(t)
		counts := func() map[string]int64 {
			m := make(map[string]int64)
			for _, table := range []string{"run_reports", "run_events", "run_nodes", "run_environments", "run_report_details", "run_resources", "run_changes"} {
				m[table] = s.queryInt(t, "SELECT count(*) FROM "+table)
			}
			return m
		}
		first := counts()
		t.Log(first)
		if first["run_reports"] != 89 || first["run_report_details"] != 89 || first["run_nodes"] != 35 || first["run_environments"] != 4 {
			t.Errorf("counts: %v", first)
		}
		s.storeRealReports(t)
		for table, n := range counts() {
			if n != first[table] {
				t.Errorf("%s: %d rows after the same reports again, %d before", table, n, first[table])
			}
		}
		s.checkIntegrity(t)
		if n := s.queryInt(t, `SELECT count(*) FROM run_events e JOIN run_reports r ON r.id = e.report JOIN run_resources s ON s.id = e.resource
			JOIN run_changes c ON c.id = e.change JOIN run_words w ON w.id = e.status WHERE r.node = e.node`); n != first["run_events"] {
			t.Errorf("%d of %d events are whole", n, first["run_events"])
		}
		if n := s.queryInt(t, `SELECT count(*) FROM run_nodes n JOIN run_reports r ON r.id = n.latest_report WHERE n.latest_timestamp =
			(SELECT max(producer_timestamp) FROM run_reports WHERE node = n.id)`); n != 35 {
			t.Errorf("%d nodes have a latest report, want 35", n)
		}
		// A report id that the reference gave.
		id, err := hex.DecodeString("310f3d70f117fbec87706b334e007181a87e4787")
		if err != nil {
			t.Fatal(err)
		}
		if n := s.queryInt(t, `SELECT count(*) FROM run_events e JOIN run_reports r ON r.id = e.report WHERE r.hash = ? AND e.status = 4`, id); n != 4 {
			t.Errorf("the report has %d skipped events, want 4", n)
		}
	})
}

// TestBatch checks that reports of one node in one transaction have the same effect as one after another, and that
// a duplicate is stored once.
func TestBatch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		s := p.start(t)
		for _, node := range []string{"back.example.com", "gone.example.com"} {
			body := fmt.Sprintf(`{"certname":%q,"producer_timestamp":"2026-03-02T10:00:30.000Z"}`, node)
			if _, err := s.Process(t.Context(), Command{Name: deactivateNode, Version: 3, Certname: node, Payload: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
		parse := func(certname, second string, more ...string) *report {
			body := minimalReport(append([]string{"a.example.com", certname, "10:00:10.000", "10:00:" + second + ".000"}, more...)...)
			r, err := parseReport(8, body, 0)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		batch := []*report{
			parse("two.example.com", "12"), parse("two.example.com", "14"), parse("two.example.com", "13"), parse("two.example.com", "14"),
			parse("plan.example.com", "12"), parse("plan.example.com", "20", `"resources":`, `"type":"plan","resources":`),
			parse("back.example.com", "40"), parse("back.example.com", "20"), parse("gone.example.com", "29"), parse("new.example.com", "11"),
		}
		reports, events := 0, 0
		for range 2 {
			w := &writer{Service: s, partitions: s.newPartitions()}
			if err := w.partitions.createMissing(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			if err := w.caches.store(t.Context(), s.db, batch, func(r, e int) { reports, events = reports+r, events+e }); err != nil {
				t.Fatal(err)
			}
		}
		if reports != 9 || events != 9 {
			t.Errorf("%d reports and %d events were stored, want 9", reports, events)
		}
		latest := `SELECT r.producer_timestamp FROM run_nodes n JOIN run_reports r ON r.id = n.latest_report WHERE n.latest_timestamp = r.producer_timestamp AND n.certname = ?`
		for certname, second := range map[string]int64{"two.example.com": 14, "plan.example.com": 12, "back.example.com": 40, "gone.example.com": 29, "new.example.com": 11} {
			if got := time.UnixMilli(s.queryInt(t, latest, certname)).UTC(); int64(got.Second()) != second {
				t.Errorf("the latest report of %s is of %s, want second %d", certname, got, second)
			}
		}
		if n := s.queryInt(t, `SELECT count(*) FROM run_nodes WHERE deactivated_at IS NOT NULL AND certname = 'gone.example.com'`); n != 1 {
			t.Error("an older report has reactivated its node")
		}
		if n := s.queryInt(t, `SELECT count(*) FROM run_nodes WHERE deactivated_at IS NOT NULL`); n != 1 {
			t.Errorf("%d nodes are deactivated, want 1", n)
		}
		s.checkIntegrity(t)
	})
}
