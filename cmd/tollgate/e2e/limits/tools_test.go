package limits

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAllowedTools checks that no surface and no spelling of a tool evades a limit of the tools that providers run,
// while function tools and requests without tools pass.
func TestAllowedTools(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	m := c.member("ada")
	const chat = `"model":"` + model + `","max_tokens":100,"messages":[{"role":"user","content":"Hi"}]`
	const input = `"model":"` + model + `","input":"Hi"`
	function := `{"type":"function","function":{"name":"web_search","parameters":{"type":"object"}}}`
	requests := []struct{ path, body, refused string }{
		{"/v1/chat/completions", `{` + chat + `,"tools":[` + function + `]}`, ""},
		{"/v1/chat/completions", `{` + chat + `,"web_search_options":{}}`, "web_search"},
		{"/v1/chat/completions", `{` + chat + `,"stream":true,"web\u005fsearch_options":{}}`, "web_search"},
		{"/v1/chat/completions", `{` + chat + `,"tools":[` + function + `,{"type":"code_interpreter"}]}`, "code_interpreter"},
		{"/v1/messages", `{` + chat + `,"tools":[{"name":"web_search","input_schema":{"type":"object"}}]}`, ""},
		{"/v1/messages", `{` + chat + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, "web_search"},
		{"/v1/messages", `{` + chat + `,"stream":true,"mcp_servers":[{"type":"url","url":"https://example.com","name":"x"}]}`, "mcp"},
		{"/v1/responses", `{` + input + `,"tools":[{"type":"function","name":"web_search","parameters":{"type":"object"}}]}`, ""},
		{"/v1/responses", `{` + input + `,"tools":[{"type":"web_search_preview"}]}`, "web_search"},
		{"/v1/responses", `{` + input + `,"stream":true,"tools":[{"type":"mcp","server_label":"x","server_url":"https://example.com"}]}`, "mcp"},
	}
	try := func(key, reason string) {
		t.Helper()
		before := len(c.up.Models())
		passed := 0
		for _, request := range requests {
			a := e2e.Do(t, e2e.Client, http.MethodPost, c.Base+request.path, key, request.body)
			text := gjson.Get(a.Body, "error.message").Str
			switch {
			case request.refused == "":
				passed++
				if a.Status != http.StatusOK {
					t.Errorf("%s %s: %d %s", request.path, request.body, a.Status, a.Body)
				}
			case a.Status != http.StatusForbidden || !strings.Contains(text, `the tool "`+request.refused+`"`) || !strings.Contains(text, reason):
				t.Errorf("%s %s: %d %s", request.path, request.body, a.Status, a.Body)
			}
		}
		if calls := len(c.up.Models()) - before; calls != passed {
			t.Errorf("the provider was asked %d times, want %d", calls, passed)
		}
	}
	for _, h := range holders {
		c.limit(h.path("ada", c.team("of "+h.name, "ada")), `{"allowed_tools":["none"]}`)
		if h.name == "team" {
			continue // a key is for the first team by default; see below
		}
		try(m.first, h.models)
		c.limit(h.path("ada", ""), `{}`)
	}
	key, _ := m.key(`{"team_id":"` + gjson.Get(c.operator("GET", "/operator/teams", "", 200).Body, `data.#(name=="of team").id`).Str + `"}`)
	try(key, "allows its team")
	own, id := m.key(`{"allowed_tools":["file_search"]}`)
	try(own, "the key's allowed_tools")
	// A dry run refuses the requests that would be refused.
	for _, request := range requests {
		surface, status := map[string]string{"completions": "chat_completions", "messages": "messages", "responses": "responses"}[path.Base(request.path)], 200
		if request.refused != "" {
			status = http.StatusForbidden
		}
		m.call("POST", "/users/ada/route", `{"surface":"`+surface+`","key_id":"`+id+`","request":`+request.body+`}`, status)
	}
	c.Stop()
}
