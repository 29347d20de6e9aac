package keychain

import (
	"strings"
	"testing"
)

// TestAllowedTools checks that every list of tools that binds a key applies, and that a refusal says who has set the
// list.
func TestAllowedTools(t *testing.T) {
	t.Parallel()
	list := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Fields(text)
	}
	for _, test := range []struct{ own, team, everybody, tools, refused string }{
		{"", "", "", "web_search mcp", ""},
		{"web_search", "", "", "web_search", ""},
		{"web_search", "", "", "web_search mcp", `"mcp", which is not among the key's allowed_tools`},
		{"web_search", "none", "", "web_search", "allows its team"},
		{"", "web_search mcp", "web_search", "mcp", "allows everybody"},
		{"", "web_search mcp", "web_search", "web_search", ""},
		{"none", "none", "none", "", ""},
	} {
		id := &Identity{Limits: Limits{AllowedTools: list(test.own)}, Imposed: []Imposed{
			{On: OnTeam, Limits: Limits{AllowedTools: list(test.team)}}, {On: OnOrganisation, Limits: Limits{AllowedTools: list(test.everybody)}},
		}}
		if restricts := id.RestrictsTools(); restricts != (test.own+test.team+test.everybody != "") {
			t.Errorf("%+v: restricts is %t", test, restricts)
		}
		err := id.AdmitTools(list(test.tools))
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
	for name, tools := range map[string][]string{"empty": {}, "none and another": {"web_search", NoTools}, "no name": {""}} {
		if checkAllowedTools(tools) == nil {
			t.Errorf("%s is not an error", name)
		}
	}
}

// TestAllowedToolsAreKept stores lists of tools with keys and imposed limits, and removes them.
func TestAllowedToolsAreKept(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		key, err := n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{AllowedTools: []string{"web_search"}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.SetLimits(t.Context(), OnUser, "alice", Limits{AllowedTools: []string{NoTools}}, nil); err != nil {
			t.Fatal(err)
		}
		allowed := func() string {
			t.Helper()
			id, err := n.Authenticate(t.Context(), key.Key)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(id.AllowedTools, " ")
			for _, i := range id.Imposed {
				text += "; " + i.On + " " + strings.Join(i.AllowedTools, " ")
			}
			return text
		}
		if got := allowed(); got != "web_search; user none" {
			t.Errorf("allowed is %q", got)
		}
		if _, err := n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Limits: func(l *Limits) { l.AllowedTools = nil }}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.SetLimits(t.Context(), OnUser, "alice", Limits{}, nil); err != nil {
			t.Fatal(err)
		}
		if got := allowed(); got != "" {
			t.Errorf("allowed is %q", got)
		}
	})
}
