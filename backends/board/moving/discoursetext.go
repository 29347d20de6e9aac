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
	const none, blank, words = 0, 1, 2 // what the line before is
	var lines []string
	prefix, code, before := "", "", none
	add := func(line string, is int) {
		switch {
		case is == blank && before == blank:
			return
		case is == words && before == words:
			lines[len(lines)-1] += "  "
		}
		lines, before = append(lines, strings.TrimRight(prefix+line, " ")), is
	}
	raw = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(raw)
	for line := range strings.SplitSeq(quoteTag.ReplaceAllString(raw, "\n\n$0\n\n"), "\n") {
		mark, tag := fence.FindStringSubmatch(line), quoteTag.FindStringSubmatch(line)
		switch {
		case code != "":
			if add(line, none); mark != nil && strings.HasPrefix(mark[1], code) {
				code = ""
			}
		case mark != nil:
			add(line, none)
			code = mark[1]
		case strings.TrimSpace(line) == "":
			add("", blank)
		case tag == nil:
			add(withFiles(line, files), words)
		case tag[1] != "":
			if before == blank {
				lines = lines[:len(lines)-1]
			}
			prefix, before = strings.TrimPrefix(prefix, "> "), none
		case len(prefix) < maxQuotes*len("> "):
			prefix += "> "
			if name, _, _ := strings.Cut(strings.Trim(tag[2], `"' `), ","); name != "" {
				add("**"+fileLabel(name)+":**", words)
			}
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// withFiles replaces the addresses of files in a line with the board's references to them.
func withFiles(line string, files []seed.MovedFile) string {
	return uploaded.ReplaceAllStringFunc(line, func(found string) string {
		parts := uploaded.FindStringSubmatch(found)
		address := parts[2]
		if address == "" {
			return found
		}
		short := strings.Contains(address, "upload://") || strings.Contains(address, "/short-url/")
		sum := content.SumThere(path.Base(address), short)
		for _, f := range files {
			if f.Sum == sum && sum != 0 {
				return fileLink(f.Name)
			}
		}
		label, _, _ := strings.Cut(parts[1], "|")
		return fileLabel(label)
	})
}
