package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
)

// keepAlive is how long a stream says nothing at most, so that proxies keep it open.
const keepAlive = 15 * time.Second

// acceptsEvents tells whether the stages of a question are wanted as they begin.
func acceptsEvents(h http.Header) bool {
	for _, line := range h.Values("Accept") {
		for media := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(media, ";")
			if strings.EqualFold(strings.TrimSpace(name), "text/event-stream") {
				return true
			}
		}
	}
	return false
}

// events are the stages of a question on their way to who asked.
type events struct{ stages chan string }

func newEvents() *events { return &events{make(chan string, 64)} }

// stage never waits: a slow reader misses stages, and no answer.
func (e *events) stage(name string) {
	select {
	case e.stages <- name:
	default:
	}
}

// stream writes the stages of a question, and its answer. The status of a stream is 200;
// the envelope tells what became of the question.
func (a *API) stream(w http.ResponseWriter, r *http.Request, told *events, done <-chan accounts.Answer) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	say := func(event string, data any) {
		text, err := json.Marshal(data)
		if err != nil { // of our own making
			return
		}
		_, _ = w.Write([]byte("event: " + event + "\ndata: " + string(text) + "\n\n")) // a client that has left is told nothing
		_ = out.Flush()
	}
	_ = out.Flush()
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	stage := func(name string) { say("stage", map[string]string{"stage": name}) }
	for {
		select {
		case name := <-told.stages:
			stage(name)
		case ans := <-done:
			for len(told.stages) > 0 {
				stage(<-told.stages)
			}
			e := envelope{Success: ans.Body != "" && ans.Reason == ""}
			if ans.Body != "" {
				e.Result = json.RawMessage(ans.Body)
			}
			if ans.Reason != "" {
				e.Error = &ans.Reason
			}
			say("answer", e)
			return
		case <-quiet.C:
			_, _ = w.Write([]byte(": \n\n"))
			_ = out.Flush()
		case <-r.Context().Done(): // what is not detached ends by itself
			return
		}
	}
}
