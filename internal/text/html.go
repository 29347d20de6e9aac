package text

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	tokens "golang.org/x/net/html"
)

// foreign returns the policy for HTML from other sites.
var foreign = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "div", "span", "blockquote",
		"pre", "code", "kbd", "samp", "var",
		"b", "i", "u", "s", "em", "strong", "small", "mark", "del", "ins", "sub", "sup", "abbr", "cite", "q", "dfn",
		"ul", "ol", "li", "dl", "dt", "dd", "figure", "figcaption",
		"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td")
	p.AllowAttrs("colspan", "rowspan").Matching(regexp.MustCompile(`^[0-9]{1,3}$`)).OnElements("th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("title", "lang", "dir").Matching(regexp.MustCompile(`^[^<>]{0,255}$`)).Globally()
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^[A-Za-z0-9_ -]{1,255}$`)).Globally()
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").OnElements("img")
	p.AllowAttrs("alt").OnElements("img")
	p.AllowAttrs("width", "height").Matching(regexp.MustCompile(`^[0-9]{1,5}$`)).OnElements("img")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	return p
})

// passes limits how often HTML is sanitized. One pass may uncover markup for the next.
const passes = 4

// Purify reduces HTML from other sites to the elements that are safe in a page: formatted text, links and images. It is
// idempotent. HTML that still changes after several passes loses all its tags.
func Purify(markup string) string {
	for range passes {
		pure := foreign().Sanitize(markup)
		if pure == markup {
			return pure
		}
		markup = pure
	}
	if foreign().Sanitize(markup) == markup {
		return markup
	}
	return html.EscapeString(strings.NewReplacer("<", "", ">", "", "&", "").Replace(markup))
}

// StripTags removes all text between the < of a tag and the next >, and the rest of the text after an unclosed tag. No
// tag is left, not even a tag that was nested in other tags. It is meant for text without markup; Plain reads text with
// markup.
func StripTags(s string) string {
	index := strings.IndexByte(s, '<')
	if index < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:index]...)
	var open []int // positions in out of each < that was not closed
	isTagAt := func(index int) bool { return index+1 < len(out) && beginsTag(out[index+1]) }
	for i := index; i < len(s); i++ {
		switch s[i] {
		case '<':
			open = append(open, len(out))
		case '>': // closes the last < that begins a tag; later ones begin none
			for len(open) > 0 && !isTagAt(open[len(open)-1]) {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				out = out[:open[len(open)-1]]
				open = open[:len(open)-1]
				continue
			}
		}
		out = append(out, s[i])
	}
	for _, index := range open { // the first tag without an end swallows the rest
		if isTagAt(index) {
			return string(out[:index])
		}
	}
	return string(out)
}

// beginsTag reports whether < begins a tag, a comment or the like if c follows.
func beginsTag(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '/' || c == '!' || c == '?'
}

// Plain returns the readable text of HTML. Blocks become separate lines, list items begin with a hyphen, markup is
// removed and entities are decoded. In a text without markup only the white space changes. Plain is idempotent.
func Plain(markup string) string {
	markup = strings.ReplaceAll(markup, "\x00", "")
	for range passes {
		if !hasMarkup(markup) {
			return tidy(markup)
		}
		markup = readable(markup)
	}
	if hasMarkup(markup) {
		markup = strings.NewReplacer("<", "", "&", "").Replace(markup)
	}
	return tidy(markup)
}

// hasMarkup reports whether a text has a tag or an entity.
func hasMarkup(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '<' && beginsTag(s[i+1]) {
			return true
		}
	}
	return strings.Contains(s, "&") && html.UnescapeString(s) != s
}

// The elements in the set blocks begin and end lines. The content of the elements in the set hidden is not shown to
// readers.
var (
	blocks = set("address", "article", "aside", "blockquote", "caption", "dd", "details", "div", "dl", "dt",
		"figcaption", "figure", "footer", "form",
		"h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary",
		"table", "tr", "ul")
	hidden = set("script", "style", "template", "noscript", "head", "iframe", "object", "svg", "math", "textarea",
		"select")
)

// set returns a set of names.
func set(names ...string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// readable makes one pass of Plain. It writes more white space than readers need, which tidy removes in the end.
func readable(markup string) string {
	var b strings.Builder
	lineEnds := 0 // number of line ends that endLines has written since the last visible text
	// endLines makes b end with at least n line ends.
	endLines := func(n int) {
		for ; lineEnds < n; lineEnds++ {
			b.WriteByte('\n')
		}
	}
	z := tokens.NewTokenizer(strings.NewReader(markup))
	var skipping string // the open hidden element
	for {
		kind := z.Next()
		if kind == tokens.ErrorToken {
			return tidy(b.String())
		}
		if kind == tokens.TextToken {
			if text := unbroken.Replace(string(z.Text())); skipping == "" {
				if strings.TrimSpace(text) != "" {
					lineEnds = 0
				}
				b.WriteString(text)
			}
			continue
		}
		if kind != tokens.StartTagToken && kind != tokens.EndTagToken && kind != tokens.SelfClosingTagToken {
			continue
		}
		tag, _ := z.TagName()
		name := string(tag)
		switch {
		case skipping != "":
			if kind == tokens.EndTagToken && name == skipping {
				skipping = ""
			}
		case hidden[name]:
			if kind == tokens.StartTagToken {
				skipping = name
			}
		case name == "br":
			b.WriteByte('\n')
		case name == "li" && kind == tokens.StartTagToken:
			endLines(1)
			b.WriteString("- ")
			lineEnds = 0
		case name == "p" || len(name) == 2 && name[0] == 'h' && blocks[name]: // p, h1 to h6, or hr
			endLines(2)
		case name == "td" || name == "th":
			b.WriteByte(' ')
		case blocks[name]:
			endLines(1)
		}
	}
}

// unbroken replaces line ends by spaces, which have the same meaning in HTML.
var unbroken = strings.NewReplacer("\r", " ", "\n", " ")

// tidy collapses white space: it leaves single spaces, no space at the ends of lines, and at most one empty line in a
// row.
func tidy(s string) string {
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat("\n", min(empty+1, 2)))
		}
		empty = 0
		for i, field := range fields {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(field)
		}
	}
	return b.String()
}
