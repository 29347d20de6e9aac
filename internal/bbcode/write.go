package bbcode

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// writer turns nodes into Markdown.
type writer struct {
	Options
	out  strings.Builder // finished blocks
	para []string        // finished lines of the current paragraph
	line []run           // the current line
}

// run is a piece of a line.
type run struct {
	text  string // Markdown
	style style
	link  string // the address, or empty
	loose bool   // its white space can be moved out of marks
}

// style is a set of styles of letters.
type style uint8

const (
	styleBold style = 1 << iota
	styleItalic
	styleStrike
)

// styleMark is a single style with the Markdown mark at its beginning and end.
type styleMark struct {
	style style
	mark  string
}

// styleMarks are all styles, in the order in which their marks are written.
var styleMarks = []styleMark{{styleBold, "**"}, {styleItalic, "*"}, {styleStrike, "~~"}}

// look has the style and link that a text gets from the tags around it.
type look struct {
	style style
	link  string
}

// blocks returns nodes as Markdown without empty lines around it.
func (w *writer) blocks(nodes []*node) string {
	inner := &writer{Options: w.Options}
	inner.walk(nodes, look{})
	inner.endParagraph()
	return strings.Trim(inner.out.String(), "\n")
}

// walk adds nodes with the style and link l.
func (w *writer) walk(nodes []*node, l look) {
	for _, n := range nodes {
		w.node(n, l)
	}
}

// node adds a node with the style and link l.
func (w *writer) node(n *node, l look) {
	switch n.kind {
	case textual:
		w.text(n.text, l)
	case bold:
		w.walk(n.children, look{l.style | styleBold, l.link})
	case italic:
		w.walk(n.children, look{l.style | styleItalic, l.link})
	case strike:
		w.walk(n.children, look{l.style | styleStrike, l.link})
	case link:
		w.walk(n.children, look{l.style, cmp.Or(l.link, destination(unquote(n.arg)))})
	case address:
		w.address(n.text, destination(n.text), l)
	case mail:
		recipient := cmp.Or(unquote(n.arg), strings.TrimSpace(n.text))
		if l.link == "" && strings.Contains(recipient, "@") {
			l.link = destination("mailto:" + recipient)
		}
		w.text(n.text, l)
		w.walk(n.children, l)
	case picture:
		w.picture(n, l)
	case video:
		w.video(n, l)
	case file:
		w.file(n, l)
	case codeSpan:
		w.codeSpan(n.text, l)
	case quote:
		w.quoted(author(n.arg), n.children)
	case spoiler:
		w.quoted(cmp.Or(unquote(n.arg), "Spoiler"), n.children)
	case code:
		w.code(n)
	case list:
		w.list(n)
	case item: // outside of a list
		if text := w.blocks(n.children); text != "" {
			w.block(prefixed(text, "- ", "  "))
		}
	case heading:
		w.heading(n)
	case rule:
		w.block("---")
	case row:
		w.endRow()
		w.walk(n.children, l)
		w.endRow()
	case plain:
		w.walk(n.children, l)
		if n.tag == "td" || n.tag == "th" {
			w.text(" ", l)
		}
	}
}

// text adds a text with its line ends.
func (w *writer) text(text string, l look) {
	for {
		line, rest, lineEnds := strings.Cut(text, "\n")
		if line != "" {
			w.line = append(w.line, run{escape(line), l.style, l.link, true})
		}
		if !lineEnds {
			return
		}
		w.endLine()
		text = rest
	}
}

// add adds a piece of Markdown.
func (w *writer) add(markdown string, l look) {
	w.line = append(w.line, run{markdown, l.style, l.link, false})
}

// endLine ends a line. An empty line ends the paragraph.
func (w *writer) endLine() {
	line := lineOf(w.line)
	w.line = w.line[:0]
	if line == "" {
		w.endParagraph()
		return
	}
	w.para = append(w.para, line)
}

// endRow ends the current line, unless the line is empty.
func (w *writer) endRow() {
	if len(w.line) > 0 {
		w.endLine()
	}
}

// endParagraph ends the current line and paragraph, and writes the paragraph unless it is empty.
func (w *writer) endParagraph() {
	if len(w.line) > 0 {
		if line := lineOf(w.line); line != "" {
			w.para = append(w.para, line)
		}
		w.line = w.line[:0]
	}
	if len(w.para) > 0 {
		w.write(strings.Join(w.para, "\\\n"))
		w.para = w.para[:0]
	}
}

// block adds lines that are a block of their own, not part of a paragraph.
func (w *writer) block(markdown string) {
	w.endParagraph()
	if markdown != "" {
		w.write(markdown)
	}
}

// write writes a block, separated from the previous block by an empty line.
func (w *writer) write(markdown string) {
	if w.out.Len() > 0 {
		w.out.WriteString("\n\n")
	}
	w.out.WriteString(markdown)
}

// address adds a link to the URL href, with the given text.
func (w *writer) address(text, href string, l look) {
	if l.link == "" {
		l.link = href
	}
	w.text(strings.TrimSpace(strings.ReplaceAll(text, "\n", " ")), l)
}

// picture adds a picture, or a link if the board does not show pictures from its address.
func (w *writer) picture(n *node, l look) {
	target := destination(n.text)
	if !strings.HasPrefix(target, "https://") {
		w.address(n.text, target, l)
		return
	}
	w.add("![]("+target+")", l)
}

// videoID matches the id of a YouTube video.
var videoID = regexp.MustCompile(`^[A-Za-z0-9_-]{6,20}$`)

// video adds a link to a video.
func (w *writer) video(n *node, l look) {
	id := strings.TrimSpace(n.text)
	site := strings.ToLower(unquote(n.arg))
	if videoID.MatchString(id) && (n.tag == "youtube" || site == "youtube") {
		id = "https://www.youtube.com/watch?v=" + id
	}
	w.address(id, destination(id), l)
}

// file adds an attached file with Options.File, or its name.
func (w *writer) file(n *node, l look) {
	name := strings.TrimSpace(n.text)
	if w.File == nil {
		w.text(name, l)
		return
	}
	w.add(w.File(unquote(n.arg), name), look{l.style, ""})
}

// codeSpan adds a code span within a line.
func (w *writer) codeSpan(text string, l look) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
	if text == "" {
		return
	}
	fence := strings.Repeat("`", longest(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	w.add(fence+text+fence, l)
}

// longest returns the length of the longest sequence of the byte b in a text.
func longest(text string, b byte) (length int) {
	current := 0 // length of the sequence that ends at text[i]
	for i := range len(text) {
		if text[i] == b {
			current++
		} else {
			current = 0
		}
		length = max(length, current)
	}
	return length
}

// language matches the name of a programming language.
var language = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+#-]{0,19}$`)

// code adds a fenced code block.
func (w *writer) code(n *node) {
	text := strings.Trim(n.text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	name := unquote(n.arg)
	if n.tag == "php" || n.tag == "html" || n.tag == "sql" {
		name = n.tag
	}
	if !language.MatchString(name) {
		name = ""
	}
	fence := strings.Repeat("`", max(3, longest(text, '`')+1))
	w.block(fence + name + "\n" + text + "\n" + fence)
}

// quoted adds a quotation, with the author's name above it unless the name is empty.
func (w *writer) quoted(name string, children []*node) {
	text := w.blocks(children)
	if name != "" {
		text = strings.TrimRight("**"+strings.TrimSpace(escape(name))+":**\n\n"+text, "\n")
	}
	if text != "" {
		w.block(prefixed(text, "> ", "> "))
	}
}

// prefixed puts firstPrefix before the first line of a text, and otherPrefix before each other line.
func prefixed(text, firstPrefix, otherPrefix string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		prefix := otherPrefix
		if i == 0 {
			prefix = firstPrefix
		}
		lines[i] = strings.TrimRight(prefix+line, " ")
	}
	return strings.Join(lines, "\n")
}

// list adds a list. Content before the first item becomes a block before the list.
func (w *writer) list(n *node) {
	first, rest := "- ", "  " // prefixes of the first line and the other lines of an item
	if kind := unquote(n.arg); n.tag == "ol" || n.tag == "list" && len(kind) == 1 && strings.Contains("1aAiI", kind) {
		first, rest = "1. ", "   "
	}
	firstItem := slices.IndexFunc(n.children, func(child *node) bool { return child.kind == item })
	if firstItem < 0 {
		firstItem = len(n.children)
	}
	if text := w.blocks(n.children[:firstItem]); text != "" {
		w.block(text)
	}
	var items []string
	for _, child := range n.children[firstItem:] {
		nodes := child.children
		if child.kind != item { // content between two items becomes an item
			nodes = []*node{child}
		}
		if text := w.blocks(nodes); text != "" {
			items = append(items, prefixed(text, first, rest))
		}
	}
	w.block(strings.Join(items, "\n"))
}

// heading adds a heading, or a plain block if the content has several lines.
func (w *writer) heading(n *node) {
	level := "## "
	if n.tag >= "h3" && n.tag <= "h6" {
		level = "### "
	}
	text := w.blocks(n.children)
	if strings.Contains(text, "\n") {
		w.block(text)
		return
	}
	if text != "" {
		w.block(level + text)
	}
}

// unquote returns an argument without quotation marks.
func unquote(arg string) string {
	arg = strings.TrimSpace(arg)
	if len(arg) >= 2 && (arg[0] == '"' || arg[0] == '\'') {
		if end := strings.IndexByte(arg[1:], arg[0]); end >= 0 {
			return strings.TrimSpace(arg[1 : end+1])
		}
	}
	return arg
}

// attributes matches the attributes after the author's name in the argument of a quotation.
var attributes = regexp.MustCompile(
	`(?i)(?:\s+(?:post_id|user_id|time|pid|dateline|msg_id|author|date)=.*|,\s*(?:post|member):.*|;\d+)$`)

// author returns the author's name in the argument of a quotation.
func author(arg string) string {
	if !strings.HasPrefix(arg, `"`) && !strings.HasPrefix(arg, "'") {
		return strings.TrimSpace(attributes.ReplaceAllString(" "+arg, ""))
	}
	return strings.TrimSpace(attributes.ReplaceAllString(unquote(arg), ""))
}
