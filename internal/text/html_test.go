package text

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestPurify(t *testing.T) {
	t.Parallel()
	for markup, want := range map[string]string{
		"": "", "a < b & c": "a &lt; b &amp; c",
		"<p onclick=x>Hello <b>you</b></p>":      "<p>Hello <b>you</b></p>",
		"<script>alert(1)</script>x":             "x",
		"<style>*{}</style>x":                    "x",
		`<a href="javascript:alert(1)">a</a>`:    "a",
		`<a href="/b">a</a>`:                     `<a href="/b" rel="nofollow">a</a>`,
		`<a href="https://example.com/">a</a>`:   `<a href="https://example.com/" rel="nofollow">a</a>`,
		`<img src="https://example.com/a.png">`:  `<img src="https://example.com/a.png">`,
		`<img src=x onerror=alert(1)>`:           `<img src="x">`,
		`<img src="data:text/html,x" alt="a">`:   `<img alt="a">`,
		`<iframe src="https://example.com">`:     "",
		`<form action=x><input name=y></form>`:   "",
		`<td colspan="2">x</td>`:                 `<td colspan="2">x</td>`,
		`<p style="position:fixed" class="a">x`:  `<p class="a">x`,
		"<!-- a --><b>x</b>":                     "<b>x</b>",
		"<scr<script>ipt>alert(1)</scr</script>": "ipt&gt;alert(1)",
	} {
		if got := Purify(markup); got != want {
			t.Errorf("%q\n got %q\nwant %q", markup, got, want)
		}
	}
	for _, line := range testenv.Scripts() {
		if pure := Purify(line); testenv.Executable(pure) {
			t.Errorf("%q becomes %q", line, pure)
		}
	}
}

func TestStripTags(t *testing.T) {
	t.Parallel()
	for markup, want := range map[string]string{
		"": "", "a": "a", "a<b>b</b>c": "abc", "1 < 2 and 3 > 2": "1 < 2 and 3 > 2", "<": "<", "<>": "<>", "a <": "a <", "a <b": "a ",
		"<<b>b>x": "x", "<scr<script>ipt>": "", "a < <b> b>": "a <  b>", "<a < b>x": "x", "<!-- x -->y": "y", "<?php echo 1 ?>y": "y", "x</p": "x", "<<<": "<<<",
		"<img src=x onerror=alert(1) ": "", strings.Repeat("<", 9) + "b>": strings.Repeat("<", 8),
	} {
		if got := StripTags(markup); got != want {
			t.Errorf("%q: %q, want %q", markup, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"", ""},
		{"a  b\r\n\n\n\n c ", "a b\n\nc"},
		{"a < b", "a < b"},
		{"<h1>Title</h1><p>One\ntwo &amp; <b>th</b>ree<br>four</p><p>five", "Title\n\nOne two & three\nfour\n\nfive"},
		{"<ul><li>a</li><li>b</li></ul>", "- a\n- b"},
		{"<script>x</script><style>y</style>z<!-- c -->", "z"},
		{"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"},
		{"&amp;lt;b&amp;gt;x", "x"},
		{"&lt;script&gt;alert(1)&lt;/script&gt;x", "x"},
		{"&amp;" + strings.Repeat("amp;", 30) + "lt;b&gt;", strings.Repeat("amp;", 27) + "lt;b>"},
	} {
		markup, want := c[0], c[1]
		if got := Plain(markup); got != want {
			t.Errorf("%q\n got %q\nwant %q", markup, got, want)
		}
	}
}

func TestTransliterate(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"Größe": "grosse", "Ἀθῆναι": "athinai", "Москва": "moskva", "Щука": "schuka", "Łódź": "lodz", "日本": "日本", "Ångström": "angstrom", "Київ": "kiiv",
	} {
		if got := Transliterate(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

var tag = regexp.MustCompile(`<[A-Za-z/!?]`)

func FuzzHTML(f *testing.F) {
	for _, line := range testenv.Scripts() {
		f.Add(line)
	}
	f.Add("<<b>b>&amp;lt;b&gt;<p>x\x00\r\n<")
	f.Fuzz(func(t *testing.T, markup string) {
		if len(markup) > 4096 {
			return
		}
		for name, fn := range map[string]func(string) string{"Purify": Purify, "StripTags": StripTags, "Plain": Plain} {
			once := fn(markup)
			if twice := fn(once); twice != once {
				t.Errorf("%s of %q: %q, again %q", name, markup, once, twice)
			}
			if name == "Purify" && testenv.Executable(once) || name != "Purify" && tag.MatchString(once) {
				t.Errorf("%s of %q: %q", name, markup, once)
			}
		}
	})
}
