package moving

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// Values in the columns of Discourse's tables.
const (
	discourseEverybody = 0  // group_id
	discourseMembers   = 10 // all who have an account

	discourseFull  = 1 // permission_type
	discourseReply = 2

	discourseRegular = 1 // post_type
	discourseMarked  = 2 // by a moderator
)

// discourse reads a dump of Discourse. Each method with a row as its parameter handles the rows of one table;
// readDiscourse lists the tables.
type discourse struct {
	*reader

	settings      map[string]bool   // the flags among the settings
	mails, hashes map[int64]string  // mail addresses and password hashes by user
	restricted    map[int64]bool    // by category: whether only some groups may read it
	permissions   map[int64]int64   // of members, by category; the lowest value permits most
	private       map[int64]string  // the titles of private topics; empty for topics that are left out
	people        map[int64][]int64 // the participants by private topic
	uploads       map[int64]seed.MovedFile
	pictures      map[int64]int64   // by user, the upload that is the user's picture
	tags          map[int64]string  // the names of tags
	topicTags     map[int64][]int64 // by topic
	tagGroups     map[int64][]int64 // by tag
	open          map[int64]bool    // whether everybody sees the tags of a tag group, for tag groups with permissions
	otherPosts    int64             // the number of posts that are left out because of their kind
}

// readDiscourse opens and reads a dump of Discourse.
func readDiscourse(ctx context.Context, o Options, report *Report) (*Source, error) {
	b := &discourse{
		reader: newReader(o, report, ""), settings: make(map[string]bool), mails: make(map[int64]string),
		hashes: make(map[int64]string), restricted: make(map[int64]bool), permissions: make(map[int64]int64),
		private: make(map[int64]string), people: make(map[int64][]int64), uploads: make(map[int64]seed.MovedFile),
		pictures: make(map[int64]int64), tags: make(map[int64]string), topicTags: make(map[int64][]int64),
		tagGroups: make(map[int64][]int64), open: make(map[int64]bool),
	}
	return b.read(ctx, program{
		tables: map[string]func(*sqldump.Row) error{
			"site_settings": b.setting, "users": b.user, "user_emails": b.mail,
			"user_passwords": mapColumn(b.hashes, "user_id", discourseHash), "categories": b.category,
			"category_groups": b.permission, "topics": b.topic, "posts": b.postRow, "polls": b.poll,
			"topic_allowed_users": collect(b.people, "topic_id", "user_id"),
			"tags":                mapColumn(b.tags, "id", func(r *sqldump.Row) string { return r.Text("name") }),
			"topic_tags":          collect(b.topicTags, "topic_id", "tag_id"), "tag_group_permissions": b.tagGroup,
			"tag_group_memberships": collect(b.tagGroups, "tag_id", "tag_group_id"), "uploads": mapColumn(b.uploads, "id", b.upload),
			"upload_references": b.reference, "post_uploads": b.reference,
		},
		forumTable: "categories", threadTable: "topics", rights: b.access, post: b.textOf,
		message: func(r *sqldump.Row) string { return discourseMarkdown(r.Text("raw"), nil) },
	}, b.finish)
}

// mapColumn returns a function that handles a row r: it sets dst[id] to value(r), where id is the number in keyColumn.
func mapColumn[V any](dst map[int64]V, keyColumn string, value func(r *sqldump.Row) V) func(r *sqldump.Row) error {
	return func(r *sqldump.Row) error {
		dst[r.Int(keyColumn)] = value(r)
		return nil
	}
}

// collect returns a function that handles a row: it appends the number in valueColumn to dst[id], where id is the
// number in keyColumn.
func collect(dst map[int64][]int64, keyColumn, valueColumn string) func(r *sqldump.Row) error {
	return func(r *sqldump.Row) error {
		id := r.Int(keyColumn)
		dst[id] = append(dst[id], r.Int(valueColumn))
		return nil
	}
}

// utcTime parses a column with a time in UTC. It returns the zero time if the column has no valid time since 1970.
func utcTime(r *sqldump.Row, column string) time.Time {
	parsed, err := time.Parse(time.DateTime, r.Text(column))
	if err != nil || parsed.Year() < 1970 {
		return time.Time{}
	}
	return parsed
}

// utcMoment parses a column with a time in UTC. It returns 0 if the column has no valid time since 1970.
func utcMoment(r *sqldump.Row, column string) kernel.Moment {
	return kernel.Moment(max(0, utcTime(r, column).UnixMicro()))
}

// setting reads a setting of the forum.
func (b *discourse) setting(r *sqldump.Row) error {
	b.settings[r.Text("name")] = r.Text("value") == "t"
	return nil
}

// user reads a user. finish adds what other tables have about it, such as the mail address.
func (b *discourse) user(r *sqldump.Row) error {
	m := seed.MovedMember{ID: r.Int("id"), LastActive: utcMoment(r, "last_seen_at")}
	m.Name, m.JoinedAt = r.Text("username"), utcTime(r, "created_at")
	b.names[m.ID] = m.Name
	if m.ID <= 0 { // an account of Discourse itself
		return nil
	}
	if !r.Bool("active") || r.Bool("staged") {
		b.leftOut(&seed.MovedError{
			Kind: content.MovedMember, ID: m.ID, Name: m.Name, Err: errors.New("the account was never activated"),
		})
		return nil
	}
	if !r.Bool("approved") {
		m.State = "awaiting"
	}
	m.Hash = discourseHash(r)
	if till := utcTime(r, "suspended_till"); !till.IsZero() {
		b.ban(m.ID, till.Unix())
	}
	if till := utcTime(r, "silenced_till"); till.After(time.Now()) {
		b.changed(&seed.MovedError{
			Kind: content.MovedMember, ID: m.ID, Name: m.Name,
			Err: errors.New("the member was silenced until " + till.Format(time.DateOnly) + ", and may write here"),
		})
	}
	b.member(m, false, "")
	if id := r.Int("uploaded_avatar_id"); id != 0 {
		b.pictures[m.ID] = id
	}
	return nil
}

// mail reads a mail address of a user. Only the primary address is kept.
func (b *discourse) mail(r *sqldump.Row) error {
	if r.Bool("primary") {
		b.mails[r.Int("user_id")] = r.Text("email")
	}
	return nil
}

// discourseHash converts a password hash to the form of package password. A hash in an unknown form is returned
// unchanged.
func discourseHash(r *sqldump.Row) string {
	digits, rounds := r.Text("password_hash"), 0
	sum, sumErr := hex.DecodeString(digits)
	algorithm := cmp.Or(r.Text("password_algorithm"), "$pbkdf2-sha256$i=64000,l=32$") // the algorithm of earlier versions
	_, algorithmErr := fmt.Sscanf(algorithm, "$pbkdf2-sha256$i=%d,l=32$", &rounds)
	if sumErr != nil || algorithmErr != nil || len(sum) == 0 {
		return digits
	}
	return password.PBKDF2("sha256", rounds, []byte(cmp.Or(r.Text("password_salt"), r.Text("salt"))), sum)
}

// category reads a category, which becomes a forum.
func (b *discourse) category(r *sqldump.Row) error {
	f := forum{order: r.Int("position")}
	f.ID, f.Parent, f.Type = r.Int("id"), r.Int("parent_category_id"), "forum"
	f.Title = cmp.Or(seed.MovedLine(r.Text("name"), 100), fmt.Sprintf("Category %d", f.ID))
	f.Description = seed.MovedLine(withoutHTML(r.Text("description")), 500)
	b.restricted[f.ID] = r.Bool("read_restricted")
	if b.restricted[f.ID] {
		b.changed(&seed.MovedError{
			Kind: content.MovedForum, ID: f.ID, Name: f.Title,
			Err: errors.New("only some groups may read it; it is hidden from guests, and from members unless all may read it"),
		})
	}
	b.forums = append(b.forums, f)
	return nil
}

// permission reads a permission of a group in a category. It keeps only the permissions of groups that all members
// are in.
func (b *discourse) permission(r *sqldump.Row) error {
	id, group, permission := r.Int("category_id"), r.Int("group_id"), r.Int("permission_type")
	best := b.permissions[id]
	if (group == discourseEverybody || group == discourseMembers) && (best == 0 || permission < best) {
		b.permissions[id] = permission
	}
	return nil
}

// access returns the rights of guests or members in a category. Everybody may read and write in a category without
// permissions, unless it is restricted.
func (b *discourse) access(f *seed.MovedForum, group string) access {
	if group == "guest" {
		return access{view: !b.restricted[f.ID] && !b.settings["login_required"]}
	}
	permission := b.permissions[f.ID]
	if permission == 0 && !b.restricted[f.ID] {
		permission = discourseFull
	}
	full := permission == discourseFull
	return access{view: permission != 0, begin: full, reply: full || permission == discourseReply}
}

// topic reads a topic: a thread or a private conversation.
func (b *discourse) topic(r *sqldump.Row) error {
	deleted := r.Text("deleted_at") != ""
	t := thread{
		id: r.Int("id"), forum: r.Int("category_id"), views: r.Int("views"), title: r.Text("title"),
		sticky: r.Text("pinned_at") != "", locked: r.Bool("closed") || r.Bool("archived"),
	}
	switch kind := r.Text("archetype"); {
	case kind == "private_message":
		b.private[t.id] = t.title
		if deleted || r.Int("user_id") <= 0 { // deleted, or begun by an account of Discourse itself
			b.private[t.id] = ""
		}
		return nil
	case deleted:
		t.visibility = rights.Deleted
	case r.Has("visible") && !r.Bool("visible"):
		t.visibility = rights.Unapproved
		b.changed(&seed.MovedError{
			Kind: content.MovedThread, ID: t.id, Name: t.title, Err: errors.New("it was not listed; it waits for approval"),
		})
	}
	b.threads = append(b.threads, t)
	return nil
}

// postRow records the place of a post in the dump. The post may be a private message, since it is known only at the end
// of the dump which posts are private.
func (b *discourse) postRow(r *sqldump.Row) error {
	if kind := r.Int("post_type"); kind != discourseRegular && kind != discourseMarked {
		b.otherPosts++
		return nil
	}
	b.posts = append(b.posts, ref{r.Int("topic_id"), r.Int("id"), r.Int("post_number"), r.Place})
	return nil
}

// poll counts a poll; polls are not imported.
func (b *discourse) poll(*sqldump.Row) error {
	b.polls++
	return nil
}

// tagGroup reads a permission of a group of users for a tag group.
func (b *discourse) tagGroup(r *sqldump.Row) error {
	id := r.Int("tag_group_id")
	b.open[id] = b.open[id] || r.Int("group_id") == discourseEverybody
	return nil
}

// upload returns the file of an upload, which does not name its posts.
func (b *discourse) upload(r *sqldump.Row) seed.MovedFile {
	_, path, local := strings.Cut(r.Text("url"), "/uploads/")
	if !local { // the file is in a storage service
		path = r.Text("url")
	}
	return seed.MovedFile{
		Author: r.Int("user_id"), Name: r.Text("original_filename"), Path: b.within(path), At: utcMoment(r, "created_at"),
		Sum: content.MovedSumID(r.Text("sha1"), false),
	}
}

// reference records that a post uses an upload. Until finishFiles is called, the field Author of the file holds the
// id of the upload. Earlier versions of Discourse have a different table for references. Ids from that table become
// negative, so that they differ from the ids of the current table.
func (b *discourse) reference(r *sqldump.Row) error {
	f := seed.MovedFile{ID: r.Int("id"), Post: r.Int("target_id"), Author: r.Int("upload_id")}
	if r.Has("post_id") {
		f.ID, f.Post = -f.ID, r.Int("post_id")
	}
	if r.Has("post_id") || r.Text("target_type") == "Post" {
		b.files = append(b.files, f)
	}
	return nil
}

// textOf returns a post without its text, and a function that converts its text to Markdown.
func (b *discourse) textOf(r *sqldump.Row) (seed.SeedPost, func() string) {
	id := r.Int("id")
	p := seed.SeedPost{
		Moved: id, MovedAuthor: r.Int("user_id"), MovedNumber: r.Int("post_number"), At: utcTime(r, "created_at"),
		Visibility: rights.VisibilityNames[discourseVisibility(r)], EditReason: seed.MovedLine(r.Text("edit_reason"), 200),
	}
	p.Guest = guestName(b.names[p.MovedAuthor])
	if r.Int("version") > 1 {
		b.edited(&p, utcTime(r, "last_version_at"), r.Int("last_editor_id"))
	}
	var files []seed.MovedFile
	for _, i := range b.byPost[id] {
		if b.options.Attachments != "" {
			files = append(files, b.files[i])
		}
	}
	raw := r.Text("raw")
	return p, func() string { return discourseMarkdown(raw, files) }
}

// discourseVisibility returns the visibility of a post.
func discourseVisibility(r *sqldump.Row) int64 {
	switch {
	case r.Text("deleted_at") != "" || r.Bool("user_deleted"):
		return rights.Deleted
	case r.Bool("hidden"):
		return rights.Unapproved
	default:
		return rights.Visible
	}
}

// finish combines the data of several tables at the end of the dump.
func (b *discourse) finish() {
	for i := range b.users {
		m := &b.users[i]
		m.Email, m.Hash = b.mails[m.ID], cmp.Or(b.hashes[m.ID], m.Hash)
		// Without this setting, members need no approval.
		if !b.settings["must_approve_users"] {
			m.State = ""
		}
		picture, hasPicture := b.uploads[b.pictures[m.ID]]
		switch {
		case hasPicture && b.options.Attachments == "":
			b.avatars++ // counted as left out
		case hasPicture:
			m.Picture = picture.Path
		}
	}
	inMessages := b.finishMessages()
	b.finishFiles(inMessages)
	isClosed := func(group int64) bool {
		open, hasPermissions := b.open[group]
		return hasPermissions && !open
	}
	for i := range b.threads {
		t := &b.threads[i]
		for _, tag := range b.topicTags[t.id] {
			if !slices.ContainsFunc(b.tagGroups[tag], isClosed) { // everybody sees the tag
				t.tags = append(t.tags, b.tags[tag])
			}
		}
	}
	b.without("posts of other kinds", b.otherPosts, "they are records of actions, or visible only to the staff")
}

// finishMessages moves private messages from the posts to the messages, and returns the set of their ids.
func (b *discourse) finishMessages() map[int64]bool {
	private := make(map[int64]bool)
	b.posts = slices.DeleteFunc(b.posts, func(post ref) bool {
		title, isPrivate := b.private[post.thread]
		if !isPrivate {
			return false
		}
		private[post.post] = true
		r, err := b.At(post.place)
		if title == "" || err != nil || discourseVisibility(r) != rights.Visible {
			return true
		}
		post.time = utcTime(r, "created_at").Unix()
		b.messages.add(message{ref: post, author: r.Int("user_id"), title: title})
		for _, user := range b.people[post.thread] {
			b.messages.addMember(post.post, user, false)
		}
		return true
	})
	return private
}

// finishFiles completes the files of posts with the data of their uploads. It leaves out repeated references of a post
// to an upload, and gives the files of a post different names. private is the set of the ids of private messages, whose
// files are left out.
func (b *discourse) finishFiles(private map[int64]bool) {
	type postUpload struct{ post, upload int64 }
	type postName struct {
		post int64
		name string
	}
	seenUploads, usedNames := make(map[postUpload]bool), make(map[postName]bool)
	references := b.files
	b.files = nil
	for _, f := range references {
		uploadID := f.Author // see reference
		file, found := b.uploads[uploadID]
		use := postUpload{f.Post, uploadID}
		if !found || private[f.Post] || seenUploads[use] {
			continue
		}
		name := postName{f.Post, file.Name}
		if usedNames[name] {
			file.Name = fmt.Sprintf("%d-%s", uploadID, file.Name)
		}
		seenUploads[use], usedNames[name] = true, true
		file.ID, file.Post = f.ID, f.Post
		b.files = append(b.files, file)
	}
}
