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
	const other, blank, words = 0, 1, 2 // the kinds of lines
	var lines []string
	previous := other // the kind of the previous line
	prefix := ""      // the marks of the open quotations
	code := ""        // the fence of the open block of code, or empty
	add := func(line string, kind int) {
		switch {
		case kind == blank && previous == blank:
			return
		case kind == words && previous == words:
			lines[len(lines)-1] += "  " // keep the line break, as Discourse does
		}
		lines, previous = append(lines, strings.TrimRight(prefix+line, " ")), kind
	}
	raw = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(raw)
	raw = quoteTag.ReplaceAllString(raw, "\n\n$0\n\n") // each tag gets a line of its own
	for line := range strings.SplitSeq(raw, "\n") {
		fenceMatch, tag := fence.FindStringSubmatch(line), quoteTag.FindStringSubmatch(line)
		switch {
		case code != "":
			add(line, other)
			if fenceMatch != nil && strings.HasPrefix(fenceMatch[1], code) {
				code = ""
			}
		case fenceMatch != nil:
			add(line, other)
			code = fenceMatch[1]
		case strings.TrimSpace(line) == "":
			add("", blank)
		case tag == nil:
			add(withFiles(line, files), words)
		case tag[1] != "": // the end of a quotation
			if previous == blank { // it was added before the tag, and would be a part of the quotation
				lines = lines[:len(lines)-1]
			}
			prefix, previous = strings.TrimPrefix(prefix, "> "), other
		case len(prefix) < maxQuotes*len("> "): // the beginning of a quotation; deeper ones are not nested any further
			prefix += "> "
			if name, _, _ := strings.Cut(strings.Trim(tag[2], `"' `), ","); name != "" {
				add("**"+fileLabel(name)+":**", words)
			}
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// withFiles replaces the images and links in a line that refer to uploads by references to files of the board. A
// reference to a file that is not in files is replaced by its label.
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
