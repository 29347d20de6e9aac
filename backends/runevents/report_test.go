package runevents

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
)

func parsed(t *testing.T, version int, text []byte) *report {
	t.Helper()
	r, err := parseReport(version, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReportID checks the IDs that the reference implementation has assigned to real reports.
func TestReportID(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"310f3d70f117fbec87706b334e007181a87e4787": "edge01.example.com",
		"18d10d82f989eec27f1c524cd02ce2acc3e2262a": "edge01.example.com",
	}
	for _, p := range realReports(t) {
		r := parsed(t, 8, p.body)
		if certname, ok := want[hex.EncodeToString(r.hash[:])]; ok && certname == r.certname {
			delete(want, hex.EncodeToString(r.hash[:]))
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
	// What is not in the id does not change it, nor how a time is written.
	a := parsed(t, 8, minimalReport())
	for _, same := range [][]byte{
		minimalReport(`"status":"changed"`, `"status":"failed"`), minimalReport("10:00:10.000+00:00", "12:00:10.0009+02:00"), minimalReport("10:00:10.000+00:00", "10:00:10Z"),
	} {
		if b := parsed(t, 8, same); a.hash != b.hash {
			t.Errorf("another id for %s", same)
		}
	}
	for _, other := range [][]byte{minimalReport("v1", "v2"), minimalReport(`"transaction_uuid":null`, `"transaction_uuid":""`), minimalReport("10:00:10.000", "10:00:10.001")} {
		if b := parsed(t, 8, other); a.hash == b.hash {
			t.Errorf("the same id for %s", other)
		}
	}
}

// TestEventsOfReport checks which events a report has.
func TestEventsOfReport(t *testing.T) {
	t.Parallel()
	twice := `{"status":"success","timestamp":"2026-03-02T10:00:02.000Z","property":"ensure","name":null,"new_value":"file","old_value":"absent","message":"created","corrective_change":null}`
	for name, c := range map[string]struct {
		report []byte
		events int
		check  func(r *report) bool
	}{
		"one": {minimalReport(), 1, func(r *report) bool {
			return r.resources[0].containingClass.String == "A" && r.changes[0].newValue.String == `"file"`
		}},
		"skipped": {minimalReport(`"skipped":false`, `"skipped":true`), 1, func(r *report) bool {
			return r.events[0].status == "skipped" && r.changes[r.events[0].change] == (change{digest: r.changes[r.events[0].change].digest})
		}},
		"unchanged": {minimalReport(twice, ""), 0, nil},
		"collapsed": {minimalReport(twice, twice+","+strings.Replace(twice, ".000Z", ".0004+00:00", 1)), 1, nil},
		"distinct":  {minimalReport(twice, twice+","+strings.Replace(twice, `"file"`, `"link"`, 1)), 2, nil},
		"class of brackets": {minimalReport(`"A"]`, `"File[x]",""]`), 1, func(r *report) bool {
			return !r.resources[0].containingClass.Valid && r.resources[0].containmentPath.String == `["Stage[main]","File[x]",""]`
		}},
		"innermost class": {minimalReport(`"A"]`, `"A","B::C","D[x]"]`), 1, func(r *report) bool { return r.resources[0].containingClass.String == "B::C" }},
		"empty path": {minimalReport(`["Stage[main]","A"]`, `[]`), 1, func(r *report) bool {
			return r.resources[0].containmentPath.String == "[]" && !r.resources[0].containingClass.Valid
		}},
		"null path":  {minimalReport(`["Stage[main]","A"]`, `null`), 1, func(r *report) bool { return !r.resources[0].containmentPath.Valid }},
		"null byte":  {minimalReport(`"file","old`, `"a\u0000b","old`), 1, func(r *report) bool { return r.changes[0].newValue.String == `"a`+"\uFFFD"+`b"` }},
		"null value": {minimalReport(`"file","old`, `null,"old`), 1, func(r *report) bool { return r.changes[0].newValue.String == "null" }},
		"object value": {minimalReport(`"file","old`, `{"b": 1.0, "a":[ 1 ]},"old`), 1, func(r *report) bool {
			return !strings.ContainsAny(r.changes[0].newValue.String, " ") && strings.HasPrefix(r.changes[0].newValue.String, `{"a":[1]`)
		}},
		"odd status": {minimalReport(`"success"`, `"maybe"`), 1, func(r *report) bool { return r.events[0].status == "maybe" }},
		"escapes":    {minimalReport(`"/a"`, `"\u00fc\ud83d\ude00\"\\\n\ud800"`), 1, func(r *report) bool { return r.resources[0].title == "ü😀\"\\\n\uFFFD" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := parsed(t, 8, c.report)
			if len(r.events) != c.events || c.check != nil && !c.check(r) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestReportVersions checks older payloads, which have fewer members and another structure.
func TestReportVersions(t *testing.T) {
	t.Parallel()
	since8 := []string{`"producer":null,`, "", `"noop_pending":false,`, "", `"corrective_change":null,`, "", `,"corrective_change":null`, ""}
	since7 := append([]string{`"catalog_uuid":null,"code_id":null,"cached_catalog_status":null,`, ""}, since8...)
	five := `"resource_events":[{"status":"skipped","timestamp":"2026-03-02T10:00:02.000Z","resource_type":"File","resource_title":"/b","property":null,"new_value":null,` +
		`"old_value":null,"message":null,"file":null,"line":null,"containment_path":["Stage[main]","A"]},{"status":"success","timestamp":"2026-03-02T10:00:02.000Z",` +
		`"resource_type":"File","resource_title":"/a","property":"ensure","new_value":"file","old_value":"absent","message":"created","file":"/x.pp","line":3,"containment_path":null}]`
	text := string(minimalReport(since7...))
	start, end := strings.Index(text, `"resources":`), strings.Index(text, `,"metrics"`)
	v5 := []byte(text[:start] + five + text[end:])
	want := parsed(t, 8, minimalReport())
	for version, body := range map[int][]byte{7: minimalReport(since8...), 6: minimalReport(since7...), 5: v5} {
		r := parsed(t, version, body)
		if r.hash != want.hash || !json.Valid(body) {
			t.Errorf("version %d has another id", version)
		}
		if version > 5 && (len(r.events) != 1 || r.changes[0] != want.changes[0]) {
			t.Errorf("version %d: %+v", version, r)
		}
		if version == 5 && (len(r.events) != 2 || r.changes[r.events[0].change].newValue.Valid || r.resources[1].line.Int64 != 3 || r.changes[1].newValue.String != `"file"`) {
			t.Errorf("version 5: %+v", r)
		}
		if _, err := parseReport(version-1, body, 0); version == 6 && err == nil {
			t.Error("version 5 has no resources")
		}
	}
	if _, err := parseReport(7, minimalReport(), 0); err == nil || !strings.Contains(err.Error(), `no member "producer" in version 7`) {
		t.Error(err)
	}
}

// TestLogTimesInUTC checks that the times of logs are stored in the format of queries.
func TestLogTimesInUTC(t *testing.T) {
	t.Parallel()
	r := parsed(t, 8, minimalReport(`"logs":[]`, `"logs":[{"file":null,"line":3,"level":"notice","message":"a\"b","source":"P","tags":["x","y"],"time":"2026-03-02T12:00:00.5+02:00"}]`,
		`"metrics":[]`, `"metrics":[{"category":"time","name":"total","value":0.5}]`))
	logs, err := packed.Append(nil, r.logs, 1<<20)
	if want := `[{"file":null,"line":3,"level":"notice","message":"a\"b","source":"P","tags":["x","y"],"time":"2026-03-02T10:00:00.500Z"}]`; err != nil || string(logs) != want {
		t.Errorf("%s, want %s", logs, want)
	}
	metrics, err := packed.Append(nil, r.metrics, 1<<20)
	if want := `[{"category":"time","name":"total","value":0.5}]`; err != nil || string(metrics) != want {
		t.Errorf("%s, want %s", metrics, want)
	}
	r = parsed(t, 8, minimalReport(`"logs":[]`, `"logs":[{"level":"notice","message":"a","source":"P","tags":[],"time":"2026-03-02T10:00:00Z"}]`))
	if logs, err := packed.Append(nil, r.logs, 1<<20); err != nil || string(logs) != `[{"level":"notice","message":"a","source":"P","tags":[],"time":"2026-03-02T10:00:00.000Z","file":null,"line":null}]` {
		t.Errorf("without a place: %s %v", logs, err)
	}
}

func TestMillis(t *testing.T) {
	t.Parallel()
	base := time.Date(2026, 3, 4, 9, 26, 0, 0, time.UTC).UnixMilli()
	for text, want := range map[string]int64{
		"2026-03-04T09:26:00Z": base, "2026-03-04T09:26:00.1Z": base + 100, "2026-03-04T09:26:00.1239999Z": base + 123, "2026-03-04T11:26:00+02:00": base,
		"2026-03-04T11:26:00+0200": base, "2026-03-04T11:26:00+02": base, "2026-03-04T04:56:00.000-04:30": base, "2026-03-04 09:26:00z": base,
		"2024-02-29T00:00:00Z": time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC).UnixMilli(), "1970-01-01T00:00:00Z": 0,
		"": -1, "2026-03-04": -1, "2026-03-04T09:26:00": -1, "2026-02-29T00:00:00Z": -1, "2026-13-01T00:00:00Z": -1, "2026-03-04T24:00:00Z": -1,
		"2026-03-04T09:26:00.Z": -1, "2026-03-04T09:26:00+25:00": -1, "2026-03-04T09:26:00+01:60": -1, "2026-03-04T09:26:00 GMT": -1, "2026-3-4T09:26:00Z   ": -1, "1969-12-31T23:59:59Z": -1,
		"20a6-03-04T09:26:00Z": -1,
	} {
		got, ok := parseInstant([]byte(text))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// FuzzReport checks that no payload breaks the parser, and that an accepted payload is JSON and yields the same
// report when it is parsed again.
func FuzzReport(f *testing.F) {
	f.Add(8, minimalReport())
	f.Add(5, minimalReport(`"resources"`, `"resource_events"`))
	for _, p := range realReports(f)[:8] {
		f.Add(8, p.body)
	}
	f.Fuzz(func(t *testing.T, version int, body []byte) {
		r, err := parseReport(version, body, math.MinInt64)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("a long message: %s", err)
			}
			return
		}
		if !json.Valid(body) {
			t.Error("it is not JSON")
		}
		for _, e := range r.events {
			res, c := r.resources[e.resource], r.changes[e.change]
			if res.containmentPath.Valid && !json.Valid([]byte(res.containmentPath.String)) || c.newValue.Valid && !json.Valid([]byte(c.newValue.String)) {
				t.Errorf("%+v %+v", res, c)
			}
		}
		if logs, err := packed.Append(nil, r.logs, 1<<20); err != nil || !json.Valid(logs) {
			t.Errorf("logs %s %v", logs, err)
		}
		second, err := parseReport(version, body, math.MinInt64)
		if err != nil || second.hash != r.hash {
			t.Error(err)
		}
	})
}

// BenchmarkParse reads a real report.
func BenchmarkParse(b *testing.B) {
	body := realReport(b, "app01-run1.json")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseReport(8, body, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMemoryOfValues checks that the value of a property, whatever it consists of, takes no more memory than a command
// is counted with. Half of the measured memory is garbage. The test is not parallel, because it measures memory.
func TestMemoryOfValues(t *testing.T) {
	const size = 2 << 20
	fill := func(start, part, end string) string {
		parts := make([]string, size/(len(part)+1))
		for i := range parts {
			parts[i] = strings.ReplaceAll(part, "#", strconv.Itoa(i%10))
		}
		return start + strings.Join(parts, ",") + end
	}
	for name, value := range map[string]string{
		"numbers": fill("[", "1", "]"), "large numbers": fill("[", "1e308", "]"), "small numbers": fill("[", "-1e-300", "]"), "lists": fill("[", "[]", "]"),
		"members": fill("{", `"#":1`, "}"), "objects": fill("[", `{"b":#,"a":0}`, "]"), "escapes": fill("[", `"\u0001"`, "]"),
	} {
		body := minimalReport(`"file","old`, value+`,"old`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := parseReport(8, body, 0)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if times := (after.TotalAlloc - before.TotalAlloc) / uint64(len(body)); times > 2*memoryFactor {
			t.Errorf("%s: %d times its size, and %d characters to store", name, times, len(r.changes[0].newValue.String))
		}
	}
}
