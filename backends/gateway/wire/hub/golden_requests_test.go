package hub_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestGoldenRequests compares the requests to chat candidates with the files chat.<provider>.json of each case.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir       string
		format    hub.Format
		providers []string
		dropped   string
	}{
		{"19-namespaces", hub.Responses, []string{"groq"}, ""},
		{"21-claude-code-first", hub.Messages, []string{"openai", "mistral"}, "context_management,tools[].eager_input_streaming"},
		{"22a-codex-first", hub.Responses, []string{"openai", "groq"}, "tools[4],client_metadata"},
		{"22b-codex-second", hub.Responses, []string{"openai", "groq"}, "tools[4],client_metadata"},
		{"23a-results-out-of-order", hub.Messages, []string{"openai"}, ""},
		{"23b-results-out-of-order", hub.Responses, []string{"openai"}, ""},
	} {
		t.Run(c.dir, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("testdata/golden", c.dir)
			body := claudeCodeRequest()
			if file := filepath.Join(dir, string(c.format)+".request.json"); c.dir != "21-claude-code-first" {
				body = mustRead(t, file)
			}
			r := readRequest(t, c.format, body, hub.ReadOptions{Version: "2023-06-01"})
			if got := strings.Join(r.Dropped, ","); got != c.dropped {
				t.Errorf("dropped %s, want %s", got, c.dropped)
			}
			for _, provider := range c.providers {
				written, err := chat.Format{}.Write(r, goldenTarget(t, provider))
				if err != nil {
					t.Fatal(err)
				}
				checkGolden(t, shorter(indented(t, written.Body)), dir, "chat."+provider+".json")
			}
		})
	}
}

// filler is a line of instructions that is repeated to make requests as long as real ones. Golden files show each line
// as one character.
const filler = "Use the tool for what it is made for, and \"quote\" paths with spaces.\\n"

func shorter(body []byte) []byte {
	return bytes.ReplaceAll(body, []byte(strings.ReplaceAll(filler, `"`, `\"`)), []byte("…"))
}

// claudeCodeRequest returns the first request of a Claude Code session, about 75 KB. It has an attribution line, cached
// system blocks, a system message within the conversation, 24 tools, adaptive thinking and members that only the vendor
// knows.
func claudeCodeRequest() []byte {
	// The lines of filler are already escaped.
	long := func(lines int) string { return strings.ReplaceAll(strings.Repeat(filler, lines), `"`, `\"`) }
	names := [...]string{
		"Agent", "AskUserQuestion", "Bash", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree",
		"Glob", "Grep", "ListMcpResourcesTool", "Monitor", "NotebookEdit", "Read", "ReadMcpResourceTool", "Skill", "TaskOutput", "TaskStop", "WebFetch", "Write",
		"mcp__plugin_engineering_documentation_server__search_the_documentation_of_a_project",
	}
	tools := make([]string, 0, len(names))
	for i, name := range names {
		tools = append(tools, fmt.Sprintf(`{"name":%q,"description":"%s","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"path":{"type":"string","description":"%s"},"limit":{"type":"integer","exclusiveMinimum":0,"maximum":%d}},"required":["path"],"additionalProperties":false}%s}`,
			name, long(30), long(2), 100+i, map[bool]string{true: `,"eager_input_streaming":true`}[name == "Write"]))
	}
	return fmt.Appendf(nil, `{"model":"claude-sonnet-5","messages":[
{"role":"user","content":[{"type":"text","text":"<system-reminder>\nAs you answer, you can use this context:\n# claudeMd\nUse tabs.\n</system-reminder>\n\n"},{"type":"text","text":"fix the \"test\"","cache_control":{"type":"ephemeral"}}]},
{"role":"system","content":"The date is 2026-11-21."}],
"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.197.0; cc_entrypoint=cli;"},{"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"%s","cache_control":{"type":"ephemeral","ttl":"1h"}}],
"tools":[%s],
"metadata":{"user_id":"{\"device_id\":\"5c2e\",\"account_uuid\":\"\",\"session_id\":\"0b1e\"}"},
"max_tokens":64000,"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"high"},"stream":true}`,
		long(200), strings.Join(tools, ",\n"))
}

func TestClaudeCodeRequest(t *testing.T) {
	t.Parallel()
	body := claudeCodeRequest()
	if !json.Valid(body) || len(body) < 70_000 || len(body) > 90_000 {
		t.Errorf("%d bytes, valid: %t", len(body), json.Valid(body))
	}
	r := readRequest(t, hub.Messages, body, hub.ReadOptions{})
	if len(r.Tools) != 24 || !r.Stream || r.Effort != hub.EffortHigh || (messages.Format{}).TierEffort(r) != hub.EffortHigh {
		t.Errorf("%d tools, stream %t, effort %s", len(r.Tools), r.Stream, r.Effort)
	}
}

// TestVersionRules checks requests that the version 2026-10-21 of the messages API refuses and the version before
// accepts.
func TestVersionRules(t *testing.T) {
	t.Parallel()
	const start = `{"model":"claude-sonnet-5","max_tokens":100,`
	const ask = `"messages":[{"role":"user","content":"hi"}]`
	document := `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}`
	for name, c := range map[string]struct{ body, param string }{
		"temperature":         {start + `"temperature":0.5,` + ask + `}`, "temperature"},
		"default temperature": {start + `"temperature":1,` + ask + `}`, "temperature"},
		"top_p":               {start + `"top_p":0.9,` + ask + `}`, "top_p"},
		"top_k":               {start + `"top_k":40,` + ask + `}`, "top_k"},
		"document of the assistant": {
			start + `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"See."},` + document + `]},{"role":"user","content":"and?"}]}`,
			"messages[1].content[1].type",
		},
		"citations of a user's text": {
			start + `"messages":[{"role":"user","content":[{"type":"text","text":"hi","citations":[{"type":"char_location"}]}]}]}`,
			"messages[0].content[0].citations",
		},
		"none":               {start + ask + `}`, ""},
		"null temperature":   {start + `"temperature":null,` + ask + `}`, ""},
		"a user's document":  {start + `"messages":[{"role":"user","content":[` + document + `,{"type":"text","text":"?"}]}]}`, ""},
		"null citations":     {start + `"messages":[{"role":"user","content":[{"type":"text","text":"hi","citations":null}]}]}`, ""},
		"system in messages": {start + `"messages":[{"role":"user","content":"hi"},{"role":"system","content":"Be brief."}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := (messages.Format{}).Read([]byte(c.body), hub.ReadOptions{Version: "2023-06-01"}); err != nil {
				t.Errorf("2023-06-01: %v", err)
			}
			for _, version := range [...]string{"2026-10-21", "2027-01-31"} {
				_, err := messages.Format{}.Read([]byte(c.body), hub.ReadOptions{Version: version})
				e, ok := errors.AsType[*apierror.Error](err)
				switch {
				case c.param == "" && err != nil:
					t.Errorf("%s: %v", version, err)
				case c.param != "" && (!ok || e.Status != 400 || e.Param != c.param):
					t.Errorf("%s: got %#v, want a 400 of %s", version, err, c.param)
				}
			}
		})
	}
}
