package text

import (
	"bytes"
	stdhtml "html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	source "github.com/yuin/goldmark/text"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// own returns the Markdown renderer of a service that has a URL scheme for its files.
func own(images bool) *Markdown {
	return NewMarkdown(Options{
		Images: images, Scheme: "own", Valid: func(u *url.URL) bool { return u.Opaque == "photo.png" },
		Place: func(address []byte) []byte { return bytes.Replace(address, []byte("/files/"), []byte("own:"), 1) },
	})
}

func TestRender(t *testing.T) {
	t.Parallel()
	m := own(true)
	for markdown, want := range map[string]string{
		"Hello *world*":                      "<p>Hello <em>world</em></p>\n",
		"~~gone~~":                           "<p><del>gone</del></p>\n",
		"[a](https://example.com)":           "<p><a href=\"https://example.com\" rel=\"nofollow ugc noopener\">a</a></p>\n",
		"see https://example.com/x":          "<p>see <a href=\"https://example.com/x\" rel=\"nofollow ugc noopener\">https://example.com/x</a></p>\n",
		"[a](javascript:alert(1))":           "<p>a</p>\n",
		"[a *b*](/relative) [c]()":           "<p>a <em>b</em> c</p>\n",
		"[a](tel:+123 \"t\") [b](ftp://b.c)": "<p>a b</p>\n",
		"<ftp://b.c> ftp://b.c [a\nb](x)":    "<p>ftp://b.c ftp://b.c a\nb</p>\n",
		"![x](https://example.com/a.png)":    "<p><img src=\"https://example.com/a.png\" alt=\"x\"></p>\n",
		"![x](http://example.com/a.png)":     "<p><img alt=\"x\"></p>\n",
		"<b>raw</b>":                         "<p>raw</p>\n",
		"```go\nx < 1\n```":                  "<pre><code class=\"language-go\">x &lt; 1\n</code></pre>\n",
		"- [x] done":                         "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> done</li>\n</ul>\n",
		"|a|b|\n|:-|-:|\n|1|2|":              "<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"left\">1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>\n",
		strings.Repeat("> ", 200) + "<i>x":   "<pre>" + strings.Repeat("&gt; ", 200) + "&lt;i&gt;x</pre>",
		strings.Repeat("[", 2000):            "<pre>" + strings.Repeat("[", 2000) + "</pre>",
	} {
		if got := m.Render(markdown); got != want {
			t.Errorf("%.60q\n got %q\nwant %q", markdown, got, want)
		}
	}
}

// TestRenderBareLinks checks where an address in a plain text ends.
func TestRenderBareLinks(t *testing.T) {
	t.Parallel()
	m := own(true)
	for markdown, want := range map[string]string{
		"https://de.wikipedia.org/wiki/Zürich.":   "https://de.wikipedia.org/wiki/Zürich",
		"(https://ja.wikipedia.org/wiki/ジョン・レノン)": "https://ja.wikipedia.org/wiki/ジョン・レノン",
		"https://ja.wikipedia.org/wiki/東京。次":      "https://ja.wikipedia.org/wiki/東京",
		"https://hi.wikipedia.org/wiki/हिन्दी x":  "https://hi.wikipedia.org/wiki/हिन्दी",
		"https://example.com/?q=Łódź&a=1#ü, x":    "https://example.com/?q=Łódź&a=1#ü",
		"https://münchen.example/straße":          "https://münchen.example/straße",
		"http://пример.рф:8080/путь":              "http://пример.рф:8080/путь",
		"https://उदाहरण.भारत/":                    "https://उदाहरण.भारत/",
		"https://例え.テスト":                          "https://例え.テスト",
		"https://xn--e1afmkfd.xn--p1ai/a":         "https://xn--e1afmkfd.xn--p1ai/a",
		"https://example.comを見て":                  "https://example.com",
		"https://EXAMPLE.COM/A":                   "https://EXAMPLE.COM/A",
		"www.müller.example/ä":                    "www.müller.example/ä",
		"https://example.com/a_(b)) c":            "https://example.com/a_(b)",
	} {
		html := m.Render(markdown)
		match := regexp.MustCompile(`<a href="([^"]*)" rel="nofollow ugc noopener">([^<]*)</a>`).FindStringSubmatch(html)
		if match == nil {
			t.Errorf("%s: no link in %s", markdown, html)
			continue
		}
		if text := stdhtml.UnescapeString(match[2]); text != want {
			t.Errorf("%s: the link is of %s, want %s", markdown, text, want)
		}
		address, err := url.PathUnescape(stdhtml.UnescapeString(match[1]))
		if whole := strings.Replace(want, "www.", "http://www.", 1); err != nil || address != whole {
			t.Errorf("%s: the link leads to %s, %v, want %s", markdown, address, err, whole)
		}
		if _, err := url.Parse(stdhtml.UnescapeString(match[1])); err != nil {
			t.Errorf("%s: %v", markdown, err)
		}
	}
}

// TestRenderWideTables checks that the size of a table is limited by its text, and not multiplied by the cells that
// short rows lack. The parser would take gigabytes for the widest table.
func TestRenderWideTables(t *testing.T) {
	t.Parallel()
	m := own(true)
	table := func(columns, rows int) string {
		return strings.Repeat("|a", columns) + "\n" + strings.Repeat("|-", columns) + "\n" + strings.Repeat("|\n", rows)
	}
	for _, whole := range []string{table(100, 500), table(3, 9000)} {
		if html := m.Render(whole); !strings.HasPrefix(html, "<table>") {
			t.Errorf("%.60q renders %.60q", whole, html)
		}
	}
	for name, markdown := range map[string]string{
		"one":        table(500, 13_000),
		"in a quote": "> " + strings.ReplaceAll(table(500, 10_000), "\n", "\n> "),
		"many":       strings.Repeat(table(100, 400)+"\n", 20),
	} {
		if n := nodes(m.markdown.Parser().Parse(source.NewReader([]byte(markdown)))); n > 3*maxCells {
			t.Errorf("%s: %d bytes make %d nodes", name, len(markdown), n)
		}
	}
}

// TestRenderEmptyLines checks texts with many empty lines in deep lists, since the parser asks every open list about
// every empty line.
func TestRenderEmptyLines(t *testing.T) {
	t.Parallel()
	empty := strings.Repeat("\n", 20_000)
	var steps strings.Builder
	for i := range 90 {
		steps.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	for markdown, deep := range map[string]bool{
		strings.Repeat("- ", 90) + "a\n" + empty: true,
		steps.String() + empty:                   true,
		"- a\n  - b\n" + empty:                   false,
		steps.String():                           false,
		"a" + empty + "b":                        false,
	} {
		if nestsDeep(markdown) != deep {
			t.Errorf("%.40q: deep %v", markdown, !deep)
		}
	}
}

// nodes returns the number of nodes below and including n.
func nodes(n ast.Node) (all int) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		all += nodes(child)
	}
	return all + 1
}

// TestRenderRewritesAddresses checks that a service's own addresses are recognised in other spellings and validated by
// the service. If external images are forbidden, the service's own images remain.
func TestRenderRewritesAddresses(t *testing.T) {
	t.Parallel()
	const text = "![x](/files/photo.png) ![y](own:other.png) ![z](https://example.com/z.png) [w](own:photo.png)"
	const link = ` <a href="own:photo.png" rel="nofollow ugc noopener">w</a></p>`
	for html, images := range map[string]bool{
		`<p><img src="own:photo.png" alt="x"> <img alt="y"> <img src="https://example.com/z.png" alt="z">` + link: true,
		`<p><img src="own:photo.png" alt="x">  ` + link:                                                           false,
	} {
		if got := strings.TrimSpace(own(images).Render(text)); got != html {
			t.Errorf("images %v: %s", images, got)
		}
	}
	if got := NewMarkdown(Options{}).Render(text); strings.Contains(got, "<img") || strings.Contains(got, "href") {
		t.Errorf("nothing is allowed: %s", got)
	}
}

func TestNothingExecutes(t *testing.T) {
	t.Parallel()
	m := own(true)
	lines := testenv.Scripts()
	if len(lines) < 40 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, line := range lines {
		for _, markdown := range []string{line, "[a](" + line + ")", "![a](" + line + ")", "<" + line + ">", "> " + line, "`" + line, "|a|\n|-|\n|" + line + "|", "- [ ] " + line} {
			if html := m.Render(markdown); testenv.Executable(html) {
				t.Errorf("%q renders %q", markdown, html)
			}
		}
	}
	if testenv.Executable("<p>a</p>") || !testenv.Executable(`<img onerror=x>`) {
		t.Error("the check itself is broken")
	}
}

func FuzzRender(f *testing.F) {
	m := own(true)
	for _, line := range testenv.Scripts() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) > 4096 {
			return
		}
		if html := m.Render(markdown); testenv.Executable(html) {
			t.Errorf("%q renders %q", markdown, html)
		}
	})
}
