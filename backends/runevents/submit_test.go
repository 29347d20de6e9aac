package runevents

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1" //nolint:gosec // the wire format checks bodies by SHA-1
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// minimalReport returns the smallest valid report, with some of its text replaced.
func minimalReport(replace ...string) []byte {
	const text = `{"certname":"a.example.com","puppet_version":"7.23.0","report_format":12,"configuration_version":"v1","start_time":"2026-03-02T10:00:00.000+00:00",` +
		`"end_time":"2026-03-02T10:00:09.000+00:00","producer_timestamp":"2026-03-02T10:00:10.000+00:00","producer":null,"environment":"production",` +
		`"transaction_uuid":null,"catalog_uuid":null,"code_id":null,"cached_catalog_status":null,"status":"changed","noop":false,"noop_pending":false,` +
		`"corrective_change":null,"resources":[{"skipped":false,"timestamp":"2026-03-02T10:00:01.000Z","resource_type":"File","resource_title":"/a","file":null,` +
		`"line":null,"containment_path":["Stage[main]","A"],"corrective_change":null,"events":[{"status":"success","timestamp":"2026-03-02T10:00:02.000Z",` +
		`"property":"ensure","name":null,"new_value":"file","old_value":"absent","message":"created","corrective_change":null}]}],"metrics":[],"logs":[]}`
	return []byte(strings.NewReplacer(replace...).Replace(text))
}

const leastURL = "/store/cmd/v1?command=store_report&version=8&certname=a.example.com"

func (s *Service) post(url string, body []byte, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func gzipText(tb testing.TB, text []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func sha1Hex(text string) string {
	s := sha1.Sum([]byte(text)) //nolint:gosec // the wire format
	return hex.EncodeToString(s[:])
}

// TestSubmit checks which submissions are accepted, and their answers.
func TestSubmit(t *testing.T) {
	t.Parallel()
	body := minimalReport()
	envelope := `{"command":"store report","version":8,"certname":"a.example.com","payload":` + string(body) + `}`
	for name, c := range map[string]struct {
		url    string
		body   []byte
		header []string
		want   string
	}{
		"plain":              {leastURL, body, nil, ""},
		"charset":            {leastURL, body, []string{"Content-Type", "application/json; charset=utf-8"}, ""},
		"spaces":             {strings.Replace(leastURL, "store_report", "store%20report", 1), body, nil, ""},
		"gzip":               {leastURL, gzipText(t, body), []string{"Content-Encoding", "gzip", "X-Uncompressed-Length", fmt.Sprint(len(body))}, ""},
		"coding in capitals": {leastURL, gzipText(t, body), []string{"Content-Encoding", "GZIP"}, ""},
		"gzip, length open":  {leastURL, gzipText(t, body), []string{"Content-Encoding", "gzip"}, ""},
		"checksum":           {leastURL + "&checksum=" + sha1Hex(envelope), body, nil, ""},
		"checksum of body":   {leastURL + "&checksum=" + strings.ToUpper(sha1Hex(string(body))), body, nil, ""},
		"producer time":      {leastURL + "&producer-timestamp=2026-03-02T10:00:10.000Z", body, nil, ""},
		"waiting":            {leastURL + "&secondsToWaitForCompletion=30", body, nil, `"processed" : true,\s+"timed_out" : false`},
		"older form":         {"/store/cmd/v1", []byte(envelope), nil, ""},
		"other certname":     {strings.Replace(leastURL, "a.example", "z.example", 1), body, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testDatabase{location: t.TempDir() + "/test.db"}.start(t)
			w := s.post(c.url, c.body, c.header...)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json;charset=utf-8" || !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if !regexp.MustCompile(`"uuid" : "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`).Match(w.Body.Bytes()) || !regexp.MustCompile(c.want).Match(w.Body.Bytes()) {
				t.Errorf("body %s", w.Body)
			}
			if n := s.queryInt(t, "SELECT count(*) FROM run_events e JOIN run_nodes n ON n.id = e.node WHERE n.certname = 'a.example.com'"); n != 1 {
				t.Errorf("%d events are stored, want 1", n)
			}
		})
	}
}

// TestRefusedSubmissions checks that bad submissions get the right status and text, and store nothing.
func TestRefusedSubmissions(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t, func(o *Options) { o.MaxBody = 64 << 10 })
	invalid := func(certname, detail string) string {
		return `{"error":"Command \"store report\" for certname \"` + certname + `\" is invalid. ` + detail + `"}`
	}
	bomb := gzipText(t, bytes.Repeat([]byte(" "), 10<<20))
	for _, c := range []struct {
		name   string
		method string
		url    string
		body   string
		header []string
		status int
		want   string
	}{
		{"no certname", "", "/store/cmd/v1?command=store_report&version=8", "{}", nil, 400, invalid("", "Command is missing required parameters: certname.")},
		{"only checksum", "", "/store/cmd/v1?checksum=x", "{}", nil, 400, "missing required parameters: certname, command, version."},
		{"unknown parameter", "", leastURL + "&foo=1", "{}", nil, 400, invalid("a.example.com", "Command has invalid parameters: foo.")},
		{"parameter twice", "", leastURL + "&version=8", "{}", nil, 400, "Parameter version is given more than once."},
		{"empty certname", "", "/store/cmd/v1?command=store_report&version=8&certname=", "{}", nil, 400, invalid("", "Certname must be a non-empty string.")},
		{"long certname", "", leastURL + strings.Repeat("x", 1000), "{}", nil, 400, "Certname must be text of at most 1000 bytes."},
		{"unknown command", "", "/store/cmd/v1?command=reboot&version=8&certname=a", "{}", nil, 400, "Command must be one of: configure expiration, deactivate node, replace catalog, replace catalog inputs, replace facts, store report."},
		{"foreign command", "", "/store/cmd/v1?command=replace_facts&version=5&certname=a", "{}", nil, 400, `this service stores reports only.`},
		{"version word", "", "/store/cmd/v1?command=store_report&version=x&certname=a", "{}", nil, 400, invalid("a", "Version must be a valid integer.")},
		{"version old", "", "/store/cmd/v1?command=store_report&version=4&certname=x", "{}", nil, 400, invalid("x", `Version 4 of command \"store report\" is retired. The minimum supported version is 5.`)},
		{"version new", "", "/store/cmd/v1?command=store_report&version=9&certname=x", "{}", nil, 400, "The maximum supported version is 8."},
		{"wait word", "", leastURL + "&secondsToWaitForCompletion=soon", "{}", nil, 400, "secondsToWaitForCompletion must be a number"},
		{"wait NaN", "", leastURL + "&secondsToWaitForCompletion=NaN", "{}", nil, 400, "secondsToWaitForCompletion must be a number"},
		{"producer time", "", leastURL + "&producer-timestamp=now", "{}", nil, 400, "producer-timestamp must be a time"},
		{"checksum", "", leastURL + "&checksum=" + sha1Hex("x"), string(minimalReport()), nil, 400, "The checksum is not that of the body."},
		{"text", "", leastURL, "{}", []string{"Content-Type", "text/plain"}, 415, "content type text/plain not supported"},
		{"no type", "", leastURL, "{}", []string{"Content-Type", ""}, 415, "content type  not supported"},
		{"brotli", "", leastURL, "{}", []string{"Content-Encoding", "br"}, 415, "content encoding br not supported"},
		{"accept", "", leastURL, "{}", []string{"Accept", "text/html"}, 406, "must accept application/json"},
		{"accept not at all", "", leastURL, "{}", []string{"Accept", "application/json;charset=utf-8;q=0.00"}, 406, "must accept application/json"},
		{"accept not", "", leastURL, "{}", []string{"Accept", "application/json;q=0"}, 406, "must accept application/json"},
		{"not gzip", "", leastURL, "{}", []string{"Content-Encoding", "gzip"}, 400, "it is not gzip"},
		{"cut gzip", "", leastURL, string(gzipText(t, minimalReport())[:300]), []string{"Content-Encoding", "gzip"}, 400, "it ends too early or is damaged"},
		{"gzip longer than said", "", leastURL, string(bomb), []string{"Content-Encoding", "gzip", "X-Uncompressed-Length", "20000"}, 400, "longer than X-Uncompressed-Length says"},
		{"one byte longer than said", "", leastURL, string(gzipText(t, minimalReport())), []string{"Content-Encoding", "gzip", "X-Uncompressed-Length", strconv.Itoa(len(minimalReport()) - 1)}, 400, "longer than X-Uncompressed-Length says"},
		{"bomb", "", leastURL, string(bomb), []string{"Content-Encoding", "gzip"}, 413, "Command size exceeds max-command-size"},
		{"too large", "", leastURL, strings.Repeat(" ", 64<<10+1), nil, 413, "Command size exceeds max-command-size"},
		{"too large as said", "", leastURL, "{}", []string{"X-Uncompressed-Length", "99999999"}, 413, "Command size exceeds max-command-size"},
		{"older form, no JSON", "", "/store/cmd/v1", "hello", nil, 400, "the command cannot be read: an object is expected at byte 0"},
		{"older form, no payload", "", "/store/cmd/v1", `{"command":"store report","version":8}`, nil, 400, "Command is missing required parameters: payload."},
		{"older form, more", "", "/store/cmd/v1", `{"command":"store report","version":8,"payload":{},"x":1}`, nil, 400, "a command has no member"},
		{"method", "GET", leastURL, "", nil, 405, "this path takes POST only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", c.url, strings.NewReader(c.body))
			if c.method != "" {
				r.Method = c.method
			}
			r.Header.Set("Content-Type", "application/json")
			for i := 0; i+1 < len(c.header); i += 2 {
				r.Header.Set(c.header[i], c.header[i+1])
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, c.status, c.want)
			}
			kind := "text/plain;charset=utf-8"
			if c.status == 400 {
				kind = "application/json;charset=utf-8"
			}
			if w.Header().Get("Content-Type") != kind || c.status == 400 && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%v %s", w.Header(), w.Body)
			}
		})
	}
	for _, table := range []string{"run_reports", "run_events", "run_nodes", "run_rejected"} {
		if n := s.queryInt(t, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	if s.limits.bodies.Taken() != 0 || !s.limits.work.TryAcquire(s.o.MaxQueued) {
		t.Error("the memory of refused commands is not released")
	}
}

// TestBadPayloads checks that payloads that can never be stored are accepted and added to the list of rejected
// commands with a reason, and that nothing else is stored.
func TestBadPayloads(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t)
	for _, c := range []struct{ name, payload, want string }{
		{"empty", "", "an object is expected at byte 0"},
		{"list", "[]", "an object is expected at byte 0"},
		{"cut", string(minimalReport()[:200]), "unterminated string"},
		{"behind", string(minimalReport()) + "x", "unexpected data after the JSON value"},
		{"no UTF-8", string(minimalReport("a.example", "a\xff")), "not UTF-8"},
		{"unknown", string(minimalReport(`"noop":`, `"noob":`)), `there is no member "noob" in version 8`},
		{"twice", string(minimalReport(`"noop":false`, `"noop":false,"noop":false`)), "noop is given twice"},
		{"missing", string(minimalReport(`"certname":"a.example.com",`, ``)), "certname is missing"},
		{"certname empty", string(minimalReport("a.example.com", "")), "certname is empty"},
		{"certname null", string(minimalReport(`"a.example.com"`, "null")), "certname: a string is expected"},
		{"certname long", string(minimalReport("a.example.com", strings.Repeat("x", 1001))), "certname is longer than 1000 bytes"},
		{"time", string(minimalReport("2026-03-02T10:00:10.000+00:00", "yesterday")), "producer_timestamp"},
		{"impossible day", string(minimalReport("2026-03-02T10:00:10.000+00:00", "2026-02-30T10:00:10.000+00:00")), "is not a time"},
		{"no offset", string(minimalReport("2026-03-02T10:00:10.000+00:00", "2026-03-02T10:00:10.000")), "is not a time"},
		{"format", string(minimalReport(`"report_format":12`, `"report_format":1.5`)), "a whole number is expected"},
		{"format large", string(minimalReport(`"report_format":12`, `"report_format":99999999999999999999`)), "a whole number is expected"},
		{"noop", string(minimalReport(`"noop":false`, `"noop":"no"`)), "true or false is expected"},
		{"type", string(minimalReport(`"logs"`, `"type":"task","logs"`)), "type must be agent or plan"},
		{"resources", string(minimalReport(`"resources":[`, `"resources":{"a":[`)), "a list is expected"},
		{"resource member", string(minimalReport(`"skipped":false`, `"skippd":false`)), `a resource has no member "skippd"`},
		{"resource title", string(minimalReport(`"resource_title":"/a",`, ``)), "a resource lacks"},
		{"event member", string(minimalReport(`"property":"ensure"`, `"prop":"ensure"`)), `an event has no member "prop"`},
		{"event status", string(minimalReport(`"status":"success",`, ``)), "an event lacks its status"},
		{"metric", string(minimalReport(`"metrics":[]`, `"metrics":[{"value":"1"}]`)), "a number is expected"},
		{"metric without name", string(minimalReport(`"metrics":[]`, `"metrics":[{"value":1,"category":"time"}]`)), "a metric lacks its category, name or value"},
		{"metric twice", string(minimalReport(`"metrics":[]`, `"metrics":[{"value":1,"category":"time","name":"x","value":2}]`)), "value is given twice"},
		{"log without level", string(minimalReport(`"logs":[]`, `"logs":[{"file":null,"line":3,"message":"m","source":"P","tags":[],"time":"2026-03-02T12:00:00Z"}]`)), "a log line lacks its level, message, source, tags or time"},
		{"log without text", string(minimalReport(`"logs":[]`, `"logs":[{"level":"err","message":null,"source":"P","tags":[],"time":"2026-03-02T12:00:00Z"}]`)), "a string is expected"},
		{"log without tags", string(minimalReport(`"logs":[]`, `"logs":[{"level":"err","message":"m","source":"P","tags":null,"time":"2026-03-02T12:00:00Z"}]`)), "a list is expected"},
		{"log empty", string(minimalReport(`"logs":[]`, `"logs":[{}]`)), "a log line lacks"},
		{"log twice", string(minimalReport(`"logs":[]`, `"logs":[{"level":"err","message":"m","source":"P","tags":[],"level":"err","time":"2026-03-02T12:00:00Z"}]`)), "level is given twice"},
		{"log", string(minimalReport(`"logs":[]`, `"logs":[{"who":1}]`)), `a log line has no member "who"`},
		{"deep", string(minimalReport(`"file","old_value"`, strings.Repeat("[", 100)+strings.Repeat("]", 100)+`,"old_value"`)), "nested deeper than 64 levels"},
		{"old lists", string(minimalReport(`"resources"`, `"resource_events"`)), `there is no member "resource_events" in version 8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := leastURL
			w := s.post(url, []byte(c.payload))
			if w.Code != http.StatusOK {
				t.Errorf("not waiting: %d %s", w.Code, w.Body)
			}
			w = s.post(url+"&secondsToWaitForCompletion=60", []byte(c.payload))
			var answer struct {
				Processed bool
				Error     string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatal(err, w.Body)
			}
			if w.Code != http.StatusServiceUnavailable || !answer.Processed || !strings.Contains(answer.Error, c.want) {
				t.Errorf("waiting: %d %s\nwant 503 %s", w.Code, w.Body, c.want)
			}
			list, err := s.Rejected(t.Context())
			if err != nil || len(list) < 2 || list[0].Reason != answer.Error || list[0].Certname != "a.example.com" || list[0].Command != storeReport {
				t.Errorf("rejected: %+v, %v", list, err)
			}
		})
	}
	for _, table := range []string{"run_reports", "run_events", "run_nodes", "run_resources"} {
		if n := s.queryInt(t, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
}

// TestRetry checks that a rejected command leaves the list when it succeeds.
func TestRetry(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		s := p.start(t)
		id, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport(`"noop":false`, `"noop":7`)})
		if err == nil || id == 0 {
			t.Fatal(id, err)
		}
		if err := s.Retry(t.Context(), id); err == nil {
			t.Fatal("a bad report was stored")
		}
		row, c, err := s.RejectedCommand(t.Context(), id)
		if err != nil || row.Attempts != 2 || !bytes.Equal(c.Payload, minimalReport(`"noop":false`, `"noop":7`)) {
			t.Fatalf("%+v %s %v", row, c.Payload, err)
		}
		err = s.db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("UPDATE run_rejected SET payload = ?", packed.Pack(minimalReport()))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Rejected(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 1 {
			t.Errorf("%d reports", n)
		}
	})
}

// TestBusy checks that clients are asked to retry when too many commands are waiting.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t)
	s.limits.wait = time.Millisecond
	bodies := s.limits.bodies.Share("")
	for name, c := range map[string]struct {
		take    func() bool
		release func()
	}{
		"bodies": {func() bool { return bodies.Grow(t.Context(), s.o.MaxQueued/4) == nil }, bodies.Free},
		"work":   {func() bool { return s.limits.work.TryAcquire(s.o.MaxQueued) }, func() { s.limits.work.Release(s.o.MaxQueued) }},
	} {
		if !c.take() {
			t.Fatal("the memory for commands is in use")
		}
		w := s.post(leastURL, minimalReport())
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
		c.release()
	}
	if w := s.post(leastURL, minimalReport()); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.Close()
	if w := s.post(leastURL, minimalReport()); w.Code != http.StatusServiceUnavailable {
		t.Errorf("closed: %d %s", w.Code, w.Body)
	}
}

// TestStall checks that a body that stops arriving releases its memory.
func TestStall(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t)
	s.limits.pace.Stall = 50 * time.Millisecond
	server := httptest.NewServer(s)
	defer server.Close()
	reader, writer := io.Pipe()
	defer writer.Close()
	go func() { _, _ = writer.Write(minimalReport()[:100]) }()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+leastURL, reader)
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Content-Type", "application/json")
	answer, err := server.Client().Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestTimeout {
		t.Error(answer.Status)
	}
	if s.limits.bodies.Taken() != 0 {
		t.Error("the memory of the stalled body is not released")
	}
}

// TestMemoryOfSubmissions checks that a slow sender holds only what it has sent, and that a report counts with the
// memory that storing it takes.
func TestMemoryOfSubmissions(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t)
	slow := make([]*io.PipeWriter, 0, 20)
	var ended sync.WaitGroup
	for range cap(slow) {
		reader, writer := io.Pipe()
		slow = append(slow, writer)
		r := httptest.NewRequest(http.MethodPost, leastURL, reader)
		r.Header.Set("Content-Type", "application/json")
		ended.Go(func() { s.ServeHTTP(httptest.NewRecorder(), r) })
		if _, err := writer.Write([]byte("{")); err != nil { // it is being read
			t.Fatal(err)
		}
	}
	if w := s.post(leastURL, minimalReport()); w.Code != http.StatusOK {
		t.Errorf("beside slow ones: %d %s", w.Code, w.Body)
	}
	for _, w := range slow {
		_ = w.Close()
	}
	ended.Wait()

	release := s.blockWriter(t)
	large := minimalReport(`"message":"created"`, `"message":"`+strings.Repeat("x", 1<<20)+`"`)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.post(leastURL, large)
	}()
	for len(s.queue) == 0 && s.limits.work.TryAcquire(s.o.MaxQueued-memoryFactor<<20) { // until it is at work
		s.limits.work.Release(s.o.MaxQueued - memoryFactor<<20)
		runtime.Gosched()
	}
	if s.limits.work.TryAcquire(s.o.MaxQueued - memoryFactor<<20) {
		t.Error("a report of 1 MiB counts with less than the memory for its processing")
	}
	release()
	<-answered
	if s.limits.bodies.Taken() != 0 || !s.limits.work.TryAcquire(s.o.MaxQueued) {
		t.Error("the memory of a submission is not released")
	}
}

// blockWriter keeps other writers of a SQLite database waiting until release is called.
func (s *Service) blockWriter(tb testing.TB) (release func()) {
	tb.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- s.db.Write(context.Background(), func(store.Conn) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	return func() {
		close(leave)
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	}
}

// TestCompletionTimeout checks that a client that waits for a shorter time than processing takes gets a timeout, and
// that the report is stored nevertheless.
func TestCompletionTimeout(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t)
	release := s.blockWriter(t)
	w := s.post(leastURL+"&secondsToWaitForCompletion=0.01", minimalReport())
	release()
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"timed_out" : true`) || !strings.Contains(w.Body.String(), `"processed" : false`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.Close() // waits for what was taken in
	if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 1 {
		t.Errorf("%d reports", n)
	}
}

// TestUnavailable checks that nothing is accepted without a database.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t)
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []string{"", "&secondsToWaitForCompletion=30"} {
		w := s.post(leastURL+wait, minimalReport())
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `{"error":"The database is not available`) {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	}
	r := httptest.NewRecorder()
	s.ServeHTTP(r, httptest.NewRequest("GET", "/store/status/v1/simple", nil))
	if r.Code != http.StatusServiceUnavailable {
		t.Errorf("status: %d", r.Code)
	}
}

// TestNodes checks which report is the latest, and which nodes are active.
func TestNodes(t *testing.T) {
	t.Parallel()
	stamp := func(second string) []string {
		return []string{"2026-03-02T10:00:10.000+00:00", "2026-03-02T10:00:" + second + ".000+00:00"}
	}
	deactivation := func(second string) Command {
		return Command{Name: deactivateNode, Version: 3, Certname: "a", Payload: []byte(`{"certname":"a.example.com","producer_timestamp":"2026-03-02T10:00:` + second + `.000Z"}`)}
	}
	stored := func(replace ...string) Command {
		return Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport(replace...)}
	}
	const inactive, active = 1, 0
	for name, c := range map[string]struct {
		commands []Command
		latest   int64 // second of the latest report; -1: none
		inactive int64
	}{
		"newer later":       {[]Command{stored(stamp("10")...), stored(stamp("20")...)}, 20, active},
		"older later":       {[]Command{stored(stamp("20")...), stored(stamp("10")...)}, 20, active},
		"equal later":       {[]Command{stored(stamp("10")...), stored(append(stamp("10"), "v1", "v2")...)}, 10, active},
		"plan":              {[]Command{stored(stamp("10")...), stored(append(stamp("20"), `"logs"`, `"type":"plan","logs"`)...)}, 10, active},
		"only a plan":       {[]Command{stored(append(stamp("20"), `"logs"`, `"type":"plan","logs"`)...)}, -1, active},
		"deactivated":       {[]Command{stored(stamp("10")...), deactivation("20")}, 10, inactive},
		"active again":      {[]Command{stored(stamp("10")...), deactivation("20"), stored(stamp("30")...)}, 30, active},
		"older report":      {[]Command{deactivation("20"), stored(stamp("10")...)}, 10, inactive},
		"late deactivation": {[]Command{stored(stamp("30")...), deactivation("20")}, 30, active},
		"earlier again":     {[]Command{deactivation("20"), deactivation("10")}, -1, inactive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, p testDatabase) {
				s := p.start(t)
				for _, command := range c.commands {
					if _, err := s.Process(t.Context(), command); err != nil {
						t.Fatal(err)
					}
				}
				base := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC).UnixMilli()
				got := s.queryInt(t, `SELECT coalesce(max(r.producer_timestamp), ?) FROM run_nodes n JOIN run_reports r ON r.id = n.latest_report`, base-1000)
				if got = (got - base) / 1000; got != c.latest {
					t.Errorf("latest report of second %d, want %d", got, c.latest)
				}
				if n := s.queryInt(t, "SELECT count(*) FROM run_nodes WHERE deactivated_at IS NOT NULL"); n != c.inactive {
					t.Errorf("%d nodes are inactive, want %d", n, c.inactive)
				}
				if got := s.queryInt(t, "SELECT coalesce(max(deactivated_at), 0) FROM run_nodes"); name == "earlier again" && got != base+20000 {
					t.Errorf("deactivated at %d", got)
				}
			})
		})
	}
}
