package moving

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"path"
	"path/filepath"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// Values in the columns of phpBB's tables.
const (
	phpbbAnonymous = 1 // the user id of guests

	phpbbUserInactive = 1 // user_type
	phpbbUserIgnored  = 2 // guests and search engines

	phpbbForumCategory = 0 // forum_type
	phpbbForumLink     = 2

	phpbbTopicLocked = 1 // topic_status
	phpbbTopicShadow = 2 // a link at the former place of a moved topic

	phpbbApproved = 1 // topic_visibility and post_visibility; 0 is unapproved
	phpbbDeleted  = 2
)

// phpbb reads a dump of phpBB 3.0 to 3.3. Each method with a row as its parameter handles the rows of one table;
// readPHPBB lists the tables.
type phpbb struct {
	*reader

	groups phpbbGroups
	salt   string // the prefix of the names of pictures
}

// readPHPBB opens and reads a dump of phpBB.
func readPHPBB(ctx context.Context, o Options, report *Report) (*Source, error) {
	b := &phpbb{reader: newReader(o, report, "phpbb_"), groups: newPHPBBGroups()}
	return b.read(ctx, program{
		tables: map[string]func(*sqldump.Row) error{
			"config": b.setting, "users": b.user, "forums": b.forum, "topics": b.topic, "posts": b.postRow,
			"attachments": b.attachment,
			"banlist":     b.banned, "bans": b.banned, "privmsgs": b.sent, "privmsgs_to": b.received, "groups": b.groups.group,
			"user_group": b.groups.member, "acl_options": b.groups.option, "acl_roles_data": b.groups.role,
			"acl_groups": b.groups.right,
		},
		forumTable: "forums", threadTable: "topics", post: b.textOf,
		message: func(r *sqldump.Row) string { return textIn(r, "message_text").markdown() },
	}, b.finish)
}

// finish applies data that is complete only at the end of the dump.
func (b *phpbb) finish() {
	if b.groups.known() {
		b.rights = b.groups.access
	}
	b.Notes = append(b.Notes, b.groups.notes(b.names)...)
	for i := range b.users {
		if folder, name := filepath.Split(b.users[i].Picture); name != "" {
			b.users[i].Picture = within(folder, b.salt+"_"+name)
		}
	}
	first := slices.IndexFunc(b.forums, func(f forum) bool { return f.Type == "forum" })
	for i := range b.threads {
		// In a dump of phpBB 3.0, a thread without a forum is an announcement in all forums. It moves to the first forum.
		if b.threads[i].forum == 0 && first >= 0 {
			b.threads[i].forum = b.forums[first].ID
		}
	}
}

// text returns the text in a column, which phpBB has escaped for HTML, without the escapes.
func text(r *sqldump.Row, column string) string { return html.UnescapeString(r.Text(column)) }

// user reads a user.
func (b *phpbb) user(r *sqldump.Row) error {
	id, kind := r.Int("user_id"), r.Int("user_type")
	if id == phpbbAnonymous || kind == phpbbUserIgnored {
		return nil
	}
	m := seed.MovedMember{ID: id, Hash: r.Text("user_password"), LastActive: unixMoment(r, "user_lastvisit")}
	m.Name, m.Email, m.JoinedAt = text(r, "username"), text(r, "user_email"), unixTime(r, "user_regdate")
	if kind == phpbbUserInactive {
		m.State = "awaiting"
	}
	avatar := ""
	if kind := r.Text("user_avatar_type"); kind == "avatar.driver.upload" || kind == "1" { // 1 is the value of phpBB 3.0
		avatar = fmt.Sprintf("%d%s", id, path.Ext(r.Text("user_avatar")))
	}
	b.member(m, r.Text("user_sig") != "", avatar)
	return nil
}

// setting reads a row of the configuration table. Only the salt of avatar names is kept.
func (b *phpbb) setting(r *sqldump.Row) error {
	if r.Text("config_name") == "avatar_salt" {
		b.salt = r.Text("config_value")
	}
	return nil
}

// banned reads a ban. Bans of addresses and exceptions from bans are left out.
func (b *phpbb) banned(r *sqldump.Row) error {
	// Up to phpBB 3.3, a column holds the banned user. Later versions have the kind of ban in one column and the user
	// as text in another.
	user := r.Int("ban_userid")
	if r.Text("ban_mode") == "user" {
		user = r.Int("ban_item")
	}
	if r.Int("ban_exclude") == 0 {
		b.ban(user, r.Int("ban_end"))
	}
	return nil
}

// sent reads a private message.
func (b *phpbb) sent(r *sqldump.Row) error {
	id := r.Int("msg_id")
	root := r.Int("root_level")
	if root == 0 {
		root = id
	}
	b.messages.add(message{
		ref: ref{root, id, r.Int("message_time"), r.Place}, author: r.Int("author_id"),
		title: text(r, "message_subject"),
	})
	return nil
}

// received records that a user has a copy of a private message; its author may have one, too.
func (b *phpbb) received(r *sqldump.Row) error {
	if r.Int("pm_deleted") == 0 {
		b.messages.addMember(r.Int("msg_id"), r.Int("user_id"), r.Int("pm_unread") != 0)
	}
	return nil
}

// forum reads a forum, category or link.
func (b *phpbb) forum(r *sqldump.Row) error {
	f := forum{order: r.Int("left_id")}
	f.ID, f.Parent = r.Int("forum_id"), r.Int("parent_id")
	f.Title = cmp.Or(seed.MovedLine(text(r, "forum_name"), 100), fmt.Sprintf("Forum %d", f.ID))
	f.Description = seed.MovedLine(plainText(postText{
		text: r.Text("forum_desc"), uid: r.Text("forum_desc_uid"), bbcode: true,
	}), 500)
	f.Type, f.Closed = "forum", r.Int("forum_status") == phpbbTopicLocked
	switch r.Int("forum_type") {
	case phpbbForumCategory:
		f.Type = "category"
	case phpbbForumLink:
		link := text(r, "forum_link")
		f.Type, f.LinkURL = "link", &link
	}
	if r.Text("forum_password") != "" {
		b.hide(&f.MovedForum, "the forum has a password; it is hidden from guests and members")
	}
	b.forums = append(b.forums, f)
	return nil
}

// visibility returns the visibility of a topic or post. Since version 3.1, phpBB stores it in the column whose name
// is given by column. phpBB 3.0 has only the column whose name is given by approved.
func visibility(r *sqldump.Row, column, approved string) int64 {
	if !r.Has(column) {
		if r.Int(approved) == 0 {
			return rights.Unapproved
		}
		return rights.Visible
	}
	switch r.Int(column) {
	case phpbbApproved:
		return rights.Visible
	case phpbbDeleted:
		return rights.Deleted
	default: // also a text that is to be approved again
		return rights.Unapproved
	}
}

// topic reads a thread.
func (b *phpbb) topic(r *sqldump.Row) error {
	t := thread{
		id: r.Int("topic_id"), forum: r.Int("forum_id"), views: r.Int("topic_views"),
		visibility: visibility(r, "topic_visibility", "topic_approved"), title: text(r, "topic_title"),
		sticky: r.Int("topic_type") != 0, locked: r.Int("topic_status") == phpbbTopicLocked,
	}
	if r.Int("topic_status") == phpbbTopicShadow || r.Int("topic_moved_id") != 0 {
		return nil // the topic was moved
	}
	if r.Text("poll_title") != "" {
		b.polls++
	}
	b.threads = append(b.threads, t)
	return nil
}

// postRow records the place of a post in the dump.
func (b *phpbb) postRow(r *sqldump.Row) error {
	b.posts = append(b.posts, ref{r.Int("topic_id"), r.Int("post_id"), r.Int("post_time"), r.Place})
	return nil
}

// attachment reads a file that is attached to a post.
func (b *phpbb) attachment(r *sqldump.Row) error {
	if r.Int("in_message") != 0 || r.Int("is_orphan") != 0 || r.Int("post_msg_id") == 0 {
		return nil
	}
	b.files = append(b.files, seed.MovedFile{
		ID: r.Int("attach_id"), Post: r.Int("post_msg_id"), Author: r.Int("poster_id"), Name: text(r, "real_filename"),
		// The name was made by phpBB. Only its last element is used, so the path stays in the folder for any name.
		Path: filepath.Join(b.options.Attachments, filepath.Base(filepath.FromSlash(r.Text("physical_filename")))),
		At:   unixMoment(r, "filetime"),
	})
	return nil
}
