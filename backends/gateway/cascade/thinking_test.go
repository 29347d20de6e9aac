package cascade

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// thinkingEvents returns the beginning of a stream whose model reasons without showing it. alive is an event that shows
// that the model is still working.
func thinkingEvents(format hub.Format) (beginning []act, signOfLife string) {
	switch format {
	case hub.Messages:
		return []act{
			{0, frame("message_start", `"message":{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[],"stop_reason":null,"usage":{"input_tokens":8,"output_tokens":1}}`)},
			{time.Second, frame("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`)},
		}, frame("ping", "")
	case hub.Responses:
		head := nativeHead(hub.Responses)
		return []act{
			{0, head[0]},
			{0, head[1]},
			{time.Second, frame("response.output_item.added", `"sequence_number":2,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}`)},
		}, ": alive\n\n"
	default:
		return []act{
			{0, role},
			{time.Second, strings.Replace(usageLine, `"completion_tokens":5,`, `"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":5},`, 1)},
		}, ": alive\n\n"
	}
}

var sequenceNumber = regexp.MustCompile(`"sequence_number":\d+`)

// answerEvents returns the rest of the stream that thinkingEvents begins: a text and the end.
func answerEvents(format hub.Format, content string) []act {
	switch format {
	case hub.Messages:
		return []act{
			{0, frame("content_block_stop", `"index":0`)},
			{0, frame("content_block_start", `"index":1,"content_block":{"type":"text","text":""}`)},
			{0, frame("content_block_delta", `"index":1,"delta":{"type":"text_delta","text":"`+content+`"}`)},
			{0, frame("content_block_stop", `"index":1`)},
			{0, frame("message_delta", `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}`)},
			{0, frame("message_stop", "")},
		}
	case hub.Responses:
		events := append([]string{nativeHead(hub.Responses)[2], nativeText(hub.Responses, content)}, nativeTail(hub.Responses, content)...)
		acts := make([]act, 0, len(events))
		for i, e := range events {
			e = sequenceNumber.ReplaceAllString(e, fmt.Sprint(`"sequence_number":`, 3+i))
			acts = append(acts, act{0, strings.ReplaceAll(e, `"output_index":0`, `"output_index":1`)})
		}
		return acts
	default:
		return []act{{0, text(content)}, {0, finish}, {0, usageLine}, {0, doneLine}}
	}
}

// runThinking runs a request of a surface. The first candidate speaks format and performs acts after thinkingEvents.
// The second candidate answers at once.
func runThinking(t *testing.T, surface, format hub.Format, s setup, acts []act, open bool, check func(e *outcome, took time.Duration)) {
	t.Helper()
	events, _ := thinkingEvents(format)
	events = append(events, acts...)
	s.keys, s.now = []string{"alpha", "beta"}, time.Now
	if format != hub.Chat {
		s.members = nativeWire(format)
	}
	s.transport = &scripted{t: t, scripts: map[string][]timed{"a-low": {{acts: events, open: open}}, "b-low": {{acts: answersAtOnce}}}}
	r := newRig(t, s)
	request := r.parseRequest(surface, question(surface, "keychain-low", true))
	synctest.Test(t, func(t *testing.T) {
		d := newClientLog()
		result, err := r.engine.Answer(t.Context(), d, request)
		e := &outcome{Result: result, rawErr: err, body: d.whole.String(), header: d.header}
		e.err, _ = apierror.From(err)
		check(e, time.Since(d.start))
	})
}

// TestThinkingTimeLimits checks that a sign of reasoning ends the time limit for the first content. From
// then on only silence and the total time are limited, and an error still fails over.
func TestThinkingTimeLimits(t *testing.T) {
	t.Parallel()
	every := func(d time.Duration, times int, text string) []act {
		acts := make([]act, 0, times)
		for range times {
			acts = append(acts, act{d, text})
		}
		return acts
	}
	for _, format := range surfaces {
		_, alive := thinkingEvents(format)
		for _, surface := range surfaces {
			t.Run(fmt.Sprintf("%s by %s", surface, format), func(t *testing.T) {
				t.Parallel()
				for name, c := range map[string]struct {
					setup setup
					acts  []act
					open  bool
					took  time.Duration
					fails string // alpha fails with this code; empty: alpha answers
				}{
					"for seven minutes":      {acts: append(every(20*time.Second, 21, alive), answerEvents(format, "thought well")...), took: 421 * time.Second},
					"for a while in silence": {acts: append([]act{{59 * time.Second, ""}}, answerEvents(format, "thought well")...), took: time.Minute},
					"and falls silent":       {acts: every(time.Second, 3, alive), open: true, took: 64 * time.Second, fails: "timeout"},
					"and never ends":         {acts: every(20*time.Second, 100, alive), took: 8 * time.Minute, fails: "timeout"},
					"longer than an answer may take": {
						setup: setup{timeout: `{"answer":{"low":"100s"}}`}, acts: every(20*time.Second, 100, alive), took: 100 * time.Second, fails: "timeout",
					},
					"longer than may be silent": {
						setup: setup{timeout: `{"idle":"10s"}`}, acts: every(20*time.Second, 100, alive), took: 11 * time.Second, fails: "timeout",
					},
					"and breaks": {acts: []act{{30 * time.Second, ""}}, took: 31 * time.Second, fails: "incomplete_answer"},
				} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						runThinking(t, surface, format, c.setup, c.acts, c.open, func(e *outcome, took time.Duration) {
							if took != c.took {
								t.Errorf("took %s, want %s", took, c.took)
							}
							if c.fails == "" {
								e.wantWholeAnswer(t, surface, true, "alpha/a-low", "thought well")
							} else if e.wantWholeAnswer(t, surface, true, "beta/b-low", "from beta"); e.Failed[0].Code != c.fails {
								t.Errorf("failed %s", e.failedList())
							}
						})
					})
				}
			})
		}
	}
}
