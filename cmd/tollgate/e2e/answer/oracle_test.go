package answer

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// oracle is an endpoint for chat completions. For each step of a question (verdict, plan, draft, judge), the test
// determines its answer.
type oracle struct {
	*httptest.Server
	hanging chan string // the steps at which requests have begun to hang
	left    chan string // the steps at which hanging requests were given up

	mu   sync.Mutex
	says func(step, prompt string) string
	wake chan struct{} // when closed, hanging requests get the current answer
}

// Special answers of an oracle.
const (
	hang   = "\x00hang"  // no answer until the client leaves
	broken = "\x00break" // status 500
)

func newOracle(t *testing.T, says func(step, prompt string) string) *oracle {
	t.Helper()
	o := &oracle{hanging: make(chan string, 100), left: make(chan string, 100), says: says, wake: make(chan struct{})}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/chat/completions" {
			http.Error(w, "no request", http.StatusBadRequest)
			return
		}
		step := gjson.GetBytes(body, "response_format.json_schema.name").Str
		if step == "" {
			step = "draft"
		}
		prompt := gjson.GetBytes(body, "messages.@reverse.0.content").Str
		text, wake := o.answer(step, prompt)
		if text == hang {
			o.hanging <- step
			select {
			case <-r.Context().Done():
				o.left <- step
				return
			case <-wake:
				text, _ = o.answer(step, prompt)
			}
		}
		if text == broken {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"model": "oracle", "choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": text}}},
			"usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 10},
		})
	}))
	t.Cleanup(func() {
		o.CloseClientConnections()
		o.Close()
	})
	return o
}

// say changes the function that determines the oracle's answers.
func (o *oracle) say(says func(step, prompt string) string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.says = says
}

// answer returns the oracle's current answer to a prompt, and the channel that release closes.
func (o *oracle) answer(step, prompt string) (text string, wake <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.says(step, prompt), o.wake
}

// release answers the hanging requests with the oracle's current answers.
func (o *oracle) release() { close(o.wake) }

// option returns the line of the Caddyfile that makes the oracle the model.
func (o *oracle) option() string { return "\t\tmodel " + o.URL + "/v1\n" }

// await waits until a channel reports that a question is at a step.
func (o *oracle) await(t *testing.T, steps <-chan string, step string) {
	t.Helper()
	limit := time.After(e2e.WaitLimit)
	for {
		select {
		case got := <-steps:
			if got == step {
				return
			}
		case <-limit:
			t.Fatalf("no question is at %s", step)
		}
	}
}

// writing returns the answers of an oracle that calls draft to write the draft for a prompt, and approves of
// everything.
func writing(draft func(prompt string) string) func(step, prompt string) string {
	return func(step, prompt string) string {
		switch step {
		case "verdict":
			return `{"allow":true,"investment":true,"confidence":1,"screener":false}`
		case "plan":
			return `{"subqueries":[]}`
		case "judge":
			return `{"grounded":1,"responsive":1}`
		}
		return draft(prompt)
	}
}

// but returns a function that answers instead at one step and calls says at all other steps.
func but(step, instead string, says func(step, prompt string) string) func(step, prompt string) string {
	return func(now, prompt string) string {
		if now == step {
			return instead
		}
		return says(now, prompt)
	}
}

// passage returns the mark of the first passage in a prompt that contains a text, or "" if there is no such passage.
func passage(prompt, text string) string {
	for part := range strings.SplitSeq(prompt, "<passage id=\"") {
		if id, rest, ok := strings.Cut(part, "\""); ok && strings.Contains(rest, text) {
			return "[" + id + "]"
		}
	}
	return ""
}

// honest determines the answers of an oracle that knows the answer to the question.
var honest = writing(func(prompt string) string {
	if mark := passage(prompt, "501,103"); mark != "" {
		return "Quillmarsh Instruments had revenue of $501,103 thousand in fiscal 2025 " + mark + "."
	}
	return "NOT FOUND"
})
