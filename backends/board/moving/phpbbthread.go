package moving

import (
	"cmp"
	"errors"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/bbcode"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// thread returns a thread with the texts of its posts as they are in the dump.
func (b *phpbb) thread(i int) (*seed.SeedThread, error) {
	topic := &b.topics[i]
	begin, found := b.first[topic.id]
	if !found {
		return nil, &seed.MovedError{
			Kind: content.MovedThread, ID: topic.id, Name: topic.title, Err: errors.New("it has no posts"),
		}
	}
	t := &seed.SeedThread{
		Title: topic.title, Sticky: topic.sticky, Locked: topic.locked, Views: topic.views,
		Moved: &seed.MovedThread{ID: topic.id, Forum: topic.forum},
	}
	if t.Moved.Forum == 0 { // an announcement in all forums, of phpBB 3.0
		for _, f := range b.forums {
			if f.Type == "forum" {
				t.Moved.Forum = f.ID
				break
			}
		}
	}
	var texts []postText
	visible := -1
	for j := begin; j < len(b.posts) && b.posts[j].topic == topic.id; j++ {
		r, err := b.At(b.posts[j].place)
		if err != nil {
			return nil, err
		}
		p := b.postOf(r)
		hidden := visibility(r, "post_visibility", "post_approved")
		p.Visibility = rights.VisibilityNames[hidden]
		if hidden == rights.Visible && visible < 0 {
			visible = len(t.Posts)
		}
		t.Posts = append(t.Posts, p)
		texts = append(texts, postText{
			text: r.Text("post_text"), uid: r.Text("bbcode_uid"), bbcode: !r.Has("enable_bbcode") || r.Int("enable_bbcode") != 0,
			files: b.filesOf(p.Moved),
		})
	}
	// The first post of a thread that is shown is one that is shown.
	if topic.visibility == rights.Visible && visible > 0 {
		post, text := t.Posts[visible], texts[visible]
		copy(t.Posts[1:visible+1], t.Posts[:visible])
		copy(texts[1:visible+1], texts[:visible])
		t.Posts[0], texts[0] = post, text
	}
	if topic.visibility != rights.Visible {
		t.Posts[0].Visibility = rights.VisibilityNames[topic.visibility]
	}
	t.Moved.Convert = func(t *seed.SeedThread) error {
		for i := range t.Posts {
			t.Posts[i].Message = texts[i].markdown()
		}
		return nil
	}
	return t, nil
}

func (b *phpbb) postOf(r *sqldump.Row) seed.SeedPost {
	p := seed.SeedPost{
		Moved: r.Int("post_id"), MovedAuthor: r.Int("poster_id"), At: seconds(r, "post_time"),
		EditReason: seed.MovedLine(text(r, "post_edit_reason"), 200),
	}
	p.Guest = cmp.Or(seed.MovedLine(cmp.Or(text(r, "post_username"), b.names[p.MovedAuthor]), 40), "Guest")
	if p.MovedAuthor == phpbbAnonymous {
		p.MovedAuthor = 0
	}
	if r.Int("post_edit_count") > 0 {
		p.EditedAt = seconds(r, "post_edit_time")
		if editor := r.Int("post_edit_user"); editor != p.MovedAuthor { // an empty name is that of the author
			p.EditedBy = seed.MovedLine(b.names[editor], 40)
		}
	}
	return p
}

// filesOf returns the names of the files at a post, by their numbers in texts: the newest has the number 0.
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

// postText is a text as phpBB has stored it.
type postText struct {
	text, uid string
	bbcode    bool     // tags in it are markup
	files     []string // the names of the files at the post
}

// markdown returns the text as Markdown.
func (p postText) markdown() string {
	plain := p.source()
	if !p.bbcode || strings.HasPrefix(p.text, "<t>") {
		plain = strings.ReplaceAll(plain, "[", "[\u2060") // no tag begins with an invisible character
		return strings.ReplaceAll(bbcode.Markdown(plain, bbcode.Options{}), "\u2060", "")
	}
	return bbcode.Markdown(plain, bbcode.Options{File: p.file})
}

// plainText returns the text of a description without its markup.
func plainText(p postText) string { return anyTag.ReplaceAllString(p.source(), "") }

var anyTag = regexp.MustCompile(`\[/?[a-zA-Z*][^\[\]\n]{0,200}\]`)

// pictureName matches the names of files that are shown in the text.
var pictureName = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|webp)$`)

// file returns the Markdown of a file in the text.
func (p postText) file(number, name string) string {
	n, err := strconv.Atoi(number)
	if err == nil && n >= 0 && n < len(p.files) && !slices.Contains(p.files, name) {
		name = p.files[n]
	}
	label := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`).Replace(name)
	if !slices.Contains(p.files, name) { // it is not imported
		return label
	}
	link := "[" + label + "](<attachment:" + strings.NewReplacer("<", "", ">", "", `\`, "").Replace(name) + ">)"
	if pictureName.MatchString(name) {
		return "!" + link
	}
	return link
}

var (
	// xmlTag matches a tag of the XML in which phpBB 3.2 and later store a text. Without the tags it is what was typed.
	xmlTag = regexp.MustCompile(`</?[A-Za-z][A-Za-z0-9_:-]*(?:\s[^<>]*)?/?>`)
	// smiley, magicLink and fileMark match what earlier versions put into a text.
	smiley    = regexp.MustCompile(`<!-- s(\S+) --><img src="[^"]*" alt="[^"]*"[^>]*><!-- s\S+ -->`)
	magicLink = regexp.MustCompile(`<!-- [mlwe] --><a [^>]*href="(?:mailto:)?([^"]*)"[^>]*>[^<]*</a><!-- [mlwe] -->`)
	fileMark  = regexp.MustCompile(`<!-- ia\d+ -->`)
	// listEnd matches the ends of lists and items, which earlier versions mark with their kind.
	listEnd = regexp.MustCompile(`\[/(list|\*):[a-z]\]`)
)

// source returns the text as it was typed, with BBCode.
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
