package formats_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestServed checks the service tier and the tools run by the provider: the last values in an answer count, whether it
// is translated or passed on, streamed or whole.
func TestServed(t *testing.T) {
	t.Parallel()
	const (
		chunk    = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"flex","choices":[{"index":0,"delta":{"content":"a"}}]}`
		counted  = `"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5`
		start    = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1`
		stop     = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9`
		created  = `{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress","output":[],"service_tier":"auto"}}`
		search   = `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"x"}}`
		looks    = `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"open_page"}}`
		others   = `{"type":"code_interpreter_call","id":"i","code":"1"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"shell_call","call_id":"s","action":{"commands":[]}},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`
		complete = `"status":"completed","model":"m","usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}`
	)
	done := func(item string) string {
		return `{"type":"response.output_item.done","output_index":0,"item":` + item + `}`
	}
	for name, c := range map[string]struct {
		format hub.Format
		whole  string
		events []string
		want   string
	}{
		"chat":                         {format: hub.Chat, whole: `{"model":"m","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],` + counted + `},"service_tier":"priority"}`, want: "priority"},
		"chat, the ordinary way":       {format: hub.Chat, whole: `{"model":"m","service_tier":"default","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],` + counted + `}}`, want: "as usual"},
		"chat, no word":                {format: hub.Chat, whole: `{"model":"m","service_tier":null,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],` + counted + `}}`, want: "as usual"},
		"chat, a word that is none":    {format: hub.Chat, whole: `{"model":"m","service_tier":"a b","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],` + counted + `}}`, want: "as usual"},
		"chat, tools":                  {format: hub.Chat, whole: `{"model":"m","service_tier":"flex","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],` + counted + `,"server_tool_use":{"web_search_requests":2,"x":{},"_requests":3}}}`, want: "flex web_search=2"},
		"chat, streamed":               {format: hub.Chat, events: []string{chunk, `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"flex","choices":[],` + counted + `}}`}, want: "flex"},
		"chat, changed its mind":       {format: hub.Chat, events: []string{chunk, `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],` + counted + `},"service_tier":"default"}`}, want: ""},
		"messages":                     {format: hub.Messages, whole: `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":1,"service_tier":"standard","speed":"fast","inference_geo":"us","server_tool_use":{"web_search_requests":2,"web_fetch_requests":0}}}`, want: "fast us web_search=2"},
		"messages, null":               {format: hub.Messages, whole: `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":1,"service_tier":null,"speed":null,"server_tool_use":null}}`, want: "as usual"},
		"messages, streamed":           {format: hub.Messages, events: []string{start + `,"service_tier":"priority"}}}`, stop + `,"server_tool_use":{"web_search_requests":1}}}`, stop + `,"server_tool_use":{"web_search_requests":3}}}`}, want: "priority web_search=3"},
		"Responses":                    {format: hub.Responses, whole: `{"id":"r",` + complete + `,"service_tier":"flex","output":[` + search + "," + looks + "," + search + "," + others + `]}`, want: "flex code_interpreter=1 web_search=2"},
		"Responses, streamed":          {format: hub.Responses, events: []string{created, done(search), done(looks), `{"type":"response.completed","response":{"id":"r",` + complete + `,"service_tier":"priority","output":[` + search + "," + looks + `]}}`}, want: "priority web_search=1"},
		"Responses, no output":         {format: hub.Responses, events: []string{created, done(search), done(search), `{"type":"response.completed","response":{"id":"r",` + complete + `,"output":[]}}`}, want: "web_search=2"},
		"Responses, breaks":            {format: hub.Responses, events: []string{created, done(search)}, want: "web_search=1"},
		"Responses, not as asked":      {format: hub.Responses, events: []string{`{"type":"response.created","response":{"id":"r","model":"m","output":[],"service_tier":"flex"}}`, `{"type":"response.completed","response":{"id":"r",` + complete + `,"service_tier":"default","output":[]}}`}, want: ""},
		"Responses, ordinary and done": {format: hub.Responses, events: []string{created, `{"type":"response.completed","response":{"id":"r",` + complete + `,"service_tier":"default","output":[]}}`}, want: "as usual"},
	} {
		f, _ := formats.Of(c.format)
		r := f.NewReader(&catalog.Provider{})
		pass := chat.NewPass("m", true, 1)
		if own, ok := f.(formats.Editor); ok {
			pass = own.NewPass(&hub.Request{Model: "m"}, hub.Reply{})
		}
		var read, passed error
		if c.whole != "" {
			_, read = r.Whole([]byte(c.whole))
			_, passed = pass.Whole(nil, []byte(c.whole))
		}
		for _, event := range c.events {
			if read == nil && passed == nil {
				_, read = r.Event(nil, []byte(event))
				_, _, passed = pass.Event(nil, nil, []byte(event))
			}
		}
		if read != nil || passed != nil {
			t.Errorf("%s: %v, %v", name, read, passed)
			continue
		}
		if got := r.Usage().Served.String(); got != c.want {
			t.Errorf("%s: read as %q, want %q", name, got, c.want)
		}
		if got := pass.Usage().Served.String(); got != c.want {
			t.Errorf("%s: passed on as %q, want %q", name, got, c.want)
		}
	}
}
