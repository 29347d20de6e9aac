package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

func TestReadTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tools, want string }{
		"function": {
			`{"type":"function","name":"f","description":"d","parameters":{"a" : 1},"strict":true},{"type":"function","name":"g","parameters":null,"strict":false}`,
			"f 0 \"\" f true \"d\" {\"a\" : 1}\ng 0 \"\" g  \"\" " + noParameters + "\n",
		},
		"namespace": {
			`{"type":"namespace","name":"n","description":"All of n.","tools":[{"type":"function","name":"a","description":"A."},{"type":"custom","name":"b","description":"B."}]}`,
			"n__a 0 \"n\" a  \"All of n.\\n\\nA.\" " + noParameters + "\nn__b 1 \"n\" b  \"B.\" " + customSchema + "\n",
		},
		"custom": {
			`{"type":"custom","name":"c","description":"d","format":{"type":"grammar","syntax":"lark","definition":"start: X"}},{"type":"custom","name":"t","format":{"type":"text"}}`,
			"c 1 \"\" c  \"d\\n\\nThe input must follow this lark grammar:\\nstart: X\" " + customSchema + "\nt 1 \"\" t  \"\" " + customSchema + "\n",
		},
		"known by type": {
			`{"type":"local_shell"},{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"},{"type":"tool_search","execution":"client","description":"Finds.","parameters":{"x":1}}`,
			"local_shell 3 \"\" local_shell  \"Runs a command on the user's computer.\" " + localShellSchema +
				"\nshell 4 \"\" shell  \"Runs shell commands on the user's computer.\" " + shellSchema +
				"\napply_patch 5 \"\" apply_patch  \"Creates, changes or deletes one file of the workspace.\" " + applyPatchSchema +
				"\ntool_search 2 \"\" tool_search  \"Finds.\" {\"x\":1}\n",
		},
		"run by the vendor": {
			`{"type":"web_search"},{"type":"web_search_preview"},{"type":"file_search"},{"type":"code_interpreter"},{"type":"image_generation"},{"type":"mcp"},{"type":"computer_use_preview"},{"type":"programmatic_tool_calling"},{"type":"tool_search"},{"type":"shell","environment":{"type":"container_auto"}},{"type":"function","name":"f"}`,
			"f 0 \"\" f  \"\" " + noParameters + "\ntools[0],tools[1],tools[2],tools[3],tools[4],tools[5],tools[6],tools[7],tools[8],tools[9]\n",
		},
		"the same again": {
			`{"type":"function","name":"f","description":"first"},{"type":"function","name":"f","description":"second"}`,
			"f 0 \"\" f  \"first\" " + noParameters + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := read(t, with(`"input":"hi","tools":[`+c.tools+`]`))
			checkRequest(t, r)
			var b strings.Builder
			for _, x := range r.Tools {
				fmt.Fprintf(&b, "%s %d %q %s %s %q %s\n", x.Name, x.Kind, x.Namespace, x.ClientName, x.Strict, x.Description, x.Parameters)
			}
			if len(r.Dropped) > 0 {
				b.WriteString(strings.Join(r.Dropped, ",") + "\n")
			}
			if b.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), c.want)
			}
		})
	}
}

// TestToolNames checks that tools keep different names, even if these are illegal or would become equal.
func TestToolNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	r := read(t, with(`"tools":[{"type":"function","name":"a__b"},{"type":"namespace","name":"a","tools":[{"type":"function","name":"b"},{"type":"function","name":"`+long+`"}]},{"type":"custom","name":"a__b"},{"type":"function","name":"mcp.x/y"}],
		"input":[{"type":"function_call","call_id":"1","name":"b","namespace":"a"},{"type":"custom_tool_call","call_id":"2","name":"a__b"},{"type":"function_call","call_id":"3","name":"a__b"},{"type":"function_call","call_id":"4","name":"`+long+`","namespace":"a"},{"type":"function_call","call_id":"5","name":"mcp.x/y"}],
		"tool_choice":{"type":"function","name":"b","namespace":"a"}`))
	checkRequest(t, r)
	calls := r.Messages[0].Calls
	for i, want := range []hub.Tool{
		{Kind: hub.ToolFunction, Namespace: "a", ClientName: "b"},
		{Kind: hub.ToolCustom, ClientName: "a__b"},
		{Kind: hub.ToolFunction, ClientName: "a__b"},
		{Kind: hub.ToolFunction, Namespace: "a", ClientName: long},
		{Kind: hub.ToolFunction, ClientName: "mcp.x/y"},
	} {
		got := r.Tool(calls[i].Name)
		if got.Kind != want.Kind || got.Namespace != want.Namespace || got.ClientName != want.ClientName {
			t.Errorf("call %d is %s, which is %+v", i, calls[i].Name, got)
		}
	}
	if r.Choice.Name != calls[0].Name {
		t.Errorf("chosen is %s", r.Choice.Name)
	}
	if calls[2].Name != "a__b" || calls[4].Name != hub.LegalName("mcp.x/y") {
		t.Errorf("names %+v", calls)
	}
}

func TestReadChoice(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"shell"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"m"}]},{"type":"web_search"}]`
	const all = "f c shell n__m"
	for _, c := range []struct{ choice, mode, name, tools, dropped string }{
		{`null`, "", "", all, ""},
		{`"auto"`, "auto", "", all, ""},
		{`"none"`, "none", "", all, ""},
		{`"required"`, "required", "", all, ""},
		{`{"type":"function","name":"f"}`, "function", "f", all, ""},
		{`{"type":"custom","name":"c"}`, "function", "c", all, ""},
		{`{"type":"shell"}`, "function", "shell", all, ""},
		{`{"type":"allowed_tools","mode":"required","tools":[{"type":"custom","name":"c"},{"type":"function","name":"f"}]}`, "required", "", "f c", ""},
		{`{"type":"allowed_tools","mode":"auto","tools":[{"type":"namespace","name":"n"},{"type":"shell"},{"type":"web_search"}]}`, "auto", "", "shell n__m", ",tool_choice.tools[2]"},
		{`{"type":"allowed_tools","tools":[{"type":"function","name":"m","namespace":"n"}]}`, "auto", "", "n__m", ""},
	} {
		r := read(t, with(`"input":"hi",`+tools+`,"tool_choice":`+c.choice))
		checkRequest(t, r)
		var names []string
		for _, x := range r.Tools {
			names = append(names, x.Name)
		}
		if r.Choice != (hub.Choice{Mode: c.mode, Name: c.name}) || strings.Join(names, " ") != c.tools || strings.Join(r.Dropped, ",") != "tools[4]"+c.dropped {
			t.Errorf("%s: %+v %v %v", c.choice, r.Choice, names, r.Dropped)
		}
	}
	for choice, dropped := range map[string]int{`"auto"`: 0, `"none"`: 0, `"required"`: 1, `{"type":"function","name":"f"}`: 1} {
		r := read(t, with(`"input":"hi","tool_choice":`+choice))
		if r.Choice != (hub.Choice{}) || len(r.Dropped) != dropped {
			t.Errorf("%s without tools: %+v %v", choice, r.Choice, r.Dropped)
		}
	}
}
