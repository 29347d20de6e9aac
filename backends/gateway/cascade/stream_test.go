package cascade

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
)

// renamed returns the stream that a client of keychain-low gets for an upstream's events.
func renamed(events ...string) string {
	return strings.ReplaceAll(strings.Join(events, ""), `"model":"up"`, `"model":"keychain-low"`)
}

func TestStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	r.alpha.addSteps(answers("hi"), answers("hi"))
	e := r.askStream("keychain-low")
	e.wantAnswer(t, "alpha/a-low", "hi")
	if want := renamed(role, text("hi"), finish, doneLine); e.body != want {
		t.Errorf("body\n%swant\n%s", e.body, want)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Length": "", "Content-Encoding": "",
		"X-Gateway-Provider": "alpha", "X-Gateway-Model": "a-low", "X-Gateway-Tier": "low", "X-Gateway-Attempts": "1",
	} {
		if got := e.header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if u := e.Usage; e.Estimated || u.Prompt != 11 || u.Completion != 5 || u.CacheRead != 3 {
		t.Errorf("usage %+v", u)
	}
	e = r.askStream("keychain-low", `"stream_options":{"include_usage":true}`)
	if want := renamed(role, text("hi"), finish, usageLine, doneLine); e.body != want {
		t.Errorf("with usage\n%swant\n%s", e.body, want)
	}
}

// TestStreamFailsOverBeforeProof checks streams that break before the first proof of an answer. The client must get the
// whole answer of the next candidate, and nothing of the first.
func TestStreamFailsOverBeforeProof(t *testing.T) {
	t.Parallel()
	sse := func(events ...string) step { return stream(events...) }
	fail := `data: {"error":{"message":"broke","code":"boom"}}` + "\n\n"
	many := strings.Repeat(role, maxUncommitted/len(role)+2)
	starts := map[string]string{
		"nothing":             "",
		"comments":            ": OPENROUTER PROCESSING\n\n:\n\n",
		"role":                role,
		"role twice":          role + role,
		"empty content":       chunk(`{"content":""}`, "null"),
		"null content":        chunk(`{"content":null,"refusal":null,"reasoning_content":null}`, "null"),
		"empty parts":         chunk(`{"content":[{"type":"text","text":""}]}`, "null"),
		"empty delta":         chunk(`{}`, "null"),
		"empty finish":        chunk(`{}`, `""`),
		"empty choices":       `data: {"id":"up","choices":[],"prompt_filter_results":[]}` + "\n\n",
		"usage":               usageLine,
		"arguments only":      chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"","arguments":"{}"}}]}`, "null"),
		"unknown event":       "event: ping\ndata: {\"type\":\"ping\"}\n\n",
		"empty data":          "data:\n\n",
		"empty object":        "data: {}\n\n",
		"message_start":       "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n",
		"response.created":    "data: {\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\"}}\n\n",
		"content_block_start": "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
	}
	ends := map[string]struct {
		step step
		code string
	}{
		"end":            {sse(), "incomplete_answer"},
		"DONE":           {sse(doneLine), "incomplete_answer"},
		"error":          {sse(fail), "boom"},
		"an error event": {sse("event: error\n" + fail), "boom"},
		"error finish":   {sse(chunk(`{}`, `"error"`)), "error"},
		"broken JSON":    {sse("data: {\"choices\":[{\"delta\":\n\n"), "broken_answer"},
		"no JSON":        {sse("data: Internal Server Error\n\n"), "broken_answer"},
		"an array":       {sse("data: []\n\n"), "broken_answer"},
		"a list":         {sse(`data: [{"error":{"message":"broke","code":"boom"}}]` + "\n\n"), "boom"},
		"dropped":        {drop, "connection_error"},
		"half an event":  {inOrder(sse("data: {\"choi"), drop), "connection_error"},
	}
	for start, events := range starts {
		for end, c := range ends {
			t.Run(start+", "+end, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, setup{keys: []string{"alpha", "beta"}})
				r.alpha.addSteps(inOrder(sse(events), c.step))
				r.beta.addSteps(answers("from beta"))
				e := r.askStream("keychain-low")
				e.wantAnswer(t, "beta/b-low", "from beta")
				if want := renamed(role, text("from beta"), finish, doneLine); e.body != want {
					t.Errorf("body\n%swant\n%s", e.body, want)
				}
				if len(e.Failed) != 1 || e.Failed[0].Code != c.code || e.header.Get("X-Gateway-Provider") != "beta" {
					t.Errorf("failed %s, want %s", e.failedList(), c.code)
				}
			})
		}
	}
	for name, c := range map[string]struct {
		step step
		code string
	}{
		"much and no content": {sse(many), "broken_answer"},
		"an event too large":  {endlessEvent, "broken_answer"},
		"JSON, an error":      {reply(200, `{"error":{"message":"m","code":"json_error"}}`), "json_error"},
		"JSON, no finish":     {reply(200, `{"choices":[{"message":{"content":"whole"`), "broken_answer"},
		"JSON, no choices":    {reply(200, `{"choices":[]}`), "empty_answer"},
		"a web page":          {reply(200, "<html>", "Content-Type", "text/html"), "html_answer"},
		"a web page as text":  {reply(200, "<html>\n<body>data: </body></html>\n", "Content-Type", "text/plain"), "incomplete_answer"},
		"another encoding":    {reply(200, "", "Content-Type", "text/event-stream", "Content-Encoding", "zstd"), "unsupported_encoding"},
		"no gzip":             {reply(200, role+text("x"), "Content-Type", "text/event-stream", "Content-Encoding", "gzip"), "broken_answer"},
		"no content type":     {reply(200, "", "Content-Type", ""), "incomplete_answer"},
		"JSON lines":          {reply(200, `{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`+"\n", "Content-Type", "application/x-ndjson"), "incomplete_answer"},
		"500":                 {refusal(500, "five", "m"), "five"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}})
			r.alpha.addSteps(c.step)
			r.beta.addSteps(answers("from beta"))
			e := r.askStream("keychain-low")
			e.wantAnswer(t, "beta/b-low", "from beta")
			if want := renamed(role, text("from beta"), finish, doneLine); e.body != want || len(e.Failed) != 1 || e.Failed[0].Code != c.code {
				t.Errorf("failed %s, want %s, body\n%s", e.failedList(), c.code, e.body)
			}
		})
	}
}

func endlessEvent(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: ")
	piece := []byte(strings.Repeat("x", 1<<20))
	for r.Context().Err() == nil {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// TestStreamBreaksAfterProof checks that each kind of proof commits the request to its candidate. An error after it is
// reported in the stream, and no other model is asked.
func TestStreamBreaksAfterProof(t *testing.T) {
	t.Parallel()
	proofs := map[string]string{
		"text":      text("partial"),
		"reasoning": chunk(`{"reasoning_content":"hm"}`, "null"),
		"refusal":   chunk(`{"refusal":"No"}`, "null"),
		"tool name": chunk(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, "null"),
	}
	breaks := map[string]struct {
		step step
		says string
	}{
		"end":          {stream(), "stream ended without a finish reason"},
		"DONE":         {stream(doneLine), "stream ended without a finish reason"},
		"error":        {stream(`data: {"error":{"message":"key sk-abcdefghijklmnop \"died\"\n","code":"x"}}` + "\n\n" + text("never")), `key *** \"died\"`},
		"key echoed":   {stream(`data: {"error":{"message":"key-alpha-1 has ended"}}` + "\n\n"), `*** has ended`},
		"error finish": {stream(chunk(`{}`, `"error"`)), "the model ended with an error"},
		"broken JSON":  {stream("data: {\"choices\":[\n\n" + text("never")), "broken answer"},
		"dropped":      {drop, "the connection to the upstream failed"},
	}
	for proof, event := range proofs {
		for name, c := range breaks {
			t.Run(proof+", "+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, setup{keys: []string{"alpha", "beta"}})
				r.alpha.addSteps(inOrder(stream(role, event), c.step))
				e := r.askStream("keychain-low")
				if e.rawErr != nil || e.Candidate == nil || e.Candidate.Entry != "alpha/a-low" || e.Attempts != 1 || e.Status != 200 || e.Code != "upstream_stream_error" {
					t.Fatalf("ended with %v, %+v", e.rawErr, e.Result)
				}
				begun := renamed(role, event)
				rest, ok := strings.CutPrefix(e.body, begun)
				if !ok {
					t.Fatalf("body\n%s", e.body)
				}
				data, ok := strings.CutPrefix(rest, "data: ")
				data, ends := strings.CutSuffix(data, "\n\n")
				var got map[string]map[string]any
				if err := json.Unmarshal([]byte(data), &got); !ok || !ends || strings.Contains(data, "\n") || err != nil {
					t.Fatalf("the last event is %q, %v", rest, err)
				}
				message := fmt.Sprint(got["error"]["message"])
				if want := strings.ReplaceAll(c.says, `\"`, `"`); !strings.Contains(message, want) || len(got) != 1 {
					t.Errorf("the error says %q, want %q", message, want)
				}
				if got["error"]["type"] != "api_error" || got["error"]["code"] != "upstream_stream_error" {
					t.Errorf("the error is %v", got)
				}
				if strings.Contains(e.body, "[DONE]") || strings.Contains(e.body, `"finish_reason":"stop"`) || strings.Contains(e.body, "never") || strings.Contains(e.body, "key-alpha-1") {
					t.Errorf("body\n%s", e.body)
				}
				if !e.Estimated {
					t.Error("the usage until the break is not estimated")
				}
			})
		}
	}
}

// TestStreamWithoutDone checks that an answer is complete with its finish reason, even if the end of the stream is
// missing.
func TestStreamWithoutDone(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]step{"end": stream(), "dropped": drop, "usage, dropped": inOrder(stream(usageLine), drop), "comment": stream(": bye\n\n")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}})
			r.alpha.addSteps(inOrder(stream(role, text("whole"), finish), last))
			e := r.askStream("keychain-low")
			e.wantAnswer(t, "alpha/a-low", "whole")
			if want := renamed(role, text("whole"), finish, doneLine); e.body != want {
				t.Errorf("body\n%swant\n%s", e.body, want)
			}
			if e.Estimated == strings.HasPrefix(name, "usage") {
				t.Errorf("usage %+v, estimated %v", e.Usage, e.Estimated)
			}
		})
	}
	t.Run("error behind the finish", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(stream(text("x"), finish, `data: {"error":{"message":"late"}}`+"\n\n"))
		e := r.askStream("keychain-low")
		if e.Code != "upstream_stream_error" || strings.Contains(e.body, "[DONE]") {
			t.Errorf("%+v\n%s", e.Result, e.body)
		}
	})
}

// TestStreamFinishIsProof checks that a finish_reason without content is proof of an answer.
func TestStreamFinishIsProof(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	r.alpha.addSteps(stream(role, finish, doneLine))
	e := r.askStream("keychain-low")
	e.wantAnswer(t, "alpha/a-low", "stop")
}

// TestBrokenStreamsCoolTheProvider checks that streams which break after the commit point count as failures of the
// provider.
func TestBrokenStreamsCoolTheProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	r.alpha.addSteps(stream(text("a")), stream(text("a")))
	for range 2 {
		r.askStream("keychain-low")
	}
	if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); state.Status != CoolingDown {
		t.Fatalf("alpha is %+v", state)
	}
	r.beta.addSteps(answers("from beta"))
	r.askStream("keychain-low").wantAnswer(t, "beta/b-low", "from beta")
}

func TestStreamErrorsAreClassified(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "alpha", "beta"}})
	limited := stream(": wait\n\n", role, `data: {"error":{"message":"slow down, try again in 40s","code":429}}`+"\n\n")
	r.alpha.addSteps(limited, limited)
	r.beta.addSteps(answers("from beta"))
	e := r.askStream("keychain-low")
	e.wantAnswer(t, "beta/b-low", "from beta")
	if e.failedList() != "alpha:200:429 alpha:200:429" {
		t.Errorf("failed %s", e.failedList())
	}
	for _, key := range []string{"key-alpha-1", "key-alpha-2"} {
		state := r.engine.Memory.Health.Lookup("alpha", r.keyID(key), "a-low")
		if state.Reason != ReasonRateLimited || state.Until.Sub(r.clock.now()) != 40*time.Second {
			t.Errorf("%s is %+v", key, state)
		}
	}
}

// TestStreamLargeEvents checks several events of 1 MB with characters of several bytes.
func TestStreamLargeEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	large := text(strings.Repeat("0123456789abcdeü", 1<<16))
	r.alpha.addSteps(stream(role, large, large, large, finish, doneLine))
	e := r.askStream("keychain-low")
	if want := renamed(role, large, large, large, finish, doneLine); e.body != want || e.rawErr != nil {
		t.Errorf("%d bytes, want %d, %v", len(e.body), len(want), e.rawErr)
	}
}

// front serves the cascade over HTTP, for tests that need a real connection.
type front struct {
	*httptest.Server
	results chan *outcome
}

func (r *rig) serve() *front {
	f := &front{results: make(chan *outcome, 10)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			r.t.Error(err)
		}
		chat, err := native.Parse(body)
		if err != nil {
			r.t.Error(err)
			return
		}
		result, err := r.engine.Answer(req.Context(), w, &Request{ID: "req_1", User: r.account.UserID, Chat: chat, Account: r.account})
		f.results <- &outcome{Result: result, rawErr: err}
	}))
	r.t.Cleanup(f.Close)
	return f
}

func (f *front) post(ctx context.Context, t *testing.T, streams bool) (*http.Response, error) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"keychain-low","stream":%v,%s}`, streams, helloMessages)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return f.Client().Do(req)
}

func (f *front) result(t *testing.T) *outcome {
	t.Helper()
	select {
	case e := <-f.results:
		return e
	case <-time.After(2 * time.Minute):
		t.Fatal("the request did not end")
		return nil
	}
}

// TestStreamIsNotHeldBack checks that each event reaches the client before the upstream sends the next one.
func TestStreamIsNotHeldBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	next := make(chan struct{})
	r.alpha.addSteps(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{role + text("one"), text("two"), ": comment\n\n" + text("three"), finish + doneLine} {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-req.Context().Done():
				return
			}
		}
	})
	resp, err := r.serve().post(t.Context(), t, true)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for _, want := range []string{"one", "two", "three", "[DONE]"} {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if strings.Contains(line, want) {
				break
			}
		}
		if want != "[DONE]" {
			next <- struct{}{}
		}
	}
	close(next)
}

// TestClientLeaves checks that the upstream request is cancelled when the client disconnects, in every phase.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	reached := func(u *upstream, before ...step) step {
		return inOrder(append(before, u.hang)...)
	}
	for _, c := range []struct {
		name      string
		streams   bool
		script    func(u *upstream) step
		committed bool
	}{
		{"before the head, stream", true, func(u *upstream) step { return reached(u) }, false},
		{"before the head", false, func(u *upstream) step { return reached(u) }, false},
		{"in the body", false, func(u *upstream) step { return reached(u, stream(`{"choices":`)) }, false},
		{"in an error body", false, func(u *upstream) step {
			return reached(u, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(500)
				_, _ = io.WriteString(w, `{"error":`)
				_ = http.NewResponseController(w).Flush()
			})
		}, false},
		{"before the commit", true, func(u *upstream) step { return reached(u, stream(": c\n\n", role)) }, false},
		{"in the stream", true, func(u *upstream) step { return reached(u, stream(role, text("begun"))) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}})
			arrived := make(chan struct{})
			work := c.script(r.alpha)
			r.alpha.addSteps(func(w http.ResponseWriter, req *http.Request) {
				close(arrived)
				work(w, req)
			})
			f := r.serve()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if c.committed {
				resp, err := f.post(ctx, t, c.streams)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if _, err := io.ReadFull(resp.Body, make([]byte, len(renamed(role, text("begun"))))); err != nil {
					t.Fatal(err)
				}
				leave()
			} else {
				go func() {
					<-arrived
					leave()
				}()
				if resp, err := f.post(ctx, t, c.streams); err == nil {
					_ = resp.Body.Close()
					t.Fatal("an answer came")
				}
			}
			e := f.result(t)
			for r.alpha.cancelled.Load() == 0 { // the server's cleanup waits for it as well
				time.Sleep(time.Millisecond)
			}
			if e.Attempts != 1 || e.Code != "client_closed_request" {
				t.Errorf("%+v", e.Result)
			}
			if c.committed && (e.rawErr != nil || e.Status != 200 || e.Usage.Completion == 0 || !e.Estimated) {
				t.Errorf("%v, %+v", e.rawErr, e.Result)
			}
			if !c.committed && (!errors.Is(e.rawErr, context.Canceled) || e.Status != 499 || e.Candidate != nil) {
				t.Errorf("%v, %+v", e.rawErr, e.Result)
			}
			for _, p := range []string{"alpha", "beta"} {
				if state := r.engine.Memory.Health.Provider(p, r.account.UserID); !state.LastFailure.IsZero() {
					t.Errorf("%s is blamed: %+v", p, state)
				}
			}
			if len(r.beta.requests()) != 0 {
				t.Error("beta was asked for a client that had gone")
			}
		})
	}
}

// TestBrokenClient checks that a client's broken connection is noticed by a failed write, before the context ends.
func TestBrokenClient(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*brokenWriter{"write": {failWrite: true}, "flush": {failFlush: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha"}})
			r.alpha.addSteps(inOrder(stream(role, text("begun")), r.alpha.hang))
			w.ResponseWriter = httptest.NewRecorder()
			result, err := r.engine.Answer(t.Context(), w, r.request("keychain-low", true, nil))
			if err != nil || result.Code != "client_closed_request" || result.Status != 200 {
				t.Errorf("%v, %+v", err, result)
			}
			for r.alpha.cancelled.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); !state.LastFailure.IsZero() {
				t.Errorf("the provider is blamed: %+v", state)
			}
		})
	}
	r := newRig(t, setup{keys: []string{"alpha"}})
	r.alpha.addSteps(reply(200, completion("hi")))
	w := &brokenWriter{ResponseWriter: httptest.NewRecorder(), failWrite: true}
	if result, err := r.engine.Answer(t.Context(), w, r.request("keychain-low", false, nil)); err != nil || result.Code != "client_closed_request" {
		t.Errorf("reply: %v, %+v", err, result)
	}
}

type brokenWriter struct {
	http.ResponseWriter
	failWrite, failFlush bool
}

var errPipe = errors.New("broken pipe")

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.failWrite {
		return 0, errPipe
	}
	return b.ResponseWriter.Write(p)
}

func (b *brokenWriter) FlushError() error {
	if b.failFlush {
		return errPipe
	}
	return nil
}

// TestConnectionsAreReused checks that connections are reused, also after streams and errors.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		streams bool
		step    step
	}{
		"replies": {false, reply(200, completion("hi"))},
		"streams": {true, answers("hi")},
		"errors":  {false, refusal(403, "", "not in your region")},
		"streams whose end comes late": {true, func(w http.ResponseWriter, r *http.Request) {
			answers("hi")(w, r)
			time.Sleep(5 * time.Millisecond) // the end of the body is written after the pause
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a","tiers":["low"]}`})
			r.alpha.defaultStep = c.step
			for range 10 {
				r.send(t.Context(), "keychain-low", c.streams, nil)
			}
			// Usually there is one connection. On a busy machine, the end of a body may come too late for its reuse.
			if n := r.alpha.opened.Load(); n > 5 {
				t.Errorf("%d connections for 10 requests", n)
			}
		})
	}
}

// TestStreamsDoNotMix sends many requests at a time, some of which break. No answer may have text of another one.
func TestStreamsDoNotMix(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	var n atomic.Int64
	answerOf := func(name string) step {
		return func(w http.ResponseWriter, req *http.Request) {
			i := n.Add(1)
			mine := fmt.Sprintf("%s-%d;", name, i)
			events := append(make([]string, 0, 24), role)
			for range 20 {
				events = append(events, text(mine))
			}
			switch {
			case i%5 == 0:
				events = []string{role, `data: {"error":{"message":"no"}}` + "\n\n"}
			case i%7 == 0:
				events = events[:10]
			default:
				events = append(events, finish, doneLine)
			}
			stream(events...)(w, req)
		}
	}
	r.alpha.defaultStep, r.beta.defaultStep, r.gamma.defaultStep = answerOf("alpha"), answerOf("beta"), answerOf("gamma")
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			e := r.askStream("keychain-low")
			if e.rawErr != nil {
				return
			}
			first := ""
			for line := range strings.SplitSeq(e.body, "\n") {
				_, rest, ok := strings.Cut(line, `"content":"`)
				content, _, _ := strings.Cut(rest, `"`)
				if !ok || content == "" {
					continue
				}
				if first == "" {
					first = content
				}
				if content != first || !strings.HasPrefix(content, e.Candidate.Provider.Code+"-") {
					t.Errorf("%s in the answer of %s that began with %s", content, e.Candidate.Entry, first)
				}
			}
		})
	}
	wg.Wait()
}

// TestRequestMemory checks that the memory of a request is released exactly once, and that no transport reads it after
// that, even if an upstream answers before it has read the request.
func TestRequestMemory(t *testing.T) {
	t.Parallel()
	early := func(w http.ResponseWriter, r *http.Request) { // does not read the body
		_ = http.NewResponseController(w).EnableFullDuplex()
		answers("early")(w, r)
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		code  string
	}{
		"answered early": {early, ""},
		"refused early":  {func(w http.ResponseWriter, r *http.Request) { refusal(500, "", "m")(w, r) }, "all_providers_failed"},
		"dropped":        {drop, "all_providers_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.serve)
			t.Cleanup(server.Close)
			r := newRig(t, setup{})
			r.account = newAccount(t, r.catalog, setup{custom: []keychain.CustomModel{{Entry: "local/x", BaseURL: server.URL, Model: "x", Tier: catalog.Low}}})
			request := r.request("local/x", true, []string{`"pad":"` + strings.Repeat("x", 8<<20) + `"`})
			memory := request.Chat.Body
			released := make(chan struct{})
			request.Chat.Lease = wire.NewLease(func(bool) {
				clear(memory)   // the race detector notices a simultaneous read
				close(released) // a second call would panic
			})
			result, err := r.engine.Answer(t.Context(), httptest.NewRecorder(), request)
			request.Chat.Release()
			if result.Code != c.code || (err == nil) != (c.code == "") {
				t.Errorf("%v, %+v", err, result)
			}
			select {
			case <-released:
			case <-time.After(2 * time.Minute):
				t.Error("the memory was never given back")
			}
		})
	}
}
