package sanitize

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// isSpace reports whether r is white space, including characters of zero width.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff' }

// trim removes white space at both ends.
func trim(s string) string { return strings.TrimFunc(s, isSpace) }

// lineEnds replaces all kinds of line ends by \n.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
	"\u2029", "\n")

// printable removes control characters except tabs and line ends, and replaces all kinds of line ends by \n.
func printable(s string) string {
	clean := true // whether s consists of printable ASCII characters, so that it need not be copied
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, lineEnds.Replace(s))
}

// line returns the text in one line, without tags and control characters.
func line(s string, limit int) string {
	s = strings.ReplaceAll(text.StripTags(printable(s)), "\n", " ")
	return trim(text.Cut(trim(s), limit))
}

// lines returns the text without tags and control characters, with \n as its line ends.
func lines(s string, limit int) string {
	return trim(text.Cut(trim(text.StripTags(printable(s))), limit))
}

// emailHeader returns the text in one line, without control characters.
func emailHeader(s string, limit int) string {
	return trim(text.Cut(trim(strings.ReplaceAll(printable(s), "\n", " ")), limit))
}

// removeNewlines replaces each line end by a space.
func removeNewlines(s string) string { return strings.ReplaceAll(lineEnds.Replace(s), "\n", " ") }

// removeWhitespace removes all white space.
func removeWhitespace(s string) string {
	return strings.Map(func(r rune) rune {
		if isSpace(r) {
			return -1
		}
		return r
	}, s)
}

// reduceWhitespace replaces each run of white space by a single space.
func reduceWhitespace(s string) string {
	var b strings.Builder
	inSpace := false
	for _, r := range s {
		space := isSpace(r)
		switch {
		case !space:
			b.WriteRune(r)
		case !inSpace:
			b.WriteByte(' ')
		}
		inSpace = space
	}
	return b.String()
}

// normalizeWhitespace replaces each white space character by a space, and line ends by \n.
func normalizeWhitespace(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && isSpace(r) {
			return ' '
		}
		return r
	}, lineEnds.Replace(s))
}

// truncate returns the text in one line, without tags, and with ellipses in place of line ends. A text longer than
// limit is cut between words, or within the first word if that is too long, and an ellipsis is added.
func truncate(s string, limit int) string {
	var lines []string
	for line := range strings.SplitSeq(text.StripTags(printable(s)), "\n") {
		if line = trim(reduceWhitespace(line)); line != "" {
			lines = append(lines, line)
		}
	}
	s = strings.Join(lines, " … ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	if limit == 0 {
		return ""
	}
	cut := text.Cut(s, limit-1)
	if s[len(cut)] != ' ' { // within a word
		if space := strings.LastIndexByte(cut, ' '); space > 0 {
			cut = cut[:space]
		}
	}
	return strings.TrimRight(cut, " …,;/") + "…"
}

// inWord reports whether r is a character of a word.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// isApostrophe reports whether r is an apostrophe, which belongs to the word around it.
func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// maxWord limits the length of a word in characters; longer words are cut.
const maxWord = 80

// wordsOf returns the words of a text, without tags, but at most limit words from its beginning. An apostrophe within
// a word belongs to the word.
func wordsOf(s string, limit int) (found []string) {
	s = text.StripTags(printable(s))
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return !inWord(r) && !isApostrophe(r) }) {
		if run = strings.TrimFunc(text.Cut(strings.TrimFunc(run, isApostrophe), maxWord), isApostrophe); run == "" {
			continue
		}
		if len(found) >= limit {
			break
		}
		found = append(found, run)
	}
	return found
}

// word returns the first word of a text, cut to limit characters, or an empty string.
func word(s string, limit int) string {
	for _, found := range wordsOf(s, 1) {
		return strings.TrimFunc(text.Cut(found, limit), isApostrophe)
	}
	return ""
}

// words returns the first limit words of a text, separated by spaces.
func words(s string, limit int) string { return strings.Join(wordsOf(s, limit), " ") }

// entities escapes a text for HTML.
func entities(s string) string { return html.EscapeString(s) }

// unentities replaces the entities of HTML by their characters.
func unentities(s string) string { return html.UnescapeString(s) }

// purify returns HTML without elements and attributes that are unsafe or unknown.
func purify(s string) string { return text.Purify(printable(s)) }

// markupToText converts HTML to plain text.
func markupToText(s string, limit int) string {
	return trim(text.Cut(trim(text.Plain(printable(s))), limit))
}

// markupToLine converts HTML to plain text in one line.
func markupToLine(s string, limit int) string {
	return trim(text.Cut(trim(strings.Join(strings.Fields(text.Plain(printable(s))), " ")), limit))
}

// inline matches the Markdown that entitiesMarkdown supports: code, a link, strong, emphasis and deleted text, without
// nesting.
var inline = regexp.MustCompile("`([^`\n]+)`" + `|\[([^\[\]\n]+)\]\(([^\s()<>]+)\)|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|~~([^~\n]+)~~`)

// entitiesMarkdown escapes a text for HTML and converts its inline Markdown (code, links, strong, emphasis and deleted
// text) to elements. A link with an unsafe address is not converted.
func entitiesMarkdown(s string) string {
	s = html.EscapeString(s)
	var b strings.Builder
	end := 0
	for _, found := range inline.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(s[end:found[0]])
		end = found[1]
		part := func(n int) string { return s[found[2*n]:found[2*n+1]] } // the text of group n
		wrap := func(tag string, n int) { b.WriteString("<" + tag + ">" + part(n) + "</" + tag + ">") }
		// found[2*n] is the start of group n, or -1 if the group did not match.
		switch {
		case found[2] >= 0:
			wrap("code", 1)
		case found[4] >= 0:
			if address := anyURL(html.UnescapeString(part(3)), 1024); address != "" {
				b.WriteString(`<a href="` + html.EscapeString(address) + `">` + part(2) + "</a>")
			} else {
				b.WriteString(s[found[0]:found[1]])
			}
		case found[8] >= 0:
			wrap("strong", 4)
		case found[10] >= 0:
			wrap("em", 5)
		default:
			wrap("del", 6)
		}
	}
	b.WriteString(s[end:])
	return b.String()
}
