package cascade

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// allocated returns how many bytes were allocated while f ran. Tests that use it run alone.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc) //nolint:gosec // it fits
}

// inUse returns the number of heap bytes in use.
func inUse() int64 {
	var now runtime.MemStats
	runtime.GC()
	runtime.GC() // also frees pooled memory
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc) //nolint:gosec // it fits
}

// TestContentLengthTakesNoMemory checks that no memory is allocated for an upstream's Content-Length before the body
// arrives.
func TestContentLengthTakesNoMemory(t *testing.T) { // not parallel: it measures the process
	r := newRig(t, setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a-low","tiers":["low"],` + allAbilities + `}`})
	r.engine.Budget = memory.New(1 << 30)
	const requests = 20
	var inside sync.WaitGroup
	inside.Add(requests)
	r.alpha.defaultStep = func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "33554432")
		_, _ = io.WriteString(w, `{"choices":`+strings.Repeat(" ", 5<<10))
		_ = http.NewResponseController(w).Flush()
		inside.Done()
		<-q.Context().Done()
	}
	var all sync.WaitGroup
	ended := make(chan struct{})
	got := allocated(func() {
		for range requests {
			all.Go(func() { r.send(contextUntil(t, ended), "keychain-low", false, nil) })
		}
		inside.Wait()
		for r.engine.Budget.Taken() < requests<<16 { // until all answers are being read
			time.Sleep(time.Millisecond)
		}
		close(ended)
		all.Wait()
	})
	if got > requests<<20 {
		t.Errorf("%d answers that did not come took %d MiB", requests, got>>20)
	}
	if r.engine.Budget.Taken() != 0 {
		t.Errorf("%d bytes stay taken", r.engine.Budget.Taken())
	}
}

// TestAnswersTakeMemory checks that an answer for which there is no memory becomes a 503 of the gateway, and that it
// does not count as a failure of the provider.
func TestAnswersTakeMemory(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 300<<10)
	event := "data: " + strings.TrimPrefix(text(large), "data: ")
	for name, c := range map[string]struct {
		stream bool
		answer step
	}{
		"whole":             {false, reply(200, completion(large))},
		"of known length":   {false, reply(200, completion(large), "Content-Length", fmt.Sprint(len(completion(large))))},
		"packed":            {false, reply(200, gzipText(completion(large)), "Content-Encoding", "gzip")},
		"event of a stream": {true, stream(role, event, finish, doneLine)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}})
			r.engine.Budget = memory.New(4 << 20)
			other := r.engine.Budget.Share("")
			if err := other.Grow(t.Context(), 4<<20-(100<<10)); err != nil {
				t.Fatal(err)
			}
			r.alpha.addSteps(c.answer, c.answer)
			e := r.send(t.Context(), "keychain-low", c.stream, nil)
			e.wantError(t, http.StatusServiceUnavailable, "overloaded")
			if e.err.RetryAfter <= 0 || !r.engine.Memory.Health.Provider("alpha", r.account.UserID).LastFailure.IsZero() {
				t.Errorf("%+v, alpha %+v", e.err, r.engine.Memory.Health.Provider("alpha", r.account.UserID))
			}
			other.Free()
			r.send(t.Context(), "keychain-low", c.stream, nil).wantAnswer(t, "alpha/a-low", large[:1000])
			if r.engine.Budget.Taken() != 0 {
				t.Errorf("%d bytes stay taken", r.engine.Budget.Taken())
			}
		})
	}
}

// TestAnswersOfOneUser checks that a user whose answers have used up the user's share of the memory budget leaves the
// rest to others.
func TestAnswersOfOneUser(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 300<<10)
	for streams, answer := range map[bool]step{false: reply(200, completion(large)), true: stream(role, text(large), finish, doneLine)} {
		t.Run(fmt.Sprint("streams ", streams), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha"}})
			other := r.forAccount(newAccount(t, r.catalog, setup{keys: []string{"alpha"}}))
			r.engine.Budget = memory.New(4 * memory.MinBudget)
			mine := r.engine.Budget.Share(r.account.UserID)
			if err := mine.Grow(t.Context(), 2*memory.MinBudget); err != nil {
				t.Fatal(err)
			}
			r.alpha.defaultStep = answer
			r.send(t.Context(), "keychain-low", streams, nil).wantError(t, http.StatusServiceUnavailable, "overloaded")
			other.send(t.Context(), "keychain-low", streams, nil).wantAnswer(t, "alpha/a-low", large[:1000])
		})
	}
}

// whileStreaming is a transport whose answers send one event and stay open until the channel is closed.
type whileStreaming struct {
	event string
	open  chan struct{} // closed to end the answers
}

func (s *whileStreaming) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	body, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, s.event)
		<-s.open
		_ = w.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Body: body, Request: r}, nil
}

// firstWriteSignal is a client that closes firstWrite when it gets the first bytes.
type firstWriteSignal struct {
	discardWriter
	once       sync.Once
	firstWrite chan struct{}
}

// FlushError implements flushing for http.ResponseController.
func (n *firstWriteSignal) FlushError() error { return nil }

func (n *firstWriteSignal) Write(p []byte) (int, error) {
	n.once.Do(func() { close(n.firstWrite) })
	return len(p), nil
}

// prompted returns a request for a stream with a prompt of about size bytes.
func prompted(surface hub.Format, more string, size int) []byte {
	prompt := strings.Repeat("word ", size/5)
	if surface == hub.Responses {
		return []byte(`{"model":"alpha/a-low","stream":true,"fallbacks":[],` + more + `"input":"` + prompt + `"}`)
	}
	return []byte(`{"model":"alpha/a-low","stream":true,"max_tokens":77,"fallbacks":[],` + more + `"messages":[{"role":"user","content":"` + prompt + `"}]}`)
}

// TestStreamsReleaseBodies checks that the client's request and the request to the upstream are released from memory
// and from the budget while the answer streams. The number of prompt tokens must still be known at the end.
func TestStreamsReleaseBodies(t *testing.T) { // not parallel: it measures the process
	const size = 24 << 20
	begun := map[hub.Format]string{
		hub.Chat: role + text("begun"),
		hub.Messages: "data: " + `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":0,"output_tokens":0}}}` +
			"\n\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` +
			"\n\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"begun"}}` + "\n\n",
	}
	for _, route := range routes {
		if route.upstream == hub.Responses {
			continue // like messages
		}
		upstream := &whileStreaming{begun[route.upstream], make(chan struct{})}
		r := newRig(t, setup{
			keys: []string{"alpha"}, members: nativeOrChat(route.upstream), transport: upstream,
			models: `{"provider":"alpha","id":"a-low","tiers":["low"],"tools":true}`,
		})
		r.engine.Budget = memory.New(4 * memory.MinBudget)
		share := r.engine.Budget.Share("")
		if err := share.Grow(t.Context(), size); err != nil {
			t.Fatal(err)
		}
		before := inUse()
		req := &Request{ID: "req_1", User: r.account.UserID, Account: r.account}
		format, _ := formats.Of(route.surface)
		if err := req.Read(format, prompted(route.surface, route.more, size), hub.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		lease := wire.NewLease(func(bool) { share.Free() })
		if req.Chat != nil {
			req.Chat.Lease = lease
		} else {
			req.Lease = lease
		}
		w := &firstWriteSignal{discardWriter: discardWriter{http.Header{}}, firstWrite: make(chan struct{})}
		ended := make(chan *Result, 1)
		go func() {
			defer req.Release()
			result, _ := r.engine.Answer(t.Context(), w, req)
			ended <- result
		}()
		select {
		case <-w.firstWrite:
		case result := <-ended:
			t.Fatalf("%s: %+v", route.name, result)
		}
		if more := inUse() - before; more > size/2 {
			t.Errorf("%s: %d MiB more are in use", route.name, more>>20)
		}
		if heldBytes := r.engine.Budget.Taken(); heldBytes != 0 {
			t.Errorf("%s: %d bytes are taken", route.name, heldBytes)
		}
		close(upstream.open)
		if result := <-ended; result.Usage.Prompt < size/5 || !result.Estimated {
			t.Errorf("%s: %+v", route.name, result.Usage)
		}
	}
}

// TestMemoryAfterTheCommitPoint checks that a running stream for which the memory runs out ends with an error that says
// so.
func TestMemoryAfterTheCommitPoint(t *testing.T) {
	t.Parallel()
	for _, surface := range []hub.Format{hub.Chat, hub.Messages} {
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.engine.Budget = memory.New(100 << 10)
		r.alpha.addSteps(stream(role, text("begun"), text(strings.Repeat("x", 300<<10)), finish, doneLine))
		e := r.askOn(surface, question(surface, "keychain-low", true))
		if !strings.Contains(e.body, "begun") || !strings.Contains(e.body, "memory for the answer is not available right now") ||
			surface == hub.Messages && !strings.Contains(e.body, "overloaded_error") || strings.Contains(e.body, "stream broke") {
			t.Errorf("%s: the client got %s", surface, e.body)
		}
		if !r.engine.Memory.Health.Provider("alpha", r.account.UserID).LastFailure.IsZero() {
			t.Errorf("%s: alpha is blamed", surface)
		}
	}
}

// TestBrokenBytesTakeMemory checks invalid UTF-8, whose replacement makes the answer longer. The longer answer is
// charged to the memory budget and held to the size limit.
func TestBrokenBytesTakeMemory(t *testing.T) {
	t.Parallel()
	for size, status := range map[int]int{1 << 20: http.StatusServiceUnavailable, 20 << 20: http.StatusBadGateway} {
		r := newRig(t, setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a-low","tiers":["low"],` + allAbilities + `}`})
		r.engine.Budget = memory.New(96 << 20)
		if status == http.StatusServiceUnavailable {
			r.engine.Budget = memory.New(4 << 20)
		}
		answer := completion(strings.Repeat("a\xff", size/2))
		r.alpha.addSteps(reply(200, answer, "Content-Length", fmt.Sprint(len(answer))))
		e := r.ask("keychain-low")
		if e.err == nil || e.err.Status != status || r.engine.Budget.Taken() != 0 {
			t.Errorf("%d bytes: %v, %d stay taken", size, e.rawErr, r.engine.Budget.Taken())
		}
	}
}

// TestMediaIsReadOnce checks that counting the tokens of a prompt with a picture does not read the body again at the
// commit.
func TestMediaIsReadOnce(t *testing.T) { // not parallel: it measures the process
	r := newRig(t, setup{keys: []string{"alpha"}})
	const size = 20 << 20
	ask := r.request("keychain-low", true, []string{`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		strings.Repeat("A", size) + `"}}]}]`})
	run := r.engine.newRun(t.Context(), nil, ask)
	run.w, run.key = &discardWriter{http.Header{}}, &keychain.Key{}
	if got := allocated(func() {
		run.commit(&keychain.Candidate{Provider: r.catalog.Providers()[0], Model: r.catalog.Models("alpha")[0]})
	}); got > 1<<20 {
		t.Errorf("the commit took %d KiB", got>>10)
	}
	if ask.Chat.Body != nil {
		t.Error("the body is kept")
	}
	if got := run.promptTokens(); got != 1100+4 {
		t.Errorf("%d tokens", got)
	}
}

// discardWriter is a response writer that discards the answer.
type discardWriter struct{ header http.Header }

func (d *discardWriter) Header() http.Header         { return d.header }
func (d *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (d *discardWriter) WriteHeader(int)             {}

// contextUntil returns a context that is cancelled when a channel is closed.
func contextUntil(t *testing.T, ended <-chan struct{}) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-ended
		cancel()
	}()
	return ctx
}

// deadlineRecorder records the write deadlines that are set.
type deadlineRecorder struct {
	discardWriter
	deadlines []time.Time
}

func (p *deadlineRecorder) SetWriteDeadline(deadline time.Time) error {
	p.deadlines = append(p.deadlines, deadline)
	return nil
}

// TestAnswerWriteDeadline checks that an answer which is charged to the memory budget has a write deadline until it is
// written.
func TestAnswerWriteDeadline(t *testing.T) {
	t.Parallel()
	for size, limited := range map[int]bool{1 << 10: false, 300 << 10: true} {
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(reply(200, completion(strings.Repeat("x", size))))
		w := &deadlineRecorder{discardWriter: discardWriter{http.Header{}}}
		if _, err := r.engine.Answer(t.Context(), w, r.request("keychain-low", false, nil)); err != nil {
			t.Fatal(err)
		}
		if n := len(w.deadlines); n > 0 != limited || limited && (w.deadlines[0].IsZero() || !w.deadlines[n-1].IsZero()) {
			t.Errorf("of %d bytes: deadlines %s", size, w.deadlines)
		}
	}
}
