package scriptedmodel

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// sdk returns OpenAI's own client for the test server.
func sdk(ts *httptest.Server) openai.Client {
	return openai.NewClient(option.WithBaseURL(ts.URL+"/v1"), option.WithAPIKey("sk-test"), option.WithMaxRetries(0), option.WithHTTPClient(ts.Client()))
}

func params(model string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("12345678")},
	}
}

const sdkScript = `scripted?text=Héllo+wörld&reasoning=abcd&tool=get_time&tool=add:{"a":1,"b":"two"}&cached_tokens=1`

func checkSDKAnswer(t *testing.T, a openai.ChatCompletion) {
	t.Helper()
	if len(a.Choices) != 1 {
		t.Fatalf("%d choices, want 1", len(a.Choices))
	}
	c := a.Choices[0]
	if c.Message.Content != "Héllo wörld" || c.FinishReason != "tool_calls" {
		t.Errorf("content %q, finish %q", c.Message.Content, c.FinishReason)
	}
	if len(c.Message.ToolCalls) != 2 {
		t.Fatalf("%d tool calls, want 2", len(c.Message.ToolCalls))
	}
	first, second := c.Message.ToolCalls[0], c.Message.ToolCalls[1]
	if first.Function.Name != "get_time" || first.Function.Arguments != "{}" {
		t.Errorf("first tool %+v", first.Function)
	}
	if second.Function.Name != "add" || second.Function.Arguments != `{"a":1,"b":"two"}` {
		t.Errorf("second tool %+v", second.Function)
	}
	if first.ID == second.ID || !strings.HasPrefix(first.ID, "call_") || len(first.ID) != 29 {
		t.Errorf("tool ids %q and %q", first.ID, second.ID)
	}
	// text 13 bytes: 4; reasoning 4 bytes: 1; get_time{} 10 bytes: 3; add{"a":1,"b":"two"} 20 bytes: 5
	u := a.Usage
	if u.PromptTokens != 2 || u.CompletionTokens != 13 || u.TotalTokens != 15 ||
		u.PromptTokensDetails.CachedTokens != 1 || u.CompletionTokensDetails.ReasoningTokens != 1 {
		t.Errorf("usage %s", u.RawJSON())
	}
	if a.Model != "scripted" || a.Created != epoch.Unix() {
		t.Errorf("model %q, created %d", a.Model, a.Created)
	}
}

func TestSDKWhole(t *testing.T) {
	t.Parallel()
	client := sdk(newTestServer(t, New(Options{})))
	a, err := client.Chat.Completions.New(t.Context(), params(sdkScript))
	if err != nil {
		t.Fatal(err)
	}
	checkSDKAnswer(t, *a)
}

func TestSDKStream(t *testing.T) {
	t.Parallel()
	client := sdk(newTestServer(t, New(Options{})))
	for _, more := range []string{"", "&chunk_bytes=1", "&chunks=3&flush=0", "&fault=comments&usage=finish"} {
		p := params(sdkScript + more)
		p.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(t.Context(), p)
		var acc openai.ChatCompletionAccumulator
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				t.Fatalf("%s: chunk does not fit: %s", more, stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatalf("%s: %v", more, err)
		}
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
		checkSDKAnswer(t, acc.ChatCompletion)
	}
}

func TestSDKError(t *testing.T) {
	t.Parallel()
	client := sdk(newTestServer(t, New(Options{})))
	_, err := client.Chat.Completions.New(t.Context(), params("scripted?status=429&retry_after=7&message=slow+down"))
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	if e.StatusCode != http.StatusTooManyRequests || e.Code != "rate_limit_exceeded" || e.Type != "rate_limit_error" ||
		e.Message != "slow down" || e.Response.Header.Get("Retry-After") != "7" {
		t.Errorf("error %+v", e)
	}
}

func TestSDKStreamError(t *testing.T) {
	t.Parallel()
	client := sdk(newTestServer(t, New(Options{})))
	for _, script := range []string{"fault=error_object", "fault=error_mid&text=a+b+c"} {
		stream := client.Chat.Completions.NewStreaming(t.Context(), params("scripted?message=broken&"+script))
		for stream.Next() {
		}
		if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("%s: error %v", script, err)
		}
	}
}

func TestSDKModels(t *testing.T) {
	t.Parallel()
	client := sdk(newTestServer(t, New(Options{})))
	page, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Data) != 2 || page.Data[0].ID != modelScripted || page.Data[1].ID != modelReasoner {
		t.Errorf("models %+v", page.Data)
	}
	m, err := client.Models.Get(t.Context(), modelReasoner)
	if err != nil || m.ID != modelReasoner || m.OwnedBy != "tollgate" || m.Created != epoch.Unix() {
		t.Errorf("model %+v, error %v", m, err)
	}
	_, err = client.Models.Get(t.Context(), "gpt")
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusNotFound || e.Code != "model_not_found" {
		t.Errorf("error %v", err)
	}
}
