package converse

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// open opens the test's tokens, "kcs1.<form>:<data>".
func open(token string) (hub.State, bool) {
	rest, ours := strings.CutPrefix(token, hub.TokenPrefix)
	form, data, _ := strings.Cut(rest, ":")
	return hub.State{Provider: "bedrock-converse", Family: "bedrock-converse/claude-x", Form: hub.Form(form), Data: data}, ours
}

func seal(s hub.State) string { return hub.TokenPrefix + string(s.Form) + ":" + s.Data }

func clientOptions() hub.ReadOptions {
	return hub.ReadOptions{Model: "anthropic.claude:0", Stream: true, Open: open}
}

var redactedToken = base64.StdEncoding.EncodeToString([]byte("kcs1.redacted:cmVk"))

// client is a request with all supported members.
var client = `{
	"system":[{"text":"Long."},{"text":"Longer."},{"cachePoint":{"type":"default","ttl":"1h"}},{"guardContent":{"text":{"text":"Guarded.","qualifiers":["query"]}}}],
	"inferenceConfig":{"maxTokens":9000,"temperature":0.5,"topP":0.9,"stopSequences":["END"]},
	"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":4096},"top_k":7,"anthropic_beta":["x"]},
	"additionalModelResponseFieldPaths":["/delta/stop_sequence"],
	"toolConfig":{"tools":[{"toolSpec":{"name":"weather","description":"Tells the weather.","inputSchema":{"json":{"type":"object","properties":{"city":{"type":"string"}}}}}},
		{"cachePoint":{"type":"default"}}],"toolChoice":{"auto":{}}},
	"serviceTier":{"type":"priority"},
	"messages":[
		{"role":"user","content":[{"text":"Look:"},{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}},
			{"document":{"format":"pdf","name":"Report (1)","source":{"bytes":"JVBERi0xLjQ="},"context":"Of May."}},
			{"document":{"format":"txt","name":"notes","source":{"bytes":"` + base64.StdEncoding.EncodeToString([]byte("a note")) + `"}}},
			{"document":{"format":"txt","name":"more","source":{"text":"another"}}},
			{"searchResult":{"source":"https://example.com","title":"Page","content":[{"text":"found"}]}},{"cachePoint":{"type":"default"}}]},
		{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"I think","signature":"kcs1.signature:signed"}}},
			{"reasoningContent":{"redactedContent":"` + redactedToken + `"}},{"reasoningContent":{"redactedReasoning":{"data":"Zm9yZWlnbg=="}}},
			{"citationsContent":{"content":[{"text":"It "},{"text":"says"}],"citations":[{"title":"x"}]}},
			{"toolUse":{"toolUseId":"a:1","name":"weather","input":{ "city" : "Rome" }}},{"toolUse":{"toolUseId":"b","name":"weather","input":{}}}]},
		{"role":"user","content":[{"toolResult":{"toolUseId":"b","content":[{"text":"no"},{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}],"status":"error"}},
			{"toolResult":{"toolUseId":"a:1","content":[{"json":{"sky": "blue"}}]}},{"cachePoint":{"type":"default"}},{"text":"And now?"}]}]}`

// TestClientRead reads clients' requests and compares the requests to upstreams with golden files.
func TestClientRead(t *testing.T) {
	t.Parallel()
	hi := `"messages":[{"role":"user","content":[{"text":"Hi"}]}]`
	for name, body := range map[string]string{
		"client":        client,
		"client-plain":  `{` + hi + `}`,
		"client-format": `{` + hi + `,"additionalModelRequestFields":{"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}}}`,
		"client-schema": `{` + hi + `,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"my answer","schema":"{\"type\":\"object\"}"}}}}}`,
		"client-one":    `{` + hi + `,"toolConfig":{"tools":[{"toolSpec":{"name":"a.b","inputSchema":{"json":{}}}}],"toolChoice":{"tool":{"name":"a.b"}}}}`,
		"client-any":    `{` + hi + `,"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}],"toolChoice":{"any":{}}}}`,
		"client-begun":  `{"messages":[{"role":"user","content":[{"text":"Hi"}]},{"role":"assistant","content":[{"text":"Well, "}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Format{}.Read([]byte(body), clientOptions())
			if err != nil {
				t.Fatal(err)
			}
			if r.Model != "anthropic.claude:0" || !r.Stream {
				t.Errorf("model %q, stream %v", r.Model, r.Stream)
			}
			golden(t, name, r, "claude")
		})
	}
}

// TestClientFacts checks the properties of a request by which the cascade chooses candidates.
func TestClientFacts(t *testing.T) {
	t.Parallel()
	r, err := Format{}.Read([]byte(client), clientOptions())
	if err != nil {
		t.Fatal(err)
	}
	if want := wire.NeedImage | wire.NeedFile | wire.NeedTools; r.Needs != want || r.TextBytes < 50 || r.Effort != hub.EffortMedium {
		t.Errorf("needs %b, want %b, %d bytes, effort %s", r.Needs, want, r.TextBytes, r.Effort)
	}
	for body, want := range map[string]wire.Needs{
		`{"messages":[{"role":"user","content":[{"audio":{"format":"wav","source":{"bytes":"AAAA"}}}]}]}`:                wire.NeedAudio,
		`{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"text":"b"}]}]}`:          wire.NeedPrefill,
		`{"messages":[{"role":"user","content":[{"guardContent":{"image":{"format":"png","source":{"bytes":"AA"}}}}]}]}`: wire.NeedImage,
	} {
		if r, err := (Format{}).Read([]byte(body), clientOptions()); err != nil || r.Needs != want {
			t.Errorf("%s: %v, %+v", body, err, r)
		}
	}
}

// TestClientDropped checks the names of the members that are left out.
func TestClientDropped(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]string{
		`"requestMetadata":{"a":"b"}`:                             "requestMetadata",
		`"performanceConfig":{"latency":"optimized"}`:             "performanceConfig",
		`"inferenceConfig":{"seed":1}`:                            "inferenceConfig.seed",
		`"additionalModelRequestFields":{"anthropic_beta":["a"]}`: "additionalModelRequestFields.anthropic_beta",
		`"additionalModelRequestFields":{"a\nb, c":1}`:            "additionalModelRequestFields.a_b__c",
		`"additionalModelResponseFieldPaths":["/other"]`:          "additionalModelResponseFieldPaths",
		`"serviceTier":{"type":"reserved"}`:                       "serviceTier",
		`"guardrailConfig":{},"promptVariables":null`:             "",
		`"x":1`: "x",
	} {
		body := `{` + member + `,"messages":[{"role":"user","content":[{"cachePoint":{"type":"default"}},{"text":"Hi"}]}]}`
		r, err := Format{}.Read([]byte(body), clientOptions())
		if err != nil {
			t.Errorf("%s: %v", member, err)
			continue
		}
		all := append([]string{"messages[].content[].cachePoint"}, strings.Fields(want)...)
		slices.Sort(all)
		slices.Sort(r.Dropped)
		if !slices.Equal(r.Dropped, all) {
			t.Errorf("%s: %q, want %q", member, r.Dropped, all)
		}
	}
}

// TestClientRefused checks that invalid requests are refused, and so are requests with unsupported members that change
// the answer.
func TestClientRefused(t *testing.T) {
	t.Parallel()
	user := func(block string) string { return `{"messages":[{"role":"user","content":[` + block + `]}]}` }
	with := func(member string) string { return `{` + member + `,` + user(`{"text":"Hi"}`)[1:] }
	for body, want := range map[string]string{
		`[]`: "must be a JSON object", `{}`: "messages is required", `{"messages":[]}`: "at least one user message",
		user(``): "at least one user message", user(`{}`): "messages[0].content[0] must have one of", user(`{"video":{}}`): `it has "video"`,
		user(`{"text":1}`): "messages[0].content[0].text must be a string", user(`7`): "messages[0].content[0] must be an object",
		user(`{"image":{"format":"bmp"}}`):                                                                                                  "messages[0].content[0].image.format must be one of gif, jpeg, png, webp",
		user(`{"image":{"format":"png","source":{"s3Location":{"uri":"s3://b/k"}}}}`):                                                       "image.source.s3Location is not supported",
		user(`{"image":{"format":"png","source":{}}}`):                                                                                      "image.source.bytes is required",
		user(`{"document":{"format":"txt","source":{"bytes":"!"}}}`):                                                                        "UTF-8 text",
		user(`{"toolResult":{"toolUseId":"x","content":[]}}`):                                                                               "no earlier toolUse block has this id",
		user(`{"cachePoint":{"ttl":"2h"}}`):                                                                                                 "must be 5m or 1h",
		`{"messages":[{"role":"system","content":[]}]}`:                                                                                     "messages[0].role must be one of user, assistant",
		`{"messages":[{"role":"user","content":"Hi"}]}`:                                                                                     "messages[0].content must be an array",
		`{"messages":[{"role":"assistant","content":[{"image":{}}]}]}`:                                                                      `it has "image"`,
		`{"messages":[{"role":"assistant","content":[{"toolUse":{"name":"f"}}]}]}`:                                                          "toolUseId is required",
		`{"messages":[{"role":"assistant","content":[{"reasoningContent":{"text":1}}]}]}`:                                                   "must have one of reasoningText, redactedContent",
		`{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f"}},{"toolUse":{"toolUseId":"a","name":"f"}}]}]}`: "also the id of an earlier toolUse block",
		with(`"guardrailConfig":{"guardrailIdentifier":"g"}`):                                                                               "guardrailConfig refers to resources of an AWS account",
		with(`"promptVariables":{"a":{"text":"b"}}`):                                                                                        "promptVariables refers to resources",
		with(`"inferenceConfig":{"temperature":2}`):                                                                                         "inferenceConfig.temperature must be from 0 to 1",
		with(`"inferenceConfig":{"maxTokens":0}`):                                                                                           "at least 1",
		with(`"toolConfig":{"tools":[{"systemTool":{"name":"nova_grounding"}}]}`):                                                           "systemTool is not supported, because the tool runs on its vendor's servers",
		with(`"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]}`):                                                                          "inputSchema is required",
		with(`"toolConfig":{"tools":[],"toolChoice":{"tool":{"name":"f"}}}`):                                                                "not in toolConfig.tools",
		with(`"additionalModelRequestFields":{"tools":[{"type":"web_search_20250305"}]}`):                                                   "additionalModelRequestFields.tools is not supported",
		with(`"additionalModelRequestFields":{"thinking":{"type":"odd"}}`):                                                                  "thinking.type must be one of",
		with(`"additionalModelRequestFields":{"reasoning_effort":"most"}`):                                                                  "which is not a known reasoning effort",
		with(`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"7"}}}}`):                              "JSON text of an object",
		with(`"system":"Hi"`): "system must be an array",
		with(`"x":1,"x":2`):   "given twice",
	} {
		_, err := Format{}.Read([]byte(body), clientOptions())
		if e, ok := apierror.From(err); !ok || e.Status != 400 || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	for _, model := range []string{"", strings.Repeat("m", maxModel+1)} {
		if _, err := (Format{}).Read([]byte(user(`{"text":"Hi"}`)), hub.ReadOptions{Model: model}); err == nil {
			t.Errorf("a model of %d bytes", len(model))
		}
	}
}

// answerDeltas returns the deltas for the events of TestStream.
func answerDeltas(t testing.TB) (all []hub.Delta) {
	t.Helper()
	r := Format{}.NewReader(nil)
	for i := 0; i < len(stream); i += 2 {
		step, err := r.Event([]byte(stream[i]), []byte(stream[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range step.Deltas {
			d.Text = bytes.Clone(d.Text)
			all = append(all, d)
		}
	}
	return all
}

// newClientWriter returns a writer for the answer to plainRequest. The answer takes 25 ms.
func newClientWriter(t testing.TB) hub.Writer {
	t.Helper()
	r, err := Format{}.Read([]byte(plainRequest), clientOptions())
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	return Format{}.NewWriter(r, hub.Reply{Created: created, Now: func() time.Time { return created.Add(25 * time.Millisecond) }, Seal: seal})
}

// decoded returns the events of a stream, decoded like a client.
func decoded(t testing.TB, out []byte) string {
	t.Helper()
	events, err := io.ReadAll(wire.NewEventStream(io.NopCloser(bytes.NewReader(out))))
	if err != nil {
		t.Fatal(err)
	}
	return string(events)
}

const clientEvents = `event: messageStart
data: {"role":"assistant"}

event: contentBlockDelta
data: {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"I \"think\""}}}

event: contentBlockDelta
data: {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"kcs1.signature:sig"}}}

event: contentBlockStop
data: {"contentBlockIndex":0}

event: contentBlockDelta
data: {"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"a2NzMS5yZWRhY3RlZDpjbVZr"}}}

event: contentBlockStop
data: {"contentBlockIndex":1}

event: contentBlockDelta
data: {"contentBlockIndex":2,"delta":{"text":"Hello"}}

event: contentBlockStop
data: {"contentBlockIndex":2}

event: contentBlockStart
data: {"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"tooluse_1","name":"weather"}}}

event: contentBlockDelta
data: {"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"city\":\"Rome\"}"}}}

event: contentBlockStop
data: {"contentBlockIndex":3}

event: contentBlockStart
data: {"contentBlockIndex":4,"start":{"toolUse":{"toolUseId":"tooluse_2","name":"now"}}}

event: contentBlockDelta
data: {"contentBlockIndex":4,"delta":{"toolUse":{"input":"{}"}}}

event: contentBlockStop
data: {"contentBlockIndex":4}

event: messageStop
data: {"stopReason":"tool_use"}

event: metadata
data: {"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":22,"cacheReadInputTokens":3,"cacheWriteInputTokens":4},"metrics":{"latencyMs":25}}

`

const plainRequest = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"inferenceConfig":{"stopSequences":["END"]},"additionalModelResponseFieldPaths":["/delta/stop_sequence"]}`

func TestClientStream(t *testing.T) {
	t.Parallel()
	w := newClientWriter(t)
	var out []byte
	for _, d := range answerDeltas(t) {
		out = w.Stream(out, []hub.Delta{d})
	}
	if got := decoded(t, out); got != clientEvents {
		t.Errorf("got\n%s", got)
	}
	if more := w.Fail(w.KeepAlive(w.Stream(nil, []hub.Delta{{Kind: hub.DeltaText, Text: []byte("a")}})), hub.Failure{}); len(more) > 0 {
		t.Errorf("after the end: %q", more)
	}
}

func TestClientWhole(t *testing.T) {
	t.Parallel()
	const want = `{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"I \"think\"","signature":"kcs1.signature:sig"}}},` +
		`{"reasoningContent":{"redactedContent":"a2NzMS5yZWRhY3RlZDpjbVZr"}},{"text":"Hello"},{"toolUse":{"toolUseId":"tooluse_1","name":"weather","input":{"city":"Rome"}}},` +
		`{"toolUse":{"toolUseId":"tooluse_2","name":"now","input":{}}}]}},"stopReason":"tool_use",` +
		`"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":22,"cacheReadInputTokens":3,"cacheWriteInputTokens":4},"metrics":{"latencyMs":25}}`
	got, err := newClientWriter(t).Whole(answerDeltas(t))
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	known := wire.Usage{Known: true}
	for name, c := range map[string]struct {
		deltas []hub.Delta
		want   string
	}{
		"empty":    {[]hub.Delta{{Kind: hub.DeltaEnd, End: hub.End{Finish: hub.FinishStop, Usage: known}}}, `"content":[{"text":""}]}},"stopReason":"end_turn",`},
		"length":   {[]hub.Delta{{Kind: hub.DeltaEnd, End: hub.End{Finish: hub.FinishLength}}}, `"stopReason":"max_tokens",`},
		"filtered": {[]hub.Delta{{Kind: hub.DeltaEnd, End: hub.End{Finish: hub.FinishRefusal}}}, `"stopReason":"content_filtered",`},
		"sequence": {
			[]hub.Delta{{Kind: hub.DeltaEnd, End: hub.End{Finish: hub.FinishStop, StopSequence: "END"}}},
			`"stopReason":"stop_sequence","additionalModelResponseFields":{"delta":{"stop_sequence":"END"}},`,
		},
	} {
		got, err := newClientWriter(t).Whole(c.deltas)
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %v, %s", name, err, got)
		}
	}
	broken := []hub.Delta{{Kind: hub.DeltaCall, ID: "a", Name: "f"}, {Kind: hub.DeltaArguments, Text: []byte("oops")}, {Kind: hub.DeltaEnd}}
	if _, err := newClientWriter(t).Whole(broken); !errors.Is(err, hub.ErrArguments) {
		t.Errorf("arguments that are no object: %v", err)
	}
}

// TestClientFailure checks the exceptions that end a broken stream, and the keep-alive.
func TestClientFailure(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]hub.Failure{
		"modelStreamErrorException":   {Code: "upstream_stream_error", Type: "api_error"},
		"throttlingException":         {Code: "rate_limit_exceeded", Type: "rate_limit_error"},
		"serviceUnavailableException": {Code: "overloaded", Type: "overloaded_error"},
		"validationException":         {Code: "context_length_exceeded", Type: "api_error"},
	} {
		w := newClientWriter(t)
		f.Message = "it \"broke\""
		out := w.Fail(w.KeepAlive(nil), f)
		if got := decoded(t, out); got != "event: ping\ndata: {}\n\nevent: "+want+"\ndata: {\"message\":\"it \\\"broke\\\"\"}\n\n" {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// FuzzRead checks that a request is either refused with a 400 or can be written for other upstreams without a panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(client), "m")
	f.Add([]byte(plainRequest), "arn:aws:bedrock:eu:1:profile/a")
	f.Fuzz(func(t *testing.T, body []byte, model string) {
		o := clientOptions()
		o.Model = model
		r, err := Format{}.Read(body, o)
		if err != nil {
			if e, ok := apierror.From(err); !ok || e.Status != 400 {
				t.Errorf("%v", err)
			}
			return
		}
		if len(r.Dropped) > hub.MaxDropped || len(r.Messages) == 0 {
			t.Errorf("%d fields dropped, %d messages", len(r.Dropped), len(r.Messages))
		}
		for _, path := range r.Dropped {
			if strings.ContainsAny(path, ",\r\n") {
				t.Errorf("dropped %q", path)
			}
		}
		if w, err := (Format{}).Write(r, target("claude")); err == nil && !hub.IsObject(w.Body) {
			t.Errorf("no object: %s", w.Body)
		}
		if w, err := (chat.Format{}).Write(r, target("other")); err == nil && !hub.IsObject(w.Body) {
			t.Errorf("no object: %s", w.Body)
		}
		for _, writer := range []hub.Writer{(Format{}).NewWriter(r, hub.Reply{}), (Format{}).NewWriter(r, hub.Reply{Seal: seal})} {
			if out := decoded(t, writer.Stream(nil, answerDeltas(t))); !strings.HasSuffix(out, "}\n\n") {
				t.Errorf("%s", out)
			}
		}
	})
}
