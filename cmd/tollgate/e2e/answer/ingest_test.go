package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAnswersIngested checks that a client of the admin endpoint's socket can ingest documents while questions are
// answered, follow the progress, list the documents, and remove documents.
func TestAnswersIngested(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, quick)
		d.Tool("answer", "sample", "documents")
		const (
			ingest    = "/admin/answer/corpus/ingest"
			documents = "/admin/answer/corpus/documents"
			query     = "What was the revenue of Ardmore Holdings in fiscal 2025?"
			address   = "https://filings.example.test/ardmore?year=2025&form=annual"
		)
		counted := func() gjson.Result {
			text, err := d.Admin(http.MethodGet, "/admin/answer/corpus", "", "")
			if err != nil {
				t.Fatal(err)
			}
			return gjson.Parse(text)
		}
		before := counted()
		if before.Get("documents").Int() == 0 || before.Get("passages").Int() == 0 || before.Get("issuers").Int() != 12 {
			t.Errorf("%s", before)
		}
		if a := d.ask(query); outcome(a) != "FailedToAnswer" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		document := func(revenue string) string {
			text, err := json.Marshal(map[string]string{
				"title": "Ardmore Holdings annual report 2025", "url": address, "kind": "filing", "issuer": "Ardmore Holdings", "fiscal": "FY2025",
				"text": "Ardmore Holdings reported revenue of " + revenue + " million in fiscal 2025.",
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(text) + "\n"
		}
		// submit ingests a body and returns the last line of the response.
		submit := func(contentType, body, status string) gjson.Result {
			t.Helper()
			text, err := d.Admin(http.MethodPost, ingest, contentType, body)
			lines := strings.Split(strings.TrimSpace(text), "\n")
			last := gjson.Parse(lines[len(lines)-1])
			if err != nil || len(lines) < 2 || gjson.Get(lines[0], "status").Str != "running" || last.Get("status").Str != status {
				t.Errorf("%s %v", text, err)
			}
			return last
		}
		got := submit("application/jsonl", document("$5.5")+`{"title":"No text","url":"https://filings.example.test/none"}`+"\n", "done")
		if got.Get("added").Int() != 1 || got.Get("refused").Int() != 1 || got.Get("passages").Int() != 1 || !strings.Contains(got.Get("problems.0").Str, "line 2") {
			t.Errorf("%s", got)
		}
		if a := d.ask(query); outcome(a) != "Answered" || !strings.Contains(a.Body, "$5.5 million") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if got := submit("application/x-ndjson", document("$5.5"), "done"); got.Get("known").Int() != 1 {
			t.Errorf("%s", got)
		}
		if got := submit("application/jsonl", document("$6.5"), "done"); got.Get("replaced").Int() != 1 {
			t.Errorf("%s", got)
		}
		if a := d.ask(query); outcome(a) != "Answered" || !strings.Contains(a.Body, "$6.5 million") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		got = submit("application/json", `{"paths":["documents/corpus/cobaltine","documents/corpus/sundrift"],"workers":2}`, "done")
		if n := got.Get("documents").Int(); n == 0 || got.Get("known").Int() != n || got.Get("read").Int() != got.Get("files").Int() || got.Get("done").Int() != got.Get("bytes").Int() {
			t.Errorf("%s", got)
		}
		if got := submit("application/json", `{"paths":["documents/corpus/nobody"]}`, "failed"); got.Get("error").Str == "" {
			t.Errorf("%s", got)
		}
		for body, contentType := range map[string]string{
			document("$1"): "text/plain", `{}`: "application/json", `{"paths":["x"],"workers":9}`: "application/json", `{"path":"x"}`: "application/json",
		} {
			if text, err := d.Admin(http.MethodPost, ingest, contentType, body); err == nil {
				t.Errorf("%s: %s", body, text)
			}
		}

		list, err := d.Admin(http.MethodGet, documents+"?kind=filing&limit=1000", "", "")
		if err != nil || gjson.Get(list, `documents.#(url=="`+address+`").passages`).Int() != 1 {
			t.Errorf("%s %v", list, err)
		}
		if page, err := d.Admin(http.MethodGet, documents+"?limit=2&after="+gjson.Get(list, "documents.0.id").String(), "", ""); err != nil || gjson.Get(page, "documents.#").Int() != 2 {
			t.Errorf("%s %v", page, err)
		}
		if n := counted(); n.Get("documents").Int() != before.Get("documents").Int()+1 || n.Get("version").Int() <= before.Get("version").Int() {
			t.Errorf("%s", n)
		}
		for _, exists := range []bool{true, false} {
			if text, err := d.Admin(http.MethodDelete, documents+"?url="+url.QueryEscape(address), "", ""); (err == nil) != exists {
				t.Errorf("%s %v", text, err)
			}
		}
		if a := d.ask(query); outcome(a) != "FailedToAnswer" {
			t.Errorf("%d %s", a.Status, a.Body)
		}

		// Only one ingest runs at a time: the first is still sending.
		var sender *io.PipeWriter
		first := make(chan *e2e.Answer, 1)
		startIngest := func() {
			var body *io.PipeReader
			body, sender = io.Pipe()
			go func() { first <- d.operate(http.MethodPost, ingest, body, "Content-Type", "application/jsonl") }()
			_, _ = io.WriteString(sender, document("$7.5"))
		}
		startIngest()
		e2e.Eventually(t, e2e.WaitLimit, "the second ingest is refused", func() error {
			select {
			case a := <-first: // refused if the second ingest was running just then
				startIngest()
				return fmt.Errorf("the first ingest: %d %s %w", a.Status, a.Body, a.Err)
			default:
			}
			if _, err := d.Admin(http.MethodPost, ingest, "application/json", `{}`); err == nil || !strings.Contains(err.Error(), "is already running") {
				return err
			}
			return nil
		})
		_ = sender.Close()
		if a := <-first; a.Status != http.StatusOK || !strings.Contains(a.Body, `"added":1`) {
			t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
		}
		for _, path := range []string{ingest, documents, "/admin/answer/corpus"} {
			if a := d.do(http.MethodGet, path, ""); a.Status != http.StatusNotFound {
				t.Errorf("for clients: %d %s", a.Status, a.Body)
			}
		}
		d.Stop()
	})
}

// operate sends a request to the admin endpoint, with headers as pairs.
func (d *desk) operate(method, path string, body io.Reader, header ...string) *e2e.Answer {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.Path("data", "admin.sock"))
	}, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(e2e.BackgroundContext, method, "http://admin"+path, body)
	if err != nil {
		return &e2e.Answer{Err: err}
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return e2e.Read(client.Do(r)) //nolint:bodyclose // Read does
}
