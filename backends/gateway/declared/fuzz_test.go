package declared

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzRead checks that any text is read without a panic, and that a file which Read accepts can be written and read
// again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		whole, keys, exported, "prices: {openai/*: {discount: 15}, a/b: {input: 1, output: 2, long: {above: 5, input: 1, output: 2}}}",
		"organisation: &x {provider_keys: [*x]}", "prices: {a/*: [1, {b: 2}]}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read(text)
		if err != nil {
			return
		}
		written, err := yaml.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(written); err != nil {
			t.Errorf("%q is written as %q: %v", text, written, err)
		}
	})
}
