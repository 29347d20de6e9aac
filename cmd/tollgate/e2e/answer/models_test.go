package answer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// provider is a model server. It writes like [eval.Scripted], and computes vectors from the frequencies of letters.
type provider struct {
	*httptest.Server
	chats, texts atomic.Int64
	down         atomic.Bool
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := new(provider)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model    string
			Messages []models.Message
			Format   struct {
				Schema struct{ Name string } `json:"json_schema"`
			} `json:"response_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		p.chats.Add(1)
		if p.down.Load() {
			http.Error(w, `{"error":{"message":"out of order"}}`, http.StatusInternalServerError)
			return
		}
		name := request.Format.Schema.Name
		if name == "" {
			name = "draft"
		}
		response, err := answertest.Scripted().Complete(r.Context(), models.Request{Name: name, Messages: request.Messages})
		if err != nil {
			t.Error(err)
		}
		answer(w, map[string]any{
			"id": "c", "object": "chat.completion", "created": 1, "model": request.Model, "usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": models.Message{Role: "assistant", Content: response.Text}}},
		})
	})
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		p.texts.Add(int64(len(request.Input)))
		data := make([]any, len(request.Input))
		for i, text := range request.Input {
			letters := make([]float64, 26)
			for _, c := range strings.ToLower(text) {
				if c >= 'a' && c <= 'z' {
					letters[c-'a']++
				}
			}
			data[i] = map[string]any{"object": "embedding", "index": i, "embedding": letters}
		}
		answer(w, map[string]any{"object": "list", "data": data, "model": "letters", "usage": map[string]int{"prompt_tokens": 5, "total_tokens": 5}})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// TestAnswersByCascade checks that the models of a gateway user on the same server write the answers and compute the
// vectors, without a network connection, with rows in the usage log, and across reloads. An answer that no model can
// write is not charged.
func TestAnswersByCascade(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	const block = quick + "\t\tmodel cascade {\n\t\t\tuser desk\n\t\t}\n\t\tdense cascade {\n\t\t\tuser desk\n\t\t\tmodel own/vectors\n\t\t}\n"
	d := newDesk(t, "", quick)
	allowed := e2e.Swap(t, d.config, "\t\tdatabase sqlite data/tollgate.db\n", "\t\tdatabase sqlite data/tollgate.db\n\t\tallow_networks 127.0.0.0/8\n")
	d.Configure(allowed)
	d.Tool("keychain", "users", "add", "desk")
	for entry, tier := range map[string]string{"own/low": "low", "own/medium": "medium", "own/high": "high", "own/vectors": "low"} {
		d.Tool("keychain", "models", "add", entry, "--user", "desk", "--base-url", p.URL+"/v1", "--model", entry, "--tier", tier)
	}
	config := e2e.Swap(t, allowed, quick, block)
	d.reload(config)
	type stats struct {
		Passages int64
		Vectors  map[string]int64
	}
	e2e.Eventually(t, e2e.WaitLimit, "all passages have a vector", func() error {
		var s stats
		if err := json.Unmarshal([]byte(d.Tool("answer", "corpus", "stats", "--json")), &s); err != nil {
			return err
		}
		if s.Passages == 0 || s.Vectors["own/vectors"] != s.Passages {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	// ask asks a question and checks that the models answer it.
	ask := func(label string) {
		t.Helper()
		before, vectors := p.chats.Load(), p.texts.Load()
		a := d.ask(asked)
		if e2e.Unanswered(a.Err) { // the previous listener had accepted the connection, see awaitReload
			a = d.ask(asked)
		}
		if outcome(a) != "Answered" {
			t.Fatalf("%s: %d %s %v", label, a.Status, a.Body, a.Err)
		}
		if p.texts.Load() == vectors {
			t.Errorf("%s: the question has no vector", label)
		}
		trace, err := d.Admin(http.MethodGet, "/admin/answer/traces/"+gjson.Get(a.Body, "result.id").Str, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if p.chats.Load() == before || !strings.Contains(trace, `"model":"own/high"`) {
			t.Errorf("%s: no model has answered: %s", label, trace)
		}
	}
	ask("at first")
	var rows []struct {
		Model  string `json:"model"`
		Status int    `json:"status"`
	}
	recent := func() string {
		return d.Tool("keychain", "usage", "recent", "--user", "desk", "--limit", "200", "--json")
	}
	e2e.Eventually(t, e2e.WaitLimit, "there are rows of usage", func() error {
		text := recent()
		if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) < 3 {
			return fmt.Errorf("%w: %.300s", err, text)
		}
		return nil
	})

	// The service and the gateway that it uses both continue across a reload.
	d.reload(strings.Replace(config, "grace_period 2m", "grace_period 1m", 1))
	ask("after a reload")
	d.reload(strings.Replace(config, "cache off", "cache off\n\t\tcompare_min 3", 1))
	ask("after a change")
	p.down.Store(true)
	if a := d.ask(asked); a.Status != http.StatusServiceUnavailable || outcome(a) != "ServiceUnavailable" {
		t.Errorf("without a model: %d %s", a.Status, a.Body)
	}
	d.settled(3)
	d.Stop()
}
