package cascade

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// These tests run with the fake clock of testing/synctest: minutes pass at once, and all times are exact. The upstreams
// are in memory.

// scripted is a transport with a script for each model. A script has one entry for each request.
type scripted struct {
	t       *testing.T
	mu      sync.Mutex
	scripts map[string][]timed
}

// timed is the reaction of an in-memory upstream to one request.
type timed struct {
	head   time.Duration // until the head is sent; negative: never
	status int           // 0: 200
	media  string        // "": text/event-stream
	acts   []act
	open   bool // the body stays open after the acts
	// connected is the time until the connection is made, for tests that set it.
	connected time.Duration
}

// act is a text that is sent after a pause.
type act struct {
	after time.Duration
	text  string
}

func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(body), `"model":"`)
	model, _, _ := strings.Cut(rest, `"`)
	s.mu.Lock()
	if len(s.scripts[model]) == 0 {
		s.mu.Unlock()
		s.t.Errorf("unexpected request for %s", model)
		return nil, io.ErrUnexpectedEOF
	}
	script := s.scripts[model][0]
	s.scripts[model] = s.scripts[model][1:]
	s.mu.Unlock()
	ctx := req.Context()
	wait := func(d time.Duration) error {
		if d < 0 {
			<-ctx.Done()
			return ctx.Err()
		}
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if script.connected != 0 {
		if err := wait(script.connected); err != nil {
			return nil, err
		}
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{})
		}
	}
	if err := wait(script.head); err != nil {
		return nil, err
	}
	pr, pw := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = pr.CloseWithError(ctx.Err()) })
	go func() {
		for _, a := range script.acts {
			if wait(a.after) != nil {
				return
			}
			if _, err := io.WriteString(pw, a.text); err != nil {
				return
			}
		}
		if !script.open {
			_ = pw.Close()
		}
	}()
	media := script.media
	if media == "" {
		media = "text/event-stream"
	}
	return &http.Response{
		StatusCode: max(script.status, 200), Header: http.Header{"Content-Type": {media}}, ContentLength: -1,
		Body: &pipeBody{pr, stop},
	}, nil
}

type pipeBody struct {
	*io.PipeReader
	stop func() bool
}

func (b *pipeBody) Close() error {
	b.stop()
	return b.PipeReader.Close()
}

// clientLog is a client that records the time of each event.
type clientLog struct {
	start   time.Time
	header  http.Header
	mu      sync.Mutex
	entries []string
	whole   strings.Builder
	// The first write that contains slowAt takes the time slow.
	slowAt string
	slow   time.Duration
	slept  chan struct{} // closed after that
}

func newClientLog() *clientLog { return &clientLog{start: time.Now(), header: http.Header{}} }

func (d *clientLog) Header() http.Header { return d.header }
func (d *clientLog) WriteHeader(int)     {}
func (d *clientLog) FlushError() error   { return nil }

func (d *clientLog) Write(p []byte) (int, error) {
	if d.slowAt != "" && strings.Contains(string(p), d.slowAt) {
		d.slowAt = ""
		time.Sleep(d.slow)
		close(d.slept)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.whole.Write(p)
	for event := range strings.SplitSeq(strings.TrimSuffix(string(p), "\n\n"), "\n\n") {
		note := "chunk"
		switch {
		case event == ": keep-alive":
			note = "keep-alive"
		case strings.Contains(event, `"error"`):
			note = "error"
		case strings.Contains(event, "[DONE]"):
			note = "done"
		}
		d.entries = append(d.entries, fmt.Sprintf("%s %s", time.Since(d.start), note))
	}
	return len(p), nil
}

// timedRun runs one request with the fake clock of testing/synctest.
func timedRun(t *testing.T, s setup, model string, streams bool, scripts map[string][]timed, check func(e *outcome, d *clientLog, took time.Duration)) {
	t.Helper()
	transport := &scripted{t: t, scripts: scripts}
	s.transport, s.now = transport, time.Now
	if s.keys == nil {
		s.keys = []string{"alpha", "beta"}
	}
	r := newRig(t, s) // outside of the bubble, because the database has its own goroutines
	request := r.request(model, streams, nil)
	synctest.Test(t, func(t *testing.T) {
		d := newClientLog()
		result, err := r.engine.Answer(t.Context(), d, request)
		e := &outcome{Result: result, rawErr: err, body: d.whole.String(), header: d.header}
		e.err, _ = apierror.From(err)
		check(e, d, time.Since(d.start))
	})
}

var answersAtOnce = []act{{0, role}, {0, text("from beta")}, {0, finish}, {0, doneLine}}

func TestFirstContentTimeout(t *testing.T) {
	t.Parallel()
	trickle := make([]act, 0, 200)
	for range 200 {
		trickle = append(trickle, act{time.Second, ": wait\n\n"}, act{0, role})
	}
	tiers := map[string]time.Duration{"low": 20 * time.Second, "medium": 45 * time.Second, "high": 120 * time.Second}
	for tier, limit := range tiers {
		for name, script := range map[string]timed{
			"no head":            {head: -1},
			"head only":          {open: true},
			"comments and roles": {acts: trickle, open: true},
			"half an event":      {acts: []act{{time.Second, `data: {"choices"`}}, open: true},
		} {
			t.Run(tier+", "+name, func(t *testing.T) {
				t.Parallel()
				scripts := map[string][]timed{"a-" + tier: {script}, "b-" + tier: {{acts: answersAtOnce}}}
				timedRun(t, setup{}, "keychain-"+tier, true, scripts, func(e *outcome, _ *clientLog, took time.Duration) {
					e.wantAnswer(t, "beta/b-"+tier, "from beta")
					if took != limit || e.Failed[0].Code != "timeout" || e.Failed[0].LatencyMS != limit.Milliseconds() || e.FirstToken != limit {
						t.Errorf("took %s, want %s: %+v", took, limit, e.Failed)
					}
				})
			})
		}
	}
	t.Run("just in time", func(t *testing.T) {
		t.Parallel()
		acts := []act{{119 * time.Second, text("slow")}, {59 * time.Second, finish}, {59 * time.Second, doneLine}}
		timedRun(t, setup{}, "keychain-high", true, map[string][]timed{"a-high": {{acts: acts}}}, func(e *outcome, _ *clientLog, took time.Duration) {
			e.wantAnswer(t, "alpha/a-high", "slow")
			if took != 237*time.Second {
				t.Errorf("took %s", took)
			}
		})
	})
	for tier := range tiers {
		t.Run(tier+", a whole answer has a time of its own", func(t *testing.T) {
			t.Parallel()
			ok := timed{media: "application/json", head: 400 * time.Second, acts: []act{{79 * time.Second, completion("late")}}}
			timedRun(t, setup{}, "keychain-"+tier, false, map[string][]timed{"a-" + tier: {ok}}, func(e *outcome, _ *clientLog, _ time.Duration) {
				e.wantAnswer(t, "alpha/a-"+tier, "late")
			})
		})
		t.Run(tier+", which ends before clients give up", func(t *testing.T) {
			t.Parallel()
			late := timed{media: "application/json", head: 400 * time.Second, acts: []act{{81 * time.Second, completion("late")}}}
			soon := timed{media: "application/json", acts: []act{{0, completion("soon")}}}
			timedRun(t, setup{}, "keychain-"+tier, false, map[string][]timed{"a-" + tier: {late}, "b-" + tier: {soon}}, func(e *outcome, _ *clientLog, took time.Duration) {
				e.wantAnswer(t, "beta/b-"+tier, "soon")
				if took != 8*time.Minute || e.Failed[0].Code != "timeout" || !strings.Contains(e.Failed[0].Message, "whole answer") {
					t.Errorf("took %s: %+v", took, e.Failed)
				}
			})
		})
	}
	for name, s := range map[string]setup{
		"of the cascade":  {options: Options{Answer: catalog.PerTier{Low: 7 * time.Second}}},
		"of the provider": {options: Options{Answer: catalog.PerTier{Low: time.Hour}}, timeout: `{"answer":{"low":"7s"}}`},
		"not its other":   {options: Options{Answer: catalog.PerTier{Low: 7 * time.Second}}, timeout: `{"first_content":{"low":"1s"}}`},
	} {
		t.Run("the setting for whole answers, "+name, func(t *testing.T) {
			t.Parallel()
			soon := timed{media: "application/json", acts: []act{{0, completion("soon")}}}
			timedRun(t, s, "keychain-low", false, map[string][]timed{"a-low": {{head: -1}}, "b-low": {soon}}, func(e *outcome, _ *clientLog, took time.Duration) {
				e.wantAnswer(t, "beta/b-low", "soon")
				if took != 7*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
	t.Run("a stream has no such end", func(t *testing.T) {
		t.Parallel()
		s := setup{options: Options{Answer: catalog.PerTier{Low: time.Second}}}
		acts := []act{{10 * time.Second, text("slow")}, {10 * time.Second, finish}, {0, doneLine}}
		timedRun(t, s, "keychain-low", true, map[string][]timed{"a-low": {{acts: acts}}}, func(e *outcome, _ *clientLog, took time.Duration) {
			e.wantAnswer(t, "alpha/a-low", "slow")
			if took != 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	})
	t.Run("settings", func(t *testing.T) {
		t.Parallel()
		s := setup{timeout: `{"first_content":{"low":"3s"}}`}
		timedRun(t, s, "keychain-low", true, map[string][]timed{"a-low": {{head: -1}}, "b-low": {{acts: answersAtOnce}}}, func(e *outcome, _ *clientLog, took time.Duration) {
			e.wantAnswer(t, "beta/b-low", "from beta")
			if took != 3*time.Second {
				t.Errorf("took %s", took)
			}
		})
	})
	t.Run("an error that never ends", func(t *testing.T) {
		t.Parallel()
		scripts := map[string][]timed{
			"a-low": {{status: 429, media: "application/json", acts: []act{{0, `{"error":`}}, open: true}},
			"b-low": {{acts: answersAtOnce}},
		}
		timedRun(t, setup{}, "keychain-low", true, scripts, func(e *outcome, _ *clientLog, _ time.Duration) {
			e.wantAnswer(t, "beta/b-low", "from beta")
			if e.failedList() != "alpha:429:too_many_requests" {
				t.Errorf("failed %s", e.failedList())
			}
		})
	})
}

func TestTimeoutsOfAll(t *testing.T) {
	t.Parallel()
	never := timed{head: -1}
	timedRun(t, setup{}, "keychain-low", true, map[string][]timed{"a-low": {never}, "b-low": {never}}, func(e *outcome, _ *clientLog, took time.Duration) {
		e.wantError(t, 504, "upstream_timeout")
		if took != 40*time.Second || e.err.NoRetry || len(e.err.FailedAttempts) != 2 {
			t.Errorf("took %s, %+v", took, e.err)
		}
	})
	t.Run("the last one failed otherwise", func(t *testing.T) {
		t.Parallel()
		broken := timed{status: 500}
		timedRun(t, setup{}, "keychain-low", true, map[string][]timed{"a-low": {never}, "b-low": {broken}}, func(e *outcome, _ *clientLog, _ time.Duration) {
			e.wantError(t, 502, "all_providers_failed")
		})
	})
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	s := setup{timeout: `{"connect":"2s"}`}
	timedRun(t, s, "keychain-low", true, map[string][]timed{"a-low": {{connected: time.Minute}}, "b-low": {{acts: answersAtOnce}}}, func(e *outcome, _ *clientLog, took time.Duration) {
		e.wantAnswer(t, "beta/b-low", "from beta")
		if took != 2*time.Second || e.Failed[0].Code != "connect_timeout" {
			t.Errorf("took %s: %+v", took, e.Failed)
		}
	})
	t.Run("for everybody", func(t *testing.T) {
		t.Parallel()
		silent := timed{connected: time.Minute}
		r := newRig(t, setup{keys: []string{"alpha"}, timeout: s.timeout, now: time.Now, transport: &scripted{t: t, scripts: map[string][]timed{"a-low": {silent, silent}}}})
		requests := []*Request{r.request("alpha/a-low", true, nil), r.request("alpha/a-low", true, nil)}
		synctest.Test(t, func(t *testing.T) {
			for _, request := range requests {
				if _, err := r.engine.Answer(t.Context(), newClientLog(), request); err == nil {
					t.Error("it was connected")
				}
			}
			if !r.engine.Memory.Health.failing("alpha", "another user") {
				t.Error("for another user the provider is well")
			}
		})
	})
	t.Run("connected in time", func(t *testing.T) {
		t.Parallel()
		slow := timed{connected: time.Second, head: 10 * time.Second, acts: []act{{0, text("slow")}, {0, finish}}}
		timedRun(t, s, "keychain-low", true, map[string][]timed{"a-low": {slow}}, func(e *outcome, _ *clientLog, _ time.Duration) {
			e.wantAnswer(t, "alpha/a-low", "slow")
		})
	})
}

// TestKeepAliveAndIdleTime checks the keep-alives that a client gets during silence, and the time after which the
// gateway gives up.
func TestKeepAliveAndIdleTime(t *testing.T) {
	t.Parallel()
	s := time.Second
	comments, drops := make([]act, 0, 20), make([]act, 0, 20)
	for range 20 {
		comments = append(comments, act{25 * s, ": alive\n\n"})
		drops = append(drops, act{25 * s, " "})
	}
	repeat := func(n int, a act) (list []act) {
		for range n {
			list = append(list, a)
		}
		return list
	}
	keepAlives := func(first, last, step int) (list []string) {
		for elapsed := first; elapsed <= last; elapsed += step {
			list = append(list, fmt.Sprintf("%s keep-alive", time.Duration(elapsed)*s))
		}
		return list
	}
	for _, c := range []struct {
		name  string
		setup setup
		acts  []act
		want  []string
		code  string
	}{
		{
			"cut after a minute",
			setup{},
			[]act{{0, text("a")}, {300 * s, text("never")}},
			append(append([]string{"0s chunk"}, keepAlives(10, 50, 10)...), "1m0s error"), "upstream_stream_error",
		},
		{
			"bytes start it anew",
			setup{},
			[]act{{0, text("a")}, {59 * s, text("b")}, {59 * s, finish}, {0, doneLine}},
			append(append(append(append([]string{"0s chunk"}, keepAlives(10, 50, 10)...), "59s chunk"), keepAlives(69, 109, 10)...), "1m58s chunk", "1m58s done"), "",
		},
		{
			"comments are a sign of life for five minutes",
			setup{},
			append([]act{{0, text("a")}}, comments...),
			append(append([]string{"0s chunk"}, keepAlives(10, 290, 10)...), "5m0s error"), "upstream_stream_error",
		},
		{
			"so are bytes of an event that does not end",
			setup{},
			append([]act{{0, text("a")}, {0, "data: {"}}, drops...),
			append(append([]string{"0s chunk"}, keepAlives(10, 290, 10)...), "5m0s error"), "upstream_stream_error",
		},
		{
			"no keep-alive while content flows",
			setup{},
			append(repeat(20, act{9 * s, text("a")}), act{0, finish}, act{0, doneLine}),
			append(func() (list []string) {
				for elapsed := 9; elapsed <= 180; elapsed += 9 {
					list = append(list, fmt.Sprintf("%s chunk", time.Duration(elapsed)*s))
				}
				return list
			}(), "3m0s chunk", "3m0s done"), "",
		},
		{
			"a short setting",
			setup{options: Options{Idle: 3 * s}},
			[]act{{0, text("a")}, {4 * s, text("never")}},
			[]string{"0s chunk", "3s error"},
			"upstream_stream_error",
		},
		{
			"of the provider",
			setup{timeout: `{"idle":"25s"}`},
			[]act{{0, text("a")}, {26 * s, text("never")}},
			[]string{"0s chunk", "10s keep-alive", "20s keep-alive", "25s error"},
			"upstream_stream_error",
		},
		{
			"a whole answer whose end does not come",
			setup{},
			[]act{{0, text("a")}, {0, finish}, {300 * s, doneLine}},
			append(append([]string{"0s chunk", "0s chunk"}, keepAlives(10, 50, 10)...), "1m0s done"), "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			timedRun(t, c.setup, "keychain-low", true, map[string][]timed{"a-low": {{acts: c.acts, open: true}}}, func(e *outcome, d *clientLog, _ time.Duration) {
				if got, want := strings.Join(d.entries, "\n"), strings.Join(c.want, "\n"); got != want {
					t.Errorf("the client got\n%s\nwant\n%s", got, want)
				}
				if e.rawErr != nil || e.Code != c.code || e.Candidate.Entry != "alpha/a-low" || strings.Contains(e.body, "never") {
					t.Errorf("%v, %+v", e.rawErr, e.Result)
				}
			})
		})
	}
}

// TestSlowClient checks that a client which reads more slowly than the idle time is not taken for a silent upstream. It
// runs in real time, because the watch waits for a lock, which a synctest bubble does not support.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	// One text is smaller than the write buffer, the other larger.
	for _, size := range []int{1, 2 * maxPending} {
		t.Run(strconv.Itoa(size), func(t *testing.T) { slowClient(t, size) })
	}
}

func slowClient(t *testing.T, size int) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, options: Options{Idle: time.Second}})
	d := newClientLog()
	d.slowAt, d.slow, d.slept = "second", 3*time.Second, make(chan struct{})
	r.alpha.addSteps(inOrder(stream(text("first"), text("second"+strings.Repeat("x", size))), func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-d.slept:
		case <-req.Context().Done():
		}
	}, stream(text("third"), finish, doneLine)))
	result, err := r.engine.Answer(t.Context(), d, r.request("keychain-low", true, nil))
	if err != nil || result.Code != "" || !strings.HasSuffix(d.whole.String(), doneLine) {
		t.Errorf("%d bytes: %v, %+v", size, err, result)
	}
}

// TestBodyOpenAfterDone checks that an upstream which keeps its body open after [DONE] delays the client only briefly.
func TestBodyOpenAfterDone(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]act{"silent": nil, "talking": {{0, strings.Repeat("x", 1<<20)}}, "drip": {{time.Millisecond, "x"}, {time.Second, "x"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := timed{acts: append([]act{{0, text("a") + finish + doneLine}}, more...), open: true}
			timedRun(t, setup{}, "keychain-low", true, map[string][]timed{"a-low": {script}}, func(e *outcome, _ *clientLog, took time.Duration) {
				e.wantAnswer(t, "alpha/a-low", doneLine)
				if took > 100*time.Millisecond {
					t.Errorf("the client was held for %s", took)
				}
			})
		})
	}
}

// TestRequestDeadline checks that a request ends at its deadline, in every phase.
func TestRequestDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script timed
		status int
	}{
		"before the head":   {timed{head: -1}, 499},
		"before the commit": {timed{acts: []act{{0, role}}, open: true}, 499},
		"in the stream":     {timed{acts: []act{{0, text("a")}}, open: true}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}, transport: &scripted{t: t, scripts: map[string][]timed{"a-low": {c.script}}}, now: time.Now})
			request := r.request("keychain-low", true, nil)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				d := newClientLog()
				result, err := r.engine.Answer(ctx, d, request)
				if time.Since(d.start) != 5*time.Second || result.Status != c.status || result.Code != "client_closed_request" || (err == nil) != (c.status == 200) {
					t.Errorf("%v after %s, %+v", err, time.Since(d.start), result)
				}
				if strings.Contains(d.whole.String(), "error") {
					t.Errorf("the client got %s", d.whole.String())
				}
			})
		})
	}
}
