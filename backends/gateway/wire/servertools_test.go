package wire

import (
	"slices"
	"strings"
	"testing"
)

// TestServerTools checks the server tools that are found in a request.
func TestServerTools(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`chat {"tools":[{"type":"function","function":{"name":"web_search"}}],"web_search_options":null}`: "",
		`chat {"web_search_options":{}}`:                                                                                            "web_search",
		`chat {"web\u005fsearch_options":{}}`:                                                                                       "web_search",
		`chat {"search_parameters":{"mode":"on"},"tools":[{"type":"web_search"}]}`:                                                  "web_search",
		`chat {"plugins":[{"id":"web"}]}`:                                                                                           "plugins",
		`chat {"tools":[{"type":"browser_search"},{"type":"function","type":"code_interpreter"}]}`:                                  "browser_search code_interpreter",
		`chat {"mcp_servers":[{}],"tools":null}`:                                                                                    "",
		`chat {"tools":[{"function":{"parameters":{"properties":{"type":"web_search"}}}}]}`:                                         "",
		`messages {"tools":[{"name":"a","input_schema":{}},{"type":"custom","name":"b"},{"type":"bash_20250124"}]}`:                 "",
		`messages {"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"web_fetch_20250910"}]}`:                     "web_search web_fetch",
		`messages {"tools":[{"type":"tool_search_tool_regex_20251119"},{"type":"mcp_toolset"}]}`:                                    "tool_search_tool_regex mcp_toolset",
		`messages {"mcp_servers":[{"url":"https://example.com"}]}`:                                                                  "mcp",
		`messages {"mcp_servers":[]}`:                                                                                               "",
		`messages {"tools":[{"type":"\u0077eb_search_20250305"}]}`:                                                                  "web_search",
		`responses {"tools":[{"type":"function"},{"type":"custom"},{"type":"local_shell"},{"type":"apply_patch"}]}`:                 "",
		`responses {"tools":[{"type":"web_search_preview_2025_03_11"},{"type":"file_search"},{"type":"mcp"}]}`:                      "web_search file_search mcp",
		`responses {"tools":[{"type":"tool_search","execution":"client"},{"type":"shell","environment":{"type":"local"}}]}`:         "",
		`responses {"tools":[{"type":"tool_search"},{"type":"shell","environment":{"type":"container_auto"}}]}`:                     "tool_search shell",
		`responses {"input":[{"role":"user","content":"x"},{"type":"additional_tools","tools":[{"type":"image_generation"}]},"x"]}`: "image_generation",
		`responses {"input":"web_search"}`:                                                                                          "",
	} {
		name, text, _ := strings.Cut(body, " ")
		api := map[string]API{"chat": APIChat, "messages": APIMessages, "responses": APIResponses}[name]
		if got, err := ServerTools(api, []byte(text)); err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %v, error %v, want %s", body, got, err, want)
		}
	}
	if _, err := ServerTools(APIChat, []byte(`{"tools":[{]}`)); err == nil {
		t.Error("no JSON is not an error")
	}
}

// FuzzServerTools checks that no text causes a panic, and that the tools' names have no dates.
func FuzzServerTools(f *testing.F) {
	f.Add(`{"tools":[{"type":"web_search_20250305"}],"mcp_servers":[{}],"input":[{"tools":[{"type":"x"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, api := range []API{APIChat, APIMessages, APIResponses, APIEmbeddings} {
			tools, _ := ServerTools(api, []byte(body))
			for _, tool := range tools {
				if undated(tool) != tool {
					t.Errorf("%q has a date", tool)
				}
			}
		}
	})
}
