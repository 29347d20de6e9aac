package jsontext

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// jsonCases are texts at the edges of RFC 8259. The test compares the verdicts with those of encoding/json.
var jsonCases = []string{
	// values
	`null`, `true`, `false`, `0`, `-0`, `1`, `""`, `[]`, `{}`, ` null`, "\n\t\r null \n\t\r", `nul`, `nulll`, `tru`, `truE`, `True`, `fals`, `falsey`, `n`, `t`, `f`,
	"", " ", "\x00", "null\x00", "\ufeffnull", "null\v", "null\f", "\u00a0null", "\u2028null", `NaN`, `Infinity`, `-Infinity`, `undefined`, `'a'`, `a`,
	// numbers
	`-`, `--1`, `+1`, `01`, `-01`, `00`, `1.`, `.1`, `-.1`, `1.0`, `1.0e`, `1e`, `1e+`, `1e-`, `1e5`, `1E5`, `1e+5`, `1e-5`, `1e05`, `0e1`, `0.0e-0`, `1e5.5`, `1.2.3`, `1-1`,
	`0x1`, `1_000`, `1 000`, `１`, `1e99999`, `-1e-99999`, `123456789012345678901234567890`, `- 1`, `1,`, `1]`, `1}`, `[1`, `[-]`, `[1.]`, `[0e]`, `0.`, `-a`,
	// strings
	`"`, `"a`, `"a"b`, `"a" "b"`, `"\"`, `"\\"`, `"\\\"`, `"\""`, `"\/\b\f\n\r\t"`, `"\a"`, `"\v"`, `"\'"`, `"\x41"`, `"\u0041"`, `"\u004"`, `"\u"`, `"\u00g0"`, `"\U0041"`,
	`"\u00AF\u00af"`, `"\ud800"`, `"\udc00"`, `"\ud83d\ude00"`, `"\ud800x"`, `"\`, `"\u`, `"\u0`, `"\u00`, `"\u000`, `"\u0000`, `"\u0000"`, "\"\x00\"", "\"\x1f\"", "\"\x20\"", "\"\x7f\"",
	"\"\n\"", "\"\t\"", "\"\r\"", "\"\xff\"", "\"\xc3\x28\"", "\"\xed\xa0\x80\"", "\"é€😀\"", "\"\u2028\u2029\"", `"1234567"`, `"12345678"`, `"123456789"`,
	"\"1234567\x01\"", "\"12345678\x01\"", "\"123456789012345\x01\"", `"1234567\"`, `"1234567\""`, `"123456\u00e9"`, `"1234567890123\`, `"1234567890123456`,
	"\"\x80\x80\x80\x80\x80\x80\x80\x80\"", "\"\x81!\x81!\x81!\x81!\"", "\"\x01\x80\x80\x80\x80\x80\x80\x80\"", "\"        \x1f\"",
	// arrays
	`[`, `]`, `[[]`, `[]]`, `[,]`, `[1,]`, `[,1]`, `[1,,2]`, `[1 2]`, `[1,2]`, `[ 1 , 2 ]`, `[1;2]`, `[1:2]`, `[1}`, `["a",null,true,[],{}]`, "[\n]", `[1,2]]`, `[nul]`, `[1,tru]`, `[[[[]]]]`, `[[[[]]]`,
	// objects
	`{`, `}`, `{{}}`, `{}}`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1}`, `{"a":1,}`, `{,"a":1}`, `{"a":1,,"b":2}`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a"::1}`, `{a:1}`, `{'a':1}`, `{1:1}`, `{null:1}`,
	`{"a":1}x`, `{"a":1}{}`, `{"a":1}, `, `{"a":1,"a":2}`, `{"":0}`, `{"a":{"b":[{"c":null}]}}`, "{ \"a\" : 1 , \"b\" : 2 }", `{"a":1;"b":2}`, `{"a\u0062":1}`, `{"a\x":1}`, `{"a":1]`, `{"a":[}`, `{"a`, `{"a":"`, `{"a":t`,
	`{"a":/* c */1}`, `// c`, `{"a":1} // c`, `#`, "{\"a\x00\":1}",
}

func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range jsonCases {
		// Each text alone, and at the end of a longer text, where fewer than eight bytes are left to read at a time.
		for _, text := range []string{text, `[` + text + `]`, `{"k":` + text + `}`, `[0,` + text + `,0]`, strings.Repeat(" ", 7) + text} {
			s := NewScanner([]byte(text))
			err := s.Skip()
			if err == nil {
				err = s.End()
			}
			if want := json.Valid([]byte(text)); want != (err == nil) {
				t.Errorf("%q: json.Valid is %v, the scanner says %v", text, want, err)
			}
			if _, ok := errors.AsType[*SyntaxError](err); err != nil && !ok {
				t.Errorf("%q: error %v is not a SyntaxError", text, err)
			}
		}
	}
}

// TestScannerWalkAgreesWithSkip checks that walking with callbacks accepts and refuses the same texts as skipping.
func TestScannerWalkAgreesWithSkip(t *testing.T) {
	t.Parallel()
	for _, text := range jsonCases {
		skip := NewScanner([]byte(text))
		walk := NewScanner([]byte(text))
		errSkip, errWalk := skip.Skip(), walkValue(&walk)
		if (errSkip == nil) != (errWalk == nil) || (errSkip == nil && skip.Offset() != walk.Offset()) {
			t.Errorf("%q: skip ends at %d with %v, walk at %d with %v", text, skip.Offset(), errSkip, walk.Offset(), errWalk)
		}
	}
}

func walkValue(s *Scanner) error {
	switch s.Kind() {
	case Object:
		return s.Object(func([]byte) error { return walkValue(s) })
	case Array:
		return s.Array(func(int) error { return walkValue(s) })
	case String:
		_, err := s.Unquoted()
		return err
	case Number:
		_, _, err := s.Int()
		return err
	default:
		return s.Skip()
	}
}

func TestScannerDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ open, shut string }{{`[`, `]`}, {`{"a":`, `}`}, {`[{"a":`, `}]`}} {
		levels := strings.Count(c.open, "[") + strings.Count(c.open, "{")
		for _, n := range []int{MaxDepth - levels, MaxDepth, MaxDepth + levels, 1_000_000} {
			text := strings.Repeat(c.open, n/levels) + `0` + strings.Repeat(c.shut, n/levels)
			s := NewScanner([]byte(text))
			if err := s.Skip(); (err == nil) != (n <= MaxDepth) {
				t.Errorf("%s nested %d levels: %v", c.open, n, err)
			}
		}
	}
	// Only values that are still open count for the depth.
	s := NewScanner([]byte(`[` + strings.Repeat(`[],`, 1000) + `{}]`))
	if err := s.Skip(); err != nil {
		t.Errorf("many siblings: %v", err)
	}
}

func TestScannerOffsets(t *testing.T) {
	t.Parallel()
	text := ` { "a" : 1 , "b\u0062" : [ "x" , { } ] , "c":null } `
	s := NewScanner([]byte(text))
	got := map[string]string{}
	var elements []string
	err := s.Object(func(key []byte) error {
		kind := s.Kind()
		start := s.Offset()
		name := string(key)
		if kind == Array {
			err := s.Array(func(i int) error {
				s.Kind()
				start := s.Offset()
				err := s.Skip()
				elements = append(elements, text[start:s.Offset()])
				if i != len(elements)-1 {
					t.Errorf("element %d has index %d", len(elements)-1, i)
				}
				return err
			})
			got[name] = text[start:s.Offset()]
			return err
		}
		err := s.Skip()
		got[name] = text[start:s.Offset()]
		return err
	})
	if err != nil || s.End() != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1", "bb": `[ "x" , { } ]`, "c": "null"} {
		if got[name] != want {
			t.Errorf("member %s is %q, want %q", name, got[name], want)
		}
	}
	if strings.Join(elements, "|") != `"x"|{ }` {
		t.Errorf("elements %q", elements)
	}
}

func TestScannerErrorOffset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"a":1,}`: 7, `[1 2]`: 3, `tru`: 0, `"ab`: 3, `{"a" 1}`: 5, `[01]`: 2, `-x`: 1, "\"a\x01\"": 2, `"\x"`: 1, ``: 0, `[`: 1, `1 1`: 2,
	} {
		s := NewScanner([]byte(text))
		err := s.Skip()
		if err == nil {
			err = s.End()
		}
		var se *SyntaxError
		if !errors.As(err, &se) || se.Offset != want {
			t.Errorf("%q: error %v, want one at byte %d", text, err, want)
		}
	}
}

func TestScannerKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Kind{
		``: Invalid, ` `: Invalid, `x`: Invalid, `]`: Invalid, `+1`: Invalid, "\n\t\r 1": Number, `-`: Number, `"`: String, `[`: Array, `{`: Object, `n`: Null, `t`: Bool, `f`: Bool,
	} {
		s := NewScanner([]byte(text))
		if got := s.Kind(); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestScannerInt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int64
		ok   bool
		bad  bool
	}{
		{text: `0`, ok: true},
		{text: `-0`, ok: true},
		{text: ` 42 `, n: 42, ok: true},
		{text: `-17`, n: -17, ok: true},
		{text: `999999999999999999`, n: 999999999999999999, ok: true},
		{text: `-999999999999999999`, n: -999999999999999999, ok: true},
		{text: `9999999999999999999`},
		{text: `1.0`},
		{text: `1e3`},
		{text: `0.5`},
		{text: `-`, bad: true},
		{text: `"1"`, bad: true},
		{text: `null`, bad: true},
		{text: `1.`, bad: true},
		{text: ``, bad: true},
	} {
		s := NewScanner([]byte(c.text))
		n, ok, err := s.Int()
		if n != c.n || ok != c.ok || (err != nil) != c.bad {
			t.Errorf("%q: %d, %v, %v", c.text, n, ok, err)
		}
	}
}

func TestScannerUnquoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`""`: "", ` "abc"`: "abc", `"a\"\\\/\b\f\n\r\tz"`: "a\"\\/\b\f\n\r\tz", `"\u0041\u00e9"`: "Aé", `"\ud83d\ude00"`: "😀", `"\ud800"`: "\ufffd", `"é"`: "é", `"a\u0000b"`: "a\x00b",
	} {
		s := NewScanner([]byte(text))
		if got, err := s.Unquoted(); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{``, `1`, `"a`, `null`, `"\q"`} {
		s := NewScanner([]byte(text))
		if got, err := s.Unquoted(); err == nil {
			t.Errorf("%s: %q and no error", text, got)
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain", `quote " and \ slash`, "line\nend\r\t\x00\x1f", "é€😀", "\u2028\u2029", "<script>&", "\x7f", "bad \xff utf8", strings.Repeat("x", 1000) + "\n",
	} {
		got := AppendQuoted([]byte("before:"), text)
		rest, ok := strings.CutPrefix(string(got), "before:")
		var decoded string
		if err := json.Unmarshal([]byte(rest), &decoded); !ok || err != nil || decoded != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("%q: wrote %q, which reads %q, %v", text, got, decoded, err)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range jsonCases {
		f.Add([]byte(text))
	}
	f.Add([]byte(strings.Repeat("[", 200) + strings.Repeat("]", 200)))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := NewScanner(text)
		err := s.Skip()
		if err == nil {
			err = s.End()
		}
		valid := json.Valid(text)
		if err == nil && !valid {
			t.Fatalf("accepted what is not JSON: %q", text)
		}
		var se *SyntaxError
		if err != nil && valid && (!errors.As(err, &se) || !strings.HasPrefix(se.Reason, "nested deeper")) {
			t.Fatalf("refused JSON: %q: %v", text, err)
		}
		if s.Offset() > len(text) || (err == nil && s.Offset() != len(text)) {
			t.Fatalf("ended at %d of %d", s.Offset(), len(text))
		}
		walk := NewScanner(text)
		if errWalk := walkValue(&walk); errWalk == nil && walk.End() == nil && err != nil {
			t.Fatalf("walking accepted what skipping refused: %q: %v", text, err)
		}
	})
}

func FuzzAppendQuoted(f *testing.F) {
	f.Add("a\"b\\c\n\xff\u2028<>&")
	f.Fuzz(func(t *testing.T, text string) {
		var decoded string
		if err := json.Unmarshal(AppendQuoted(nil, text), &decoded); err != nil || decoded != strings.ToValidUTF8(text, "\ufffd") && decoded != validRunes(text) {
			t.Fatalf("%q reads %q, %v", text, decoded, err)
		}
	})
}

// validRunes replaces each invalid byte, whereas ToValidUTF8 replaces each run of invalid bytes.
func validRunes(text string) string { return string([]rune(text)) }

// TestScannerLongText checks that any byte at any place of a long text is judged as encoding/json judges it, and that
// texts are correctly reported to be ASCII.
func TestScannerLongText(t *testing.T) {
	t.Parallel()
	for _, size := range []int{31, 32, 33, 40, 64, 71} {
		for pos := range size {
			for c := range 256 {
				text := []byte(`"` + strings.Repeat("~", size) + `"`)
				text[1+pos] = byte(c)
				s := NewScanner(text)
				err := s.Skip()
				if err == nil {
					err = s.End()
				}
				if want := json.Valid(text); (err == nil) != want || err == nil && s.ASCII() != (c < 0x80) {
					t.Fatalf("%q: json.Valid is %v, the scanner says %v, ASCII %v", text, want, err, s.ASCII())
				}
			}
		}
	}
}

func BenchmarkLongText(b *testing.B) {
	text := []byte(`"` + strings.Repeat("A gateway stands between those who ask and those who answer. ", 3300) + `"`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewScanner(text)
		if err := s.Skip(); err != nil {
			b.Fatal(err)
		}
	}
}
