package api

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// FuzzObject checks that a body is either decoded as encoding/json does or refused with 400.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":null}],"a":2}`, `[1]`, `{"a":`, "{} x", `{"\u0000":"\ud800"}`, `{"a":1e999}`, "{\"a\":\"\xff\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		members, err := object(text)
		if err != nil {
			if e, ok := handler.Of(err); !ok || e.Code != 400 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if members == nil || !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("%q is taken", text)
		}
	})
}

// FuzzForm checks that queries and forms are either decoded or refused with 400, and that the number of their
// members is limited.
func FuzzForm(f *testing.F) {
	f.Add("a=1&b=%C3%A4&a=2", "x")
	f.Add("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n", "x")
	f.Fuzz(func(t *testing.T, text, boundary string) {
		for _, read := range []func() (map[string]any, error){
			func() (map[string]any, error) { return query(text) },
			func() (map[string]any, error) {
				members, files, err := parts([]byte(text), boundary)
				if len(members)+len(files) > maxValues {
					t.Fatalf("%d members and %d files", len(members), len(files))
				}
				return members, err
			},
		} {
			members, err := read()
			if e, ok := handler.Of(err); err != nil && (!ok || e.Code != 400) {
				t.Fatal(err)
			}
			if len(members) > maxValues {
				t.Fatalf("%d members", len(members))
			}
		}
	})
}
