package gateway

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// onePixel is a PNG picture.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

// TestMessages checks the gateway with a client of the Messages API.
func TestMessages(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("mia", up,
		e2e.Script("reasoning", "Let me think", "text", "Hello there", "cached_tokens", "2"),
		e2e.Script("reasoning", "The weather", "tool", `weather:{"city":"Oslo"}`, "tool", `time:{}`),
		e2e.Script("text", `{"answer":42}`),
		e2e.Script("fault", "error_mid", "text", "one two three", "after", "2"))
	sdk := anthropic.NewClient(anthropicoption.WithBaseURL(g.Base), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0))
	ask := func(model string, more ...anthropic.MessageParam) anthropic.MessageNewParams {
		return anthropic.MessageNewParams{
			Model: model, MaxTokens: 1000, System: []anthropic.TextBlockParam{{Text: "Be kind."}},
			Messages: append([]anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hi"))}, more...),
		}
	}
	stream := func(t *testing.T, params anthropic.MessageNewParams) (anthropic.Message, error) {
		t.Helper()
		var whole anthropic.Message
		events := sdk.Messages.NewStreaming(t.Context(), params)
		for events.Next() {
			if err := whole.Accumulate(events.Current()); err != nil {
				t.Fatal(err)
			}
		}
		return whole, events.Err()
	}
	weather := anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
		Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}},
	}}

	t.Run("thinking and text", func(t *testing.T) {
		t.Parallel()
		whole, err := sdk.Messages.New(t.Context(), ask("own/1"))
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := stream(t, ask("own/1"))
		if err != nil {
			t.Fatal(err)
		}
		for form, m := range map[string]anthropic.Message{"whole": *whole, "stream": streamed} {
			if len(m.Content) != 2 || m.Content[0].Thinking != "Let me think" || m.Content[0].Signature == "" || m.Content[1].Text != "Hello there" ||
				m.StopReason != "end_turn" || m.Model != "own/1" || m.Usage.OutputTokens == 0 || m.Usage.CacheReadInputTokens != 2 || !strings.HasPrefix(m.ID, "msg_") {
				t.Errorf("%s: %s, usage %+v", form, m.RawJSON(), m.Usage)
			}
		}
	})
	t.Run("tools in several turns", func(t *testing.T) {
		t.Parallel()
		params := ask("own/2")
		params.Tools = []anthropic.ToolUnionParam{weather}
		streamed, err := stream(t, params)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := sdk.Messages.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		for form, m := range map[string]anthropic.Message{"whole": *whole, "stream": streamed} {
			if len(m.Content) != 3 || m.Content[1].Name != "weather" || string(m.Content[1].Input) != `{"city":"Oslo"}` ||
				m.Content[2].Name != "time" || string(m.Content[2].Input) != `{}` || m.StopReason != "tool_use" || m.Content[1].ID == m.Content[2].ID {
				t.Errorf("%s: %s", form, m.RawJSON())
			}
		}
		// The tool results are sent in the wrong order, with a picture and text.
		next := ask("own/1", streamed.ToParam(), anthropic.NewUserMessage(
			anthropic.NewToolResultBlock(streamed.Content[2].ID, "noon", false),
			anthropic.NewToolResultBlock(streamed.Content[1].ID, "rain", true),
			anthropic.NewImageBlockBase64("image/png", onePixel), anthropic.NewTextBlock("And now?")))
		next.Tools = params.Tools
		if _, err := sdk.Messages.New(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("structured output", func(t *testing.T) {
		t.Parallel()
		params := ask("own/3")
		params.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: map[string]any{"type": "object"}}
		m, err := sdk.Messages.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Content) != 1 || m.Content[0].Text != `{"answer":42}` {
			t.Errorf("answer %s", m.RawJSON())
		}
	})
	t.Run("a stream that breaks", func(t *testing.T) {
		t.Parallel()
		m, err := stream(t, ask("own/4"))
		if err == nil || !strings.Contains(err.Error(), "api_error") || m.StopReason != "" {
			t.Errorf("error %v, message %+v", err, m.StopReason)
		}
	})
	t.Run("count_tokens", func(t *testing.T) {
		t.Parallel()
		params := ask("own/1")
		count, err := sdk.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: params.Model, Messages: params.Messages})
		if err != nil || count.InputTokens < 4 || count.InputTokens > 20 {
			t.Errorf("count %+v, error %v", count, err)
		}
	})
	t.Run("models", func(t *testing.T) {
		t.Parallel()
		models := sdk.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(3)})
		var ids []string
		for models.Next() {
			ids = append(ids, models.Current().ID)
		}
		if models.Err() != nil || len(ids) != 10 || ids[0] != "keychain-low" || ids[9] != "own/4" {
			t.Errorf("models %v, error %v", ids, models.Err())
		}
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		stranger := anthropic.NewClient(anthropicoption.WithBaseURL(g.Base), anthropicoption.WithAPIKey("ak-unknown"), anthropicoption.WithMaxRetries(0))
		noLimit, badTool := ask("own/1"), ask("own/1")
		noLimit.MaxTokens = 0
		badTool.Messages = append(badTool.Messages, anthropic.NewUserMessage(anthropic.NewToolResultBlock("toolu_nowhere", "x", false)))
		for name, test := range map[string]struct {
			client anthropic.Client
			params anthropic.MessageNewParams
			status int
			kind   string
		}{
			"bad key":       {stranger, ask("own/1"), 401, "authentication_error"},
			"unknown model": {sdk, ask("no-such-model"), 404, "not_found_error"},
			"no limit":      {sdk, noLimit, 400, "invalid_request_error"},
			"orphan result": {sdk, badTool, 400, "invalid_request_error"},
		} {
			_, err := test.client.Messages.New(t.Context(), test.params)
			e, ok := errors.AsType[*anthropic.Error](err)
			if !ok || e.StatusCode != test.status || !strings.Contains(e.RawJSON(), `"type":"`+test.kind+`"`) || !strings.HasPrefix(e.RequestID, "req_") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestResponses checks the gateway with a client of the Responses API.
func TestResponses(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("rob", up,
		e2e.Script("reasoning", "Let me think", "text", "Hello there", "cached_tokens", "2"),
		e2e.Script("tool", `weather:{"city":"Oslo"}`, "tool", `apply_patch:{"input":"*** Begin\n\"Patch\""}`),
		e2e.Script("text", `{"answer":42}`),
		e2e.Script("fault", "error_mid", "text", "one two three", "after", "2"))
	sdk := openai.NewClient(option.WithBaseURL(g.Base+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
	ask := func(model string) responses.ResponseNewParams {
		return responses.ResponseNewParams{
			Model: model, Instructions: openai.String("Be kind."), Store: openai.Bool(false),
			Input:   responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi")},
			Include: []responses.ResponseIncludable{"reasoning.encrypted_content"},
		}
	}
	stream := func(t *testing.T, params responses.ResponseNewParams) (whole responses.Response, err error) {
		t.Helper()
		events := sdk.Responses.NewStreaming(t.Context(), params)
		var sequence int64
		text := ""
		for events.Next() {
			event := events.Current()
			if event.SequenceNumber != sequence {
				t.Fatalf("event %d is numbered %d: %s", sequence, event.SequenceNumber, event.RawJSON())
			}
			sequence++
			switch event.Type {
			case "response.output_text.delta":
				text += event.Delta
			case "response.completed", "response.incomplete", "response.failed":
				whole = event.Response
			}
		}
		if whole.Status == "completed" && text != whole.OutputText() {
			t.Errorf("the deltas say %q, the answer %q", text, whole.OutputText())
		}
		return whole, events.Err()
	}

	t.Run("reasoning and text", func(t *testing.T) {
		t.Parallel()
		whole, err := sdk.Responses.New(t.Context(), ask("own/1"))
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := stream(t, ask("own/1"))
		if err != nil {
			t.Fatal(err)
		}
		for form, r := range map[string]responses.Response{"whole": *whole, "stream": streamed} {
			if len(r.Output) != 2 || r.Output[0].Type != "reasoning" || r.Output[0].Summary[0].Text != "Let me think" || !strings.HasPrefix(r.Output[0].EncryptedContent, "kcs1.") ||
				r.OutputText() != "Hello there" || r.Status != "completed" || r.Model != "own/1" || r.Usage.InputTokensDetails.CachedTokens != 2 || !strings.HasPrefix(r.ID, "resp_") {
				t.Errorf("%s: %s", form, r.RawJSON())
			}
		}
	})
	t.Run("tools in two turns", func(t *testing.T) {
		t.Parallel()
		params := ask("own/2")
		params.Tools = []responses.ToolUnionParam{
			{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: map[string]any{"type": "object"}}},
			{OfCustom: &responses.CustomToolParam{Name: "apply_patch"}},
			{OfWebSearch: &responses.WebSearchToolParam{Type: "web_search"}},
		}
		var raw *http.Response
		whole, err := sdk.Responses.New(t.Context(), params, option.WithResponseInto(&raw))
		if err != nil {
			t.Fatal(err)
		}
		if dropped := raw.Header.Get("X-Gateway-Dropped-Params"); !strings.Contains(dropped, "tools") {
			t.Errorf("dropped %q", dropped)
		}
		streamed, err := stream(t, params)
		if err != nil {
			t.Fatal(err)
		}
		for form, r := range map[string]responses.Response{"whole": *whole, "stream": streamed} {
			if len(r.Output) != 2 || r.Output[0].Type != "function_call" || r.Output[0].Name != "weather" ||
				r.Output[1].Type != "custom_tool_call" || r.Output[1].AsCustomToolCall().Input != "*** Begin\n\"Patch\"" {
				t.Errorf("%s: %s", form, r.RawJSON())
			}
		}
		rain := responses.ResponseInputItemParamOfFunctionCallOutput("rain")
		rain.OfFunctionCallOutput.CallID = openai.String(whole.Output[0].CallID)
		next := ask("own/1")
		next.Tools = params.Tools
		next.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Hi", "user"),
			responses.ResponseInputItemParamOfFunctionCall(`{"city":"Oslo"}`, whole.Output[0].CallID, "weather"),
			responses.ResponseInputItemParamOfCustomToolCall(whole.Output[1].CallID, "patch", "apply_patch"),
			responses.ResponseInputItemParamOfCustomToolCallOutput(whole.Output[1].CallID, "done"),
			rain,
		}}
		if _, err := sdk.Responses.New(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("structured output", func(t *testing.T) {
		t.Parallel()
		params := ask("own/3")
		params.Text.Format = responses.ResponseFormatTextConfigParamOfJSONSchema("answer", map[string]any{"type": "object"})
		params.Reasoning = shared.ReasoningParam{Effort: "low"}
		r, err := sdk.Responses.New(t.Context(), params)
		if err != nil || r.OutputText() != `{"answer":42}` {
			t.Errorf("answer %+v, error %v", r, err)
		}
	})
	t.Run("input_tokens", func(t *testing.T) {
		t.Parallel()
		count, err := sdk.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
			Model: openai.String("own/1"), Input: responses.InputTokenCountParamsInputUnion{OfString: openai.String("Hi")},
		})
		if err != nil || count.InputTokens < 4 || count.InputTokens > 20 {
			t.Errorf("count %+v, error %v", count, err)
		}
	})
	t.Run("a stream that breaks", func(t *testing.T) {
		t.Parallel()
		r, _ := stream(t, ask("own/4"))
		if r.Status != "failed" || r.Error.Code == "" {
			t.Errorf("answer %s", r.RawJSON())
		}
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		previous, background := ask("own/1"), ask("own/1")
		previous.PreviousResponseID = openai.String("resp_1")
		background.Background = openai.Bool(true)
		for name, test := range map[string]struct {
			params responses.ResponseNewParams
			status int
			code   string
		}{
			"previous":      {previous, 400, "previous_response_not_found"},
			"background":    {background, 400, "unsupported_parameter"},
			"unknown model": {ask("no-such-model"), 404, "model_not_found"},
		} {
			_, err := sdk.Responses.New(t.Context(), test.params)
			e, ok := errors.AsType[*openai.Error](err)
			if !ok || e.StatusCode != test.status || e.Code != test.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := sdk.Responses.Get(t.Context(), "resp_1", responses.ResponseGetParams{})
		if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 404 || e.Code != "unsupported_endpoint" {
			t.Errorf("stored response: %v", err)
		}
	})
}

// TestTranslateExample runs the example of translate in the reference in front of a chat server.
func TestTranslateExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(e2e.Repo("docs/reference/translate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "## Example\n")
	_, rest, fenced := strings.Cut(rest, "```caddyfile\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !fenced || !closed {
		t.Fatal("the reference has no example of translate")
	}
	up := e2e.NewUpstream(t)
	port := e2e.FreePort(t)
	config := e2e.Swap(t, example, ":8080", "http://127.0.0.1:"+port)
	config = e2e.Swap(t, config, "localhost:8000", strings.TrimPrefix(up.URL, "http://"))
	config = e2e.Swap(t, config, "model qwen3 ", "model "+e2e.Script("text", "Hello there"))
	e2e.NewNode(t, "{\n\tadmin unix/data/admin.sock\n\tgrace_period 5s\n}\n"+config).Start()
	sdk := anthropic.NewClient(anthropicoption.WithBaseURL("http://127.0.0.1:"+port), anthropicoption.WithAPIKey("any"), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: "claude-sonnet-4-6", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hi"))},
	}
	m, err := sdk.Messages.New(t.Context(), params)
	if err != nil || m.Content[0].Text != "Hello there" || m.Model != "claude-sonnet-4-6" {
		t.Fatalf("message %+v, error %v", m, err)
	}
	var whole anthropic.Message
	events := sdk.Messages.NewStreaming(t.Context(), params)
	for events.Next() {
		if err := whole.Accumulate(events.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if events.Err() != nil || whole.Content[0].Text != "Hello there" {
		t.Errorf("stream %+v, error %v", whole, events.Err())
	}
	params.MaxTokens = 0
	if _, err = sdk.Messages.New(t.Context(), params); err == nil || !strings.Contains(err.Error(), "max_tokens") {
		t.Errorf("without max_tokens: %v", err)
	}
}
