package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// everything answers at the endpoints of OpenAI except those for chats, and records the requests. With the operator's
// key, all files are visible.
type everything struct {
	mu    sync.Mutex
	t     *testing.T
	files map[string][]byte
	asked map[string]int // the number of requests for each batch
	lists int
}

const operatorSecret = "sk-operator-0000000000000000"

func (e *everything) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+operatorSecret || r.Header.Get("X-Api-Key") != "" {
		e.t.Errorf("%s %s came with %v", r.Method, r.URL, r.Header)
	}
	w.Header().Set("X-Secret", "account-of-the-operator")
	w.Header().Set("Set-Cookie", "a=b")
	answer := func(status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // fails if the client has left
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	switch {
	case path == "/audio/transcriptions":
		r.Body = http.MaxBytesReader(w, r.Body, 8<<20)
		if err := r.ParseMultipartForm(8 << 20); err != nil { //nolint:gosec // bounded above
			e.t.Error(err)
			return
		}
		file, head, err := r.FormFile("file")
		if err != nil || len(r.MultipartForm.Value["model"]) != 1 {
			e.t.Error(r.MultipartForm.Value, err)
			return
		}
		n, _ := io.Copy(io.Discard, file)
		answer(200, map[string]any{
			"text":  fmt.Sprintf("%s %s %d %s", r.FormValue("model"), head.Filename, n, r.FormValue("language")),
			"usage": map[string]any{"type": "duration", "seconds": 60},
		})
	case path == "/images/edits":
		if r.FormValue("model") != "gpt-image-new" || r.FormValue("prompt") != "a dog" {
			e.t.Error(r.MultipartForm.Value)
		}
		answer(200, map[string]any{"created": 1, "data": []any{}})
	case strings.HasPrefix(path, "/files"):
		e.file(w, r, path, answer)
	case strings.HasPrefix(path, "/batches"):
		e.batch(r, path, answer)
	default:
		e.post(w, r, path, answer)
	}
}

func (e *everything) post(w http.ResponseWriter, r *http.Request, path string, answer func(int, any)) {
	body, err := io.ReadAll(r.Body)
	request := gjson.ParseBytes(body)
	model := request.Get("model").Str
	if err != nil || !gjson.ValidBytes(body) || model == "" || strings.Contains(model, "/") {
		e.t.Errorf("%s: %s", path, body)
	}
	switch path {
	case "/audio/speech":
		w.Header().Set("Content-Type", "audio/mpeg")
		_, _ = w.Write(bytes.Repeat([]byte{0xff}, 200_000))
	case "/images/generations":
		if request.Get("prompt").Str == "refuse" {
			answer(400, map[string]any{"error": map[string]any{"message": "Rejected by the safety system.", "type": "image_generation_user_error", "code": "moderation_blocked"}})
			return
		}
		answer(200, map[string]any{
			"created": 1, "data": []any{map[string]any{"b64_json": strings.Repeat("A", 400_000)}},
			"usage": map[string]any{"input_tokens": 50, "output_tokens": 1056, "total_tokens": 1106},
		})
	case "/moderations":
		answer(200, map[string]any{"id": "modr-1", "model": model, "results": []any{}})
	case "/chat/completions":
		answer(200, map[string]any{
			"id": "c1", "object": "chat.completion", "created": 1, "model": model,
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": "model " + model}}},
			"usage":   map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		})
	case "/responses":
		answer(200, map[string]any{
			"id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": "completed",
			"output": []any{map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{
				map[string]any{"type": "output_text", "text": "model " + model, "annotations": []any{}},
			}}},
			"usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
		})
	default:
		answer(404, map[string]any{"error": map[string]any{"message": "no such path " + path}})
	}
}

func (e *everything) file(w http.ResponseWriter, r *http.Request, path string, answer func(int, any)) {
	id, content := strings.CutSuffix(strings.TrimPrefix(path, "/files/"), "/content")
	text, known := e.files[id]
	switch {
	case r.Method == http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, 32<<20)
		if err := r.ParseMultipartForm(32 << 20); err != nil || r.FormValue("purpose") != "batch" { //nolint:gosec // bounded above
			e.t.Error(r.MultipartForm, err)
			return
		}
		file, _, err := r.FormFile("file")
		if err != nil {
			e.t.Error(err)
			return
		}
		text, _ := io.ReadAll(file)
		id := fmt.Sprintf("file-%d", len(e.files)+1)
		e.files[id] = text
		answer(200, map[string]any{"id": id, "object": "file", "bytes": len(text), "purpose": "batch"})
	case path == "/files":
		e.lists++
		answer(500, nil)
	case !known:
		answer(404, map[string]any{"error": map[string]any{"message": "No such File object: " + id, "type": "invalid_request_error"}})
	case r.Method == http.MethodDelete:
		delete(e.files, id)
		answer(200, map[string]any{"id": id, "object": "file", "deleted": true})
	case content:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(text)
	default:
		answer(200, map[string]any{"id": id, "object": "file", "bytes": len(text), "purpose": "batch"})
	}
}

func (e *everything) batch(r *http.Request, path string, answer func(int, any)) {
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		if e.files[gjson.GetBytes(body, "input_file_id").Str] == nil {
			e.t.Errorf("batch of %s", body)
		}
		id := fmt.Sprintf("batch_%d", len(e.asked)+1)
		e.asked[id] = 0
		answer(200, map[string]any{"id": id, "object": "batch", "status": "in_progress"})
		return
	}
	id := strings.TrimPrefix(path, "/batches/")
	if e.asked[id]++; e.asked[id] < 2 {
		answer(200, map[string]any{"id": id, "object": "batch", "status": "in_progress"})
		return
	}
	if id != "batch_1" { // in the form of OpenAI-compatible servers
		result := func(model string, usage string) string {
			return `{"custom_id":"1","response":{"status_code":200,"body":{"model":"` + model + `","usage":` + usage + "}}}\n"
		}
		e.files["file-out-"+id] = []byte(result("gpt-5.4-mini-2026-03-17", `{"prompt_tokens":200000,"completion_tokens":0}`) +
			result("gpt-5.4-mini", `{"prompt_tokens":200000,"completion_tokens":100000}`) + result("gpt-5.4-nano", `{"prompt_tokens":1000000,"completion_tokens":0}`))
		answer(200, map[string]any{"id": id, "object": "batch", "status": "completed", "output_file_id": "file-out-" + id})
		return
	}
	e.files["file-out-"+id] = []byte("{\"custom_id\":\"1\"}\n")
	answer(200, map[string]any{
		"id": id, "object": "batch", "status": "completed", "output_file_id": "file-out-" + id, "model": "gpt-5.4-mini-2026-03-17",
		"usage": map[string]any{"input_tokens": 1_000_000, "output_tokens": 100_000, "total_tokens": 1_100_000, "input_tokens_details": map[string]any{"cached_tokens": 0}},
	})
}

// TestPassThrough runs the SDKs for Node.js against the endpoints that are passed through untranslated, with one
// provider key that all users share, and then checks the charges.
func TestPassThrough(t *testing.T) {
	t.Parallel()
	program := e2e.NodeProgram(t)
	up := &everything{t: t, files: make(map[string][]byte), asked: make(map[string]int)}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	claude := httptest.NewServer(&messageBatches{t: t, asked: make(map[string]int)})
	t.Cleanup(claude.Close)
	g := e2e.NewGateway(t, "\t\tcatalog {\n\t\t\talias gpt-4o openai/gpt-5.4-mini\n\t\t\talias smart anthropic/claude-sonnet-5-5\n\t\t\tprovider anthropic {\n\t\t\t\tbase_url "+claude.URL+"/v1\n\t\t\t\tapi_key "+operatorSecret+"\n\t\t\t}\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+server.URL+"/v1\n\t\t\t\tapi_key "+operatorSecret+"\n\t\t\t}\n\t\t}",
		"\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tclaude_names\n\t\t}\n\t}\n")
	env := append(make([]string, 0, 4), "TOLLGATE_URL="+g.Base)
	for _, u := range []struct {
		name, variable string
		allowed        []string
	}{{"alice", "TOLLGATE_KEY", nil}, {"bob", "TOLLGATE_BOB_KEY", nil}, {"carol", "TOLLGATE_BOUND_KEY", []string{"openai/gpt-5.4-nano"}}} {
		if _, _, _, err := g.InitUser(t.Context(), u.name); err != nil {
			t.Fatal(err)
		}
		key, err := g.CreateKey(t.Context(), u.name, keychain.KeyOptions{Limits: keychain.Limits{AllowedModels: u.allowed}})
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, u.variable+"="+key.Key)
	}
	e2e.RunNode(t, program, "passthrough.mjs", env...)
	if up.lists > 0 {
		t.Error("the provider was asked for everybody's files")
	}

	// 12 characters at 0.000015, 60 seconds at 0.0001 twice, and the batches at half the price of their models.
	openai := (750_000 + 450_000 + 300_000 + 450_000 + 200_000) / 2
	want := map[string]int64{"audio": 180 + 2*6000, "images": 0, "moderations": 0, "files": 0, "batches": int64(openai) + claudeCost}
	ledger := spending.NewLedger(g.DB(), zap.NewNop(), time.Now)
	e2e.Eventually(t, 30*time.Second, "the usage log", func() error {
		records, err := ledger.Recent(t.Context(), "alice", 0, 500)
		if err != nil {
			return err
		}
		got, charges := make(map[string]int64), 0
		for i := range records {
			got[records[i].Surface] += records[i].CostMicroUSD
			if records[i].Surface == "batches" && records[i].InputTokens > 0 {
				charges++
			}
		}
		for surface, cost := range want {
			if got[surface] != cost {
				return fmt.Errorf("%s cost %d, want %d", surface, got[surface], cost)
			}
		}
		if charges != 4 { // one for each batch and model
			return fmt.Errorf("the batches were charged %d times", charges)
		}
		return nil
	})
}
