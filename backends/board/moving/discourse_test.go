package moving

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
)

const uploadSum, uploadShort = "2732f12a8f18d27cf0fa78ef41091bfa1ccec9ce", "5ALLnzS0wgl3LVbCIpBCTMlTVU2"

func TestDiscourseText(t *testing.T) {
	t.Parallel()
	files := []seed.MovedFile{{Name: "a.png", Sum: content.MovedSumID(uploadSum+".png", false)}}
	if n := content.MovedSumID(uploadShort+".png", true); n == 0 || n != files[0].Sum {
		t.Errorf("the short sum is %d", n)
	}
	for raw, want := range map[string]string{
		"a\nb\n\n\nc\n":                                                                              "a  \nb\n\nc",
		"```\na\n\n\n[quote]\n```\nb\nc":                                                             "```\na\n\n\n\n\n[quote]\n\n\n```\nb  \nc",
		"[quote=\"Ann [x\"]\na\nb\n[/quote]\nc":                                                      "> **Ann \\[x:**\n>\n> a  \n> b\n\nc",
		"[quote=\"Ann_b, post:1, topic:2, full:true\"]a[/quote]b":                                    "> **Ann\\_b:**\n>\n> a\n\nb",
		"x\n[quote]a\n[quote=\"B, post:1\"]\nb\n[/quote]\nc\n[/quote]":                               "x\n\n> a\n>\n> > **B:**\n> >\n> > b\n>\n> c",
		"[details=\"More\"]\nhidden\n[/details]":                                                     "> **More:**\n>\n> hidden",
		"![a_b|690x420, 50%](upload://" + uploadShort + ".png)":                                      "![a.png](<attachment:a.png>)",
		"`![a](upload://x.png)` ![a_b|1x1](upload://x.png)":                                          "`![a](upload://x.png)` a\\_b",
		"![a](/uploads/default/original/1X/" + uploadSum + ".png)":                                   "![a.png](<attachment:a.png>)",
		"![a](https://f.example/uploads/default/optimized/1X/" + uploadSum + "_2_690x420.png \"t\")": "![a.png](<attachment:a.png>)",
		"[a.zip|attachment](upload://abc.zip) (1.2 KB) and":                                          "a.zip (1.2 KB) and",
		"": "",
	} {
		if got := discourseMarkdown(raw, files); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", raw, got, want)
		}
	}
}

// TestDiscourseTextDeepQuotes checks that quotations deeper than maxQuotes, which are not nested any further, do not
// end the quotations around them.
func TestDiscourseTextDeepQuotes(t *testing.T) {
	t.Parallel()
	got := discourseMarkdown(strings.Repeat("[quote]", maxQuotes+2)+"a[/quote]b[/quote]c[/quote]d[/quote]e", nil)
	for text, level := range map[string]int{"a": 20, "b": 20, "c": 20, "d": 19, "e": 18} {
		if line := strings.Repeat("> ", level) + text; !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("%q has another level than %d in\n%s", text, level, got)
		}
	}
}

// TestDiscourseTextTime checks that the time for a text does not grow with the square of its length.
func TestDiscourseTextTime(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"[quote]", "[quote=\"", "[/quote]", "`", "[b]", "![", "![a](upload://", "[url=", "[url]a", "[date=2020-01-01", "[poll ", "```\n", "> ", "- a\n", "[a](/uploads/"} {
		start := time.Now()
		_ = discourseMarkdown(strings.Repeat(unit, 20_000), nil)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q: %s", unit, took)
		}
	}
}

func FuzzDiscourseText(f *testing.F) {
	f.Add("[quote=\"A, post:1\"]\na\n[/quote]\nb `c` ![d](upload://" + uploadShort + ".png)\n```\n[b]x[/b]")
	f.Add("[details=x]\n- a\nb [url=c]d[/url] [date=2020-01-01 time=10:00]\n[/details]")
	f.Fuzz(func(t *testing.T, raw string) {
		got := discourseMarkdown(raw, []seed.MovedFile{{Name: "a.png", Sum: content.MovedSumID(uploadSum, false)}})
		if len(got) > 100*len(raw)+1000 {
			t.Errorf("%d bytes become %d", len(raw), len(got))
		}
		if utf8.ValidString(raw) && !utf8.ValidString(got) {
			t.Errorf("%q becomes %q", raw, got)
		}
	})
}
