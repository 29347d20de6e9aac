package bbcode

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineOf returns the pieces of a line as Markdown. White space is moved out of the marks of styles, because a mark
// beside white space has no effect.
func lineOf(runs []run) string {
	var line strings.Builder
	for len(runs) > 0 {
		n := 1 // number of pieces with the same link
		for n < len(runs) && runs[n].link == runs[0].link {
			n++
		}
		text := styled(runs[:n])
		if target := runs[0].link; target != "" && strings.TrimSpace(text) != "" {
			label := strings.TrimSpace(text)
			start := strings.Index(text, label)
			markdown := "[" + label + "](" + target + ")"
			if label == target {
				markdown = "<" + target + ">"
			}
			text = text[:start] + markdown + text[start+len(label):]
		}
		line.WriteString(text)
		runs = runs[n:]
	}
	return escapeBlockStart(strings.TrimSpace(line.String()))
}

// styled returns pieces of a line with the marks of their styles. All pieces have the same link.
func styled(runs []run) string {
	var (
		out     strings.Builder
		open    []styleMark // styles whose mark at the end is not written yet, from the outermost to the innermost
		pending string      // white space that is not written yet, because a style may have to end before it
	)
	// end writes the marks that end the open styles, except the styles in remaining. A style inside of an ended style
	// ends too.
	end := func(remaining style) {
		for i := range open {
			if open[i].style&remaining == 0 {
				for _, m := range slices.Backward(open[i:]) {
					out.WriteString(m.mark)
				}
				open = open[:i]
				return
			}
		}
	}
	for _, r := range runs {
		core := r.text
		if r.loose {
			core = strings.TrimSpace(r.text)
		}
		if core == "" {
			pending += r.text
			continue
		}
		start := strings.Index(r.text, core)
		end(r.style)
		out.WriteString(pending + r.text[:start])
		pending = r.text[start+len(core):]
		for _, m := range styleMarks {
			if r.style&m.style != 0 && !slices.Contains(open, m) {
				out.WriteString(m.mark)
				open = append(open, m)
			}
		}
		out.WriteString(core)
	}
	end(0)
	return out.String() + pending
}

// blockStart matches the beginning of a line that Markdown would not take for a paragraph.
var blockStart = regexp.MustCompile(`^(?:#{1,6}(?:\s|$)|[+=>-]|\d{1,9}[.)])`)

// escapeBlockStart returns a line, escaped so that Markdown does not take it for the beginning of a block.
func escapeBlockStart(line string) string {
	if !blockStart.MatchString(line) {
		return line
	}
	if digits := strings.IndexFunc(line, func(r rune) bool { return r < '0' || r > '9' }); digits > 0 {
		return line[:digits] + `\` + line[digits:]
	}
	return `\` + line
}

// bareURL matches a URL in a text, which Markdown turns into a link.
var bareURL = regexp.MustCompile(`(?:https?://|www\.)[^\s<>"\[\]` + "`" + `]+`)

// escape returns a text on one line, escaped so that Markdown shows it literally. URLs stay unchanged.
func escape(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if !strings.ContainsAny(text, "\\`*_[]<~|&") {
		return text
	}
	var out strings.Builder
	offset := 0
	for _, match := range bareURL.FindAllStringIndex(text, -1) {
		start, end := match[0], match[1]
		if previous, _ := utf8.DecodeLastRuneInString(text[:start]); isLetter(previous) {
			continue
		}
		escapeInto(&out, text, offset, start)
		out.WriteString(text[start:end])
		offset = end
	}
	escapeInto(&out, text, offset, len(text))
	return out.String()
}

// entity matches a character reference, which Markdown shows as another character.
var entity = regexp.MustCompile(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

// escapeInto writes the part of a text between two offsets, with backslashes before characters that have a meaning in
// Markdown.
func escapeInto(out *strings.Builder, text string, start, end int) {
	for i := start; i < end; i++ {
		b := text[i]
		switch b {
		case '\\', '`', '*', '[', ']', '<', '~', '|':
			out.WriteByte('\\')
		case '_': // has no effect within a word
			previous, _ := utf8.DecodeLastRuneInString(text[:i])
			next, _ := utf8.DecodeRuneInString(text[i+1:])
			if !isLetter(previous) || !isLetter(next) {
				out.WriteByte('\\')
			}
		case '&':
			if entity.MatchString(text[i:min(len(text), i+40)]) { // a character reference is shorter
				out.WriteByte('\\')
			}
		}
		out.WriteByte(b)
	}
}

// isLetter reports whether r is a letter or a digit.
func isLetter(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// destination returns an address as the destination of a Markdown link, or "" if the board would not show such a link.
func destination(raw string) string {
	raw = strings.TrimSpace(raw)
	if strings.HasPrefix(strings.ToLower(raw), "www.") {
		raw = "http://" + raw
	}
	u, err := url.Parse(strings.ReplaceAll(raw, " ", "%20"))
	if err != nil || len(raw) > 2048 {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto":
	default:
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C", "\n", "", "\t", "%09",
		"`", "%60", "|", "%7C").Replace(u.String())
}
