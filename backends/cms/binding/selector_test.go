package binding_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
)

// FuzzSelectorValue checks that any input is one value of one term of a selector after it has been sanitized.
func FuzzSelectorValue(f *testing.F) {
	for _, value := range []string{"", "a", `"`, `""`, `a" , id>0`, "a, id>0", "a|b", `'`, `\",x=1`, "a\nb", "=1", "!=", "\x00", "\xff", `"a"b"`, " ' , ", "，", "a,\"", "｜"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		created, err := sanitize.Apply("selectorValue", value)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := created.(string)
		s, err := selector.Parse("title=" + text + ", limit=3")
		if err != nil || len(s.Terms) != 2 || len(s.Terms[0].Values) != 1 || s.Terms[0].Op != selector.Equal || s.Terms[1].Fields[0].Text != "limit" {
			t.Errorf("%q became %q: %+v, %v", value, text, s, err)
		}
		field, err := sanitize.Apply("selectorField", value)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := field.(string); text != "" {
			if s, err := selector.Parse(text + "=1"); err != nil || len(s.Terms) != 1 {
				t.Errorf("%q became %q: %+v, %v", value, text, s, err)
			}
		}
	})
}
