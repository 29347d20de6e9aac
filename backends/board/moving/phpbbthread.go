package moving

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/bbcode"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// textOf returns a post without its text, and a function that converts its text to Markdown.
func (b *phpbb) textOf(r *sqldump.Row) (seed.SeedPost, func() string) {
	p := seed.SeedPost{
		Moved: r.Int("post_id"), MovedAuthor: r.Int("poster_id"), At: unixTime(r, "post_time"),
		EditReason: seed.MovedLine(text(r, "post_edit_reason"), 200),
		Visibility: rights.VisibilityNames[visibility(r, "post_visibility", "post_approved")],
	}
	p.Guest = guestName(text(r, "post_username"), b.names[p.MovedAuthor])
	if p.MovedAuthor == phpbbAnonymous {
		p.MovedAuthor = 0
	}
	if r.Int("post_edit_count") > 0 {
		b.edited(&p, unixTime(r, "post_edit_time"), r.Int("post_edit_user"))
	}
	t := textIn(r, "post_text")
	t.files = b.filesOf(p.Moved)
	return p, t.markdown
}

// textIn returns the text in a column.
func textIn(r *sqldump.Row, column string) postText {
	bbcode := !r.Has("enable_bbcode") || r.Int("enable_bbcode") != 0
	return postText{text: r.Text(column), uid: r.Text("bbcode_uid"), bbcode: bbcode}
}

// filesOf returns the names of a post's files, newest first. Texts refer to a file by its index in this list.
func (b *phpbb) filesOf(post int64) []string {
	indexes := b.byPost[post]
	if len(indexes) == 0 || b.options.Attachments == "" {
		return nil
	}
	names := make([]string, len(indexes))
	for i, index := range indexes {
		names[len(names)-1-i] = b.files[index].Name
	}
	return names
}

// postText is a text in the form that phpBB stores.
type postText struct {
	text   string
	uid    string   // the id that earlier versions add to each tag of the text
	bbcode bool     // tags in it are markup
	files  []string // the names of the post's files, newest first
}

// markdown converts the text to Markdown.
func (p postText) markdown() string {
	plain := p.source()
	if !p.bbcode || strings.HasPrefix(p.text, "<t>") { // the text has no markup
		plain = strings.ReplaceAll(plain, "[", "[\u2060") // no tag begins with an invisible character
		return strings.ReplaceAll(bbcode.Markdown(plain, bbcode.Options{}), "\u2060", "")
	}
	return bbcode.Markdown(plain, bbcode.Options{File: p.file})
}

// plainText returns the text without its markup, for descriptions.
func plainText(p postText) string { return anyTag.ReplaceAllString(p.source(), "") }

var anyTag = regexp.MustCompile(`\[/?[a-zA-Z*][^\[\]\n]{0,200}\]`)

// pictureName matches the names of files that are shown as pictures.
var pictureName = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|webp)$`)

// file returns the Markdown for a file in the text. number is the index of the file in p.files, and name is the
// file's name in the text. If the post has a file with this name, file uses name and ignores number.
func (p postText) file(number, name string) string {
	n, err := strconv.Atoi(number)
	if err == nil && n >= 0 && n < len(p.files) && !slices.Contains(p.files, name) {
		name = p.files[n]
	}
	if !slices.Contains(p.files, name) { // the file is not imported
		return fileLabel(name)
	}
	return fileLink(name)
}

// fileLabel escapes the name of a file for Markdown.
func fileLabel(name string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`).Replace(name)
}

// fileLink returns the Markdown of a file of the same post: an image if it is a picture, or else a link.
func fileLink(name string) string {
	link := "[" + fileLabel(name) + "](" + bracketed("attachment:"+name) + ")"
	if pictureName.MatchString(name) {
		return "!" + link
	}
	return link
}

// bracketed returns the destination of a Markdown link in angle brackets. Characters that could end the destination are
// removed.
func bracketed(address string) string {
	return "<" + strings.NewReplacer("<", "", ">", "", `\`, "", "\n", "").Replace(address) + ">"
}

var (
	// xmlTag matches a tag of the XML in which phpBB 3.2 and later store a text. Without its tags, the XML is the text as
	// it was typed.
	xmlTag = regexp.MustCompile(`</?[A-Za-z][A-Za-z0-9_:-]*(?:\s[^<>]*)?/?>`)
	// smiley, magicLink and fileMark match the HTML that earlier versions insert into a text.
	smiley    = regexp.MustCompile(`<!-- s(\S+) --><img src="[^"]*" alt="[^"]*"[^>]*><!-- s\S+ -->`)
	magicLink = regexp.MustCompile(`<!-- [mlwe] --><a [^>]*href="(?:mailto:)?([^"]*)"[^>]*>[^<]*</a><!-- [mlwe] -->`)
	fileMark  = regexp.MustCompile(`<!-- ia\d+ -->`)
	// listEnd matches the ends of lists and list items, to which earlier versions add a letter for the kind of list.
	listEnd = regexp.MustCompile(`\[/(list|\*):[a-z]\]`)
)

// source returns the text with BBCode as its author typed it.
func (p postText) source() string {
	text := p.text
	if strings.HasPrefix(text, "<r>") || strings.HasPrefix(text, "<t>") {
		return html.UnescapeString(xmlTag.ReplaceAllString(text, ""))
	}
	text = smiley.ReplaceAllString(text, "$1")
	text = magicLink.ReplaceAllString(text, "$1")
	text = fileMark.ReplaceAllString(text, "")
	if p.uid != "" {
		text = strings.ReplaceAll(text, ":"+p.uid, "")
		text = listEnd.ReplaceAllString(text, "[/$1]")
	}
	return html.UnescapeString(strings.ReplaceAll(text, "<br />", "\n"))
}
