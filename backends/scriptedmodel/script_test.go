package scriptedmodel

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

func TestParseScript(t *testing.T) {
	t.Parallel()
	s, bad := parseScript("text=a+b&words=2&delay=1m30s&tool=f:{}&tool=g&header=x-a:+1&header=X-A:2&fault=stall&fault=comments&flush=0",
		"text=ignored&tool=ignored&after=7&usage=finish")
	if bad != nil {
		t.Fatal(bad)
	}
	if s.text != "a b" || s.words != 2 || s.delay != 90*time.Second || s.flush || s.after != 7 || s.usage != usageFinish ||
		s.faults != faultStall|faultComments || s.bytes != 1<<20 || s.repeat != 1 {
		t.Errorf("%+v", s)
	}
	if len(s.tools) != 2 || s.tools[0] != (scriptedTool{"f", "{}"}) || s.tools[1] != (scriptedTool{"g", "{}"}) {
		t.Errorf("tools %+v", s.tools)
	}
	if v := s.headers.Values("X-A"); len(v) != 2 || v[0] != "1" || v[1] != "2" {
		t.Errorf("headers %v", s.headers)
	}
}

func TestParseScriptRefuses(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"nope=1":                     `unknown key "nope"`,
		"Text=x":                     `unknown key "Text"`,
		"text=%zz":                   "not a URL query",
		"text=a;b":                   "not a URL query",
		"text=a&text=b":              "at most 1",
		"words=0":                    "number from 1",
		"words=x":                    "number from 1",
		"words=1&chunks=1":           "only one of words",
		"chunks=100001":              "number from 1",
		"chunk_bytes=-1":             "number from 1",
		"repeat=1000001":             "number from 1",
		"delay=10":                   "not a duration",
		"delay=-1s":                  "not a duration",
		"first_delay=11m":            "not a duration",
		"status=200":                 "number from 300",
		"status=600":                 "number from 300",
		"bytes=67108865":             "number from 1",
		"fault=explode":              "unknown value",
		"usage=on":                   "unknown value",
		"echo=":                      "unknown value",
		"echo=all":                   "unknown value",
		"echo=body&text=x":           "only one of text and echo",
		"flush=2":                    "unknown value",
		"finish=":                    "1 to 64 bytes",
		"tool=":                      "tool name",
		"tool=a+b:{}":                "tool name",
		"header=X":                   "Name:Value",
		"header=X+Y:1":               "Name:Value",
		"header=X:a%0d%0aSet:b":      "Name:Value",
		"header=content-length:1":    "cannot be set",
		"header=Transfer-Encoding:x": "cannot be set",
		"retry_after=1%0a":           "printable",
		"fail_times=1":               "but no fail_key",
		"text=" + strings.Repeat("x", 9<<20) + "&repeat=2": "longer than 16777216 bytes",
	} {
		_, bad := parseScript(query, "")
		if bad == nil || bad.Code != "invalid_script" || !strings.Contains(bad.Message, want) {
			t.Errorf("%.60s: %v, want %q", query, bad, want)
		}
	}
}

func TestCutScript(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, query, rest string }{
		{"", "", ""},
		{"hello", "", "hello"},
		{"scripted?text=a", "text=a", ""},
		{"  scripted?text=a \r\nb", "text=a", "b"},
		{"a\nscripted?x=1\nb\nscripted?y=2", "x=1", "a\nb\nscripted?y=2"},
		{"say scripted?text=a", "", "say scripted?text=a"},
		{"a\nscripted?", "", "a\n"},
		{"scripted-reasoner?x=1", "", "scripted-reasoner?x=1"},
	}
	for _, test := range tests {
		if query, rest := cutScript(test.text); query != test.query || rest != test.rest {
			t.Errorf("%q: %q and %q, want %q and %q", test.text, query, rest, test.query, test.rest)
		}
	}
}

// TestKeysAreDocumented checks that the package comment documents exactly the existing keys and faults.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	section := func(start, end string) map[string]bool {
		_, rest, ok := strings.Cut(string(doc), start)
		text, _, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("no section from %q to %q", start, end)
		}
		names := make(map[string]bool)
		for _, m := range regexp.MustCompile(`(?m)^//\t([a-z_]+) `).FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
		return names
	}
	documented := section("//\tKey ", "# Faults")
	for name := range keys {
		if !documented[name] {
			t.Errorf("key %s is not documented", name)
		}
		delete(documented, name)
	}
	faults := section("//\tFault ", "# Usage")
	for name := range faultNames {
		if !faults[name] {
			t.Errorf("fault %s is not documented", name)
		}
		delete(faults, name)
	}
	if len(documented)+len(faults) > 0 {
		t.Errorf("documented but not there: %v %v", documented, faults)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		got  []string
		want string // pieces with | between
	}{
		{"words", splitWords(" a bb\n\nc  ", 1), " a |bb\n\n|c  "},
		{"two words", splitWords("a b c", 2), "a b |c"},
		{"no words", splitWords("  ", 1), "  "},
		{"nothing", splitWords("", 1), ""},
		{"bytes", splitBytes("abcde", 2), "ab|cd|e"},
		{"characters", splitBytes("aéé", 2), "a|é|é"},
		{"long characters", splitBytes("😀😀", 1), "😀|😀"},
		{"no text", splitBytes("\x80\x80\x80\x80\x80", 4), "\x80\x80\x80\x80|\x80"},
		{"n", splitN("abcdefg", 3), "ab|cd|efg"},
		{"more than there are", splitN("éa", 5), "é|a"},
		{"n of nothing", splitN("", 5), ""},
		{"one", splitN("abc", 1), "abc"},
	}
	for _, test := range tests {
		if got := strings.Join(test.got, "|"); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	long := strings.Repeat("é ", 3*maxChunks)
	for name, pieces := range map[string][]string{"words": splitWords(long, 1), "bytes": splitBytes(long, 1), "n": splitN(long, maxChunks)} {
		if len(pieces) > maxChunks || strings.Join(pieces, "") != long {
			t.Errorf("%s: %d pieces", name, len(pieces))
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a bé 😀\x80\n", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = min(max(n, 1), maxChunks)
		for name, pieces := range map[string][]string{"words": splitWords(s, n), "bytes": splitBytes(s, n), "n": splitN(s, n)} {
			if strings.Join(pieces, "") != s {
				t.Errorf("%s: %q is not %q", name, pieces, s)
			}
			for _, p := range pieces {
				if p == "" || utf8.ValidString(s) && !utf8.ValidString(p) {
					t.Errorf("%s: bad piece %q", name, p)
				}
			}
			if name == "n" && len(pieces) > n {
				t.Errorf("%d pieces, want %d", len(pieces), n)
			}
		}
	})
}

// FuzzScript parses anything, and where it parses makes the answer and wants JSON.
func FuzzScript(f *testing.F) {
	f.Add("text=a&words=2", "tool=f:{}&reasoning=x")
	f.Add("fault=stall&fault=comments&after=1&bytes=5", "status=404&header=A:b")
	f.Add("fail_times=1&fail_key=k&echo=headers&chunk_bytes=1", "usage=last&repeat=3")
	f.Fuzz(func(t *testing.T, name, line string) {
		s, bad := parseScript(name, line)
		if bad != nil {
			if bad.Status != 400 || bad.Code != "invalid_script" {
				t.Errorf("%+v", bad)
			}
			return
		}
		c := call{srv: New(Options{}), r: httptest.NewRequest("POST", "/", nil), req: &request{body: "{}"}, model: "m", scr: s}
		a, _, err := newAnswer(s, "m", "hi", &c)
		if err != nil {
			return
		}
		c.ans = a
		if whole, _ := c.appendWhole(nil); !json.Valid(whole) {
			t.Errorf("not JSON: %s", whole)
		}
		a.split(s)
		var text strings.Builder
		for _, d := range a.deltas {
			if d.kind == deltaText {
				text.WriteString(d.text)
			}
		}
		if text.String() != a.text {
			t.Errorf("the chunks make %q, want %q", text.String(), a.text)
		}
	})
}

// FuzzRequest feeds request bodies: the answer is an error body or an answer,
// always JSON.
func FuzzRequest(f *testing.F) {
	f.Add(chatBody("scripted", "hi\nscripted?text=a", ""))
	f.Add(`{"model":"m?finish=x","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"stream":false}`)
	f.Add(`{"model":"m","messages":[{"content":1},[],null]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, word := range []string{"delay", "fault", "body", "%", `\u`} { // what waits, panics or is no JSON
			if strings.Contains(body, word) {
				return
			}
		}
		q, err := parseRequest(body)
		if err == nil && q.stream {
			return
		}
		if got := dumpOf(New(Options{}), body); !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
	})
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "\"\\\n\r\t\b\f\x00\x1f\x7f", "é😀\u2028", "a\xffb\xc3", "<&>"} {
		var got string
		b := jsontext.AppendQuoted(nil, s)
		if err := json.Unmarshal(b, &got); err != nil || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("%q became %s, %v", s, b, err)
		}
	}
}
