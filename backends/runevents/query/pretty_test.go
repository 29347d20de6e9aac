package query

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestIndenter compares an indenter, which gets a text in pieces of any size, with json.Indent.
func TestIndenter(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[]`, `[{}]`, `[{"a":1,"b":[],"c":{"d":[1,2,null]}},"x"]`, `["\"[{,:\\","\\",""]`, `[{"a" : true, "b" : [ ]}]`, `[-1.5e3,[[[]]]]`, `["\\\"",{"k:,":"v]}"}]`,
	} {
		var want, compact bytes.Buffer
		if json.Compact(&compact, []byte(text)) != nil || json.Indent(&want, compact.Bytes(), "", "  ") != nil {
			t.Fatal(text)
		}
		for size := 1; size <= len(text); size++ {
			var p indenter
			var got []byte
			for start := 0; start < len(text); start += size {
				got = p.append(got, []byte(text[start:min(start+size, len(text))]))
			}
			if string(got) != want.String() {
				t.Errorf("%s in pieces of %d:\n%s\nwant\n%s", text, size, got, want.String())
			}
		}
	}
}
