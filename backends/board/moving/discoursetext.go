package moving

import (
	"path"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
)

// maxQuotes limits the nesting of quotations.
const maxQuotes = 20

var (
	// fence matches the line that begins or ends a block of code.
	fence = regexp.MustCompile("^[ >]*(```+|~~~+)")
	// quoteTag matches the tags of quotations, of details and of spoilers.
	quoteTag = regexp.MustCompile(`(?i)\[(/?)(?:quote|details|spoiler)(?:=("[^"\n]*"|[^\[\]\n]*))?\]`)
	// uploaded matches images and links to files. It also matches code, so that images and links in code are not
	// replaced.
	uploaded = regexp.MustCompile("`[^`\n]*`" +
		`|!?\[([^\[\]\n]*)\]\(((?:upload://|[^\s()]*/uploads/)[^\s()]+)[^()\n]*\)`)
)

// discourseMarkdown converts a text of Discourse to Markdown of the board. Discourse writes Markdown too, but with
// other quotations, file addresses and line breaks. files are the files of the post.
func discourseMarkdown(raw string, files []seed.MovedFile) string {
	var w discourseWriter
	code := "" // the fence of the open block of code, or empty
	raw = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(raw)
	raw = quoteTag.ReplaceAllString(raw, "\n\n$0\n\n") // each tag gets a line of its own
	for line := range strings.SplitSeq(raw, "\n") {
		fenceMatch, tag := fence.FindStringSubmatch(line), quoteTag.FindStringSubmatch(line)
		switch {
		case code != "":
			w.add(line, otherLine)
			if fenceMatch != nil && strings.HasPrefix(fenceMatch[1], code) {
				code = ""
			}
		case fenceMatch != nil:
			w.add(line, otherLine)
			code = fenceMatch[1]
		case strings.TrimSpace(line) == "":
			w.add("", blankLine)
		case tag == nil:
			w.add(withFiles(line, files), wordsLine)
		case tag[1] != "":
			w.endQuote()
		default:
			name, _, _ := strings.Cut(strings.Trim(tag[2], `"' `), ",")
			w.beginQuote(name)
		}
	}
	return strings.Trim(strings.Join(w.lines, "\n"), "\n")
}

// The kinds of the lines of a discourseWriter.
const (
	otherLine = iota
	blankLine
	wordsLine
)

// discourseWriter collects the lines of the Markdown of a text.
type discourseWriter struct {
	lines    []string
	previous int // the kind of the last line
	quotes   int // how many quotations are open; those deeper than maxQuotes are not nested any further
}

// add adds a line, with the marks of all open quotations before it. Of several blank lines it adds only the first.
func (w *discourseWriter) add(line string, kind int) {
	switch {
	case kind == blankLine && w.previous == blankLine:
		return
	case kind == wordsLine && w.previous == wordsLine:
		w.lines[len(w.lines)-1] += "  " // keep the line break, as Discourse does
	}
	marks := strings.Repeat("> ", min(w.quotes, maxQuotes))
	w.lines, w.previous = append(w.lines, strings.TrimRight(marks+line, " ")), kind
}

// beginQuote begins a quotation of a text by the author with this name, which may be empty.
func (w *discourseWriter) beginQuote(name string) {
	w.quotes++
	if w.quotes <= maxQuotes && name != "" {
		w.add("**"+fileLabel(name)+":**", wordsLine)
	}
}

// endQuote ends the innermost quotation, if there is one.
func (w *discourseWriter) endQuote() {
	if w.previous == blankLine { // the blank line was added before the tag, and would be a part of the quotation
		w.lines = w.lines[:len(w.lines)-1]
	}
	w.quotes, w.previous = max(w.quotes-1, 0), otherLine
}

// withFiles replaces a line's images and links to uploads with references to files of the board. If files does not
// contain the upload, the label of the image or link replaces it.
func withFiles(line string, files []seed.MovedFile) string {
	return uploaded.ReplaceAllStringFunc(line, func(match string) string {
		parts := uploaded.FindStringSubmatch(match)
		address := parts[2]
		if address == "" { // code
			return match
		}
		short := strings.Contains(address, "upload://") || strings.Contains(address, "/short-url/")
		sum := content.MovedSumID(path.Base(address), short)
		for _, f := range files {
			if f.Sum == sum && sum != 0 {
				return fileLink(f.Name)
			}
		}
		label, _, _ := strings.Cut(parts[1], "|")
		return fileLabel(label)
	})
}
