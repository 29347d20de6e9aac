package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestUsageIsExact sends many requests of all kinds and compares the usage report with the counts of the clients and of
// the provider, before and after a kill -9.
func TestUsageIsExact(t *testing.T) {
	t.Parallel()
	const total, workers = 10_000, 16
	up := e2e.NewUpstream(t)
	var provided atomic.Int64
	up.Answer = func(http.ResponseWriter, *http.Request) bool { provided.Add(1); return false }
	g := e2e.NewGateway(t, "")
	key := g.User("una", up,
		e2e.Script("text", "one two three", "cached_tokens", "1"),
		e2e.Script("status", "400", "code", "bad_value", "message", "no"),
		e2e.Script("status", "500"),
		e2e.Script("text", "word ", "repeat", "1000", "chunk_delay", "20ms"))

	var mu sync.Mutex
	var want struct{ succeeded, failed, cancelled, input, cached, output int64 }
	send := func(i int) {
		kind := i % 10
		entry := map[int]string{7: "own/2", 8: "own/3", 9: "own/4"}[kind]
		if entry == "" {
			entry = "own/1"
		}
		body := e2e.Prompt(entry, kind >= 5)
		if kind >= 5 {
			body = strings.TrimSuffix(body, "}") + `,"stream_options":{"include_usage":true}}`
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		resp, err := e2e.Open(ctx, g.Base, key, body)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		if kind == 9 { // leaves after the first word
			e2e.FirstEvent(t, resp)
			cancel()
			mu.Lock()
			defer mu.Unlock()
			want.cancelled++
			return
		}
		var used gjson.Result
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			line := strings.TrimPrefix(lines.Text(), "data: ")
			if u := gjson.Get(line, "usage"); u.IsObject() {
				used = u
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if resp.StatusCode != http.StatusOK {
			want.failed++
			return
		}
		want.succeeded++
		want.input += used.Get("prompt_tokens").Int()
		want.cached += used.Get("prompt_tokens_details.cached_tokens").Int()
		want.output += used.Get("completion_tokens").Int()
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := next.Add(1); i <= total && !t.Failed(); i = next.Add(1) {
				send(int(i))
			}
		})
	}
	group.Wait()
	if want.failed == 0 || want.cancelled == 0 || want.input == 0 || want.cached == 0 {
		t.Fatalf("the requests are not mixed: %+v", want)
	}

	token := strings.TrimSpace(g.Tool("keychain", "token", "una"))
	type sums struct {
		Requests, Succeeded, Failed, Cancelled int64
		FailedAttempts                         int64 `json:"failed_attempts"`
		Input                                  int64 `json:"input_tokens"`
		Cached                                 int64 `json:"cached_tokens"`
		Output                                 int64 `json:"output_tokens"`
	}
	report := func() (of sums, words int64) {
		var r struct {
			Totals sums
			Models []struct {
				Model string
				sums
			} `json:"by_model"`
		}
		a := e2e.Get(t, http.DefaultClient, g.Base+"/users/una/usage?group=model", token)
		if err := json.Unmarshal([]byte(a.Body), &r); err != nil {
			t.Fatalf("%v: %s", err, a.Body)
		}
		for _, m := range r.Models { // for clients that left, the usage is only an estimate
			if m.Model == "own/4" {
				r.Totals.Input -= m.Input
				r.Totals.Output -= m.Output
				words = m.Output
			}
		}
		return r.Totals, words
	}
	check := func() error {
		got, words := report()
		answered := got.Succeeded + got.Cancelled
		if got.Requests != total || got.Succeeded != want.succeeded || got.Failed != want.failed || got.Cancelled != want.cancelled ||
			got.Input != want.input || got.Cached != want.cached || got.Output != want.output || words == 0 || answered+got.FailedAttempts != provided.Load() {
			return fmt.Errorf("report %+v, clients %+v, the provider had %d requests", got, want, provided.Load())
		}
		return nil
	}
	ledger := spending.NewLedger(g.DB(), zap.NewNop(), time.Now)
	e2e.Eventually(t, e2e.WaitLimit, "all requests are in the log", func() error {
		report, err := ledger.Usage(t.Context(), "una", spending.UsageQuery{})
		if err == nil && report.Totals.Requests < total {
			err = fmt.Errorf("%d are", report.Totals.Requests)
		}
		return err
	})
	if err := check(); err != nil {
		t.Error(err)
	}

	// The numbers of the report are in the database, so they survive a kill.
	g.Kill()
	g.Start()
	g.Healthy()
	if err := check(); err != nil {
		t.Errorf("after kill -9: %v", err)
	}
}
