package moving

import (
	"strings"
	"testing"
)

func TestFlarumText(t *testing.T) {
	t.Parallel()
	file := func(id string) string {
		if id == "known" {
			return "[a.txt](<attachment:a.txt>)"
		}
		return ""
	}
	for _, test := range []struct{ what, source, want string }{
		{"plain", `<t><p>one<br/>` + "\n" + `two</p>` + "\n\n" + `<p>three &amp; four</p></t>`, "one\ntwo\n\nthree & four"},
		{"HTML is text", `<t><p>a &lt;b&gt;</p></t>`, `a \<b>`},
		{"escaped", `<r><p>a <ESC><s>\</s>&lt;</ESC>b</p></r>`, `a \<b`},
		{"Markdown", `<r><QUOTE><i>&gt; </i><p>said</p></QUOTE>` + "\n\n" + `<p><EM><s>*</s>yes<e>*</e></EM> <C><s>` + "`" + `</s>a &lt; b<e>` + "`" + `</e></C></p></r>`, "> said\n\n*yes* `a < b`"},
		{"a link", `<r><URL url="https://example.com"><s>[</s>x<e>](https://example.com)</e></URL></r>`, "[x](https://example.com)"},
		{"BBCode", `<r><B><s>[b]</s>bold<e>[/b]</e></B> <SIZE size="20"><s>[size=20]</s>big<e>[/size]</e></SIZE></r>`, "**bold** big"},
		{"BBCode with addresses", `<r><URL url="https://example.com"><s>[url=https://example.com]</s>x<e>[/url]</e></URL> <IMG src="https://example.com/a.png"><s>[img]</s>https://example.com/a.png<e>[/img]</e></IMG></r>`, "[x](<https://example.com>) ![](<https://example.com/a.png>)"},
		{"a list", `<r><LIST><s>[list]</s>` + "\n" + `<LI><s>[*]</s>one</LI>` + "\n" + `<LI><s>[*]</s>two</LI>` + "\n" + `<e>[/list]</e></LIST></r>`, "- one\n- two"},
		{"code", `<r><CODE><s>[code]</s>a &lt; b<e>[/code]</e></CODE></r>`, "```\na < b\n```"},
		{"quotations", `<r><QUOTE author="A"><s>[quote=A]</s>x<QUOTE><s>[quote]</s>y<e>[/quote]</e></QUOTE>z<e>[/quote]</e></QUOTE>w</r>`, "> **A:**\n> \n> x\n> > y\n> \n> z\n\nw"},
		{"mentions", `<r><p><USERMENTION displayname="Ann B" id="2">@"Ann B"#2</USERMENTION> and <POSTMENTION displayname="Bert" id="2" number="3">@"Bert"#p2</POSTMENTION></p></r>`, "@Ann B and @Bert"},
		{"files", `<r><UPL-FILE uuid="known"><s>[upl-file uuid=known]</s>a.txt<e>[/upl-file]</e></UPL-FILE> <UPL-IMAGE-PREVIEW url="https://example.com/b">[upl-image-preview url=https://example.com/b]</UPL-IMAGE-PREVIEW></r>`, "[a.txt](<attachment:a.txt>) https://example.com/b"},
		{"broken", `<r><p>not closed &amp; kept`, "not closed & kept"},
		{"too deep", strings.Repeat("<B>", 200) + "x" + strings.Repeat("</B>", 200), "x"},
		{"no XML", "just <i>text", "just text"},
	} {
		if got := flarumText(test.source, file); got != test.want {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}

// FuzzFlarumText checks that the size of a converted text is bounded, whatever the text of the post is.
func FuzzFlarumText(f *testing.F) {
	f.Add(`<r><QUOTE author="A"><s>[quote=A]</s>x<e>[/quote]</e></QUOTE><p><URL url="a"><s>[</s>b<e>](a)</e></URL></p></r>`)
	f.Add(`<t>one<br/>two &lt;</t>`)
	f.Add(`<r><UPL-FILE uuid="a" url="b"/><USERMENTION displayname="c">d</USERMENTION><CODE><s>[code]</s>`)
	f.Fuzz(func(t *testing.T, source string) {
		got := flarumText(source, func(id string) string { return id })
		if limit := 40 * (len(source) + 1); len(got) > limit {
			t.Errorf("%d bytes become %d", len(source), len(got))
		}
	})
}
