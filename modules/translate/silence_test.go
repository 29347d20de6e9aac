package translate

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTranslateSilence checks that a client whose server is silent for long gets signs of life. The clock belongs to
// the test.
func TestTranslateSilence(t *testing.T) {
	t.Parallel()
	const (
		word = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"
		end  = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	)
	// The messages format also has a ping after the start of its content.
	const ping, comment = "event: ping\ndata: {\"type\":\"ping\"}\n\n", ": keep-alive\n\n"
	for name, test := range map[string]struct {
		config, path, body string
		pauses             []time.Duration // one after each word
		sign               string
		want               int
	}{
		"messages":            {"translate messages", "/v1/messages", hello + `,"stream":true}`, []time.Duration{13 * time.Second}, ping, 2},
		"responses":           {"translate responses", "/v1/responses", `{"model":"m","input":"Hi","stream":true}`, []time.Duration{13 * time.Second}, comment, 1},
		"no silence":          {"translate messages", "/v1/messages", hello + `,"stream":true}`, []time.Duration{9 * time.Second, 9 * time.Second, 9 * time.Second}, ping, 1},
		"twice":               {"translate messages", "/v1/messages", hello + `,"stream":true}`, []time.Duration{25 * time.Second, 11 * time.Second}, ping, 4},
		"very long":           {"translate messages", "/v1/messages", hello + `,"stream":true}`, []time.Duration{time.Hour}, ping, 1 + maxKeepAlives},
		"long, then a word":   {"translate messages", "/v1/messages", hello + `,"stream":true}`, []time.Duration{time.Hour, 11 * time.Second}, ping, 1 + maxKeepAlives + 1},
		"before the stream":   {"translate messages", "/v1/messages", hello + `,"stream":true}`, nil, ping, 0},
		"an answer that ends": {"translate messages", "/v1/messages", hello + `}`, nil, ping, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, err := send(t, test.config, test.path, test.body, func(w http.ResponseWriter, r *http.Request) error {
					if _, err := io.ReadAll(r.Body); err != nil {
						return err
					}
					if !strings.Contains(test.body, "stream") {
						_, err := io.WriteString(w, answer)
						time.Sleep(time.Minute)
						return err
					}
					w.Header().Set("Content-Type", "text/event-stream")
					w.WriteHeader(http.StatusOK)
					if len(test.pauses) == 0 {
						time.Sleep(time.Minute)
					}
					for _, pause := range test.pauses {
						if _, err := io.WriteString(w, word); err != nil {
							return err
						}
						time.Sleep(pause)
					}
					_, err := io.WriteString(w, end)
					time.Sleep(time.Minute) // the stream has ended: nothing may follow
					return err
				})
				time.Sleep(time.Minute)
				if err != nil || strings.Count(w.Body.String(), test.sign) != test.want {
					t.Errorf("error %v, want %d signs of life in\n%s", err, test.want, w.Body)
				}
				if len(test.pauses) > 0 && strings.Count(w.Body.String(), "Hel") < len(test.pauses) {
					t.Errorf("words are missing in\n%s", w.Body)
				}
			})
		})
	}
}
