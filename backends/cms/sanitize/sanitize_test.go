package sanitize

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type list1 = []any

// cases are spec, value and what is made of it, for each sanitizer.
var cases = []struct {
	spec  string
	value any
	want  any
}{
	{"string", " <b>a\r\nb ", " <b>a\r\nb "},
	{"string", nil, ""},
	{"string", true, "true"},
	{"string", 1.5, "1.5"},
	{"string", 1e21, "1e+21"},
	{"string", list1{1.0, "<"}, `[1,"<"]`},
	{"string", map[string]any{"a": nil}, `{"a":null}`},
	{"string3", "äöüß", "äöü"},
	{"string", "a\xffb", "a\uFFFDb"},
	{"text", "  Hello <b>World</b>\r\nagain\x00 ", "Hello World again"},
	{"text", strings.Repeat("ä", 300), strings.Repeat("ä", 255)},
	{"text5", "abcd efg", "abcd"},
	{"text", 12.0, "12"},
	{"text", "1 < 2", "1 < 2"},
	{"text", "<img src=x onerror=alert(1)", ""},
	{"text", "a\u2028b\u0085c", "a b c"},
	{"textarea", " a\r\nb\rc <i>d</i>\n", "a\nb\nc d"},
	{"textarea", strings.Repeat("x", 20_000), strings.Repeat("x", 16_384)},
	{"line", strings.Repeat("x", 300) + "\ny", strings.Repeat("x", 300) + " y"},
	{"lines", strings.Repeat("x\n", 10_000) + "y", strings.Repeat("x\n", 10_000) + "y"},
	{"name", " Héllo wörld.txt ", "H_llo_w_rld.txt"},
	{"name", strings.Repeat("a", 200), strings.Repeat("a", 128)},
	{"fieldName", "my-field.name", "my_field_name"},
	{"varName", "a b$c", "a_b_c"},
	{"templateName", "Blog Post.2", "Blog-Post-2"},
	{"pageName", "Hello, World!", "hello--world"},
	{"pageName", "a  b--c..d", "a--b--c..d"},
	{"pageName", "..-a_b.c-.", "a_b.c"},
	{"pageName", "日本", ""},
	{"pageName4", "abc-def", "abc"},
	{"username", " Ann@Home ", "ann-home"},
	{"username", "ann@@home", "ann--home"},
	{"pageNameTranslate", "Größe der Łódź", "grosse-der-lodz"},
	{"pageNameTranslate", "Привет, мир", "privet--mir"},
	{"pagePathName", "/About Us//Team!/", "/about-us/team/"},
	{"pagePathName", "a/../b", "a/b"},
	{"pagePathName", "Ä", ""},
	{"pagePathName", "//", "/"},
	{"path", "/about/team", "/about/team"},
	{"path", "/About", false},
	{"path", "a//b", false},
	{"path", false, false},
	{"path", "../a", false},
	{"filename", `C:\dir\My Photo.JPG`, "My_Photo.JPG"},
	{"filename", "../../etc/passwd", "passwd"},
	{"filename", ".htaccess", "htaccess"},
	{"filename", "..", ""},
	{"filename10", "photograph.png", "photog.png"},
	{"filename", "a/", ""},
	{"alpha", "a1-B 2ä", "aB"},
	{"alphanumeric", "a1-B 2ä", "a1B2"},
	{"digits", "+49 (0)30-1", "490301"},
	{"digits3", "12345", "123"},
	{"digits", 42.0, "42"},
	{"chars", "a b-1", "ab1"},
	{"chars3", "abcdef", "abc"},
	{"word", "  Hello, world", "Hello"},
	{"word", "<b>don't</b> go", "don't"},
	{"word", "--- x", "x"},
	{"word", "two-half", "two"},
	{"word", "snake_case", "snake"},
	{"word", strings.Repeat("a", 100), strings.Repeat("a", 80)},
	{"word3", "abcdef", "abc"},
	{"words", "One,  two -\n<i>three</i>!", "One two three"},
	{"words2", "a b c", "a b"},
	{"wordsArray", "One, two-half", list1{"One", "two", "half"}},
	{"wordsArray", list1{"a b", 3.0}, list1{"a", "b", "3"}},
	{"wordsArray", nil, list1{}},
	{"email", " Ann@Example.COM ", "ann@example.com"},
	{"email", "Ann <ann@example.com>", ""},
	{"email", "no", ""},
	{"email", "a@-b.com", ""},
	{"email", "a@b-.com", ""},
	{"email", "a@b..com", ""},
	{"email", "a@b_c.com", ""},
	{"email", "a@" + strings.Repeat("b", 64) + ".com", ""},
	{"email", "a@" + strings.Repeat("b", 63) + ".com", "a@" + strings.Repeat("b", 63) + ".com"},
	{"email", "a@bücher.example", "a@bücher.example"},
	{"email", strings.Repeat("a", 65) + "@example.com", ""},
	{"email", strings.Repeat("a", 64) + "@example.com", strings.Repeat("a", 64) + "@example.com"},
	{"email", strings.Repeat("ä", 33) + "@example.com", ""},
	{"email", list1{}, ""},
	{"emailHeader", "Subject\r\nBcc: x@example.com\x00", "Subject Bcc: x@example.com"},
	{"url", "https://example.com/a b?c=d#e", "https://example.com/a%20b?c=d#e"},
	{"url", "/a/b", "/a/b"},
	{"url", "?a=b", "?a=b"},
	{"url", "javascript:alert(1)", ""},
	{"url", "java\tscript:alert(1)", ""},
	{"url", "//example.com", ""},
	{"url", `/\example.com`, ""},
	{"url", "http://", ""},
	{"url", "ftp://example.com", ""},
	{"url", "HTTP://example.com", "http://example.com"},
	{"url", "data:text/html,x", ""},
	{"url", "", ""},
	{"url", "http://example.com/" + strings.Repeat("a", 1024), ""},
	{"httpUrl", "example.com/a", "http://example.com/a"},
	{"httpUrl", "https://example.com", "https://example.com"},
	{"httpUrl", "example.com:8080", "http://example.com:8080"},
	{"httpUrl", "/a", ""},
	{"httpUrl", "javascript:alert(1)", ""},
	{"httpUrl", "mailto:a@example.com", ""},
	{"httpUrl", "//example.com", "http://example.com"},
	{"httpUrl", "", ""},
	{"selectorValue", "hello world", "hello world"},
	{"selectorValue", `a, b="c"`, `"a, b=c"`},
	{"selectorValue", "it's", `"it's"`},
	{"selectorValue", "a|b", `"a|b"`},
	{"selectorValue", `"a,b"`, `"a,b"`},
	{"selectorValue", strings.Repeat("x", 101), strings.Repeat("x", 100)},
	{"selectorValue", "a\nb", "a b"},
	{"selectorValue", `x\",id>0`, `"x,id>0"`},
	{"selectorField", "title|body, x", "title|body__x"},
	{"selectorField", "||a-b|", "a_b"},
	{"entities", `<a href="x">'&`, "&lt;a href=&#34;x&#34;&gt;&#39;&amp;"},
	{"unentities", "&lt;b&gt; &eacute;", "<b> é"},
	{"entitiesMarkdown", "**a** *b* `c*d*` ~~e~~ <i>", "<strong>a</strong> <em>b</em> <code>c*d*</code> <del>e</del> &lt;i&gt;"},
	{"entitiesMarkdown", "[a&b](https://example.com/?x=1&y=2)", `<a href="https://example.com/?x=1&amp;y=2">a&amp;b</a>`},
	{"entitiesMarkdown", "[a](javascript:alert(1))", "[a](javascript:alert(1))"},
	{"entitiesMarkdown", "2 * 3 * 4", "2 * 3 * 4"},
	{"purify", `<p onclick="x">a<script>b</script></p>`, "<p>a</p>"},
	{"markupToText", "<p>a &amp; b</p><p>c</p>", "a & b\n\nc"},
	{"markupToLine", "<p>a</p><ul><li>b</ul>", "a - b"},
	{"markupToLine3", "<p>abcd", "abc"},
	{"removeNewlines", "a\r\nb\nc", "a b c"},
	{"removeWhitespace", " a\tb\u00a0c\u200b", "abc"},
	{"reduceWhitespace", "a  \n b", "a b"},
	{"normalizeWhitespace", "a\u00a0\tb\r\nc", "a  b\nc"},
	{"trim", " \u200b a b\n", "a b"},
	{"truncate", strings.Repeat("word ", 70), strings.TrimSpace(strings.Repeat("word ", 60)) + "…"},
	{"truncate5", "abcdefg", "abcd…"},
	{"truncate5", "abcde", "abcde"},
	{"truncate10", "hello wide world", "hello…"},
	{"truncate10", "a bbbbbbbbbbbbbb", "a…"},
	{"truncate10", "hello, wide world", "hello…"},
	{"truncate", "<p>one</p>\n<b>two</b>  three", "one … two three"},
	{"maxLength", strings.Repeat("ä", 200), strings.Repeat("ä", 128)},
	{"maxLength2", "abc", "ab"},
	{"minLength", "", ""},
	{"minLength3", "ab", ""},
	{"minLength3", "abc", "abc"},
	{"maxBytes", strings.Repeat("ä", 100), strings.Repeat("ä", 64)},
	{"maxBytes3", "ää", "ä"},
	{"camelCase", "Hello big_world", "helloBigWorld"},
	{"camelCase", "fooBar", "fooBar"},
	{"camelCase", "foo-bar-baz", "fooBarBaz"},
	{"camelCase", "XML HTTPRequest", "xMLHTTPRequest"},
	{"camelCase", "2 big 4 me", "big4Me"},
	{"camelCase", "déjà vu", "dJVu"},
	{"camelCase", "", ""},
	{"pascalCase", "foo-barBaz", "FooBarBaz"},
	{"pascalCase", "hello big-world", "HelloBigWorld"},
	{"snakeCase", "Hello BigWorld", "hello_big_world"},
	{"kebabCase", "HelloBigWorld x", "hello-big-world-x"},
	{"hyphenCase", "Über Größe", "uber-grosse"},
	{"int", "12", int64(12)},
	{"int", -3.0, int64(0)},
	{"int", "abc", int64(0)},
	{"int", 12.9, int64(12)},
	{"int", true, int64(1)},
	{"int", list1{1.0}, int64(0)},
	{"int", "0x10", int64(0)},
	{"int", 1e300, int64(maxSafe)},
	{"int", "1e999", int64(0)},
	{"intUnsigned", "-5", int64(0)},
	{"intSigned", "-5.7", int64(-5)},
	{"intSigned", math.NaN(), int64(0)},
	{"int", json.Number("7"), int64(7)},
	{"float", "1.5", 1.5},
	{"float", "x", 0.0},
	{"float", math.Inf(1), 0.0},
	{"float", 2, 2.0},
	{"min", "3", int64(3)},
	{"min5", 3.0, int64(5)},
	{"min5", 7.5, 7.5},
	{"max10", 12.0, int64(10)},
	{"max10", "x", int64(0)},
	{"range10", -4.0, int64(0)},
	{"range10", 12.0, int64(10)},
	{"range", -4.0, int64(-4)},
	{"bit", "1", int64(1)},
	{"bit", "0", int64(0)},
	{"bool", "false", false},
	{"bool", "FALSE ", false},
	{"bool", "0", false},
	{"bool", "", false},
	{"bool", "no", true},
	{"bool", 0.0, false},
	{"bool", nil, false},
	{"bool", list1{}, false},
	{"bool", map[string]any{"a": 1.0}, true},
	{"checkbox", "on", true},
	{"date", 1700000000.0, int64(1700000000)},
	{"date", "1700000000", int64(1700000000)},
	{"date", "2023-11-14T22:13:20Z", int64(1700000000)},
	{"date", "2023-11-14", int64(1699920000)},
	{"date", "14.11.2023", int64(1699920000)},
	{"date", "tomorrow", ""},
	{"date", nil, ""},
	{"date", true, ""},
	{"date", 1e18, ""},
	{"date", time.Unix(5, 0), int64(5)},
	{"array", "a, b,,c", list1{"a", "b", "c"}},
	{"array", "a,b|c", list1{"a,b", "c"}},
	{"array", 5.0, list1{5.0}},
	{"array", nil, list1{}},
	{"array2", list1{1.0, 2.0, 3.0}, list1{1.0, 2.0}},
	{"arrayVal", "a,b", list1{"a,b"}},
	{"arrayVal", "", list1{}},
	{"intArray", "1,x,-3", list1{int64(1), int64(0), int64(0)}},
	{"intArrayVal", list1{"4", 5.5}, list1{int64(4), int64(5)}},
	{"intArrayVal", "4,5", list1{int64(0)}},
	{"flatArray", list1{1.0, list1{"a", map[string]any{"z": true, "b": list1{nil}}}}, list1{1.0, "a", nil, true}},
	{"flatArray", "x", list1{"x"}},
	{"minArray", list1{"", nil, 0.0, false, "a", list1{}, map[string]any{}}, list1{0.0, false, "a"}},
	{"option", "a", "a"},
	{"option", list1{"a"}, nil},
	{"option", nil, nil},
	{"options", list1{"a", list1{}, nil}, list1{"a"}},
	{"options", "a,b", list1{"a", "b"}},
	{"attrName", "1data-X y!", "data-Xy"},
	{"attrName", "xml:lang", "xml:lang"},
	{"htmlClass", "9my class!", "my-class-"},
	{"htmlClass", "--", ""},
	{"htmlClasses", "  a\nb! 1 md:flex ", "a b- md:flex"},
	{"htmlClasses", "a, b.c a -", "a b c"},
	{"text_entities", " <b>a</b> & \"b\" ", "a &amp; &#34;b&#34;"},
	{"text3_entities", "a&b&c", "a&amp;b"},
	{"trim_int", " 5 ", int64(5)},
}

func TestApply(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range cases {
		for link := range strings.SplitSeq(c.spec, "_") {
			seen[strings.TrimRight(link, "0123456789")] = true
		}
		got, err := Apply(c.spec, c.value)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s of %#v: %#v, want %#v (%v)", c.spec, c.value, got, c.want, err)
		}
	}
	for _, name := range Names() {
		if !seen[name] {
			t.Errorf("no case for %s", name)
		}
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec  string
		value any
		given []any
		want  any
	}{
		{"option", "b", list1{list1{"a", "b"}}, "b"},
		{"option", "c", list1{list1{"a", "b"}}, nil},
		{"option", 1.0, list1{"1", "2"}, 1.0},
		{"options", list1{"a", "x", "b"}, list1{list1{"a", "b"}}, list1{"a", "b"}},
		{"range", 7.0, list1{1.0, 5.0}, int64(5)},
		{"range", -7.0, list1{1.0, 5.0}, int64(1)},
		{"min", -7.0, list1{-3.0}, int64(-3)},
		{"max", "9", list1{"8"}, int64(8)},
		{"chars", "abcabc", list1{"ac"}, "acac"},
		{"date", 0.0, list1{"Y-m-d"}, "1970-01-01"},
		{"date", "14.11.2023 10:30", list1{"d.m.Y H:i"}, "14.11.2023 10:30"},
		{"trim_option", " a ", list1{"a"}, "a"},
	} {
		got, err := With(c.spec, c.value, c.given...)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s of %#v with %v: %#v, want %#v (%v)", c.spec, c.value, c.given, got, c.want, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"", "nope", "Text", "text_", "_text", "text_nope", "int5", "entities3", "text9999999999", "20", "text-20", "text 20"} {
		_, err := Apply(spec, "a")
		if unknown, ok := errors.AsType[UnknownError](err); !ok || string(unknown) != spec || err.Error() != "'"+spec+"' is not a sanitizer" || Known(spec) {
			t.Errorf("%q: %v, known %v", spec, err, Known(spec))
		}
		if valid, err := Valid(spec, "a"); valid || err == nil {
			t.Errorf("%q: valid %v, %v", spec, valid, err)
		}
	}
	for _, spec := range []string{"text", "text20", "text_entities", "text20_entities", "min5", "array3"} {
		if !Known(spec) {
			t.Errorf("%q is not known", spec)
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec  string
		value any
		want  bool
	}{
		{"text", "a", true},
		{"text", " a", false},
		{"text", 5.0, false},
		{"int", 5.0, true},
		{"int", "5", false},
		{"int", 5.5, false},
		{"bool", true, true},
		{"bool", 1.0, false},
		{"intArray", list1{1.0, 2.0}, true},
		{"intArray", list1{1.0, "2"}, false},
		{"email", "a@example.com", true},
		{"email", "A@example.com", false},
		{"path", "/a", true},
		{"path", "A", false},
		{"array", list1{map[string]any{"a": list1{nil}}}, true},
		{"option", nil, true},
	} {
		if got, err := Valid(c.spec, c.value); got != c.want || err != nil {
			t.Errorf("%s of %#v: %v, %v", c.spec, c.value, got, err)
		}
	}
}

var encoders = map[string]bool{"entities": true, "unentities": true, "entitiesMarkdown": true}

// holds checks that a sanitizer turns a value into one that can be written as JSON, and that sanitizing that one again
// does not change it.
func holds(t *testing.T, spec, name string, value any) {
	t.Helper()
	once, err := Apply(spec, value)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	if _, err := json.Marshal(once); err != nil {
		t.Errorf("%s of %#v: %v", spec, value, err)
	}
	if encoders[name] {
		return
	}
	if second, _ := Apply(spec, once); !reflect.DeepEqual(second, once) {
		t.Errorf("%s of %#v: %#v, again %#v", spec, value, once, second)
	}
	if valid, err := Valid(spec, once); !valid || err != nil {
		t.Errorf("%s of %#v: %#v is not valid", spec, value, once)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	values := list1{
		nil, true, false, 0.0, -1.0, 1.5, 1e300, -1e-300, int64(7), math.MaxInt, "", " ", "a", "0", "\x00", "\xff\xfe", "a b c", "aBCd E", "<<b>b>x", "< \x00b>", "&amp;lt;b&gt;",
		`"a"b"`, `""`, `" ""`, "a|b,c", "ß ẞ ﬁ İ ı", "e\u0301", "\u202e\u200b", "//a//b/.", "..", "-._-", "a.b.c.", "x…", "HTTP://EXAMPLE.com/%zz", "http://a@b", "://", "1e999", "2024-01-01", "A@B.example",
		strings.Repeat("ab -", 5000), strings.Repeat("A b", 5000), strings.Repeat("&amp;", 3000), strings.Repeat("<", 3000) + strings.Repeat(">", 3000), strings.Repeat("ä", 3000), strings.Repeat("a/", 2000), strings.Repeat(".", 300) + "x",
		list1{},
		list1{nil, "", list1{}, map[string]any{}},
		list1{"a,b", list1{"c|d", 1.0}},
		map[string]any{"a": list1{1.0}, "<b>": "x"},
		map[string]any{},
	}
	for _, name := range Names() {
		specs := []string{name}
		if !all[name].fixed {
			specs = append(specs, name+"0", name+"1", name+"2", name+"7", name+"129")
		}
		for _, spec := range specs {
			for _, value := range values {
				holds(t, spec, name, value)
			}
		}
	}
}

// TestLinear checks that every sanitizer takes time linear in the length of its input. The best of several tries
// counts, because other tests run meanwhile; an input that is sixteen times as long may take several times sixteen
// times as long, whereas a quadratic sanitizer would take 256 times as long.
func TestLinear(t *testing.T) {
	t.Parallel()
	const few, many = 1 << 12, 1 << 16
	took := func(name, value string) time.Duration {
		begun := time.Now()
		if _, err := Apply(name, value); err != nil {
			t.Fatal(err)
		}
		return time.Since(begun)
	}
	for _, piece := range []string{"<", "<a", "<b>", ">", "&amp;", "&", "[a](", "**a", "a b", "aB", " ", "\n", "/", "a,", `"`, "ä", "<p>", "</p>", "-", "`~~*["} {
		short, long := strings.Repeat(piece, few/len(piece)), strings.Repeat(piece, many/len(piece))
		for _, name := range Names() {
			baseline, all := took(name, short), took(name, long)
			steep := func() bool { return all > time.Second || all > 100*time.Millisecond && all > 4*many/few*baseline }
			for try := 0; steep() && try < 20; try++ {
				baseline, all = took(name, short), min(all, took(name, long))
			}
			if steep() {
				t.Errorf("%s of %q: %s, and %s for a sixteenth", name, piece, all, baseline)
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	for i, c := range cases {
		if text, err := json.Marshal(c.value); err == nil {
			f.Add(i, i%40, string(text))
		}
	}
	names := Names()
	f.Fuzz(func(t *testing.T, index, number int, text string) {
		var value any
		if len(text) > 4096 || json.Unmarshal([]byte(text), &value) != nil {
			value = text[:min(len(text), 4096)]
		}
		name := names[uint(index)%uint(len(names))]
		spec := name
		if n := uint(number) % 300; !all[name].fixed && n > 0 {
			spec += string([]byte{'0' + byte(n/100), '0' + byte(n/10%10), '0' + byte(n%10)})
		}
		holds(t, spec, name, value)
	})
}

func BenchmarkText(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Apply("text", "Hello, this is a title of usual length")
	}
}
