package xaa

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestActors checks that of a chain of actors only the members that identify them are kept, and that there are at most
// ten.
func TestActors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"sub":"a","exp":1,"aud":"x","act":{"sub":"b","iss":"https://i","client_id":"c","actor_type":"agent","jti":"j"}}`: `{"act":{"actor_type":"agent","client_id":"c","iss":"https://i","sub":"b"},"sub":"a"}`,
		`{}`:                `{}`,
		`{"sub":"<&>"}`:     `{"sub":"<&>"}`,
		`{"sub":1}`:         "",
		`{"act":"x"}`:       "",
		`[]`:                "",
		`"x"`:               "",
		`{"act":null}`:      `{}`,
		`{"sub":"a\u0000"}`: "",
		strings.Repeat(`{"act":`, 10) + "{}" + strings.Repeat("}", 10): "",
		strings.Repeat(`{"act":`, 9) + "{}" + strings.Repeat("}", 9):   strings.Repeat(`{"act":`, 9) + "{}" + strings.Repeat("}", 9),
	} {
		var claim any
		if err := json.Unmarshal([]byte(text), &claim); err != nil {
			t.Fatal(err)
		}
		if got, ok := reduceActors(claim, 0); string(got) != want && ok || ok != (want != "") {
			t.Errorf("%s: %s, %v", text, got, ok)
		}
	}
	if got, ok := reduceActors(nil, 0); got != nil || !ok {
		t.Errorf("%s, %v", got, ok)
	}
}

// FuzzActors checks that the actors of an assertion are valid JSON and not nested deeply.
func FuzzActors(f *testing.F) {
	f.Add(`{"sub":"a","act":{"sub":"b"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var claim any
		if json.Unmarshal([]byte(text), &claim) != nil {
			return
		}
		got, ok := reduceActors(claim, 0)
		if !ok || got == nil {
			return
		}
		var reduced any
		if err := json.Unmarshal(got, &reduced); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if once, ok := reduceActors(reduced, 0); !ok || string(once) != string(got) {
			t.Fatalf("%s becomes %s", got, once)
		}
	})
}
