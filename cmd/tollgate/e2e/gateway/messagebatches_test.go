package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
)

// messageBatches answers like Anthropic's API of message batches. A batch has ended when it is requested the second
// time.
type messageBatches struct {
	mu    sync.Mutex
	t     *testing.T
	asked map[string]int
}

// claudeCost is the cost of the batch's two results. Each has 1,000,000 input tokens, half of them read from the cache,
// and 100,000 output tokens of Claude Sonnet, at half the price.
const claudeCost = 2 * (500_000*2 + 500_000/10 + 100_000*10) / 2

func (m *messageBatches) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+operatorSecret || r.Header.Get("Anthropic-Version") == "" || r.Header.Get("X-Api-Key") != "" {
		m.t.Errorf("%s %s came with %v", r.Method, r.URL, r.Header)
	}
	w.Header().Set("Content-Type", "application/json")
	batch := func(id, status string, results any) {
		_ = json.NewEncoder(w).Encode(map[string]any{ // fails if the client has left
			"id": id, "type": "message_batch", "processing_status": status, "results_url": results,
			"request_counts": map[string]int{"processing": 3, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
		})
	}
	rest := strings.TrimPrefix(r.URL.Path, "/v1/messages/batches")
	id, action, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case r.Method == http.MethodPost && rest == "":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			m.t.Error(err)
		}
		for _, model := range gjson.GetBytes(body, "requests.#.params.model").Array() {
			if model.Str != "claude-sonnet-5-5" && model.Str != "claude-haiku-new" {
				m.t.Errorf("asked for %s", model.Str)
			}
		}
		id := fmt.Sprintf("msgbatch_%d", len(m.asked)+1)
		m.asked[id] = 0
		batch(id, "in_progress", nil)
	case r.Method == http.MethodDelete:
		_ = json.NewEncoder(w).Encode(map[string]string{"id": id, "type": "message_batch_deleted"})
	case action == "cancel":
		batch(id, "canceling", nil)
	case action == "results":
		w.Header().Set("Content-Type", "application/x-jsonl")
		for _, name := range []string{"a", "b"} {
			_, _ = io.WriteString(w, `{"custom_id":"`+name+`","result":{"type":"succeeded","message":{"id":"m","type":"message","role":"assistant",`+
				`"model":"claude-sonnet-5-5","content":[],"stop_reason":"end_turn","usage":{"input_tokens":500000,"cache_creation_input_tokens":0,`+
				`"cache_read_input_tokens":500000,"output_tokens":100000}}}}`+"\n")
		}
		_, _ = io.WriteString(w, `{"custom_id":"c","result":{"type":"errored","error":{"type":"error","error":{"type":"not_found_error","message":"no such model"}}}}`+"\n")
	default:
		if m.asked[id]++; m.asked[id] < 2 {
			batch(id, "in_progress", nil)
			return
		}
		batch(id, "ended", "https://api.anthropic.com/v1/messages/batches/"+id+"/results")
	}
}
