package runevents

import (
	"encoding/hex"
	"testing"
)

// TestReal stores all real reports, at once and twice.
func TestReal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		s := p.start(t)
		s.load(t)
		counts := func() map[string]int64 {
			m := make(map[string]int64)
			for _, table := range []string{"run_reports", "run_events", "run_nodes", "run_environments", "run_report_details", "run_resources", "run_changes"} {
				m[table] = s.number(t, "SELECT count(*) FROM "+table)
			}
			return m
		}
		first := counts()
		t.Log(first)
		if first["run_reports"] != 89 || first["run_report_details"] != 89 || first["run_nodes"] != 35 || first["run_environments"] != 4 {
			t.Errorf("counts: %v", first)
		}
		s.load(t)
		for table, n := range counts() {
			if n != first[table] {
				t.Errorf("%s: %d rows after the same reports again, %d before", table, n, first[table])
			}
		}
		s.whole(t)
		if n := s.number(t, `SELECT count(*) FROM run_events e JOIN run_reports r ON r.id = e.report JOIN run_resources s ON s.id = e.resource
			JOIN run_changes c ON c.id = e.change JOIN run_words w ON w.id = e.status WHERE r.node = e.node`); n != first["run_events"] {
			t.Errorf("%d of %d events are whole", n, first["run_events"])
		}
		if n := s.number(t, `SELECT count(*) FROM run_nodes n JOIN run_reports r ON r.id = n.latest_report WHERE n.latest_timestamp =
			(SELECT max(producer_timestamp) FROM run_reports WHERE node = n.id)`); n != 35 {
			t.Errorf("%d nodes know their latest report, want 35", n)
		}
		// A report id that the reference gave.
		id, err := hex.DecodeString("310f3d70f117fbec87706b334e007181a87e4787")
		if err != nil {
			t.Fatal(err)
		}
		if n := s.number(t, `SELECT count(*) FROM run_events e JOIN run_reports r ON r.id = e.report WHERE r.hash = ? AND e.status = 4`, id); n != 4 {
			t.Errorf("the report has %d skipped events, want 4", n)
		}
	})
}
