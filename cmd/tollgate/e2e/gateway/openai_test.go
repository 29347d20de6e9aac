package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// openAI answers like OpenAI and enforces its rules: it stores nothing, so no item can be referred to and reasoning
// needs its state; tools with an effort are accepted only on Responses; ids of calls have a maximum length; a reasoning
// model accepts no temperature. Its model reasons, calls the first tool that it knows twice, and then answers with the
// results of the tools.
type openAI struct {
	mu      sync.Mutex
	asked   []string // the path and the effort of each answered request
	refused []string // the error of each refused request
}

// Asked returns the requests that were answered so far, and the errors of those that were refused.
func (o *openAI) Asked() (requests, refused []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.asked...), append([]string(nil), o.refused...)
}

func (o *openAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := gjson.ParseBytes(body)
	chat := strings.HasSuffix(r.URL.Path, "/chat/completions")
	switch {
	case err != nil || !gjson.ValidBytes(body):
		o.refuse(w, 400, "body", "", "We could not parse the JSON body of your request.")
	case r.Header.Get("Authorization") != "Bearer sk-openai-000000000000":
		o.refuse(w, 401, "", "invalid_api_key", "Incorrect API key provided.")
	case !chat && !strings.HasSuffix(r.URL.Path, "/responses"):
		o.refuse(w, 404, "", "", "Invalid URL (POST "+r.URL.Path+")")
	case request.Get("temperature").Exists():
		o.refuse(w, 400, "temperature", "unsupported_parameter", "Unsupported parameter: 'temperature' is not supported with this model.")
	case chat && !o.takesChat(w, request), !chat && !o.takesResponses(w, request):
	default:
		effort := request.Get("reasoning_effort").Str + request.Get("reasoning.effort").Str
		o.mu.Lock()
		o.asked = append(o.asked, r.URL.Path+" "+effort)
		o.mu.Unlock()
		o.answer(w, request, chat)
	}
}

func (o *openAI) refuse(w http.ResponseWriter, status int, param, code, message string) bool {
	o.mu.Lock()
	o.refused = append(o.refused, fmt.Sprintf("%d %s: %s", status, param, message))
	o.mu.Unlock()
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{ // fails if the client has left
		"message": message, "type": "invalid_request_error", "param": orNull(param), "code": orNull(code),
	}})
	return false
}

const tooLong = "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead."

func (o *openAI) takesChat(w http.ResponseWriter, request gjson.Result) bool {
	if effort := request.Get("reasoning_effort").Str; effort != "" && effort != "none" && request.Get("tools.#").Int() > 0 {
		return o.refuse(w, 400, "reasoning_effort", "", "Function tools with reasoning_effort are not supported for "+request.Get("model").Str+
			" in /v1/chat/completions. Please use /v1/responses instead.")
	}
	if request.Get("max_tokens").Exists() {
		return o.refuse(w, 400, "max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	for i, m := range request.Get("messages").Array() {
		for j, c := range m.Get("tool_calls").Array() {
			if id := c.Get("id").Str; len(id) > 40 {
				param := fmt.Sprintf("messages[%d].tool_calls[%d].id", i, j)
				return o.refuse(w, 400, param, "string_above_max_length", fmt.Sprintf(tooLong, param, 40, len(id)))
			}
		}
		if id := m.Get("tool_call_id").Str; len(id) > 40 {
			param := fmt.Sprintf("messages[%d].tool_call_id", i)
			return o.refuse(w, 400, param, "string_above_max_length", fmt.Sprintf(tooLong, param, 40, len(id)))
		}
	}
	return true
}

// responsesMembers are the members that openAI accepts in a request.
const responsesMembers = " model input instructions max_output_tokens top_p stream stream_options tools tool_choice parallel_tool_calls text reasoning include store " +
	"previous_response_id truncation metadata user safety_identifier prompt_cache_key prompt_cache_retention service_tier max_tool_calls background conversation prompt "

func (o *openAI) takesResponses(w http.ResponseWriter, request gjson.Result) bool {
	unknown := ""
	request.ForEach(func(key, _ gjson.Result) bool {
		if !strings.Contains(responsesMembers, " "+key.Str+" ") {
			unknown = key.Str
		}
		return unknown == ""
	})
	if unknown != "" {
		return o.refuse(w, 400, unknown, "unknown_parameter", "Unknown parameter: '"+unknown+"'.")
	}
	for i, item := range request.Get("input").Array() {
		id := item.Get("id").Str
		switch {
		case item.Get("type").Str == "item_reference":
			return o.refuse(w, 404, "input", "", "Item with id '"+id+"' not found.")
		case item.Get("type").Str == "reasoning" && item.Get("encrypted_content").Str == "":
			return o.refuse(w, 404, "input", "", "Item with id '"+id+"' not found. Items are not persisted when `store` is set to false.")
		case item.Get("type").Str == "reasoning" && item.Get("encrypted_content").Str != "STATE":
			return o.refuse(w, 400, "input", "invalid_encrypted_content", "The encrypted content could not be verified.")
		case len(item.Get("call_id").Str) > 64:
			param := fmt.Sprintf("input[%d].call_id", i)
			return o.refuse(w, 400, param, "string_above_max_length", fmt.Sprintf(tooLong, param, 64, len(item.Get("call_id").Str)))
		}
	}
	return true
}

// usable has the tools that the model calls, with the arguments that it passes.
var usable = []struct{ name, arguments string }{{"weather", `{"city":"Oslo"}`}, {"Bash", `{"command":"echo told $((40+2))","description":"Says a number"}`}}

// step returns the next action of the model: a tool call, or a text.
func step(request gjson.Result, results []string) (tool, arguments, text string) {
	if len(results) >= 2 {
		return "", "", "the tools say: " + strings.Join(results, ", ")
	}
	for _, u := range usable {
		for _, t := range request.Get("tools").Array() {
			if t.Get("name").Str == u.name || t.Get("function.name").Str == u.name {
				return u.name, u.arguments, ""
			}
		}
	}
	return "", "", "hello"
}

func (o *openAI) answer(w http.ResponseWriter, request gjson.Result, chat bool) {
	var results []string // results since the user's last message
	n := 0
	for _, item := range append(request.Get("input").Array(), request.Get("messages").Array()...) {
		n++
		switch {
		case item.Get("type").Str == "function_call_output":
			results = append(results, item.Get("output").String())
		case item.Get("role").Str == "tool":
			results = append(results, item.Get("content").String())
		case item.Get("role").Str == "user":
			results = nil
		}
	}
	tool, arguments, text := step(request, results)
	if chat {
		o.answerChat(w, request, text)
		return
	}
	id := fmt.Sprint(n)
	reasoning := map[string]any{"id": "rs_" + id, "type": "reasoning", "summary": []any{}}
	for _, include := range request.Get("include").Array() {
		if include.Str == "reasoning.encrypted_content" {
			reasoning["encrypted_content"] = "STATE"
		}
	}
	output := map[string]any{
		"id": "msg_" + id, "type": "message", "status": "completed", "role": "assistant",
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}},
	}
	if tool != "" {
		output = map[string]any{"id": "fc_" + id, "type": "function_call", "status": "completed", "call_id": "call_" + id, "name": tool, "arguments": arguments}
	}
	response := map[string]any{
		"id": "resp_" + id, "object": "response", "created_at": 1, "status": "completed", "model": request.Get("model").Str, "output": []any{reasoning, output},
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{}, "parallel_tool_calls": true, "temperature": nil, "tool_choice": "auto",
		"tools": []any{}, "top_p": nil, "usage": map[string]any{
			"input_tokens": 20, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": map[string]any{"reasoning_tokens": 5}, "total_tokens": 30,
		},
	}
	if !request.Get("stream").Bool() {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sequence := 0
	event := func(kind string, members map[string]any) {
		members["type"], members["sequence_number"] = kind, sequence
		sequence++
		data, _ := json.Marshal(members)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		_ = http.NewResponseController(w).Flush()
	}
	begun := maps.Clone(response)
	begun["status"], begun["output"], begun["usage"] = "in_progress", []any{}, nil
	event("response.created", map[string]any{"response": begun})
	event("response.in_progress", map[string]any{"response": begun})
	event("response.output_item.added", map[string]any{"output_index": 0, "item": map[string]any{"id": "rs_" + id, "type": "reasoning", "summary": []any{}}})
	event("response.output_item.done", map[string]any{"output_index": 0, "item": reasoning})
	if tool != "" {
		event("response.output_item.added", map[string]any{"output_index": 1, "item": map[string]any{
			"id": "fc_" + id, "type": "function_call", "status": "in_progress", "call_id": "call_" + id, "name": tool, "arguments": "",
		}})
		event("response.function_call_arguments.delta", map[string]any{"output_index": 1, "item_id": "fc_" + id, "delta": arguments})
		event("response.function_call_arguments.done", map[string]any{"output_index": 1, "item_id": "fc_" + id, "name": tool, "arguments": arguments})
	} else {
		part := func(text string) map[string]any {
			return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
		}
		withPosition := func(members map[string]any) map[string]any {
			members["output_index"], members["item_id"], members["content_index"] = 1, "msg_"+id, 0
			return members
		}
		event("response.output_item.added", map[string]any{"output_index": 1, "item": map[string]any{
			"id": "msg_" + id, "type": "message", "status": "in_progress", "role": "assistant", "content": []any{},
		}})
		event("response.content_part.added", withPosition(map[string]any{"part": part("")}))
		event("response.output_text.delta", withPosition(map[string]any{"delta": text, "logprobs": []any{}}))
		event("response.output_text.done", withPosition(map[string]any{"text": text, "logprobs": []any{}}))
		event("response.content_part.done", withPosition(map[string]any{"part": part(text)}))
	}
	event("response.output_item.done", map[string]any{"output_index": 1, "item": output})
	event("response.completed", map[string]any{"response": response})
}

// answerChat answers a chat completion with a text, as JSON or as a stream. Requests with tools and an effort have been
// refused before.
func (o *openAI) answerChat(w http.ResponseWriter, request gjson.Result, text string) {
	if text == "" {
		text = "hello"
	}
	content, _ := json.Marshal(text)
	usage := `{"prompt_tokens":20,"completion_tokens":10,"total_tokens":30}`
	head := `{"id":"chatcmpl-1","created":1,"model":"` + request.Get("model").Str + `","object":"chat.completion`
	if !request.Get("stream").Bool() {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `%s","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":%s}`, head, content, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: %[1]s.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%[2]s},\"finish_reason\":null}]}\n\n"+
		"data: %[1]s.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: %[1]s.chunk\",\"choices\":[],\"usage\":%[3]s}\n\ndata: [DONE]\n\n", head, content, usage)
}

// newOpenAI starts a gateway that uses o as OpenAI, and returns the gateway keys of two users whose only provider key
// is for OpenAI.
func newOpenAI(t *testing.T, o *openAI, replace ...string) (g *e2e.Gateway, keys [2]string) {
	t.Helper()
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	g = e2e.NewGateway(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+server.URL+"/v1\n\t\t\t}\n\t\t}", replace...)
	for i, user := range []string{"nora", "otto"} {
		_, key, _, err := g.InitUser(t.Context(), user)
		if err == nil {
			_, err = g.AddProviderKey(t.Context(), user, "openai", "sk-openai-000000000000", "", func(string) bool { return true })
		}
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = key.Key
	}
	return g, keys
}

// TestAISDK runs the AI SDK, a loop of tools with a model that reasons over several turns, against a server that
// enforces OpenAI's rules. Each turn must be one request, and no request may be refused.
func TestAISDK(t *testing.T) {
	t.Parallel()
	program := e2e.NodeProgram(t)
	old, replacement := storing("")
	for name, replace := range map[string][]string{"items": nil, "stored": {old, replacement}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := new(openAI)
			g, keys := newOpenAI(t, o, replace...)
			e2e.RunNode(t, program, "aisdk.mjs",
				"TOLLGATE_URL="+g.Base, "TOLLGATE_KEY="+keys[0], "TOLLGATE_OTHER_KEY="+keys[1], "TOLLGATE_MODEL=gpt-6.1-sol")
			requests, refused := o.Asked()
			if len(refused) > 0 {
				t.Errorf("refused %q", refused)
			}
			if want := 2*6 + 3; len(requests) != want {
				t.Errorf("%d requests, want %d: %q", len(requests), want, requests)
			}
		})
	}
}

// TestStoredAtOpenAI continues a response and a conversation whose model reasons and calls a tool, at a provider with
// the same format. The provider must get back the state of its reasoning, which the client does not send.
func TestStoredAtOpenAI(t *testing.T) {
	t.Parallel()
	o := new(openAI)
	old, replacement := storing("")
	g, keys := newOpenAI(t, o, old, replacement)
	const more = `"model":"gpt-6.1-sol","reasoning":{"effort":"high"},"tools":[{"type":"function","name":"weather","parameters":{"type":"object","properties":{}}}]`
	_, conversation := asks(t, http.MethodPost, g.Base+"/v1/conversations", keys[0], "{}")
	for name, before := range map[string]func(id string) string{
		"chain": func(id string) string {
			if id == "" {
				return more
			}
			return more + `,"previous_response_id":"` + id + `"`
		},
		"conversation": func(string) string { return more + `,"conversation":"` + conversation.Get("id").Str + `"` },
	} {
		id, input := "", `"How is the weather?"`
		for range 2 {
			status, answer := asks(t, http.MethodPost, g.Base+"/v1/responses", keys[0], `{`+before(id)+`,"input":`+input+`}`)
			call := answer.Get(`output.#(type="function_call").call_id`).Str
			if status != http.StatusOK || call == "" {
				t.Fatalf("%s: %d %s", name, status, answer.Raw)
			}
			id, input = answer.Get("id").Str, `[{"type":"function_call_output","call_id":"`+call+`","output":"wet"}]`
		}
		status, answer := asks(t, http.MethodPost, g.Base+"/v1/responses", keys[0], `{`+before(id)+`,"input":`+input+`}`)
		if text := answer.Get(`output.#(type="message").content.0.text`).Str; status != http.StatusOK || text != "the tools say: wet, wet" {
			t.Errorf("%s: %d %s", name, status, answer.Raw)
		}
	}
	if _, refused := o.Asked(); len(refused) > 0 {
		t.Errorf("refused %q", refused)
	}
}

// TestToolsWithEffort sends the requests of agents on each API to a user with only a key of OpenAI: tools with an
// effort, and a history with ids that are too long for chat.
func TestToolsWithEffort(t *testing.T) {
	t.Parallel()
	o := new(openAI)
	g, keys := newOpenAI(t, o)
	const id = "chatcmpl-tool-0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct{ path, body string }{
		"messages": {"/v1/messages", `{"model":"claude-opus-5-5","max_tokens":4096,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},` +
			`"system":[{"type":"text","text":"You are an agent."}],"tools":[{"name":"Bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],` +
			`"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"Bash","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"one"}]}]}`},
		"chat": {"/v1/chat/completions", `{"model":"gpt-6.1-sol","reasoning_effort":"high","tools":[{"type":"function","function":{"name":"Bash","parameters":{"type":"object","properties":{}}}}],` +
			`"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"Bash","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"` + id + `","content":"one"}]}`},
		"chat without an effort": {"/v1/chat/completions", `{"model":"gpt-6.1-sol","tools":[{"type":"function","function":{"name":"x","parameters":{"type":"object","properties":{}}}}],` +
			`"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"x","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"` + id + `","content":"one"}]}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.Base+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+keys[0])
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Anthropic-Version", "2023-06-01")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("X-Gateway-Attempts") != "1" {
			t.Errorf("%s: %d after %s attempts, %v: %s", name, response.StatusCode, response.Header.Get("X-Gateway-Attempts"), err, body)
		}
	}
	if _, refused := o.Asked(); len(refused) > 0 {
		t.Errorf("refused %q", refused)
	}
}
