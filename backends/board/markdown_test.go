package board

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestRender(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]string{
		"Hello *world*":                    "<p>Hello <em>world</em></p>\n",
		"~~gone~~":                         "<p><del>gone</del></p>\n",
		"[a](https://example.com)":         "<p><a href=\"https://example.com\" rel=\"nofollow ugc noopener\">a</a></p>\n",
		"see https://example.com/x":        "<p>see <a href=\"https://example.com/x\" rel=\"nofollow ugc noopener\">https://example.com/x</a></p>\n",
		"[a](javascript:alert(1))":         "<p><a rel=\"nofollow ugc noopener\">a</a></p>\n",
		"[a](/relative)":                   "<p><a rel=\"nofollow ugc noopener\">a</a></p>\n",
		"![x](https://example.com/a.png)":  "<p><img src=\"https://example.com/a.png\" alt=\"x\"></p>\n",
		"![x](http://example.com/a.png)":   "<p><img alt=\"x\"></p>\n",
		"<b>raw</b>":                       "<p>raw</p>\n",
		"```go\nx < 1\n```":                "<pre><code class=\"language-go\">x &lt; 1\n</code></pre>\n",
		"- [x] done":                       "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> done</li>\n</ul>\n",
		"|a|b|\n|:-|-:|\n|1|2|":            "<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"left\">1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>\n",
		strings.Repeat("> ", 200) + "<i>x": "<pre>" + strings.Repeat("&gt; ", 200) + "&lt;i&gt;x</pre>",
		strings.Repeat("[", 2000):          "<pre>" + strings.Repeat("[", 2000) + "</pre>",
	} {
		if got := Render(markdown); got != want {
			t.Errorf("%.60q\n got %q\nwant %q", markdown, got, want)
		}
	}
}

var (
	quotedValue = regexp.MustCompile(`"[^"]*"`)
	badURL      = regexp.MustCompile(`(?i)(href|src)="\s*(javascript|vbscript|data):`)
	badMarkup   = regexp.MustCompile(`(?i)<\s*(script|iframe|object|embed|svg|math|style|link|meta|base|form|button|video|audio|template|noscript|details)|<[^>]*\s(on[a-z]+|style|srcdoc)\s*[=>]`)
)

// executable reports whether HTML that members wrote could do anything.
func executable(html string) bool {
	return badURL.MatchString(html) || badMarkup.MatchString(quotedValue.ReplaceAllString(html, `""`))
}

func corpus(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/xss.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestNothingExecutes(t *testing.T) {
	t.Parallel()
	lines := corpus(t)
	if len(lines) < 40 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, line := range lines {
		for _, markdown := range []string{line, "[a](" + line + ")", "![a](" + line + ")", "<" + line + ">", "> " + line, "`" + line, "|a|\n|-|\n|" + line + "|", "- [ ] " + line} {
			if html := Render(markdown); executable(html) {
				t.Errorf("%q renders %q", markdown, html)
			}
		}
	}
	if executable("<p>a</p>") || !executable(`<img onerror=x>`) {
		t.Error("the check itself is broken")
	}
}

// TestCorpusThroughTheAPI: titles, reasons and messages come back as JSON text,
// and the rendered message is safe.
func TestCorpusThroughTheAPI(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{NoFlood: true})
		for i, line := range corpus(t) {
			body := path(`{"title":%s,"message":%s}`, quoted(line), quoted(line))
			a := s.do("mod", "POST", path("/forums/%d/threads", s.forum("public")), body)
			if a.status == 422 {
				continue
			}
			made := data[created](a.want(201))
			if strings.Trim(made.Slug, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Errorf("%d: slug %q", i, made.Slug)
			}
			p := data[PostInfo](s.do("", "GET", path("/threads/%d/posts/%d", made.ID, made.PostID), "").want(200))
			if executable(p.MessageHTML) {
				t.Errorf("%q renders %q", line, p.MessageHTML)
			}
		}
		for _, name := range corpus(t) {
			if strings.ContainsAny(name, "<>\"'&") && checkName(name) == nil {
				t.Errorf("%q is a name", name)
			}
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, line := range corpus(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) > 4096 {
			return
		}
		if html := Render(markdown); executable(html) {
			t.Errorf("%q renders %q", markdown, html)
		}
	})
}
