package responses

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// decodeAll decodes arguments that arrive in pieces.
func decodeAll(t *testing.T, pieces ...string) string {
	t.Helper()
	var d inputDecoder
	var out []byte
	for _, piece := range pieces {
		start := len(out)
		out = d.decode(out, jsontext.AppendEscaped(nil, piece))
		inside(t, string(out[start:])) // each delta is valid by itself
	}
	return inside(t, string(d.finish(out)))
}

// inside decodes the characters between the quotes of a JSON string.
func inside(t *testing.T, raw string) (text string) {
	t.Helper()
	if err := json.Unmarshal([]byte(`"`+raw+`"`), &text); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return text
}

func TestInputDecoder(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"input":"x"}`:                   "x",
		`{"input":""}`:                    "",
		" {\n\"input\" : \t\"x\" } ":      "x",
		`{"input":"a\n\"b\\\/\t\u00e9é"}`: "a\n\"b\\/\té\u00e9",
		`{"input":"\ud83d\ude00"}`:        "\U0001f600",
		`{"input":"\ud83dx"}`:             "\ufffdx",
		`{"input":"\ud83d\u0041"}`:        "\ufffdA",
		`{"input":"\ud83d\n"}`:            "\ufffd\n",
		`{"input":"\ud83d\u12"}`:          "\ufffd\\u12",
		`{"input":"\ude00"}`:              "\ufffd",
		`{"input":"\d \é \u12x \u"}`:      `\d \é \u12x \u`,
		"{\"input\":\"a\nb\x01\"}":        "a\nb\x01",
		`{"input":"x","more":1}`:          "x",
		`{"more":1,"input":"x\n"}`:        "x\n",
		`{"more":1,"input":{"a":1}}`:      `{"a":1}`,
		`{"more":1,"input":null}`:         `{"more":1,"input":null}`,
		`{"patch":"x"}`:                   `{"patch":"x"}`,
		`{"input":5}`:                     "5",
		`{}`:                              "",
		` { } `:                           "",
		`*** Begin Patch`:                 "*** Begin Patch",
		`{"input":"cut`:                   "cut",
		`{"input":"cut\`:                  "cut",
		`{"input":"cut\u00`:               "cut",
		`{"inp`:                           `{"inp`,
		`[1]`:                             "[1]",
		`"x"`:                             `"x"`,
		`{` + strings.Repeat(" ", 300) + `"input":"x"}`: "x",
	} {
		if got := decodeAll(t, arguments); got != want {
			t.Errorf("%s gives %q, want %q", arguments, got, want)
		}
		for i := range arguments {
			if !utf8.RuneStart(arguments[i]) {
				continue
			}
			if got := decodeAll(t, arguments[:i], arguments[i:]); got != want {
				t.Errorf("%s | %s gives %q, want %q", arguments[:i], arguments[i:], got, want)
			}
		}
		if got := decodeAll(t, strings.Split(arguments, "")...); got != want {
			t.Errorf("%s by characters gives %q, want %q", arguments, got, want)
		}
	}
}

func FuzzInputDecoder(f *testing.F) {
	f.Add(`{"input":"a\n\ud83d\ude00"}`, uint(3))
	f.Add(`{"input":"\q\u12"}`, uint(12))
	f.Fuzz(func(t *testing.T, arguments string, offset uint) {
		arguments = strings.ToValidUTF8(arguments, "?")
		cut := 0
		if len(arguments) > 0 {
			cut = int(offset % uint(len(arguments)))
		}
		for !utf8.RuneStart((arguments + "x")[cut]) {
			cut--
		}
		whole, pieces := decodeAll(t, arguments), decodeAll(t, arguments[:cut], arguments[cut:])
		if whole != pieces {
			t.Fatalf("whole %q, in pieces %q", whole, pieces)
		}
		var want struct {
			Input *string `json:"input"`
		}
		d := json.NewDecoder(strings.NewReader(arguments))
		if strings.HasPrefix(arguments, `{"input":"`) && strings.Count(strings.ToLower(arguments), "input") == 1 && d.Decode(&want) == nil && want.Input != nil && *want.Input != whole {
			t.Fatalf("got %q, want %q", whole, *want.Input)
		}
	})
}
