package stored

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// events returns the events of an upstream's stream with a text, numbered from 0.
func events(item, text string) []string {
	done := strings.NewReplacer("\n", "", "\t", "").Replace(answerOf(item, text))
	begun := strings.Replace(done, "completed", "in_progress", 1)
	var all []string
	add := func(name, members string) {
		all = append(all, fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d,%s}\n\n", name, name, len(all), members))
	}
	add("response.created", `"response":`+begun)
	add("response.in_progress", `"response":`+begun)
	for word := range strings.FieldsSeq(text) {
		add("response.output_text.delta", `"delta":"`+word+`"`)
	}
	add("response.completed", `"response":`+done)
	return all
}

// write writes a stream in pieces that do not end at event boundaries, and flushes it.
func write(w http.ResponseWriter, text string) error {
	for len(text) > 0 {
		n := min(len(text), 37)
		if _, err := w.Write([]byte(text[:n])); err != nil {
			return err
		}
		text = text[n:]
	}
	return http.NewResponseController(w).Flush()
}

// streamed returns a handler that answers with a stream.
func streamed(item, text string) func(context.Context, http.ResponseWriter) error {
	return func(_ context.Context, w http.ResponseWriter) error {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		return write(w, strings.Join(events(item, text), ": keep-alive\n\n"))
	}
}

// numbers returns the sequence number and name of each event in a stream.
func numbers(text string) (list []string) {
	for _, frame := range strings.SplitAfter(text, "\n\n") {
		if name, data := parseFrame([]byte(frame)); data != nil {
			list = append(list, gjson.GetBytes(data, "sequence_number").Raw+" "+strings.TrimPrefix(name, "response."))
		}
	}
	return list
}

// TestStream checks that a response streamed to its client is stored before its last event is sent.
func TestStream(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		turn, _ := n.begin(`{"model":"m","input":"one","stream":true}`)
		w := httptest.NewRecorder()
		r := turn.Record(w, memory.Share{})
		r.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		r.WriteHeader(http.StatusOK)
		all := events("1", "ONE or more")
		last := len(all) - 1
		if err := write(r, strings.Join(all[:last], "")); err != nil {
			t.Fatal(err)
		}
		n.checkNotFound(alice, "GET /responses/"+turn.ID)
		if err := write(r, all[last]); err != nil {
			t.Fatal(err)
		}
		n.checkAnswer("GET /responses/"+turn.ID, "", "status", `"completed"`)
		if err := r.Finish(); err != nil {
			t.Fatal(err)
		}
		if got := numbers(w.Body.String()); len(got) != len(all) || strings.Contains(w.Body.String(), "resp_up") {
			t.Errorf("the client gets %v: %s", got, w.Body)
		}
		if got := strings.Count(w.Body.String(), turn.ID); got != 3 {
			t.Errorf("%d events name the response", got)
		}
	})
}

// TestBackground checks that a background response is produced after its request has ended, and can be read on every
// node.
func TestBackground(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n, other := startNode(t, p), startNode(t, p)
		release := make(chan struct{})
		id, done := n.work(`{"model":"m","input":"one","background":true}`, waits(release, whole("1", "ONE")))
		other.becomes(id, statusInProgress)
		other.checkRefused(alice, `{"model":"m","input":"x","previous_response_id":"`+id+`"}`, http.StatusBadRequest, "is in_progress")
		close(release)
		<-done
		answer := other.becomes(id, statusCompleted)
		if !answer.Get("background").Bool() || answer.Get("output.1.content.0.text").Str != "ONE" {
			t.Errorf("the answer is %s", answer.Raw)
		}
		n.checkAnswer("POST /responses/"+id+"/cancel", "", "status", `"completed"`)
		_, body := n.begin(`{"model":"m","input":"two","previous_response_id":"` + id + `"}`)
		if got := inputText(body); got != "one reasoning ONE two" {
			t.Errorf("the input is %s", got)
		}
		whole := n.turn(`{"model":"m","input":"x"}`, "2", "TWO").Get("id").Str
		for _, request := range []string{"POST /responses/" + whole + "/cancel", "GET /responses/" + whole + "?stream=true", "GET /responses/" + id + "?stream=true&starting_after=x"} {
			if status, _ := n.call(alice, request, ""); status != http.StatusBadRequest {
				t.Errorf("%s is a %d", request, status)
			}
		}
	})
}

// TestResume checks that a stream can be resumed on every node, while it is running and after its end.
func TestResume(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n, other := startNode(t, p), startNode(t, p)
		release := make(chan struct{})
		all := events("1", "ONE or more")
		id, done := n.work(`{"model":"m","input":"one","background":true,"stream":true}`, func(ctx context.Context, w http.ResponseWriter) error {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			if err := write(w, strings.Join(all[:3], "")); err != nil {
				return err
			}
			return waits(release, func(context.Context, http.ResponseWriter) error { return write(w, strings.Join(all[3:], "")) })(ctx, w)
		})
		const want = "0 created,1 queued,2 in_progress,3 output_text.delta,4 output_text.delta,5 output_text.delta,6 completed"
		got := make(chan string, 2)
		for _, node := range []*node{n, other} {
			go func() {
				w := httptest.NewRecorder()
				if err := node.Follow(t.Context(), w, alice, id, -1); err != nil {
					t.Error(err)
				}
				got <- strings.Join(numbers(w.Body.String()), ",")
			}()
		}
		schematest.Eventually(t, "events are there", func() bool { return n.rows("gateway_response_events") > 1 })
		close(release)
		<-done
		for range 2 {
			if text := <-got; text != want {
				t.Errorf("the stream is %s, want %s", text, want)
			}
		}
		_, rest := other.call(alice, "GET /responses/"+id+"?stream=true&starting_after=3", "")
		if text := strings.Join(numbers(rest.Str), ","); text != "4 output_text.delta,5 output_text.delta,6 completed" {
			t.Errorf("the rest is %s", text)
		}
		if _, rest := n.call(alice, "GET /responses/"+id+"?stream=true&starting_after=6", ""); rest.Str != "" {
			t.Errorf("behind the end there is %s", rest.Str)
		}
		n.checkNotFound("user b", "GET /responses/"+id+"?stream=true")
	})
}

// TestCancel checks that another node can cancel a background response. Its work stops and its stream ends.
func TestCancel(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n, other := startNode(t, p), startNode(t, p)
		id, done := n.work(`{"model":"m","input":"one","background":true,"stream":true}`, waits(nil, whole("1", "ONE")))
		n.becomes(id, statusInProgress)
		for range 2 {
			other.checkAnswer("POST /responses/"+id+"/cancel", "", "status", `"cancelled"`)
		}
		if _, err := n.renewLeases(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-done
		n.checkAnswer("GET /responses/"+id, "", "status", `"cancelled"`)
		_, stream := n.call(alice, "GET /responses/"+id+"?stream=true", "")
		if got := strings.Join(numbers(stream.Str), ","); got != "0 created,1 queued,2 failed" || !strings.Contains(stream.Str, `"status":"cancelled"`) {
			t.Errorf("the stream is %s", stream.Str)
		}

		id, done = n.work(`{"model":"m","input":"one","background":true}`, waits(nil, whole("1", "ONE")))
		n.checkAnswer("DELETE /responses/"+id, "", "deleted", "true")
		<-done
		n.checkNotFound(alice, "GET /responses/"+id)
	})
}

// TestLostProcess checks that another node marks a response as failed if its process has died, once the lease has
// expired and not before.
func TestLostProcess(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n, other := startNode(t, p), startNode(t, p)
		id, _ := n.work(`{"model":"m","input":"one","background":true,"stream":true}`, waits(nil, whole("1", "ONE")))
		n.becomes(id, statusInProgress)
		if done, err := other.failLost(t.Context()); err != nil || done != 0 {
			t.Errorf("%d given up, %v", done, err)
		}
		other.clock.Offset.Add(int64(leaseTime / 2))
		n.clock.Offset.Add(int64(leaseTime / 2))
		if done, err := n.renewLeases(t.Context()); err != nil || done != 1 {
			t.Errorf("%d are worked on, %v", done, err)
		}
		other.clock.Offset.Add(int64(leaseTime - 5*time.Second))
		if done, err := other.failLost(t.Context()); err != nil || done != 0 {
			t.Errorf("%d given up although their node is alive, %v", done, err)
		}
		other.clock.Offset.Add(int64(leaseTime)) // the node does not renew its lease, as if it had been killed
		if done, err := other.failLost(t.Context()); err != nil || done != 1 {
			t.Errorf("%d given up, %v", done, err)
		}
		other.checkAnswer("GET /responses/"+id, "", "error.code", `"server_error"`)
		other.checkAnswer("GET /responses/"+id, "", "status", `"failed"`)
		_, stream := other.call(alice, "GET /responses/"+id+"?stream=true&starting_after=1", "")
		if got := strings.Join(numbers(stream.Str), ","); got != "2 failed" {
			t.Errorf("the stream ends with %s", stream.Str)
		}
	})
}

// TestFailures checks the error that is stored for each way in which a background response can fail.
func TestFailures(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		for name, test := range map[string]struct {
			gives func(context.Context, http.ResponseWriter) error
			time  time.Duration
			want  string
		}{
			"refused": {func(context.Context, http.ResponseWriter) error {
				return apierror.New(http.StatusBadRequest, "context_length_exceeded", "too long")
			}, 0, "context_length_exceeded too long"},
			"upstream": {func(context.Context, http.ResponseWriter) error {
				return apierror.New(http.StatusBadGateway, "all_providers_failed", "all failed")
			}, 0, "server_error all failed"},
			"panics":    {func(context.Context, http.ResponseWriter) error { panic("oh") }, 0, "server_error the answer broke off"},
			"nothing":   {func(context.Context, http.ResponseWriter) error { return nil }, 0, "server_error the answer broke off"},
			"error":     {func(context.Context, http.ResponseWriter) error { return errors.New("secret") }, 0, "server_error the answer broke off"},
			"slow":      {waits(nil, whole("1", "ONE")), time.Millisecond, "server_error " + errTime.Error()},
			"too large": {whole("1", strings.Repeat("x", 8<<20)), 0, "server_error the response is larger than the limit of 8388608 bytes"},
		} {
			for _, stream := range []bool{false, true} {
				n.options = new(Options{Time: test.time}.WithDefaults())
				id, done := n.work(fmt.Sprintf(`{"model":"m","input":"one","background":true,"stream":%t}`, stream), test.gives)
				<-done
				answer := n.becomes(id, statusFailed)
				if got := answer.Get("error.code").Str + " " + answer.Get("error.message").Str; got != test.want {
					t.Errorf("%s: %s, want %s", name, got, test.want)
				}
				if !stream {
					continue
				}
				if _, text := n.call(alice, "GET /responses/"+id+"?stream=true", ""); strings.Join(numbers(text.Str), ",") != "0 created,1 queued,2 failed" {
					t.Errorf("%s: the stream is %s", name, text.Str)
				}
			}
		}
	})
}

// TestShutdown checks that unfinished responses are marked as failed when their process shuts down.
func TestShutdown(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n, other := startNode(t, p), startNode(t, p)
		id, done := n.work(`{"model":"m","input":"one","background":true}`, waits(nil, whole("1", "ONE")))
		n.becomes(id, statusInProgress)
		if err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-done
		other.checkAnswer("GET /responses/"+id, "", "error.message", `"`+errStopped.Error()+`"`)
		turn, _ := n.begin(`{"model":"m","input":"one","background":true}`)
		if _, err := n.Start(t.Context(), turn, "m", nil, nil, nil); apiErrorWith(t, err, http.StatusTooManyRequests) == nil {
			t.Error("a closed service accepts work")
		}
	})
}

// TestParallel checks that at most Parallel responses are produced at a time, that others are queued, and that requests
// are refused once the queue is full.
func TestParallel(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		n.options.Parallel = 1
		release := make(chan struct{})
		const body = `{"model":"m","input":"one","background":true}`
		ids, finished := make([]string, 0, acceptedFactor), make([]chan struct{}, 0, acceptedFactor)
		for i := range acceptedFactor {
			id, done := n.work(body, waits(release, whole(fmt.Sprint(i), "ONE")))
			ids, finished = append(ids, id), append(finished, done)
		}
		n.becomes(ids[0], statusInProgress)
		n.checkAnswer("GET /responses/"+ids[1], "", "status", `"queued"`)
		turn, _ := n.begin(body)
		if _, err := n.Start(t.Context(), turn, "m", nil, nil, nil); apiErrorWith(t, err, http.StatusTooManyRequests).RetryAfter == 0 {
			t.Error("the refusal has no Retry-After")
		}
		n.checkAnswer("POST /responses/"+ids[2]+"/cancel", "", "status", `"cancelled"`)
		<-finished[2]
		close(release)
		for _, index := range []int{0, 1, 3} {
			<-finished[index]
			n.becomes(ids[index], statusCompleted)
		}
		for _, id := range ids {
			r, err := n.find(t.Context(), alice, id)
			if err != nil || !final(r.status) {
				t.Errorf("%s: got response %v, error %v, want a final status", id, r, err)
			}
		}
	})
}
