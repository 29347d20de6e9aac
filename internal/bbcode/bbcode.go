// Package bbcode turns BBCode, the markup of forums, into Markdown. It knows the tags that phpBB, MyBB, XenForo and
// other forums have in common. An unknown tag stays in the text unchanged.
package bbcode

import (
	"strings"
)

// maxDepth limits how deeply tags are nested. Deeper tags are left out, and their content stays.
const maxDepth = 24

// Options are the settings of Markdown.
type Options struct {
	// File returns the Markdown for a file attached to the post. The text refers to the file by number and name.
	// Default: the name.
	File func(number, name string) string
}

// Markdown converts a text with BBCode to Markdown. The time and the size of the result are at most proportional to the
// length of the text.
func Markdown(source string, o Options) string {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(source)
	root := parse(source)
	return (&writer{Options: o}).blocks(root.children)
}

// kind says how a node is converted.
type kind int

const (
	plain    kind = iota // only the content is shown
	bold                 // a style of letters, as are the next two
	italic               //
	strike               //
	link                 // a link: the argument is the address, and the content is the text
	address              // a link whose content is the address
	mail                 // a link to a mail address, in the argument or the content
	picture              // the content is the address of a picture
	video                // the content is the address or the id of a video
	file                 // an attached file
	quote                // a quotation; the argument has the author
	spoiler              // text that readers may want to skip
	code                 // the content is shown literally, as a block
	codeSpan             // the content is shown literally, within a line
	list                 // a list of items
	item                 // an item of a list
	heading              // a heading
	rule                 // a horizontal line; it has no content
	row                  // a row of a table
	textual              // not a tag but a text
)

// kinds are the kinds of known tags by name.
var kinds = map[string]kind{
	"b": bold, "strong": bold, "bold": bold, "i": italic, "em": italic, "italic": italic, "s": strike, "strike": strike,
	"del": strike, "u": plain, "ins": plain, "size": plain, "color": plain, "colour": plain, "font": plain,
	"center": plain, "centre": plain, "left": plain, "right": plain, "justify": plain, "align": plain, "sub": plain,
	"sup": plain, "highlight": plain, "background": plain, "indent": plain, "bgcolor": plain, "float": plain,
	"table": plain, "tbody": plain, "thead": plain, "td": plain, "th": plain, "tr": row, "mention": plain, "user": plain,
	"url": link, "link": link, "email": mail, "img": picture, "image": picture, "youtube": video, "video": video,
	"media": video, "flash": plain, "attachment": file, "attach": file, "quote": quote, "blockquote": quote,
	"spoiler": spoiler, "hide": spoiler, "code": code, "php": code, "html": code, "sql": code, "pre": code,
	"codebox": code, "icode": codeSpan, "tt": codeSpan, "c": codeSpan, "list": list, "ul": list, "ol": list, "*": item,
	"li": item, "h1": heading, "h2": heading, "h3": heading, "h4": heading, "h5": heading, "h6": heading,
	"heading": heading, "title": heading, "hr": rule,
}

// node is a tag with its content, or a text.
type node struct {
	kind
	tag      string // in lower case
	arg      string // what follows the equals sign, or the attributes
	text     string // of a text, or the content of a tag that is not parsed
	opening  string // the tag as it was written
	children []*node
}

// tree builds nodes from a text.
type tree struct {
	source  string
	lower   string          // source in lower case, with the same offsets
	open    []*node         // open tags, from the root to the innermost tag
	missing map[string]bool // names whose closing tag does not occur in the rest of the text
	closed  map[string]int  // how many tags were ended before their closing tags, by name
	tooDeep map[string]int  // how many tags were left out because they nest too deep, by name
}

// parse parses a text and returns the root of the tree.
func parse(source string) *node {
	t := &tree{
		source: source, lower: lower(source), open: []*node{{kind: plain}}, missing: make(map[string]bool),
		closed: make(map[string]int), tooDeep: make(map[string]int),
	}
	for offset := 0; offset < len(source); {
		bracket := strings.IndexByte(source[offset:], '[')
		if bracket < 0 {
			t.text(source[offset:])
			break
		}
		t.text(source[offset : offset+bracket])
		offset += bracket
		end := t.tag(offset)
		if end == offset {
			end++
			t.text("[")
		}
		offset = end
	}
	for len(t.open) > 1 {
		t.abandon()
	}
	return t.open[0]
}

// lower returns a text with ASCII letters in lower case. Offsets into the text remain valid.
func lower(text string) string {
	raw := []byte(text)
	for i, b := range raw {
		if b >= 'A' && b <= 'Z' {
			raw[i] = b + 'a' - 'A'
		}
	}
	return string(raw)
}

// top returns the innermost open tag.
func (t *tree) top() *node { return t.open[len(t.open)-1] }

// add adds a node to the content of the innermost open tag.
func (t *tree) add(n *node) { t.top().children = append(t.top().children, n) }

// text adds a text, unless it is empty.
func (t *tree) text(text string) {
	if text != "" {
		t.add(&node{kind: textual, text: text})
	}
}

// abandon ends the innermost open tag, which has no closing tag: the opening tag becomes text. A list item needs no
// closing tag and stays an item.
func (t *tree) abandon() {
	n := t.top()
	t.open = t.open[:len(t.open)-1]
	siblings := t.top().children
	if n.kind == item {
		return
	}
	siblings = append(siblings[:len(siblings)-1], &node{kind: textual, text: n.opening})
	t.top().children = append(siblings, n.children...)
}

// maxTag limits the name of a tag, in bytes.
const maxTag = 16

// maxArg limits the argument of a tag, in bytes.
const maxArg = 512

// isTagByte reports whether a byte may be part of a tag's name.
func isTagByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '*' }

// scanTag reads the tag whose opening bracket is at the offset start. closing reports whether it is a closing tag. end
// is the offset after the tag, or 0 if there is no tag.
func (t *tree) scanTag(start int) (name, arg string, closing bool, end int) {
	i := start + 1
	if i < len(t.lower) && t.lower[i] == '/' {
		closing = true
		i++
	}
	nameStart := i
	for i < len(t.lower) && i-nameStart < maxTag && isTagByte(t.lower[i]) {
		i++
	}
	name = t.lower[nameStart:i]
	if i == len(t.lower) || name == "" {
		return "", "", false, 0
	}
	switch t.lower[i] {
	case ']':
		return name, "", closing, i + 1
	case '=', ' ', ':': // an argument follows
	default:
		return "", "", false, 0
	}
	rest := t.source[i : i+min(len(t.source)-i, maxArg)]
	quoteMark := byte(0) // the mark around the current part of the argument, or 0
	for j := range len(rest) {
		switch b := rest[j]; {
		case b == '\n':
			return "", "", false, 0
		case quoteMark != 0:
			if b == quoteMark {
				quoteMark = 0
			}
		case (b == '"' || b == '\'') && j > 0 && rest[j-1] == '=':
			if strings.IndexByte(rest[j+1:], b) >= 0 {
				quoteMark = b
			}
		case b == ']':
			return name, strings.TrimSpace(strings.TrimPrefix(rest[:j], "=")), closing, i + j + 1
		}
	}
	return "", "", false, 0
}

// tag adds the tag that begins at the offset start, and returns the offset after the tag. If no known tag begins there
// it returns start.
func (t *tree) tag(start int) int {
	name, arg, closing, end := t.scanTag(start)
	k, known := kinds[name]
	if end == 0 || !known { // it stays text
		return start
	}
	if closing {
		return t.close(name, start, end)
	}
	n := &node{kind: k, tag: name, arg: arg, opening: t.source[start:end]}
	switch {
	case k == rule:
		t.add(n)
		return end
	case k == link && arg == "":
		n.kind = address
	case k == item:
		t.endItem()
	}
	if isRaw(n) {
		if t.missing[name] {
			return start
		}
		size := strings.Index(t.lower[end:], "[/"+name+"]")
		if size < 0 {
			t.missing[name] = true
			return start
		}
		n.text = t.source[end : end+size]
		t.add(n)
		return end + size + len("[/]") + len(name)
	}
	if len(t.open) > maxDepth {
		t.tooDeep[name]++ // so that close ignores its closing tag
		return end
	}
	t.add(n)
	t.open = append(t.open, n)
	return end
}

// isRaw reports whether the content of a tag is not parsed as BBCode.
func isRaw(n *node) bool {
	switch n.kind {
	case address, picture, video, file, code, codeSpan:
		return true
	case mail:
		return n.arg == ""
	default:
		return false
	}
}

// endItem ends the innermost list's open item.
func (t *tree) endItem() {
	for i := len(t.open) - 1; i > 0 && t.open[i].kind != list; i-- {
		if t.open[i].kind == item {
			t.endAt(i)
			return
		}
	}
}

// endAt ends the open tags from index i on. The closing tags of the inner ones may still follow, and will be ignored.
func (t *tree) endAt(i int) {
	for _, n := range t.open[i+1:] {
		t.closed[n.tag]++
	}
	t.open = t.open[:i]
}

// close handles a closing tag between the offsets start and end: it ends the innermost open tag of that name and
// returns end. If no open tag can belong to the closing tag, close returns start.
func (t *tree) close(name string, start, end int) int {
	if t.tooDeep[name] > 0 {
		t.tooDeep[name]--
		return end
	}
	for i := len(t.open) - 1; i > 0; i-- {
		if t.open[i].tag == name {
			t.endAt(i)
			return end
		}
	}
	if t.closed[name] > 0 {
		t.closed[name]--
		return end
	}
	if name == "*" || name == "li" { // an item that endItem has ended already
		return end
	}
	return start
}
