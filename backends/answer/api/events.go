package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
)

// keepAlive is the longest time without a byte on a stream, so that proxies keep it open.
const keepAlive = 15 * time.Second

// acceptsEvents reports whether the client wants the stages of its question as events.
func acceptsEvents(h http.Header) bool { return lists(h.Values("Accept"), "text/event-stream") }

// events carries the stages of a question to the request that asked it.
type events struct{ stages chan string }

// newEvents returns events with a queue. The queue holds the stages that have not been written yet.
func newEvents() *events { return &events{make(chan string, 64)} }

// stage queues a stage without blocking. When the queue is full the stage is dropped.
func (e *events) stage(name string) {
	select {
	case e.stages <- name:
	default:
	}
}

// stream writes the stages of a question as events until its answer arrives from done, then the answer. The status is
// always 200; the outcome is in the envelope of the last event. stream returns early when the request ends.
func (a *API) stream(w http.ResponseWriter, r *http.Request, progress *events, done <-chan accounts.Answer) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	send := func(event string, data any) {
		text, err := json.Marshal(data)
		if err != nil { // never happens: all data are our own types
			return
		}
		// An error means that the client has left.
		_, _ = w.Write([]byte("event: " + event + "\ndata: " + string(text) + "\n\n"))
		_ = out.Flush()
	}
	_ = out.Flush()
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	stage := func(name string) { send("stage", map[string]string{"stage": name}) }
	for {
		select {
		case name := <-progress.stages:
			stage(name)
		case ans := <-done:
			for len(progress.stages) > 0 { // stages that were queued before the answer
				stage(<-progress.stages)
			}
			e := envelope{Success: ans.Body != "" && ans.Reason == ""}
			if ans.Body != "" {
				e.Result = json.RawMessage(ans.Body)
			}
			if ans.Reason != "" {
				e.Error = &ans.Reason
			}
			send("answer", e)
			return
		case <-quiet.C:
			_, _ = w.Write([]byte(": \n\n"))
			_ = out.Flush()
		case <-r.Context().Done(): // the client has left; work that is not detached has the same context and ends too
			return
		}
	}
}
