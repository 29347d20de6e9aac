package stored

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// FuzzRecorder cuts streams of any content into pieces. The client must get the complete events in order, those without
// a response object unchanged, and the event log must number them.
func FuzzRecorder(f *testing.F) {
	f.Add([]byte(strings.Join(events("1", "ONE or more"), ": keep-alive\n\n")), 7)
	f.Add([]byte("event: response.completed\ndata: {\"response\":{}}\n\nevent: x\ndata: {\n\n\n\ndata: 1"), 1)
	f.Add([]byte("event: response.created\r\ndata: {\"response\":[1]}\n\nevent: error\ndata: {\"message\":1}\n\n"), 3)
	f.Add([]byte("event: x\ndata: {\"a\":1}\n\nevent: y\ndata: { }\n\n"), 5)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		step = max(step, 1)
		turn := &Turn{ID: "resp_1"} // the turn stores nothing, so it needs no database
		w := httptest.NewRecorder()
		r := turn.Record(w, memory.Share{})
		r.Header().Set("Content-Type", "text/event-stream")
		r.WriteHeader(http.StatusOK)
		for rest := text; len(rest) > 0; {
			n := min(len(rest), step)
			if _, err := r.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := r.Finish(); err != nil {
			t.Fatal(err)
		}
		got := w.Body.Bytes()
		for rest := text; indexFrame(rest) > 0; rest = rest[indexFrame(rest):] {
			frame := rest[:indexFrame(rest)]
			end := indexFrame(got)
			if end == 0 {
				t.Fatalf("%q is missing", frame)
			}
			name, data := parseFrame(frame)
			if !hasResponse(name) || !gjson.GetBytes(data, "response").IsObject() {
				if string(got[:end]) != string(frame) {
					t.Fatalf("%q becomes %q", frame, got[:end])
				}
			}
			got = got[end:]
		}
		if len(got) > 0 {
			t.Fatalf("%q is too much", got)
		}

		log := newEventLog()
		for rest := text; indexFrame(rest) > 0; rest = rest[indexFrame(rest):] {
			if name, data := parseFrame(rest[:indexFrame(rest)]); gjson.ParseBytes(data).IsObject() && gjson.ValidBytes(data) {
				log.add(name, data)
			}
		}
		for i := range log.next {
			end := indexFrame(log.pending)
			_, data := parseFrame(log.pending[:end])
			if gjson.GetBytes(data, "sequence_number").Int() != i {
				t.Fatalf("event %d is %q", i, data)
			}
			log.pending = log.pending[end:]
		}
	})
}
