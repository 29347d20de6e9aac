package moving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// Values in the columns of Flarum's tables.
const (
	flarumGuests  = 2 // group_id
	flarumMembers = 3

	// flarumUntagged is the id of the forum for discussions without a tag that becomes a forum.
	flarumUntagged = -1
)

// flarum reads a dump of Flarum 1. Its tags become forums, except secondary tags that everybody sees, which stay tags.
// Each method with a row as its parameter handles the rows of one table; readFlarum lists the tables.
type flarum struct {
	*reader

	tags      map[int64]flarumTag
	tagged    map[int64][]int64         // the tags of discussions
	granted   map[flarumPermission]bool // the permissions that groups have
	likes     map[int64][]int64         // the members who like a post
	uuids     map[int64]string          // of files
	postOf    map[int64]int64           // the first post of each file
	anonymous int64                     // the number of discussions and posts that only some members see
}

// flarumTag is a tag.
type flarumTag struct {
	forum

	positioned bool // a primary tag, which has a position in the list of tags
	restricted bool // needs permissions for this tag
}

// isForum reports whether the tag becomes a forum rather than a tag.
func (t *flarumTag) isForum() bool { return t.positioned || t.restricted || t.Parent != 0 }

// flarumPermission is a permission of a group.
type flarumPermission struct {
	group int64
	name  string
}

// readFlarum opens and reads a dump of Flarum.
func readFlarum(ctx context.Context, o Options, report *Report) (*Source, error) {
	b := &flarum{
		reader: newReader(o, report, ""), tags: make(map[int64]flarumTag), tagged: make(map[int64][]int64),
		granted: make(map[flarumPermission]bool), likes: make(map[int64][]int64), uuids: make(map[int64]string),
		postOf: make(map[int64]int64),
	}
	untagged := seed.MovedForum{ID: flarumUntagged, SeedForum: seed.SeedForum{Title: "Discussions", Type: "forum"}}
	b.forums = []forum{{MovedForum: untagged}} // finish removes it if no discussion needs it
	return b.read(ctx, program{
		tables: map[string]func(*sqldump.Row) error{
			"users": b.user, "tags": b.tag, "group_permission": b.permission, "discussions": b.discussion, "posts": b.postRow,
			"discussion_tag": collect(b.tagged, "discussion_id", "tag_id"),
			"post_likes":     collect(b.likes, "post_id", "user_id"), "fof_upload_files": b.file,
			"fof_upload_file_posts": b.filePost,
		},
		forumTable: "tags", threadTable: "discussions", post: b.textOf, rights: b.access,
	}, b.finish)
}

// finish combines the data of several tables at the end of the dump.
func (b *flarum) finish() {
	if len(b.granted) == 0 {
		b.rights = nil // the dump has no permissions
	}
	hasUntagged := false
	for i := range b.threads {
		t := &b.threads[i]
		t.forum = b.forumOf(t.id)
		hasUntagged = hasUntagged || t.forum == flarumUntagged
		for _, id := range b.tagged[t.id] {
			if tag, known := b.tags[id]; known && !tag.isForum() {
				t.tags = append(t.tags, tag.Title)
			}
		}
	}
	if !hasUntagged {
		b.forums = b.forums[1:] // the first forum is flarumUntagged; see readFlarum
	}
	for _, tag := range b.tags {
		if tag.isForum() {
			b.forums = append(b.forums, tag.forum)
		}
	}
	for i := range b.files {
		b.files[i].Post = cmp.Or(b.files[i].Post, b.postOf[b.files[i].ID])
	}
	all := len(b.files)
	b.files = slices.DeleteFunc(b.files, func(f seed.MovedFile) bool { return f.Post == 0 })
	b.without("files", int64(all-len(b.files)), "no post contains them")
	b.without("private discussions and posts", b.anonymous, "only some members see them")
}

// forumOf returns the forum for a discussion. If several tags of the discussion become forums, it chooses the tag that
// the fewest people see, so that nobody sees more than before the import. Among such tags, it chooses the tag that is
// lowest in the tree.
func (b *flarum) forumOf(discussion int64) int64 {
	best := flarumTag{forum: forum{MovedForum: seed.MovedForum{ID: flarumUntagged}}}
	// openness returns how many of the groups guest and registered see a tag.
	openness := func(t *flarumTag) (n int) {
		for _, group := range []string{"guest", "registered"} {
			n += kernel.Bool(b.access(&t.MovedForum, group).view)
		}
		return n
	}
	for _, id := range b.tagged[discussion] {
		tag, known := b.tags[id]
		if !known || !tag.isForum() {
			continue
		}
		// A tag without a parent counts as 1 and a tag with a parent as 0, so that the tag with a parent comes first.
		if best.ID == flarumUntagged || cmp.Or(
			cmp.Compare(openness(&tag), openness(&best)),
			cmp.Compare(kernel.Bool(tag.Parent == 0), kernel.Bool(best.Parent == 0)),
			cmp.Compare(tag.order, best.order), cmp.Compare(tag.ID, best.ID)) < 0 {
			best = tag
		}
	}
	return best.ID
}

// access returns the rights of guests or members under a tag. A restricted tag, and each tag below it, needs
// permissions for that tag.
func (b *flarum) access(f *seed.MovedForum, group string) access {
	allows := func(name string) bool {
		return b.granted[flarumPermission{flarumGuests, name}] ||
			group == "registered" && b.granted[flarumPermission{flarumMembers, name}]
	}
	allowed := access{view: allows("viewForum"), begin: allows("startDiscussion"), reply: allows("discussion.reply")}
	// The number of steps is limited, so that the loop ends even if the parents of tags form a cycle.
	for id, steps := f.ID, 0; id != 0 && steps < maxForumDepth; id, steps = b.tags[id].Parent, steps+1 {
		if tag := b.tags[id]; tag.restricted {
			prefix := fmt.Sprintf("tag%d.", id)
			allowed.view = allowed.view && allows(prefix+"viewForum")
			allowed.begin = allowed.begin && allows(prefix+"startDiscussion")
			allowed.reply = allowed.reply && allows(prefix+"discussion.reply")
		}
	}
	return allowed
}

// permission reads a permission of a group.
func (b *flarum) permission(r *sqldump.Row) error {
	b.granted[flarumPermission{r.Int("group_id"), r.Text("permission")}] = true
	return nil
}

// user reads a member.
func (b *flarum) user(r *sqldump.Row) error {
	m := seed.MovedMember{ID: r.Int("id"), Hash: r.Text("password"), LastActive: utcMoment(r, "last_seen_at")}
	m.Name, m.Email, m.JoinedAt = r.Text("username"), r.Text("email"), utcTime(r, "joined_at")
	if r.Int("is_email_confirmed") == 0 {
		m.State = "awaiting"
	}
	if end := utcTime(r, "suspended_until"); !end.IsZero() {
		b.ban(m.ID, end.Unix())
	}
	avatar := r.Text("avatar_url")
	if avatar != "" {
		avatar = path.Base(avatar) // versions before 1 store a whole URL
	}
	b.member(m, false, avatar)
	return nil
}

// tag reads a tag.
func (b *flarum) tag(r *sqldump.Row) error {
	t := flarumTag{positioned: r.Text("position") != "", restricted: r.Int("is_restricted") != 0}
	t.ID, t.Parent, t.order, t.Type = r.Int("id"), r.Int("parent_id"), r.Int("position"), "forum"
	t.Title = cmp.Or(seed.MovedLine(r.Text("name"), 100), fmt.Sprintf("Forum %d", t.ID))
	t.Description, t.Slug = seed.MovedLine(r.Text("description"), 500), r.Text("slug")
	b.tags[t.ID] = t
	return nil
}

// flarumVisibility returns the visibility of a discussion or post.
func flarumVisibility(r *sqldump.Row) int64 {
	switch {
	case r.Text("hidden_at") != "":
		return rights.Deleted
	case !flarumApproved(r):
		return rights.Unapproved
	default:
		return rights.Visible
	}
}

// flarumApproved reports whether a discussion or post does not wait for approval.
func flarumApproved(r *sqldump.Row) bool { return !r.Has("is_approved") || r.Int("is_approved") != 0 }

// private reports whether a discussion or post is visible only to some members, and counts it. A discussion or post
// that waits for approval does not count as private, although Flarum marks it so.
func (b *flarum) private(r *sqldump.Row) bool {
	private := r.Int("is_private") != 0 && flarumApproved(r)
	b.anonymous += int64(kernel.Bool(private))
	return private
}

// discussion reads a discussion. finish sets its forum and its tags.
func (b *flarum) discussion(r *sqldump.Row) error {
	if !b.private(r) {
		b.threads = append(b.threads, thread{
			id: r.Int("id"), visibility: flarumVisibility(r), title: r.Text("title"), sticky: r.Int("is_sticky") != 0,
			locked: r.Int("is_locked") != 0, views: r.Int("view_count"),
		})
	}
	return nil
}

// postRow records the place of a post in the dump.
func (b *flarum) postRow(r *sqldump.Row) error {
	if r.Text("type") == "comment" && !b.private(r) {
		b.posts = append(b.posts, ref{r.Int("discussion_id"), r.Int("id"), r.Int("number"), r.Place})
	}
	return nil
}

// textOf returns a post without its text, and a function that converts its text to Markdown.
func (b *flarum) textOf(r *sqldump.Row) (seed.SeedPost, func() string) {
	p := seed.SeedPost{
		Moved: r.Int("id"), MovedAuthor: r.Int("user_id"), MovedNumber: r.Int("number"), At: utcTime(r, "created_at"),
		Visibility: rights.VisibilityNames[flarumVisibility(r)],
	}
	p.Guest, p.Likes = guestName(b.names[p.MovedAuthor]), b.likes[p.Moved]
	b.edited(&p, utcTime(r, "edited_at"), r.Int("edited_user_id"))
	text := r.Text("content")
	return p, func() string {
		return flarumText(text, func(uuid string) string {
			for _, i := range b.byPost[p.Moved] {
				if uuid != "" && b.uuids[b.files[i].ID] == uuid && b.options.Attachments != "" {
					return fileLink(b.files[i].Name)
				}
			}
			return ""
		})
	}
}

// file reads an uploaded file.
func (b *flarum) file(r *sqldump.Row) error {
	f := seed.MovedFile{
		// Newer versions of the extension have the posts of a file in a table of their own; see filePost.
		ID: r.Int("id"), Post: r.Int("post_id"), Author: r.Int("actor_id"), Name: path.Base(r.Text("base_name")),
		Path: b.within(strings.ReplaceAll(r.Text("path"), `\`, "/")), At: utcMoment(r, "created_at"),
	}
	if method := r.Text("upload_method"); method != "local" {
		b.leftOut(&seed.MovedError{
			Kind: content.MovedFile, ID: f.ID, Name: f.Name, Err: errors.New("it is not stored on the server itself"),
		})
		return nil
	}
	b.uuids[f.ID] = r.Text("uuid")
	b.files = append(b.files, f)
	return nil
}

// filePost reads which post contains a file. If there are several posts, the first one counts.
func (b *flarum) filePost(r *sqldump.Row) error {
	if id := r.Int("file_id"); b.postOf[id] == 0 {
		b.postOf[id] = r.Int("post_id")
	}
	return nil
}
