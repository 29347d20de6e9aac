package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		sound string // empty: the text up to the object's last brace
		state string // ended, broken, or the text that closes it; "?": it cannot be closed
	}{
		{`{}`, `{`, "ended"},
		{" {\"a\":1} \n", ` {"a":1`, "ended"},
		{`{"a":{"b":[1,-0.5e+3,true,false,null,"\u00fc\n"]}}`, `{"a":{"b":[1,-0.5e+3,true,false,null,"\u00fc\n"]}`, "ended"},
		{``, ``, "?"},
		{`  `, `  `, "?"},
		{`{`, `{`, "}"},
		{`{"a":[1,{"b":"x`, `{"a":[1,{"b":"x`, `"}]}`},
		{`{"a":1`, `{"a":1`, "}"},
		{`{"a":[`, `{"a":[`, "]}"},
		{`{"a`, `{"a`, "?"},
		{`{"a"`, `{"a"`, "?"},
		{`{"a":`, `{"a":`, "?"},
		{`{"a":-`, `{"a":-`, "?"},
		{`{"a":1.`, `{"a":1.`, "?"},
		{`{"a":1e`, `{"a":1e`, "?"},
		{`{"a":1e+`, `{"a":1e+`, "?"},
		{`{"a":tr`, `{"a":tr`, "?"},
		{`{"a":1,`, `{"a":1,`, "?"},
		{`{"a":[1,`, `{"a":[1,`, "?"},
		{`{"a":{"b":1,`, `{"a":{"b":1,`, "?"},
		{`{"a":"\`, `{"a":"\`, "?"},
		{`{"a":"\u00`, `{"a":"\u00`, "?"},
		{`{"a\`, `{"a\`, "?"},
		{`ls`, ``, "broken"},
		{`[1]`, ``, "broken"},
		{` "x"`, ` `, "broken"},
		{`{"a":1,}`, `{"a":1,`, "broken"},
		{`{"a":nope}`, `{"a":n`, "broken"},
		{`{"a":01}`, `{"a":0`, "broken"},
		{`{"a":1 2}`, `{"a":1 `, "broken"},
		{`{"a":1]`, `{"a":1`, "broken"},
		{`{"a":[1}`, `{"a":[1`, "broken"},
		{`{a:1}`, `{`, "broken"},
		{`{"a" 1}`, `{"a" `, "broken"},
		{"{\"a\":\"x\ny\"}", `{"a":"x`, "broken"},
		{`{"a":"\x"}`, `{"a":"\`, "broken"},
		{`{"a":"\u00zz"}`, `{"a":"\u00`, "broken"},
		{`{"a":-x}`, `{"a":-`, "broken"},
		{`{"a":- 1}`, `{"a":-`, "broken"},
		{`{"a":1}{"b":2}`, `{"a":1`, "broken"},
		{`{} x`, `{`, "broken"},
		{strings.Repeat(`{"a":`, jsontext.MaxDepth+1), strings.Repeat(`{"a":`, jsontext.MaxDepth), "broken"},
	} {
		for size := 1; size <= max(1, len(c.text)); size++ {
			var s Syntax
			offset, sound := 0, -1
			for rest := c.text; rest != ""; {
				piece := rest[:min(size, len(rest))]
				if n := s.Pass([]byte(piece)); sound < 0 && (s.Broken() || s.Ended()) {
					sound = offset + n
				}
				offset += len(piece)
				rest = rest[len(piece):]
			}
			if sound < 0 {
				sound = offset
			}
			closing, ok := s.Close(nil)
			state := string(closing)
			switch {
			case s.Broken():
				state = "broken"
			case s.Ended():
				state = "ended"
			case !ok:
				state = "?"
			}
			if c.text[:sound] != c.sound || state != c.state {
				t.Errorf("%q in pieces of %d: %q, %s", c.text, size, c.text[:sound], state)
			}
			checkExtended(t, &s, c.text[:sound])
		}
	}
}

// checkExtended checks that Extend completes the valid beginning of a text, so that one more member makes it an object.
func checkExtended(t *testing.T, s *Syntax, sound string) {
	t.Helper()
	text := string(s.Extend([]byte(sound))) + `"_raw":"x"}`
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || got["_raw"] != "x" {
		t.Errorf("%q becomes %q: %v", sound, text, err)
	}
}

// FuzzSyntax compares Syntax with IsObject, however the text is divided.
func FuzzSyntax(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,{"b":"\u00fc\n"}],"c":{}}`, `{"a":nope}`, `{"a":01}`, ` {} x`, `{"a":{"b":1,`} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		if len(text) > 4096 {
			return
		}
		var s Syntax
		sound, offset := -1, 0
		for rest := text; len(rest) > 0; {
			piece := rest[:min(int(size)+1, len(rest))]
			if n := s.Pass(piece); sound < 0 && (s.Broken() || s.Ended()) {
				sound = offset + n
			}
			offset += len(piece)
			rest = rest[len(piece):]
		}
		if s.Ended() != IsObject(text) {
			t.Fatalf("%q: ended %t", text, s.Ended())
		}
		if closing, ok := s.Close(nil); ok && !IsObject(fmt.Appendf(nil, "%s%s", text, closing)) {
			t.Fatalf("%q is closed by %q", text, closing)
		}
		if sound < 0 {
			sound = offset
		}
		if extended := append(s.Extend(append([]byte(nil), text[:sound]...)), `"_raw":""}`...); !IsObject(extended) {
			t.Fatalf("%q becomes %q", text[:sound], extended)
		}
	})
}
