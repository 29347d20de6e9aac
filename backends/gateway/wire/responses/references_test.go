package responses

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestExpand checks that the references in a request are replaced by their items, and nothing else
// changes.
func TestExpand(t *testing.T) {
	t.Parallel()
	stored := map[string]string{"msg_1": `{"id":"msg_1","type":"message"}`, "fc_2": `{"id":"fc_2","type":"function_call"}`, "large": `"` + strings.Repeat("x", 20<<20) + `"`}
	const user = `{"role":"user","content":"hi"}`
	for _, c := range []struct{ name, body, want, asked, fails, param string }{
		{name: "none", body: `{"input":[` + user + `]}`},
		{name: "a text", body: `{"input":"hi","x":{"id":"msg_1"}}`},
		{name: "items with ids", body: `{"input":[{"id":"msg_1","type":"message"},{"id":"m","role":"user","content":"hi"}]}`},
		{
			name: "references", body: `{ "model":"m", "input": [ ` + user + `, {"type":"item_reference","id":"fc_2"} , {"id":"msg_1", "type":"item_reference", "x":{"id":"no"}}], "y":1 }`,
			want: `{ "model":"m", "input": [ ` + user + `, ` + stored["fc_2"] + ` , ` + stored["msg_1"] + `], "y":1 }`, asked: "fc_2 msg_1",
		},
		{name: "without a type", body: `{"input":[{"id":"msg_1"},{"id":"fc_2","type":null}]}`, want: `{"input":[` + stored["msg_1"] + `,` + stored["fc_2"] + `]}`, asked: "msg_1 fc_2"},
		{name: "escaped", body: `{"input":[{"type":"item\u005freference","id":"msg\u005f1"}]}`, want: `{"input":[` + stored["msg_1"] + `]}`, asked: "msg_1"},
		{name: "unknown", body: `{"input":[` + user + `,{"type":"item_reference","id":"msg_9"}]}`, asked: "msg_9", fails: "invalid_value", param: "input[1]"},
		{name: "too large", body: `{"input":[{"id":"large"},{"id":"large"}]}`, asked: "large large", fails: "request_too_large"},
		{name: "too many", body: `{"input":[` + strings.Repeat(`{"id":"msg_1"},`, maxReferences) + `{"id":"msg_1"}]}`, fails: "invalid_value", param: "input"},
		{name: "broken", body: `{"input":[{"type":"item_reference","id":"msg_1"}`},
		{name: "no object", body: `["id"]`},
		{name: "of another kind", body: `{"input":[{"type":"item_reference","id":1},{"type":"item_reference"},"id",{"type":5,"id":"x"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requested := ""
			got, err := Format{}.Expand([]byte(c.body), func(ids []string) (map[string]string, error) {
				requested = strings.Join(ids, " ")
				return stored, nil
			})
			if requested != c.asked {
				t.Errorf("asked for %s, want %s", requested, c.asked)
			}
			if c.fails != "" {
				e, ok := apierror.From(err)
				if !ok || e.Code != c.fails || e.Param != c.param || !strings.Contains(e.Message, map[bool]string{true: "msg_9"}[c.name == "unknown"]) {
					t.Errorf("got %v", err)
				}
				return
			}
			if c.want == "" {
				c.want = c.body
			}
			if err != nil || string(got) != c.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
	down := errors.New("down")
	if _, err := (Format{}).Expand([]byte(`{"input":[{"id":"x"}]}`), func([]string) (map[string]string, error) { return nil, down }); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

func FuzzExpand(f *testing.F) {
	f.Add([]byte(`{"input":[{"type":"item_reference","id":"a"},{"id":"b","type":null}]}`))
	f.Add([]byte(`{"input":[{"id":"a"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var requested []string
		got, err := Format{}.Expand(slices.Clone(body), func(ids []string) (map[string]string, error) {
			requested = ids
			found := make(map[string]string)
			for _, id := range ids {
				found[id] = fmt.Sprintf(`{"type":"message","id":%q}`, "x")
			}
			return found, nil
		})
		if err == nil && len(requested) == 0 && string(got) != string(body) {
			t.Errorf("%q became %q", body, got)
		}
	})
}
