package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// testOpen opens tokens of the form "kcs1.<form>.<data>".
func testOpen(token string) (hub.State, bool) {
	rest, ours := strings.CutPrefix(token, "kcs1.")
	form, data, ok := strings.Cut(rest, ".")
	return hub.State{Provider: "p", Family: "f", Form: hub.Form(form), Data: data}, ours && ok
}

// ask returns a request with the given members and defaults for the others.
func ask(members string) string {
	for _, usual := range [...]string{`"model":"claude-sonnet-4-6"`, `"max_tokens":2000`, `"messages":[{"role":"user","content":"hi"}]`} {
		if key, _, _ := strings.Cut(usual, ":"); !strings.Contains(members, key+":") {
			members = strings.TrimPrefix(members+","+usual, ",")
		}
	}
	return "{" + members + "}"
}

// talk returns a request with the given messages.
func talk(messages ...string) string { return ask(`"messages":[` + strings.Join(messages, ",") + `]`) }

func user(content string) string { return `{"role":"user","content":` + content + `}` }

func assistant(content string) string { return `{"role":"assistant","content":` + content + `}` }

const (
	older = "2023-06-01"
	newer = "2026-10-21"
)

func mustRead(t *testing.T, body, version string) *hub.Request {
	t.Helper()
	r, err := Format{}.Read([]byte(body), hub.ReadOptions{Open: testOpen, Version: version})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return r
}

// outline returns a request's messages in a form that is easy to compare, with one line for each message.
func outline(r *hub.Request) string {
	var out strings.Builder
	for _, m := range r.Messages {
		out.WriteString(m.Role.String())
		if m.CallID != "" {
			fmt.Fprintf(&out, " #%s", m.CallID)
		}
		if m.Failed {
			out.WriteString(" failed")
		}
		for _, reasoning := range m.Reasoning {
			fmt.Fprintf(&out, " think(%s", reasoning.Text)
			if reasoning.State != nil {
				fmt.Fprintf(&out, " %s:%s", reasoning.State.Form, reasoning.State.Data)
			}
			if reasoning.Foreign != "" {
				fmt.Fprintf(&out, " foreign:%s", reasoning.Foreign)
			}
			out.WriteString(")")
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case hub.PartText:
				fmt.Fprintf(&out, " %q", p.Text)
			case hub.PartImage:
				fmt.Fprintf(&out, " image(%s)", p.URL)
			case hub.PartFile:
				fmt.Fprintf(&out, " file(%s %s)", p.Detail, p.URL)
			default:
				fmt.Fprintf(&out, " kind%d", p.Kind)
			}
			if p.Cache != "" {
				out.WriteString("*")
			}
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&out, " call(%s %s %s", c.ID, c.Name, c.Arguments)
			if c.State != nil {
				fmt.Fprintf(&out, " %s:%s", c.State.Form, c.State.Data)
			}
			out.WriteString(")")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

func TestReadTop(t *testing.T) {
	t.Parallel()
	type check func(r *hub.Request) any
	param := func(name string) check { return func(r *hub.Request) any { return r.Param(name) } }
	dropped := func(r *hub.Request) any { return strings.Join(r.Dropped, ",") }
	effort := func(r *hub.Request) any { return string(r.Effort) }
	for _, c := range []struct {
		name, members string
		get           check
		want          any
	}{
		{"model", `"model":"claude-haiku-4-5"`, func(r *hub.Request) any { return r.Model }, "claude-haiku-4-5"},
		{"max_tokens", `"max_tokens":77`, func(r *hub.Request) any { return r.MaxTokens }, int64(77)},
		{"stream", `"stream":true`, func(r *hub.Request) any { return r.Stream }, true},
		{"stream null", `"stream":null`, func(r *hub.Request) any { return r.Stream }, false},
		{"stop", `"stop_sequences":["a","b","c","d","e"]`, func(r *hub.Request) any { return strings.Join(r.Stop, "") }, "abcde"},
		{"temperature", `"temperature":0.30`, param("temperature"), "0.30"},
		{"top_p", `"top_p":1`, param("top_p"), "1"},
		{"top_k", `"top_k":40`, param("top_k"), "40"},
		{"user", `"metadata":{"user_id":"u1","other":1}`, param("user"), `"bb82030dbc2bcaba32a90bf2e207a84a"`},
		{"metadata null", `"metadata":null`, param("user"), ""},
		{"service auto", `"service_tier":"auto"`, param("service_tier"), `"auto"`},
		{"service standard", `"service_tier":"standard_only"`, param("service_tier"), `"default"`},
		{"service unknown", `"service_tier":"later"`, dropped, "service_tier"},
		{"cache", `"cache_control":{"type":"ephemeral"}`, dropped, ""},
		{
			"dropped", `"context_management":{"edits":[]},"diagnostics":{},"inference_geo":"eu","speed":"fast","user_profile_id":"x","workspace_id":"w","betas":["a"]`,
			dropped, "context_management,diagnostics,inference_geo,speed,user_profile_id,workspace_id,betas",
		},
		{"null is not dropped", `"context_management":null,"container":null,"mcp_servers":null,"compaction":null`, dropped, ""},
		{"no servers", `"mcp_servers":[]`, dropped, ""},
		{"unknown", `"later":1,"x\r\ny,z":2`, dropped, "later,x__y_z"},
		{"no effort", ``, effort, ""},
		{"effort", `"output_config":{"effort":"xhigh"}`, effort, "xhigh"},
		{"adaptive", `"thinking":{"type":"adaptive"}`, effort, "medium"},
		{"between tools", `"thinking":{"type":"between_tools"}`, effort, "medium"},
		{"adaptive with effort", `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`, effort, "high"},
		{"budget low", `"thinking":{"type":"enabled","budget_tokens":1024}`, effort, "low"},
		{"budget below medium", `"max_tokens":50000,"thinking":{"type":"enabled","budget_tokens":4095}`, effort, "low"},
		{"budget medium", `"max_tokens":50000,"thinking":{"type":"enabled","budget_tokens":4096}`, effort, "medium"},
		{"budget below high", `"max_tokens":50000,"thinking":{"type":"enabled","budget_tokens":16383}`, effort, "medium"},
		{"budget high", `"max_tokens":50000,"thinking":{"type":"enabled","budget_tokens":16384}`, effort, "high"},
		{"effort wins", `"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"max"}`, effort, "max"},
		{"thinking off", `"thinking":{"type":"disabled"},"output_config":{"effort":"high"}`, effort, "none"},
		{"thinking off, low", `"thinking":{"type":"disabled"},"output_config":{"effort":"low"}`, effort, "minimal"},
		{"thinking off hides it", `"thinking":{"type":"disabled"}`, func(r *hub.Request) any { return r.Answer.Reasoning }, false},
		{"thinking is shown", ``, func(r *hub.Request) any { return r.Answer.Reasoning && r.Answer.State }, true},
		{"tier effort", `"thinking":{"type":"disabled"},"output_config":{"effort":"high"}`, func(r *hub.Request) any { return string(Format{}.TierEffort(r)) }, "high"},
		{"no tier effort", ``, func(r *hub.Request) any { return string(Format{}.TierEffort(r)) }, ""},
		{"display omitted", `"thinking":{"type":"adaptive","display":"omitted"}`, func(r *hub.Request) any { return r.Answer.HideReasoningText }, true},
		{"display summarized", `"thinking":{"type":"adaptive","display":"summarized"}`, func(r *hub.Request) any { return r.Answer.HideReasoningText }, false},
		{"display of a later time", `"thinking":{"type":"adaptive","display":"full"}`, dropped, "thinking.display"},
		{"output config", `"output_config":{"effort":"low","task_budget":{"total":1}}`, dropped, "output_config.task_budget"},
		{
			"format", `"output_config":{"format":{"type":"json_schema","schema":{ "a":1}}}`, func(r *hub.Request) any { return *r.Output },
			hub.Output{Kind: "json_schema", Name: "output", Schema: `{ "a":1}`, Strict: "true"},
		},
		{"old format", `"output_format":{"type":"json_schema","schema":{}}`, func(r *hub.Request) any { return r.Output.Schema }, "{}"},
		{"format needs", `"output_format":{"type":"json_schema","schema":{}}`, func(r *hub.Request) any { return r.Needs }, wire.NeedJSONSchema},
		{"no needs", ``, func(r *hub.Request) any { return r.Needs }, wire.Needs(0)},
		{"text bytes", `"system":"four"`, func(r *hub.Request) any { return r.TextBytes }, int64(6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := ask(c.members)
			r := mustRead(t, body, older)
			if got := c.get(r); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s:\ngot  %#v\nwant %#v", body, got, c.want)
			}
			if r.Format != hub.Messages || string(r.Body) != body {
				t.Error("format or body is missing")
			}
		})
	}
}

// refusalCase is a request that is refused.
type refusalCase struct{ body, version, param, code, message string }

func (c refusalCase) run(t *testing.T) {
	t.Helper()
	r, err := Format{}.Read([]byte(c.body), hub.ReadOptions{Open: testOpen, Version: c.version})
	if err == nil { // the vendor may accept it
		err = r.OwnFormatError
	}
	var e *apierror.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %v", c.body, err)
	}
	if e.Status != 400 || e.Param != c.param || e.Code != c.code || !strings.Contains(e.Message, c.message) {
		t.Errorf("%s:\ngot  %d %s %s %q\nwant %s %s %q", c.body, e.Status, e.Code, e.Param, e.Message, c.code, c.param, c.message)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const (
		value   = "invalid_value"
		absent  = "missing_required_parameter"
		foreign = "unsupported_parameter"
	)
	long := strings.Repeat("x", 600)
	call := assistant(`[{"type":"tool_use","id":"a","name":"f","input":{}}]`)
	for i, c := range []refusalCase{
		{`?`, "", "", "invalid_json", "not JSON"},
		{`{"model":"a","model":"b"}`, "", "model", value, "twice"},
		{`{"max_tokens":1,"messages":[]}`, "", "model", absent, "required"},
		{ask(`"model":5`), "", "model", value, "must be a string, it is a number"},
		{ask(`"model":""`), "", "model", value, "1 to 512"},
		{ask(`"model":"` + long + `"`), "", "model", value, "1 to 512"},
		{`{"model":"a","messages":[{"role":"user","content":"x"}]}`, "", "max_tokens", absent, "required"},
		{ask(`"max_tokens":0`), "", "max_tokens", value, "at least 1"},
		{ask(`"max_tokens":1.5`), "", "max_tokens", value, "an integer"},
		{ask(`"max_tokens":"9"`), "", "max_tokens", value, "it is a string"},
		{ask(`"stream":"yes"`), "", "stream", value, "a boolean"},
		{ask(`"stop_sequences":"x"`), "", "stop_sequences", value, "an array"},
		{ask(`"stop_sequences":["x",1]`), "", "stop_sequences[1]", value, "a string"},
		{ask(`"stop_sequences":[""]`), "", "stop_sequences[0]", value, "empty"},
		{ask(`"temperature":1.1`), older, "temperature", value, "0 to 1"},
		{ask(`"temperature":"hot"`), older, "temperature", value, "a number"},
		{ask(`"top_p":-1`), older, "top_p", value, "0 to 1"},
		{ask(`"top_k":-1`), older, "top_k", value, "at least 0"},
		{ask(`"top_k":1.5`), older, "top_k", value, "an integer"},
		{ask(`"temperature":1`), newer, "temperature", foreign, newer},
		{ask(`"top_p":1`), "2027-01-01", "top_p", foreign, newer},
		{ask(`"top_k":1`), newer, "top_k", foreign, newer},
		{ask(`"metadata":[]`), "", "metadata", value, "an object"},
		{ask(`"metadata":{"user_id":1}`), "", "metadata.user_id", value, "a string"},
		{ask(`"service_tier":1`), "", "service_tier", value, "a string"},
		{ask(`"cache_control":true`), "", "cache_control", value, "an object"},
		{ask(`"mcp_servers":[{}]`), "", "mcp_servers", foreign, "not supported"},
		{ask(`"compaction":{"type":"summarize"}`), "", "compaction", foreign, "not supported"},
		{ask(`"compaction":true`), "", "compaction", value, "an object"},
		{ask(`"mcp_servers":{}`), "", "mcp_servers", value, "an array"},
		{ask(`"container":"c1"`), "", "container", foreign, "not supported"},
		{ask(`"thread":{"type":"create"}`), "", "thread", "thread_unsupported_request", "the whole conversation"},
		{ask(`"thinking":"on"`), "", "thinking", value, "an object"},
		{ask(`"thinking":{}`), "", "thinking.type", absent, "required"},
		{ask(`"thinking":{"type":"x"}`), "", "thinking.type", value, `it is "x"`},
		{ask(`"thinking":{"type":"enabled"}`), "", "thinking.budget_tokens", absent, "required"},
		{ask(`"thinking":{"type":"enabled","budget_tokens":1023}`), "", "thinking.budget_tokens", value, "at least 1024"},
		{ask(`"thinking":{"type":"enabled","budget_tokens":2000}`), "", "thinking.budget_tokens", value, "less than max_tokens"},
		{ask(`"thinking":{"type":"adaptive","display":1}`), "", "thinking.display", value, "a string"},
		{ask(`"output_config":1`), "", "output_config", value, "an object"},
		{ask(`"output_config":{"effort":"minimal"}`), "", "output_config.effort", value, "low, medium"},
		{ask(`"output_config":{"effort":1}`), "", "output_config.effort", value, "a string"},
		{ask(`"output_config":{"format":{"type":"text"}}`), "", "output_config.format.type", value, "json_schema"},
		{ask(`"output_config":{"format":{"type":"json_schema"}}`), "", "output_config.format.schema", absent, "required"},
		{ask(`"output_format":7`), "", "output_format", value, "an object"},
		{ask(`"system":7`), "", "system", value, "a string or an array"},
		{ask(`"system":[{"type":"image"}]`), "", "system[0].type", value, "must be text"},
		{ask(`"system":[{"type":"text"}]`), "", "system[0].text", absent, "required"},
		{ask(`"system":["x"]`), "", "system[0]", value, "an object"},
		{ask(`"system":[{"type":"text","text":"a","cache_control":1}]`), "", "system[0].cache_control", value, "an object"},
		{`{"model":"a","max_tokens":1}`, "", "messages", absent, "required"},
		{talk(), "", "messages", value, "at least one"},
		{ask(`"messages":{}`), "", "messages", value, "an array"},
		{ask(`"messages":[1]`), "", "messages[0]", value, "an object"},
		{ask(`"messages":[{"content":"a"}]`), "", "messages[0].role", absent, "required"},
		{ask(`"messages":[{"role":"tool","content":"a"}]`), "", "messages[0].role", value, "must be one of"},
		{ask(`"messages":[{"role":"user"}]`), "", "messages[0].content", absent, "required"},
		{talk(user(`5`)), "", "messages[0].content", value, "a string or an array"},
		{talk(user(`""`)), "", "messages", value, "at least one"},
		{talk(assistant(`"a"`)), "", "messages", value, "at least one user message"},
		{talk(user(`["a"]`)), "", "messages[0].content[0]", value, "an object"},
		{talk(user(`[{}]`)), "", "messages[0].content[0].type", absent, "required"},
		{talk(user(`[{"type":"text","text":"a"},{"type":"` + long + `"}]`)), "", "messages[0].content[1].type", value, `is "` + long[:100] + `", which`},
		{talk(user(`[{"type":"sk-abcdefghijklmnop"}]`)), "", "messages[0].content[0].type", value, `"***"`},
		{talk(user(`[{"type":"text","text":1}]`)), "", "messages[0].content[0].text", value, "a string"},
		{talk(user(`[{"type":"text","text":"a","citations":[{"type":"x"}]}]`)), newer, "messages[0].content[0].citations", foreign, newer},
		{talk(user(`[{"type":"thinking","thinking":"a"}]`)), "", "messages[0].content[0].type", value, "only an assistant"},
		{talk(user(`[{"type":"tool_use"}]`)), "", "messages[0].content[0].type", value, "only an assistant"},
		{talk(user(`[{"type":"container_upload","file_id":"f"}]`)), "", "messages[0].content[0].type", value, "last user turn"},
		{talk(user(`[{"type":"browser_state"},{"type":"text","text":"a"}]`)), "", "messages[0].content[0].type", value, "last user turn"},
		{talk(user(`[{"type":"compaction"}]`), user(`"a"`)), "", "messages[0].content[0].type", value, "last user turn"},
		{talk(user(`[{"type":"image"}]`)), "", "messages[0].content[0].source", absent, "required"},
		{talk(user(`[{"type":"image","source":{}}]`)), "", "messages[0].content[0].source.type", absent, "required"},
		{talk(user(`[{"type":"image","source":{"type":"file","file_id":"f"}}]`)), "", "messages[0].content[0].source.type", foreign, "is file"},
		{talk(user(`[{"type":"image","source":{"type":"x"}}]`)), "", "messages[0].content[0].source.type", value, "not supported"},
		{talk(user(`[{"type":"image","source":{"type":"base64","media_type":"image/svg+xml","data":"a"}}]`)), "", "messages[0].content[0].source.media_type", value, "image/png"},
		{talk(user(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]`)), "", "messages[0].content[0].source.data", value, "empty"},
		{talk(user(`[{"type":"image","source":{"type":"base64","data":"a"}}]`)), "", "messages[0].content[0].source.media_type", absent, "required"},
		{talk(user(`[{"type":"image","source":{"type":"url","url":"file:///etc"}}]`)), "", "messages[0].content[0].source.url", value, "https://"},
		{talk(user(`[{"type":"document","source":{"type":"file"}}]`)), "", "messages[0].content[0].source.type", foreign, "is file"},
		{talk(user(`[{"type":"document","title":1,"source":{"type":"text","data":"a"}}]`)), "", "messages[0].content[0].title", value, "a string"},
		{talk(user(`[{"type":"document","source":{"type":"content","content":[{"type":"x"}]}}]`)), "", "messages[0].content[0].source.content[0].type", value, "must be text"},
		{talk(user(`[{"type":"search_result","title":"t","source":"s"}]`)), "", "messages[0].content[0].content", absent, "required"},
		{talk(user(`"a"`), assistant(`[{"type":"document"}]`), user(`"b"`)), newer, "messages[1].content[0].type", foreign, newer},
		{talk(user(`"a"`), assistant(`[{"type":"image"}]`)), "", "messages[1].content[0].type", value, "only a user"},
		{talk(user(`"a"`), assistant(`[{"type":"tool_use","name":"f","input":{}}]`)), "", "messages[1].content[0].id", absent, "required"},
		{talk(user(`"a"`), assistant(`[{"type":"tool_use","id":"a","input":{}}]`)), "", "messages[1].content[0].name", absent, "required"},
		{talk(user(`"a"`), assistant(`[{"type":"tool_use","id":"a","name":"f","input":"{}"}]`)), "", "messages[1].content[0].input", value, "an object"},
		{talk(user(`"a"`), assistant(`[{"type":"tool_use","id":"a","name":"f"},{"type":"tool_use","id":"a","name":"f"}]`)), "", "messages[1].content[1].id", value, "also the id of an earlier tool_use"},
		{talk(user(`"a"`), assistant(`[{"type":"thinking"}]`)), "", "messages[1].content[0].thinking", absent, "required"},
		{talk(user(`"a"`), assistant(`[{"type":"thinking","thinking":"a","signature":1}]`)), "", "messages[1].content[0].signature", value, "a string"},
		{talk(user(`"a"`), assistant(`[{"type":"redacted_thinking"}]`)), "", "messages[1].content[0].data", absent, "required"},
		{talk(user(`[{"type":"tool_result","tool_use_id":"zz","content":"x"}]`)), "", "messages[0].content[0].tool_use_id", value, `"zz"`},
		{talk(user(`"a"`), call, user(`[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]`)), "", "messages[2].content[1].tool_use_id", value, "already"},
		{talk(user(`"a"`), call, user(`[{"type":"tool_result","content":"x"}]`)), "", "messages[2].content[0].tool_use_id", absent, "required"},
		{talk(user(`"a"`), call, user(`[{"type":"tool_result","tool_use_id":"a","is_error":1}]`)), "", "messages[2].content[0].is_error", value, "a boolean"},
		{talk(user(`"a"`), call, user(`[{"type":"tool_result","tool_use_id":"a","content":{}}]`)), "", "messages[2].content[0].content", value, "a string or an array"},
		{talk(user(`"a"`), call, user(`[{"type":"tool_result","tool_use_id":"a","content":[{"type":"x"}]}]`)), "", "messages[2].content[0].content[0].type", value, "tool_result"},
		{talk(user(`"a"`), call, user(`[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference"}]}]`)), "", "messages[2].content[0].content[0].tool_name", absent, "required"},
		{ask(`"tools":{}`), "", "tools", value, "an array"},
		{ask(`"tools":[1]`), "", "tools[0]", value, "an object"},
		{ask(`"tools":[{"input_schema":{}}]`), "", "tools[0].name", absent, "required"},
		{ask(`"tools":[{"name":"` + long + `","input_schema":{}}]`), "", "tools[0].name", value, "at most 256"},
		{ask(`"tools":[{"name":"a"}]`), "", "tools[0].input_schema", absent, "required"},
		{ask(`"tools":[{"name":"a","input_schema":"{}"}]`), "", "tools[0].input_schema", value, "an object"},
		{ask(`"tools":[{"name":"a","description":1,"input_schema":{}}]`), "", "tools[0].description", value, "a string"},
		{ask(`"tools":[{"name":"a","strict":1,"input_schema":{}}]`), "", "tools[0].strict", value, "a boolean"},
		{ask(`"tools":[{"name":"a","cache_control":1,"input_schema":{}}]`), "", "tools[0].cache_control", value, "an object"},
		{ask(`"tools":[{"name":"a","type":1,"input_schema":{}}]`), "", "tools[0].type", value, "a string"},
		{ask(`"tools":[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}]`), "", "tools[1].name", value, "also the name of an earlier tool"},
		{ask(`"tools":[{"type":"computer_toolset_20260801"}]`), "", "tools[0].type", value, "not supported"},
		{ask(`"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]`), "", "tools[0].type", value, "not supported"},
		{ask(`"tools":[{"type":"later","name":"a"}]`), "", "tools[0].type", value, "not supported"},
		{ask(`"tool_choice":"auto"`), "", "tool_choice", value, "an object"},
		{ask(`"tool_choice":{}`), "", "tool_choice.type", absent, "required"},
		{ask(`"tool_choice":{"type":"x"}`), "", "tool_choice.type", value, "must be one of"},
		{ask(`"tool_choice":{"type":"tool"}`), "", "tool_choice.name", absent, "required"},
		{ask(`"tools":[{"name":"a","input_schema":{}}],"tool_choice":{"type":"tool","name":"b"}`), "", "tool_choice.name", value, "not in tools"},
		{ask(`"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"a","input_schema":{}}],"tool_choice":{"type":"tool","name":"web_search"}`), "", "tool_choice.name", foreign, "vendor's servers"},
		{ask(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`), "", "tools[0]", foreign, "vendor's servers"},
		{ask(`"tool_choice":{"type":"auto","disable_parallel_tool_use":1}`), "", "tool_choice.disable_parallel_tool_use", value, "a boolean"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func TestReadContent(t *testing.T) {
	t.Parallel()
	const (
		callA  = `{"type":"tool_use","id":"a","name":"f","input":{"x": 1}}`
		callB  = `{"type":"tool_use","id":"b","name":"g"}`
		prompt = `user "hi"`
		png    = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`
		pngURL = `image(data:image/png;base64,AAAA)`
	)
	result := func(id, rest string) string { return `{"type":"tool_result","tool_use_id":"` + id + `"` + rest + `}` }
	for _, c := range []struct {
		name, body, version, want string
		dropped                   string
		needs                     wire.Needs
	}{
		{"system text", ask(`"system":"be brief"`), "", lines(`system "be brief"`, prompt), "", 0},
		{"system blocks", ask(`"system":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]`), "", lines(`system "a\n\nb"`, prompt), "", 0},
		{
			"system marks", ask(`"system":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"text","text":"c"}]`), "",
			lines(`system "a\n\nb"* "c"`, prompt), "", 0,
		},
		{"system attribution", ask(`"system":[{"type":"text","text":"x-anthropic-billing-header: cc=1"},{"type":"text","text":"b"}]`), "", lines(`system "b"`, prompt), "", 0},
		{"system attribution alone", ask(`"system":"x-anthropic-billing-header: cc=1"`), "", lines(prompt), "", 0},
		{"system within", talk(user(`"a"`), `{"role":"system","content":"s"}`, user(`"b"`)), newer, lines(`user "a"`, `system "s"`, `user "b"`), "", 0},
		{"system blocks within", talk(`{"role":"system","content":[{"type":"text","text":"s"}]}`, user(`"b"`)), "", lines(`system "s"`, `user "b"`), "", 0},
		{"texts", talk(user(`[{"type":"text","text":"a","citations":null},{"type":"text","text":""},{"type":"text","text":"b","cache_control":{"type":"ephemeral","ttl":"1h"}}]`)), newer, lines(`user "a" "b"*`), "", 0},
		{"citations", talk(user(`[{"type":"text","text":"a","citations":[{"type":"x"}]}]`)), older, lines(`user "a"`), "", 0},
		{"empty messages", talk(user(`""`), assistant(`[]`), user(`"b"`)), "", lines(`user "b"`), "", 0},
		{"assistant texts", talk(user(`"a"`), assistant(`[{"type":"text","text":"b"},{"type":"text","text":"c"}]`), user(`"d"`)), "", lines(`user "a"`, `assistant "b" "c"`, `user "d"`), "", 0},
		{"prefill", talk(user(`"a"`), assistant(`"The answer is"`)), "", lines(`user "a"`, `assistant "The answer is"`), "", wire.NeedPrefill},
		{"image", talk(user(`[` + png + `]`)), "", lines(`user ` + pngURL), "", wire.NeedImage},
		{"image url", talk(user(`[{"type":"image","source":{"type":"url","url":"https://a/b.png"},"cache_control":{}}]`)), "", lines(`user image(https://a/b.png)*`), "", wire.NeedImage},
		{"pdf", talk(user(`[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}}]`)), "", lines(`user file(document.pdf data:application/pdf;base64,JVBE)`), "", wire.NeedFile},
		{
			"pdf with title", talk(user(`[{"type":"document","title":"T","context":"C","citations":{"enabled":true},"source":{"type":"url","url":"https://a/b.pdf"}}]`)), "",
			lines(`user "C" file(T https://a/b.pdf)`), "messages[].content[].citations", wire.NeedFile,
		},
		{"document text", talk(user(`[{"type":"document","title":"T","context":"C","source":{"type":"text","media_type":"text/plain","data":"D"}}]`)), "", lines(`user "T\nC\nD"`), "", 0},
		{"document content", talk(user(`[{"type":"document","title":null,"source":{"type":"content","content":[{"type":"text","text":"a"},` + png + `]}}]`)), "", lines(`user "a" ` + pngURL), "", wire.NeedImage},
		{"document content text", talk(user(`[{"type":"document","source":{"type":"content","content":"a"}}]`)), "", lines(`user "a"`), "", 0},
		{"document of assistant", talk(user(`"a"`), assistant(`[{"type":"document"},{"type":"text","text":"b"}]`), user(`"c"`)), older, lines(`user "a"`, `assistant "b"`, `user "c"`), "messages[].content[].document", 0},
		{"search result", talk(user(`[{"type":"search_result","title":"T","source":"https://s","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`)), "", lines(`user "[T](https://s)\na\nb"`), "", 0},
		{
			"calls and results out of order", talk(user(`"q"`), assistant(`[{"type":"text","text":"t"},`+callA+`,`+callB+`]`), user(`[{"type":"text","text":"after"},`+result("b", `,"content":"B"`)+`,`+result("a", `,"content":[{"type":"text","text":"A"},{"type":"text","text":"2"}]`)+`]`)), "",
			lines(`user "q"`, `assistant "t" call(a f {"x":1}) call(b g {})`, `tool #a "A\n2"`, `tool #b "B"`, `user "after"`), "", wire.NeedTools,
		},
		{
			"results in two messages", talk(user(`"q"`), assistant(`[`+callA+`,`+callB+`]`), user(`[`+result("b", "")+`]`), `{"role":"system","content":"s"}`, user(`[`+result("a", "")+`]`)), "",
			lines(`user "q"`, `assistant call(a f {"x":1}) call(b g {})`, `tool #a`, `tool #b`, `system "s"`), "", wire.NeedTools,
		},
		{
			"call without result", talk(user(`"q"`), assistant(`[`+callA+`,`+callB+`]`), user(`[`+result("b", "")+`]`)), "",
			lines(`user "q"`, `assistant call(a f {"x":1}) call(b g {})`, `tool #b`), "", wire.NeedTools,
		},
		{
			"id used again", talk(user(`"q"`), assistant(`[`+callA+`]`), user(`[`+result("a", `,"content":"1"`)+`]`), assistant(`[`+callA+`]`), user(`[`+result("a", `,"content":"2"`)+`]`)), "",
			lines(`user "q"`, `assistant call(a f {"x":1})`, `tool #a "1"`, `assistant call(a f {"x":1})`, `tool #a "2"`), "", wire.NeedTools,
		},
		{
			"failed", talk(user(`"q"`), assistant(`[`+callA+`,`+callB+`]`), user(`[`+result("a", `,"is_error":true,"content":"no"`)+`,`+result("b", `,"is_error":true,"content":"Error: no"`)+`]`)), "",
			lines(`user "q"`, `assistant call(a f {"x":1}) call(b g {})`, `tool #a failed "Error: no"`, `tool #b failed "Error: no"`), "", wire.NeedTools,
		},
		{
			"failed without text", talk(user(`"q"`), assistant(`[`+callA+`]`), user(`[`+result("a", `,"is_error":true`)+`]`)), "",
			lines(`user "q"`, `assistant call(a f {"x":1})`, `tool #a failed "Error: "`), "", wire.NeedTools,
		},
		{
			"result with image", talk(user(`"q"`), assistant(`[`+callA+`,`+callB+`]`), user(`[`+result("b", `,"content":[{"type":"text","text":"see"},`+png+`],"cache_control":{}`)+`,`+result("a", "")+`,{"type":"text","text":"ok"}]`)), "",
			lines(`user "q"`, `assistant call(a f {"x":1}) call(b g {})`, `tool #a`, `tool #b "see\n[image attached below]"*`, `user `+pngURL, `user "ok"`), "", wire.NeedTools | wire.NeedImage,
		},
		{
			"result with others", talk(user(`"q"`), assistant(`[`+callA+`]`), user(`[`+result("a", `,"content":[{"type":"tool_reference","tool_name":"T"},{"type":"search_result","title":"t","source":"s","content":[]},{"type":"document","source":{"type":"url","url":"https://p"}}]`)+`]`)), "",
			lines(`user "q"`, `assistant call(a f {"x":1})`, `tool #a "tool available: T\n[t](s)\n[document attached below]"`, `user file(document.pdf https://p)`), "", wire.NeedTools | wire.NeedFile,
		},
		{
			"illegal id and name", talk(user(`"q"`), assistant(`[{"type":"tool_use","id":"functions.f:0","name":"a.b","input":{},"caller":{"type":"direct"}}]`), user(`[`+result("functions.f:0", "")+`]`)), "",
			lines(`user "q"`, `assistant call(`+hub.CallID("functions.f:0")+` `+hub.LegalName("a.b")+` {})`, `tool #`+hub.CallID("functions.f:0")), "", wire.NeedTools,
		},
		{
			"thinking", talk(user(`"q"`), assistant(`[{"type":"thinking","thinking":"t1","signature":"kcs1.signature.S"},{"type":"thinking","thinking":"t2","signature":"EqQB"},{"type":"thinking","thinking":"t3","signature":""},{"type":"text","text":"x"}]`), user(`"y"`)), "",
			lines(`user "q"`, `assistant think(t1 signature:S) think(t2 foreign:EqQB) think(t3) "x"`, `user "y"`), "", 0,
		},
		{
			"redacted", talk(user(`"q"`), assistant(`[{"type":"redacted_thinking","data":"kcs1.redacted.D"},{"type":"redacted_thinking","data":"abc"},{"type":"text","text":"x"}]`), user(`"y"`)), "",
			lines(`user "q"`, `assistant think( redacted:D) think( foreign:redacted_thinking:abc) "x"`, `user "y"`), "", 0,
		},
		{"thinking alone", talk(user(`"q"`), assistant(`[{"type":"thinking","thinking":"t","signature":""}]`), user(`"y"`)), "", lines(`user "q"`, `user "y"`), "", 0},
		{
			"thought of a call", talk(user(`"q"`), assistant(`[{"type":"thinking","thinking":"","signature":"kcs1.thought.T"},`+callA+`,`+callB+`]`), user(`[`+result("a", "")+`,`+result("b", "")+`]`)), "",
			lines(`user "q"`, `assistant think( thought:T) call(a f {"x":1} thought:T) call(b g {})`, `tool #a`, `tool #b`), "", wire.NeedTools,
		},
		{
			"server tools", talk(user(`"q"`), assistant(`[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"t","encrypted_content":"x"}]},{"type":"code_execution_tool_result","content":{"type":"code_execution_result","stdout":"42","stderr":""}},{"type":"web_fetch_tool_result","content":{"type":"web_fetch_result","content":{"type":"document","source":{"type":"text","data":"page"}}}},{"type":"mcp_tool_result","content":[{"type":"text","text":"m"}]},{"type":"text","text":"x"}]`), user(`"y"`)), "",
			lines(`user "q"`, `assistant "[result of code_execution]\n42" "[result of web_fetch]\npage" "[result of mcp]\nm" "x"`, `user "y"`), "messages[].content[].web_search_tool_result", 0,
		},
		{
			"history only", talk(user(`[{"type":"container_upload","file_id":"f"},{"type":"text","text":"q"}]`), assistant(`[{"type":"compaction","content":"c"},{"type":"text","text":"x"}]`), user(`"y"`)), "",
			lines(`user "q"`, `assistant "[summary of the conversation so far]\nc" "x"`, `user "y"`), "messages[].content[].container_upload", 0,
		},
		{
			"compaction without a summary, hops and listings", talk(user(`"q"`), assistant(`[{"type":"compaction","content":null},{"type":"fallback","from":{},"to":{}},{"type":"mcp_tool_listing","tools":[]},{"type":"text","text":"x"}]`), user(`"y"`)), "",
			lines(`user "q"`, `assistant "x"`, `user "y"`), "messages[].content[].compaction,messages[].content[].fallback,messages[].content[].mcp_tool_listing", 0,
		},
		{
			"a conversation that begins with its summary", talk(user(`[{"type":"compaction","content":"c","signature":"s"},{"type":"text","text":"q"}]`)), "",
			lines(`user "[summary of the conversation so far]\nc" "q"`), "", 0,
		},
		{
			"system messages for a turn", talk(
				user(`"a"`), `{"role":"system","content":"past","clear_at":"next_user_message"}`, `{"role":"system","content":"stays","clear_at":"never"}`, assistant(`[`+callA+`]`),
				`{"role":"system","output_config":{"effort":"low"}}`, user(`[`+result("a", `,"content":"r"`)+`]`), `{"role":"system","content":"now","clear_at":"next_user_message"}`), "",
			lines(`user "a"`, `system "stays"`, `assistant call(a f {"x":1})`, `tool #a "r"`, `system "now"`), "messages[].output_config", wire.NeedTools,
		},
		{"assistant first", talk(assistant(`"x"`), user(`"y"`)), "", lines(`assistant "x"`, `user "y"`), "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := mustRead(t, c.body, c.version)
			if got := outline(r); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if got := strings.Join(r.Dropped, ","); got != c.dropped {
				t.Errorf("dropped %q, want %q", got, c.dropped)
			}
			if r.Needs != c.needs {
				t.Errorf("needs %b, want %b", r.Needs, c.needs)
			}
		})
	}
}

func TestReadCount(t *testing.T) {
	t.Parallel()
	body := `{"model":"a","messages":[{"role":"user","content":"x"}],"thinking":{"type":"enabled","budget_tokens":2048}}`
	if _, err := (Format{}).ReadCount([]byte(body), hub.ReadOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := (Format{}).Read([]byte(body), hub.ReadOptions{}); err == nil {
		t.Error("Read takes a request without max_tokens")
	}
	if r, err := (Format{}).ReadCount([]byte(ask(`"compaction":{"type":"summarize"}`)), hub.ReadOptions{}); err != nil || r.OwnFormatError != nil {
		t.Errorf("counting a request with compaction: %v, %v", err, r.OwnFormatError)
	}
	if _, err := (Format{}).ReadCount([]byte(ask(`"max_tokens":-1`)), hub.ReadOptions{}); err == nil {
		t.Error("ReadCount takes a wrong max_tokens")
	}
}

func TestReadTools(t *testing.T) {
	t.Parallel()
	long := "mcp__" + strings.Repeat("n", 70)
	for _, c := range []struct {
		name, tool string
		want       hub.Tool
		dropped    string
	}{
		{
			"custom", `{"name":"a","description":"d","input_schema":{"type":"object","properties":{"x":{}}},"strict":true}`,
			hub.Tool{Name: "a", ClientName: "a", Description: "d", Parameters: `{"type":"object","properties":{"x":{}}}`, Strict: "true"},
			"",
		},
		{
			"typed custom", `{"type":"custom","name":"a","input_schema":{ "type":"object" , "properties":{} },"cache_control":{"type":"ephemeral"}}`,
			hub.Tool{Name: "a", ClientName: "a", Parameters: `{ "type":"object" , "properties":{} }`, Cache: `{"type":"ephemeral"}`},
			"",
		},
		{"empty schema", `{"name":"a","input_schema":{ }}`, hub.Tool{Name: "a", ClientName: "a", Parameters: `{"type":"object","properties":{}}`}, ""},
		{"schema without type", `{"name":"a","input_schema":{"properties":{"x":{}}}}`, hub.Tool{Name: "a", ClientName: "a", Parameters: `{"type":"object","properties":{"x":{}}}`}, ""},
		{"schema without properties", `{"name":"a","input_schema":{"type":"object"}}`, hub.Tool{Name: "a", ClientName: "a", Parameters: `{"properties":{},"type":"object"}`}, ""},
		{"long name", `{"name":"` + long + `","input_schema":{"type":"object","properties":{}}}`, hub.Tool{Name: hub.LegalName(long), ClientName: long, Parameters: `{"type":"object","properties":{}}`}, ""},
		{
			"dropped fields", `{"name":"a","defer_loading":true,"eager_input_streaming":false,"allowed_callers":["direct"],"input_examples":[{}],"input_schema":{"type":"object","properties":{}}}`,
			hub.Tool{Name: "a", ClientName: "a", Parameters: `{"type":"object","properties":{}}`},
			"tools[].defer_loading,tools[].allowed_callers,tools[].input_examples",
		},
		{"bash", `{"type":"bash_20250124","name":"bash"}`, hub.Tool{Name: "bash", ClientName: "bash", Description: bashDescription, Parameters: bashSchema}, ""},
		{
			"editor", `{"type":"text_editor_20250728","name":"str_replace_based_edit_tool","max_characters":100}`,
			hub.Tool{Name: "str_replace_based_edit_tool", ClientName: "str_replace_based_edit_tool", Description: editorDescription, Parameters: editorSchema},
			"",
		},
		{
			"old editor", `{"type":"text_editor_20250124","name":"str_replace_editor"}`,
			hub.Tool{Name: "str_replace_editor", ClientName: "str_replace_editor", Description: editorDescription, Parameters: editorSchemaUndo},
			"",
		},
		{"memory", `{"type":"memory_20250818","name":"memory"}`, hub.Tool{Name: "memory", ClientName: "memory", Description: memoryDescription, Parameters: memorySchema}, ""},
		{
			"computer", `{"type":"computer_20250124","name":"computer","display_width_px":1024,"display_height_px":768}`,
			hub.Tool{Name: "computer", ClientName: "computer", Description: computerDescription + " The screen is 1024 pixels wide and 768 pixels high.", Parameters: computerSchema("20250124")},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := mustRead(t, ask(`"tools":[`+c.tool+`]`), older)
			if len(r.Tools) != 1 || r.Tools[0] != c.want {
				t.Errorf("got  %+v\nwant %+v", r.Tools, c.want)
			}
			if !json.Valid([]byte(r.Tools[0].Parameters)) {
				t.Error("the schema is not JSON")
			}
			if got := strings.Join(r.Dropped, ","); got != c.dropped {
				t.Errorf("dropped %q", got)
			}
			if r.Needs != wire.NeedTools {
				t.Errorf("needs %b", r.Needs)
			}
		})
	}
	for date, has := range map[string][3]bool{"20241022": {}, "20250124": {true}, "20251124": {true, true}} {
		schema := computerSchema(date)
		if !json.Valid([]byte(schema)) || strings.Contains(schema, `"scroll"`) != has[0] || strings.Contains(schema, `"zoom"`) != has[1] {
			t.Errorf("%s: %s", date, schema)
		}
	}
}

func TestReadServerTools(t *testing.T) {
	t.Parallel()
	for _, kind := range [...]string{"web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "tool_search_tool_regex_20251119", "advisor_20260301"} {
		r := mustRead(t, ask(`"tools":[{"type":"`+kind+`","name":"x"},{"name":"f","input_schema":{}}],"tool_choice":{"type":"auto"}`), "")
		if len(r.Tools) != 1 || r.Needs != wire.NeedTools || r.OwnFormatError != nil || r.Choice.Mode != "auto" || strings.Join(r.Dropped, ",") != "tools[0]" {
			t.Errorf("%s: %+v", kind, r)
		}
		// If it is the only tool, the request needs a candidate of its own format.
		r = mustRead(t, ask(`"tools":[{"type":"`+kind+`","name":"x"}],"tool_choice":{"type":"auto"}`), "")
		var e *apierror.Error
		if len(r.Tools) != 0 || r.Needs != wire.NeedOwnFormat || r.Choice != (hub.Choice{}) || strings.Join(r.Dropped, ",") != "tools[0],tool_choice" ||
			!errors.As(r.OwnFormatError, &e) || e.Status != 400 || e.Code != "unsupported_parameter" || e.Param != "tools[0]" {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

// TestReadVendorFeatures checks that a request for features which only the vendor's servers have is left to candidates
// that get the client's bytes.
func TestReadVendorFeatures(t *testing.T) {
	t.Parallel()
	for param, body := range map[string]string{
		"mcp_servers":                            ask(`"mcp_servers":[{"type":"url","name":"x","url":"https://x"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]`),
		"compaction":                             ask(`"compaction":{"type":"summarize"}`),
		"tools[0].type":                          ask(`"tools":[{"type":"computer_toolset_20260801"},{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"left_click"}`),
		"tools[1].type":                          ask(`"tools":[{"name":"f","input_schema":{}},{"type":"later_20270101","name":"later"}]`),
		"tools[0]":                               ask(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`),
		"tool_choice.name":                       ask(`"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"web_search"}`),
		"messages[0].content[0].type":            talk(user(`[{"type":"later","x":1}]`)),
		"messages[1].content[0].type":            talk(user(`"a"`), assistant(`[{"type":"later"},{"type":"text","text":"b"}]`), user(`"c"`)),
		"messages[1].content[1].type":            talk(user(`"a"`), `{"role":"system","content":[{"type":"text","text":"b"},{"type":"tool_removal","tool":{"type":"tool_reference","name":"f"}}]}`),
		"messages[2].content[0].content[0].type": talk(user(`"a"`), assistant(`[{"type":"tool_use","id":"a","name":"f"}]`), user(`[{"type":"tool_result","tool_use_id":"a","content":[{"type":"browser_state"}]}]`)),
	} {
		r := mustRead(t, body, "")
		var e *apierror.Error
		if r.Needs&wire.NeedOwnFormat == 0 || !errors.As(r.OwnFormatError, &e) || e.Status != 400 || e.Param != param {
			t.Errorf("%s: needs %b, %v", param, r.Needs, r.OwnFormatError)
		}
	}
	if r := mustRead(t, talk(user(`"a"`)), ""); r.Needs&wire.NeedOwnFormat != 0 || r.OwnFormatError != nil {
		t.Errorf("needs %b, %v", r.Needs, r.OwnFormatError)
	}
}

func TestReadChoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choice string
		want   hub.Choice
		single string
	}{
		{`null`, hub.Choice{}, ""},
		{`{"type":"auto"}`, hub.Choice{Mode: "auto"}, ""},
		{`{"type":"any"}`, hub.Choice{Mode: "required"}, ""},
		{`{"type":"none"}`, hub.Choice{Mode: "none"}, ""},
		{`{"type":"tool","name":"a.b"}`, hub.Choice{Mode: "function", Name: hub.LegalName("a.b")}, ""},
		{`{"type":"auto","disable_parallel_tool_use":true}`, hub.Choice{Mode: "auto"}, "false"},
		{`{"type":"any","disable_parallel_tool_use":false}`, hub.Choice{Mode: "required"}, ""},
	} {
		r := mustRead(t, ask(`"tool_choice":`+c.choice+`,"tools":[{"name":"a.b","input_schema":{}}]`), "")
		if r.Choice != c.want || r.Param("parallel_tool_calls") != c.single || len(r.Dropped) != 0 {
			t.Errorf("%s: %+v, single %q", c.choice, r.Choice, r.Param("parallel_tool_calls"))
		}
	}
	for _, choice := range [...]string{`{"type":"any","disable_parallel_tool_use":true}`, `{"type":"tool","name":"a"}`} {
		r := mustRead(t, ask(`"tool_choice":`+choice), "")
		if r.Choice != (hub.Choice{}) || len(r.Params) != 0 || strings.Join(r.Dropped, ",") != "tool_choice" {
			t.Errorf("without tools: %+v", r)
		}
	}
}

// bigRequest returns a request of 75 KB like a coding agent's first one: 24 tools and a system role within the
// messages.
func bigRequest() []byte {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-5","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},` +
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s\"}"},` +
		`"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.197"},{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}},` +
		`{"type":"text","text":"` + strings.Repeat("Be careful with \\\"files\\\".\\n", 600) + `","cache_control":{"type":"ephemeral"}}],"tools":[`)
	for i := range 24 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"Tool%d","description":"%s","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"path":{"type":"string","description":"%s"}},"required":["path"],"additionalProperties":false},"eager_input_streaming":true}`,
			i, strings.Repeat("Does a thing. ", 120), strings.Repeat("Where. ", 40))
	}
	b.WriteString(`],"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>today</system-reminder>"},{"type":"text","text":"fix it","cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"system","content":"The following skills are available."}]}`)
	return []byte(b.String())
}

func TestReadAgent(t *testing.T) {
	t.Parallel()
	body := bigRequest()
	r := mustRead(t, string(body), newer)
	if len(body) < 70_000 || len(r.Tools) != 24 || r.Needs != wire.NeedTools || r.Effort != hub.EffortHigh || !r.Stream {
		t.Errorf("%d bytes: %d tools, needs %b, effort %q", len(body), len(r.Tools), r.Needs, r.Effort)
	}
	if got := strings.Join(r.Dropped, ","); got != "context_management,tools[].eager_input_streaming" {
		t.Errorf("dropped %q", got)
	}
	if len(r.Messages) != 3 || r.Messages[0].Role != hub.System || r.Messages[1].Role != hub.User || r.Messages[2].Role != hub.System {
		t.Fatalf("got %d messages", len(r.Messages))
	}
	if system := r.Messages[0].Parts; len(system) != 2 || system[0].Text != "You are an agent." || system[1].Cache == "" {
		t.Errorf("system %+v", system)
	}
	if r.TextBytes < 60_000 || r.TextBytes > int64(len(body)) {
		t.Errorf("%d bytes of text", r.TextBytes)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(bigRequest()[:2000], older)
	f.Add(bigRequest(), newer)
	f.Add([]byte(ask(`"thinking":{"type":"enabled","budget_tokens":1024},"tools":[{"name":"a.b","input_schema":{}},{"type":"bash_1","name":"bash"}],"tool_choice":{"type":"tool","name":"a.b"}`)), older)
	f.Add([]byte(talk(user(`"q"`), assistant(`[{"type":"thinking","thinking":"t","signature":"kcs1.thought.S"},{"type":"tool_use","id":"a","name":"f","input":{}}]`),
		user(`[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"image","source":{"type":"url","url":"https://a"}}]}]`))), older)
	f.Fuzz(func(t *testing.T, body []byte, version string) {
		r, err := Format{}.Read(body, hub.ReadOptions{Open: testOpen, Version: version})
		if err != nil {
			var e *apierror.Error
			if !errors.As(err, &e) || e.Status != 400 {
				t.Fatalf("got %v", err)
			}
			return
		}
		checkRequest(t, r)
	})
}

// checkRequest checks the properties that package hub documents for a request.
func checkRequest(t *testing.T, r *hub.Request) {
	t.Helper()
	raw := func(name, text string) {
		if text != "" && !json.Valid([]byte(text)) {
			t.Errorf("%s is not JSON: %q", name, text)
		}
	}
	for _, p := range r.Params {
		raw(p.Name, p.Value)
	}
	for i := range r.Tools {
		raw("parameters", r.Tools[i].Parameters)
		if !wire.LegalID(r.Tools[i].Name) || r.Tools[i].ClientName == "" {
			t.Errorf("tool %+v", r.Tools[i])
		}
	}
	open := map[string]bool{}
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != hub.ToolResult {
			clear(open)
			if len(m.Parts) == 0 && len(m.Calls) == 0 {
				t.Errorf("message %d is empty", i)
			}
		} else if !open[m.CallID] {
			t.Errorf("message %d is the result of no open call", i)
		}
		delete(open, m.CallID)
		for _, c := range m.Calls {
			raw("arguments", c.Arguments)
			if !wire.LegalID(c.ID) || !wire.LegalID(c.Name) {
				t.Errorf("call %+v", c)
			}
			open[c.ID] = true
		}
		for _, p := range m.Parts {
			raw("cache", p.Cache)
		}
	}
	if len(r.Dropped) > hub.MaxDropped {
		t.Error("too many dropped names")
	}
}

func BenchmarkRead(b *testing.B) {
	body := bigRequest()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Read(body, hub.ReadOptions{Version: newer}); err != nil {
			b.Fatal(err)
		}
	}
}
