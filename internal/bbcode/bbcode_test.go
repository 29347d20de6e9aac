package bbcode

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	files := Options{File: func(number, name string) string { return "![" + name + "](attachment:" + number + ")" }}
	for source, want := range map[string]string{
		"plain text":                "plain text",
		"one\ntwo":                  "one\\\ntwo",
		"one\r\n\r\ntwo\n\n\nthree": "one\n\ntwo\n\nthree",
		"[b]bold[/b] [I]italic[/I] [s]gone[/s] [u]under[/u]": "**bold** *italic* ~~gone~~ under",
		"[b] space [/b]x":        " **space** x"[1:],
		"[b]one\n\ntwo[/b]":      "**one**\n\n**two**",
		"[b]a[i]b[/i][/b]":       "**a*b***",
		"[b][i]x[/b]y[/i]":       "***x***y",
		"[b]open":                `\[b\]open`,
		"close[/b]":              `close\[/b\]`,
		"[unknown=1]x[/unknown]": `\[unknown=1\]x\[/unknown\]`,
		"[size=150]big[/size] [color=#f00]red[/color] [font=x]f[/font] [center]c[/center]": "big red f c",
		"[url]https://example.com/a_b_c[/url]":                                             "<https://example.com/a_b_c>",
		"[url=https://example.com/?a=(1)]the [b]site[/b][/url]!":                           "[the **site**](https://example.com/?a=%281%29)!",
		`[url="http://example.com"]x[/url]`:                                                "[x](http://example.com)",
		"[url=javascript:alert(1)]x[/url]":                                                 "x",
		"[url=./viewtopic.php?t=1]x[/url]":                                                 "x",
		"[url]www.example.com[/url]":                                                       "[www.example.com](http://www.example.com)",
		"see https://example.com/a_b_*c* now_":                                             `see https://example.com/a_b_*c* now\_`,
		"[email]a@example.com[/email] [email=b@example.com]B[/email]":                      "[a@example.com](mailto:a@example.com) [B](mailto:b@example.com)",
		"[img]https://example.com/x.png[/img]":                                             "![](https://example.com/x.png)",
		"[img]http://example.com/x.png[/img]":                                              "<http://example.com/x.png>",
		"[url=https://example.com][img]https://example.com/x.png[/img][/url]":              "[![](https://example.com/x.png)](https://example.com)",
		"a[quote]said\nso[/quote]b":                                                        "a\n\n> said\\\n> so\n\nb",
		`[quote="Ann [x]"]hi[/quote]`:                                                      `> **Ann \[x\]:**` + "\n>\n> hi",
		"[quote=Ann post_id=12 time=3 user_id=4]hi[/quote]":                                "> **Ann:**\n>\n> hi",
		"[quote='Ann' pid='1' dateline='2']hi[/quote]":                                     "> **Ann:**\n>\n> hi",
		`[QUOTE="Ann, post: 1, member: 2"]hi[/QUOTE]`:                                      "> **Ann:**\n>\n> hi",
		"[quote=A][quote=B]in[/quote]out[/quote]":                                          "> **A:**\n>\n> > **B:**\n> >\n> > in\n>\n> out",
		"[code]if (a[0] *b*) {\n  [b]x[/b]\n}[/code]":                                      "```\nif (a[0] *b*) {\n  [b]x[/b]\n}\n```",
		"[code=go]a ``` b[/code]":                                                          "````go\na ``` b\n````",
		"[code]open":                                                                       `\[code\]open`,
		"[icode]a`b[/icode]":                                                               "``a`b``",
		"[list][*]one[*]two\nlines[/list]":                                                 "- one\n- two\\\n  lines",
		"[list=1]\n[*]one\n[list][*]in[/list]\n[*]two[/*]\n[/list]":                        "1. one\n\n   - in\n1. two",
		"[ul][li]a[/li][li]b[/li][/ul]":                                                    "- a\n- b",
		"[spoiler]secret[/spoiler][spoiler=End]x[/spoiler]":                                "> **Spoiler:**\n>\n> secret\n\n> **End:**\n>\n> x",
		"[youtube]dQw4w9WgXcQ[/youtube]":                                                   "<https://www.youtube.com/watch?v=dQw4w9WgXcQ>",
		"[attachment=0]a.png[/attachment]":                                                 "![a.png](attachment:0)",
		"a[hr]b":                                                                           "a\n\n---\n\nb",
		"[h2]Title[/h2]text":                                                               "## Title\n\ntext",
		"[table][tr][td]a[/td][td]b[/td][/tr][tr][td]c[/td][/tr][/table]":                  "a b\\\nc",
		"# no heading\n> no quote\n- no list\n1. no\n1) no\n--- x\n=== y":                  "\\# no heading\\\n\\> no quote\\\n\\- no list\\\n1\\. no\\\n1\\) no\\\n\\--- x\\\n\\=== y",
		"*a* _b_ snake_case `c` <b> ~~d~~ | \\ &amp; [x](y)":                               "\\*a\\* \\_b\\_ snake_case \\`c\\` \\<b> \\~\\~d\\~\\~ \\| \\\\ \\&amp; \\[x\\](y)",
		"    indented":                        "indented",
		"#tag :) 5 > 3":                       "#tag :) 5 > 3",
		"":                                    "",
		"[b][/b][quote][/quote][list][/list]": "",
	} {
		if got := Markdown(source, files); got != want {
			t.Errorf("%q:\n%q, want\n%q", source, got, want)
		}
	}
	if got := Markdown("[attachment=0]a_b.png[/attachment]", Options{}); got != "a_b.png" {
		t.Errorf("a file: %q", got)
	}
}

// TestPlainTextStaysPlain checks that the text of a post without BBCode looks the same as Markdown: nothing in it
// becomes markup.
func TestPlainTextStaysPlain(t *testing.T) {
	t.Parallel()
	render := text.NewMarkdown(text.Options{})
	for _, line := range []string{
		"*a* **b** _c_ __d__ `e` ~~f~~ [g](https://example.com) ![h](https://example.com) <i>j</i> &copy; \\* | k | #l",
		"# a", "+ a", "- a", "* a", "1. a", "> a", "---", "===", "***", "___", "~~~", "```", "[a]: https://example.com", "- [ ] a", "|a|b|",
	} {
		got := strings.TrimSpace(render.Render(Markdown(line, Options{})))
		got = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&#34;", `"`).Replace(got)
		if got != "<p>"+line+"</p>" && !strings.Contains(line, "https://") {
			t.Errorf("%q is shown as %q", line, got)
		}
	}
}

// TestTimeIsBounded checks that the time for texts that are made to take long is bounded: each would take minutes if it
// grew with the square of the length.
func TestTimeIsBounded(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for _, unit := range []string{"[b]", "[quote]", "[list][*]", "[code]", "[url=x]", "[/b]", "[", "[quote=\"", "[*]", "[i][b]", "*", "\n", "[img]", "[b]x[/b]"} {
		got := Markdown(strings.Repeat(unit, n), Options{})
		if len(got) > 100*len(unit)*n {
			t.Errorf("%q grows to %d bytes", unit, len(got))
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("[quote=\"a\"][list=1][*][b]x[/b][/list][/quote][code]y[/code]")
	f.Add("[url=https://example.com][img]https://example.com/x.png[/img][/url]\n\n[b]\n[i]")
	render := text.NewMarkdown(text.Options{Images: true})
	f.Fuzz(func(t *testing.T, source string) {
		got := Markdown(source, Options{})
		if len(got) > 1000+100*len(source) {
			t.Errorf("%d bytes grow to %d", len(source), len(got))
		}
		_ = render.Render(got)
	})
}
