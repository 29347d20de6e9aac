package native

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

const hello = `"messages":[{"role":"user","content":"hello"}]`

// nested returns a JSON value with a number of levels.
func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestParseChatRefuses(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 300)
	for i := range 300 {
		many = append(many, fmt.Sprintf(`"f%d":0`, i))
	}
	for _, c := range []struct{ name, body, code, param string }{
		// Not a JSON object.
		{"empty", ``, "invalid_json", ""},
		{"white space", " \n", "invalid_json", ""},
		{"null", `null`, "invalid_json", ""},
		{"array", `[]`, "invalid_json", ""},
		{"string", `"model"`, "invalid_json", ""},
		{"number", `1`, "invalid_json", ""},
		{"text", `model=x`, "invalid_json", ""},
		{"byte order mark", "\ufeff{}", "invalid_json", ""},
		{"cut off", `{"model":"m",` + hello, "invalid_json", ""},
		{"cut off in a string", `{"model":"m`, "invalid_json", ""},
		{"trailing comma", `{"model":"m",` + hello + `,}`, "invalid_json", ""},
		{"trailing data", `{"model":"m",` + hello + `} x`, "invalid_json", ""},
		{"two objects", `{"model":"m",` + hello + `}{}`, "invalid_json", ""},
		{"broken in a known field", `{"model":"m","messages":[{"role":"user","content":"a\q"}]}`, "invalid_json", ""},
		{"broken in an unknown field", `{"model":"m",` + hello + `,"x":[1 2]}`, "invalid_json", ""},
		{"broken where another type was due", `{"model":tru,` + hello + `}`, "invalid_json", ""},
		{"broken behind a wrong type", `{"model":[1 2],` + hello + `}`, "invalid_json", ""},
		{"missing value", `{"model":,` + hello + `}`, "invalid_json", ""},
		{"not UTF-8", "{\"model\":\"m\"," + hello + ",\"x\":\"\xff\"}", "invalid_json", ""},
		{"not UTF-8 in a long text", "{\"model\":\"m\"," + hello + ",\"x\":\"0123456789abcdef\xff0123456789abcdef\"}", "invalid_json", ""},
		{"not UTF-8 behind an escape", "{\"model\":\"m\"," + hello + ",\"x\":\"\\n\xed\xa0\x80\"}", "invalid_json", ""},
		{"not UTF-8 outside of a text", "{\"model\":\"m\"," + hello + ",\xff\"x\":1}", "invalid_json", ""},
		{"not UTF-8 in a key", "{\"model\":\"m\"," + hello + ",\"\xc0\xaf\":1}", "invalid_json", ""},
		{"too deep, unknown field", `{"model":"m",` + hello + `,"x":` + nested(jsontext.MaxDepth) + `}`, "invalid_json", ""},
		{"too deep, tools", `{"model":"m",` + hello + `,"tools":[{"x":` + nested(jsontext.MaxDepth) + `}]}`, "invalid_json", ""},
		{"too deep, content", `{"model":"m","messages":[{"role":"user","content":[{"x":` + nested(jsontext.MaxDepth) + `}]}]}`, "invalid_json", ""},
		{"far too deep", `{"x":` + strings.Repeat("[", 1_000_000), "invalid_json", ""},
		{"too many fields", `{` + strings.Join(many, ",") + `}`, "invalid_value", ""},

		// Missing members.
		{"no model", `{` + hello + `}`, "missing_required_parameter", "model"},
		{"no messages", `{"model":"m"}`, "missing_required_parameter", "messages"},
		{"nothing", `{}`, "missing_required_parameter", "model"},
		{"no role", `{"model":"m","messages":[{"content":"x"}]}`, "missing_required_parameter", "messages[0].role"},
		{"empty message", `{"model":"m","messages":[{"role":"user"},{}]}`, "missing_required_parameter", "messages[1].role"},

		// Duplicate members.
		{"model twice", `{"model":"m","model":"m",` + hello + `}`, "invalid_value", "model"},
		{"model twice, escaped", `{"model":"m","mod\u0065l":"n",` + hello + `}`, "invalid_value", "model"},
		{"model twice, escaped first", `{"\u006dodel":"m","model":"n",` + hello + `}`, "invalid_value", "model"},
		{"messages twice", `{"model":"m",` + hello + `,` + hello + `}`, "invalid_value", "messages"},
		{"unknown twice", `{"model":"m",` + hello + `,"x":1,"x":2}`, "invalid_value", "x"},
		{"unknown twice, escaped", `{"model":"m",` + hello + `,"x":1,"\u0078":2}`, "invalid_value", "x"},
		{"stream twice", `{"model":"m",` + hello + `,"stream":true,"stream":false}`, "invalid_value", "stream"},
		{"role twice", `{"model":"m","messages":[{"role":"user","role":"system","content":"x"}]}`, "invalid_value", "messages[0].role"},
		{"content twice", `{"model":"m","messages":[{"role":"user","content":"x","c\u006fntent":"y"}]}`, "invalid_value", "messages[0].content"},
		{"include_usage twice", `{"model":"m",` + hello + `,"stream_options":{"include_usage":true,"include_usage":false}}`, "invalid_value", "stream_options.include_usage"},

		// Wrong types and values.
		{"model null", `{"model":null,` + hello + `}`, "invalid_value", "model"},
		{"model number", `{"model":7,` + hello + `}`, "invalid_value", "model"},
		{"model list", `{"model":["m"],` + hello + `}`, "invalid_value", "model"},
		{"model empty", `{"model":"",` + hello + `}`, "invalid_value", "model"},
		{"model too long", `{"model":"` + strings.Repeat("m", 513) + `",` + hello + `}`, "invalid_value", "model"},
		{"messages null", `{"model":"m","messages":null}`, "invalid_value", "messages"},
		{"messages text", `{"model":"m","messages":"hello"}`, "invalid_value", "messages"},
		{"messages object", `{"model":"m","messages":{"role":"user"}}`, "invalid_value", "messages"},
		{"messages empty", `{"model":"m","messages":[]}`, "invalid_value", "messages"},
		{"message text", `{"model":"m","messages":["hello"]}`, "invalid_value", "messages[0]"},
		{"message null", `{"model":"m","messages":[{"role":"user"},null]}`, "invalid_value", "messages[1]"},
		{"role number", `{"model":"m","messages":[{"role":1}]}`, "invalid_value", "messages[0].role"},
		{"role null", `{"model":"m","messages":[{"role":null}]}`, "invalid_value", "messages[0].role"},
		{"role unknown", `{"model":"m","messages":[{"role":"user"},{"role":"model"}]}`, "invalid_value", "messages[1].role"},
		{"role in capitals", `{"model":"m","messages":[{"role":"User"}]}`, "invalid_value", "messages[0].role"},
		{"content number", `{"model":"m","messages":[{"role":"user","content":1}]}`, "invalid_value", "messages[0].content"},
		{"content object", `{"model":"m","messages":[{"role":"user","content":{"type":"text"}}]}`, "invalid_value", "messages[0].content"},
		{"content bool", `{"model":"m","messages":[{"role":"user","content":true}]}`, "invalid_value", "messages[0].content"},
		{"part number", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},1]}]}`, "invalid_value", "messages[0].content[1]"},
		{"part null", `{"model":"m","messages":[{"role":"user","content":[null]}]}`, "invalid_value", "messages[0].content[0]"},
		{"part list", `{"model":"m","messages":[{"role":"user","content":[[]]}]}`, "invalid_value", "messages[0].content[0]"},
		{"tool_calls object", `{"model":"m","messages":[{"role":"assistant","tool_calls":{}}]}`, "invalid_value", "messages[0].tool_calls"},
		{"tool_calls text", `{"model":"m","messages":[{"role":"assistant","tool_calls":"x"}]}`, "invalid_value", "messages[0].tool_calls"},
		{"stream text", `{"model":"m",` + hello + `,"stream":"true"}`, "invalid_value", "stream"},
		{"stream number", `{"model":"m",` + hello + `,"stream":1}`, "invalid_value", "stream"},
		{"stream_options bool", `{"model":"m",` + hello + `,"stream_options":true}`, "invalid_value", "stream_options"},
		{"stream_options list", `{"model":"m",` + hello + `,"stream_options":[]}`, "invalid_value", "stream_options"},
		{"include_usage text", `{"model":"m",` + hello + `,"stream_options":{"include_usage":"yes"}}`, "invalid_value", "stream_options.include_usage"},
		{"max_tokens text", `{"model":"m",` + hello + `,"max_tokens":"5"}`, "invalid_value", "max_tokens"},
		{"max_tokens zero", `{"model":"m",` + hello + `,"max_tokens":0}`, "invalid_value", "max_tokens"},
		{"max_tokens negative", `{"model":"m",` + hello + `,"max_tokens":-1}`, "invalid_value", "max_tokens"},
		{"max_tokens fraction", `{"model":"m",` + hello + `,"max_tokens":1.5}`, "invalid_value", "max_tokens"},
		{"max_tokens huge", `{"model":"m",` + hello + `,"max_tokens":99999999999999999999}`, "invalid_value", "max_tokens"},
		{"max_completion_tokens list", `{"model":"m",` + hello + `,"max_completion_tokens":[5]}`, "invalid_value", "max_completion_tokens"},
		{"max_completion_tokens zero", `{"model":"m",` + hello + `,"max_completion_tokens":0}`, "invalid_value", "max_completion_tokens"},
		{"n text", `{"model":"m",` + hello + `,"n":"1"}`, "invalid_value", "n"},
		{"n zero", `{"model":"m",` + hello + `,"n":0}`, "invalid_value", "n"},
		{"n large", `{"model":"m",` + hello + `,"n":129}`, "invalid_value", "n"},
		{"n fraction", `{"model":"m",` + hello + `,"n":1.0}`, "invalid_value", "n"},
		{"tools object", `{"model":"m",` + hello + `,"tools":{}}`, "invalid_value", "tools"},
		{"tool text", `{"model":"m",` + hello + `,"tools":[{},"search"]}`, "invalid_value", "tools[1]"},
		{"tool_choice number", `{"model":"m",` + hello + `,"tool_choice":1}`, "invalid_value", "tool_choice"},
		{"tool_choice list", `{"model":"m",` + hello + `,"tool_choice":[]}`, "invalid_value", "tool_choice"},
		{"response_format text", `{"model":"m",` + hello + `,"response_format":"json"}`, "invalid_value", "response_format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse([]byte(c.body))
			e, ok := apierror.From(err)
			if r != nil || !ok {
				t.Fatalf("got %v, %v", r, err)
			}
			if e.Status != 400 || e.Code != c.code || e.Param != c.param || e.Message == "" {
				t.Errorf("got %d %s, param %q: %s", e.Status, e.Code, e.Param, e.Message)
			}
		})
	}
}

func TestParseChat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       Request
	}{
		{"least", `{"model":"m",` + hello + `}`, Request{Model: "m", TextBytes: 7}},
		{"order", `{` + hello + `,"model":"m"}`, Request{Model: "m", TextBytes: 7}},
		{"escaped", `{"\u006dodel":"\u006d/\"x","m\u0065ssages":[{"rol\u0065":"\u0075ser"}]}`, Request{Model: `m/"x`}},
		{"stream", `{"model":"m",` + hello + `,"stream":true}`, Request{Model: "m", Stream: true, TextBytes: 7}},
		{"UTF-8", `{"model":"mü",` + hello + `,"ü€😀":"0123456789abcdefü€😀0123456789abcdef"}`, Request{Model: "mü", TextBytes: 7}},
		{"no stream", `{"model":"m",` + hello + `,"stream":false}`, Request{Model: "m", TextBytes: 7}},
		{
			"nulls", `{"model":"m",` + hello + `,"stream":null,"stream_options":null,"max_tokens":null,"max_completion_tokens":null,"n":null,"tools":null,"tool_choice":null,"response_format":null}`,
			Request{Model: "m", TextBytes: 7},
		},
		{
			"usage", `{"model":"m",` + hello + `,"stream_options":{"x":1,"include_usage":true}}`,
			Request{Model: "m", IncludeUsage: true, TextBytes: 7},
		},
		{"no usage", `{"model":"m",` + hello + `,"stream_options":{"include_usage":null}}`, Request{Model: "m", TextBytes: 7}},
		{"old limit", `{"model":"m",` + hello + `,"max_tokens":5}`, Request{Model: "m", MaxTokens: 5, TextBytes: 7}},
		{"new limit", `{"model":"m",` + hello + `,"max_completion_tokens":6}`, Request{Model: "m", MaxTokens: 6, TextBytes: 7}},
		{"both limits", `{"model":"m",` + hello + `,"max_completion_tokens":6,"max_tokens":5}`, Request{Model: "m", MaxTokens: 6, TextBytes: 7}},
		{"both limits, turned", `{"model":"m",` + hello + `,"max_tokens":5,"max_completion_tokens":6}`, Request{Model: "m", MaxTokens: 6, TextBytes: 7}},
		{"one limit null", `{"model":"m",` + hello + `,"max_tokens":5,"max_completion_tokens":null}`, Request{Model: "m", MaxTokens: 5, TextBytes: 7}},
		{"one choice", `{"model":"m",` + hello + `,"n":1}`, Request{Model: "m", TextBytes: 7}},
		{"choices", `{"model":"m",` + hello + `,"n":128}`, Request{Model: "m", Needs: wire.NeedChoices, TextBytes: 7}},
		{"no tools", `{"model":"m",` + hello + `,"tools":[]}`, Request{Model: "m", TextBytes: 7}},
		{"tools", `{"model":"m",` + hello + `,"tools":[{"type":"function"},{}]}`, Request{Model: "m", Needs: wire.NeedTools, TextBytes: 28}},
		{
			"tool choice", `{"model":"m",` + hello + `,"tool_choice":"requir\u0065d"}`,
			Request{Model: "m", ToolChoiceRequired: true, TextBytes: 7},
		},
		{"other tool choice", `{"model":"m",` + hello + `,"tool_choice":"auto"}`, Request{Model: "m", TextBytes: 7}},
		{"tool choice object", `{"model":"m",` + hello + `,"tool_choice":{"type":"required"}}`, Request{Model: "m", TextBytes: 7}},
		{"schema", `{"model":"m",` + hello + `,"response_format":{"json_schema":{},"type":"json_schem\u0061"}}`, Request{Model: "m", Needs: wire.NeedJSONSchema, TextBytes: 7}},
		{"JSON mode", `{"model":"m",` + hello + `,"response_format":{"type":"json_object"}}`, Request{Model: "m", TextBytes: 7}},
		{
			"parts", `{"model":"m","messages":[{"role":"user","content":["abc",{"type":"text","text":"de"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
			Request{Model: "m", Needs: wire.NeedImage, TextBytes: 9},
		},
		{
			"escaped part", `{"model":"m","messages":[{"role":"user","content":[{"type":"ima\u0067e_url"},{"type":"\u0066ile"},{"type":"input_audi\u006f"}]}]}`,
			Request{Model: "m", Needs: wire.NeedImage | wire.NeedFile | wire.NeedAudio},
		},
		{"file", `{"model":"m","messages":[{"role":"user","content":[{"file":{},"type":"file"}]}]}`, Request{Model: "m", Needs: wire.NeedFile}},
		{"audio", `{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`, Request{Model: "m", Needs: wire.NeedAudio}},
		{"unknown part", `{"model":"m","messages":[{"role":"user","content":[{"type":"video"},{"type":7}]}]}`, Request{Model: "m"}},
		{"prefill", `{"model":"m","messages":[{"role":"user"},{"role":"assist\u0061nt","content":null}]}`, Request{Model: "m", Needs: wire.NeedPrefill, TextBytes: 4}},
		{
			"assistant in the middle", `{"model":"m","messages":[{"role":"assistant","content":"a","tool_calls":[{}]},{"role":"tool","content":"b"}]}`,
			Request{Model: "m", TextBytes: 6},
		},
		{"all roles", `{"model":"m","messages":[{"role":"system"},{"role":"developer"},{"role":"user"},{"role":"tool"},{"role":"function"}]}`, Request{Model: "m"}},
		{"unknown fields", `{"model":"m",` + hello + `,"x":{"model":"n","model":"o"},"":null}`, Request{Model: "m", TextBytes: 7}},
		{"33 levels", `{"model":"m",` + hello + `,"x":` + nested(33) + `}`, Request{Model: "m", TextBytes: 7}},
		{"deepest", `{"model":"m",` + hello + `,"x":` + nested(jsontext.MaxDepth-1) + `}`, Request{Model: "m", TextBytes: 7}},
		{"white space", " \r\n\t{ \"model\" : \"m\" , " + hello + " } \n", Request{Model: "m", TextBytes: 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			got := Request{
				Model: r.Model, Stream: r.Stream, IncludeUsage: r.IncludeUsage, MaxTokens: r.MaxTokens, Needs: r.Needs,
				ToolChoiceRequired: r.ToolChoiceRequired, TextBytes: r.TextBytes,
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			// A body that needs no changes stays unchanged.
			if same := body(t, r.Shape(&Shape{Model: r.Model, Developer: true})); same != c.body {
				t.Errorf("body became %s", same)
			}
		})
	}
}

// chatSeeds are the bodies of the tables, and requests as clients send them.
var chatSeeds = []string{
	`{"model":"m",` + hello + `}`,
	`{"messages":[{"role":"developer","content":"a"},{"content":[{"type":"text","text":"b"},{"type":"image_url"}],"role":"user"}],"max_tokens":null,"model":"x","max_completion_tokens":5,"stream":true}`,
	`{ "stream" : true , "stream_options" : { "include_obfuscation" : false } , "model" : "m" , ` + hello + `, "seed" : 1 , "random_seed":2, "user":"u", "tool_choice":"required" }`,
	`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[]}],"tools":[{}],"n":2,"response_format":{"type":"json_schema"}}`,
	`{"mod\u0065l":"m",` + hello + `,"m\u0061x_tokens":7,"stream":true,"stream_options":{"include_usage":false}}`,
	`{"model":"m","model":"m",` + hello + `}`,
	`{"model":"m",` + hello + `,"x":` + nested(40) + `}`,
}

func FuzzParseChat(f *testing.F) {
	for _, seed := range chatSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Parse(body)
		if err != nil {
			if e, ok := apierror.From(err); !ok || e.Status != 400 || e.Code == "" || e.Message == "" || r != nil {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
		var model string
		if json.Unmarshal(members["model"], &model) != nil || model != r.Model || len(members) != len(r.fields) {
			t.Fatalf("%q: model %q, %d of %d fields", body, r.Model, len(r.fields), len(members))
		}
		for _, f := range r.fields {
			var name string
			if json.Unmarshal(body[f.key:f.keyEnd], &name) != nil || name != string(f.name) || string(members[name]) != string(body[f.value:f.end]) {
				t.Fatalf("%q: field %q is %q: %q", body, f.name, body[f.key:f.keyEnd], body[f.value:f.end])
			}
		}
	})
}
