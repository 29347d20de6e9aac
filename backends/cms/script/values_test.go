package script

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// FuzzValues checks that JSON that passes through a script is written as the engine itself would write it.
func FuzzValues(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,2.5,-0,1e21,1e-7,null,true,"x"],"b":{"c":{}},"":[]}`, `"\ud800\u2028\u0000\"\\"`, `[[[[]]]]`, `{"1":1,"0":2,"x":3}`, `{"__proto__":1,"constructor":{"toJSON":2},"toJSON":5,"length":7}`, `1e999`, `123456789012345678901234567890`,
	} {
		f.Add(text)
	}
	p := load(f, Options{}, `static m(data) { return [data.v] } static engine(data) { return JSON.stringify([data.v]) }`)
	class, _ := p.Class("A")
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if len(text) > 4096 || json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		c := &handler.Call{Data: map[string]any{"v": value}}
		got, err := class.Methods["m"](t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		raw, _ := got.(json.RawMessage)
		if !json.Valid(raw) {
			t.Fatalf("%s became %s", text, raw)
		}
		engine, err := class.Methods["engine"](t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		engineText, _ := engine.(string)
		if compact(t, raw) != compact(t, []byte(engineText)) {
			t.Errorf("%s became %s, the engine writes %s", text, raw, engineText)
		}
	})
}

// compact returns a JSON value in a canonical form.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(canonical)
}
