package moving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/bbcode"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// Values in the columns of XenForo's tables.
const (
	xfEverybody  = 0 // user_group_id
	xfGuests     = 1
	xfRegistered = 2

	xfVisible = "visible" // discussion_state and message_state
	xfDeleted = "deleted"
)

// xenforo reads a dump of XenForo 2. Each method with a row as its parameter handles the rows of one table; readXenForo
// lists the tables.
type xenforo struct {
	*reader

	hashes  map[int64]string   // of passwords, by user
	nodes   map[int64]forum    // the nodes of all kinds: forums, categories, links and pages
	closed  map[int64]bool     // by node
	links   map[int64]string   // by node
	data    map[int64]xfData   // the contents of files
	entries map[xfEntry]int64  // the values of permissions
	titles  map[int64]string   // of conversations
	people  map[int64][]int64  // the participants, by conversation
	read    map[xfReader]int64 // when a user last read a conversation, in Unix seconds
}

// xfReader is a user in a conversation.
type xfReader struct{ conversation, user int64 }

// xfData is the content of a file.
type xfData struct {
	author     int64
	name, path string
}

// xfEntry is a permission of a group in a node. Node 0 is the whole forum.
type xfEntry struct {
	node, group int64
	name        string
}

// The values of permissions. Of two values for the same node, the greater applies.
const (
	xfUnset int64 = iota
	xfReset
	xfAllow
	xfNever
)

var xfValues = map[string]int64{"reset": xfReset, "allow": xfAllow, "content_allow": xfAllow, "deny": xfNever}

// readXenForo opens and reads a dump of XenForo.
func readXenForo(ctx context.Context, o Options, report *Report) (*Source, error) {
	b := &xenforo{
		reader: newReader(o, report, "xf_"), hashes: make(map[int64]string), nodes: make(map[int64]forum),
		closed: make(map[int64]bool), links: make(map[int64]string), data: make(map[int64]xfData),
		entries: make(map[xfEntry]int64), titles: make(map[int64]string), people: make(map[int64][]int64),
		read: make(map[xfReader]int64),
	}
	return b.reader.read(ctx, program{
		tables: map[string]func(*sqldump.Row) error{
			"user": b.user, "user_authenticate": b.hash, "user_ban": b.banned, "user_profile": b.profile, "node": b.node,
			"forum": b.forum, "link_forum": b.link, "permission_entry": b.permission,
			"permission_entry_content": b.permission, "thread": b.threadRow, "post": b.postRow, "attachment": b.attachment,
			"attachment_data": b.file, "conversation_master": b.conversationRow, "conversation_recipient": b.recipient,
			"conversation_message": b.private,
		},
		forumTable: "node", threadTable: "thread", post: b.textOf,
		message: func(r *sqldump.Row) string { return bbcode.Markdown(r.Text("message"), bbcode.Options{}) },
	}, b.finish)
}

// finish combines the data of several tables at the end of the dump.
func (b *xenforo) finish() {
	for i := range b.users {
		b.users[i].Hash = b.hashes[b.users[i].ID]
	}
	for i := range b.forums {
		f := &b.forums[i]
		f.Closed = b.closed[f.ID]
		if link := b.links[f.ID]; f.Type == "link" {
			f.LinkURL = &link
		}
	}
	files := b.files[:0]
	for _, f := range b.files {
		data, known := b.data[f.Author] // see attachment
		if !known {
			b.leftOut(&seed.MovedError{Kind: content.MovedFile, ID: f.ID, Err: errors.New("its content is not in the dump")})
			continue
		}
		f.Author, f.Name, f.Path = data.author, data.name, data.path
		files = append(files, f)
	}
	b.files = files
	for i := range b.messages.all {
		m := &b.messages.all[i]
		m.title = b.titles[m.thread]
		for _, user := range b.people[m.thread] {
			b.messages.addMember(m.post, user, m.author != user && b.read[xfReader{m.thread, user}] < m.time)
		}
	}
	// If the dump has no permissions, or no table of those in nodes, closeForums hides all forums.
	if len(b.entries) > 0 && b.Created(b.prefix+"permission_entry_content") {
		b.rights = b.access
	}
}

// user reads a member.
func (b *xenforo) user(r *sqldump.Row) error {
	m := seed.MovedMember{ID: r.Int("user_id"), LastActive: unixMoment(r, "last_activity")}
	m.Name, m.Email, m.JoinedAt = r.Text("username"), r.Text("email"), unixTime(r, "register_date")
	switch r.Text("user_state") {
	case "email_confirm", "moderated":
		m.State = "awaiting"
	case "rejected", "disabled":
		m.State = "banned"
	}
	avatar := ""
	if r.Int("avatar_date") != 0 {
		avatar = fmt.Sprintf("l/%d/%d.jpg", m.ID/1000, m.ID) // the large one
	}
	b.member(m, false, avatar)
	return nil
}

// hash reads the password hash of a member.
func (b *xenforo) hash(r *sqldump.Row) error {
	b.hashes[r.Int("user_id")] = xfHash(r.Text("scheme_class"), r.Text("data"))
	return nil
}

// banned reads a ban of a member.
func (b *xenforo) banned(r *sqldump.Row) error {
	b.ban(r.Int("user_id"), r.Int("end_date"))
	return nil
}

// profile counts the signature of a member; signatures are not imported.
func (b *xenforo) profile(r *sqldump.Row) error {
	if r.Text("signature") != "" {
		b.signatures++
	}
	return nil
}

// node reads a node of the tree of forums.
func (b *xenforo) node(r *sqldump.Row) error {
	f := forum{order: r.Int("lft")}
	f.ID, f.Parent = r.Int("node_id"), r.Int("parent_node_id")
	f.Title = cmp.Or(seed.MovedLine(r.Text("title"), 100), fmt.Sprintf("Forum %d", f.ID))
	f.Description = seed.MovedLine(withoutHTML(r.Text("description")), 500)
	b.nodes[f.ID] = f
	switch kind := r.Text("node_type_id"); kind {
	case "Forum":
		f.Type = "forum"
	case "Category":
		f.Type = "category"
	case "LinkForum":
		f.Type = "link"
	default:
		b.leftOut(&seed.MovedError{
			Kind: content.MovedForum, ID: f.ID, Name: f.Title, Err: errors.New("it is not a forum, category or link"),
		})
		return nil
	}
	b.forums = append(b.forums, f)
	return nil
}

// forum reads whether a forum is closed.
func (b *xenforo) forum(r *sqldump.Row) error {
	b.closed[r.Int("node_id")] = r.Has("allow_posting") && r.Int("allow_posting") == 0
	return nil
}

// link reads the URL of a link.
func (b *xenforo) link(r *sqldump.Row) error {
	b.links[r.Int("node_id")] = r.Text("link_url")
	return nil
}

// permission reads a permission of a group in a node or in the whole forum. Permissions of single users are left out.
func (b *xenforo) permission(r *sqldump.Row) error {
	if r.Int("user_id") != 0 || r.Has("content_type") && r.Text("content_type") != "node" {
		return nil
	}
	e := xfEntry{r.Int("content_id"), r.Int("user_group_id"), r.Text("permission_group_id") + "." + r.Text("permission_id")}
	b.entries[e] = max(b.entries[e], xfValues[r.Text("permission_value")])
	return nil
}

// may reports whether a group has a permission in a node. It applies the values of the whole forum and then those of
// each node from the root down to the node.
func (b *xenforo) may(group, node int64, name string) bool {
	path := []int64{} // the node and the nodes above it
	for id := node; id != 0 && len(path) < maxForumDepth; id = b.nodes[id].Parent {
		path = append(path, id)
	}
	path = append(path, 0)
	allowed := false
	for _, id := range slices.Backward(path) {
		// A node without a value (xfUnset) keeps what the nodes above it allow.
		switch max(b.entries[xfEntry{id, group, name}], b.entries[xfEntry{id, xfEverybody, name}]) {
		case xfNever:
			return false
		case xfReset:
			allowed = false
		case xfAllow:
			allowed = true
		}
	}
	return allowed
}

// access returns the rights of guests or members in a node.
func (b *xenforo) access(f *seed.MovedForum, group string) access {
	groupID := map[string]int64{"guest": xfGuests, "registered": xfRegistered}[group]
	allows := func(name string) bool { return b.may(groupID, f.ID, name) }
	return access{
		view: allows("general.view") && allows("general.viewNode") &&
			(f.Type != "forum" || allows("forum.viewContent") && allows("forum.viewOthers")),
		begin: allows("forum.postThread"), reply: allows("forum.postReply"),
	}
}

// xfVisibility returns the visibility of a thread or post.
func xfVisibility(state string) int64 {
	switch state {
	case xfVisible:
		return rights.Visible
	case xfDeleted:
		return rights.Deleted
	default:
		return rights.Unapproved
	}
}

// threadRow reads a thread.
func (b *xenforo) threadRow(r *sqldump.Row) error {
	switch r.Text("discussion_type") {
	case "redirect":
		return nil // the thread was moved
	case "poll":
		b.polls++
	}
	b.threads = append(b.threads, thread{
		id: r.Int("thread_id"), forum: r.Int("node_id"), views: r.Int("view_count"),
		visibility: xfVisibility(r.Text("discussion_state")), title: r.Text("title"), sticky: r.Int("sticky") != 0,
		locked: r.Int("discussion_open") == 0,
	})
	return nil
}

// postRow records the place of a post in the dump.
func (b *xenforo) postRow(r *sqldump.Row) error {
	b.posts = append(b.posts, ref{r.Int("thread_id"), r.Int("post_id"), r.Int("post_date"), r.Place})
	return nil
}

// textOf returns a post without its text, and a function that converts its text to Markdown.
func (b *xenforo) textOf(r *sqldump.Row) (seed.SeedPost, func() string) {
	p := seed.SeedPost{
		Moved: r.Int("post_id"), MovedAuthor: r.Int("user_id"), At: unixTime(r, "post_date"),
		Visibility: rights.VisibilityNames[xfVisibility(r.Text("message_state"))],
	}
	p.Guest = guestName(r.Text("username"), b.names[p.MovedAuthor])
	b.edited(&p, unixTime(r, "last_edit_date"), r.Int("last_edit_user_id"))
	return p, b.bbcodeWithFiles(r.Text("message"), p.Moved)
}

// attachment reads the use of a file by a post. Until finish is called, the field Author of the file holds the id of
// the file's content.
func (b *xenforo) attachment(r *sqldump.Row) error {
	if r.Text("content_type") == "post" && r.Int("unassociated") == 0 {
		b.files = append(b.files, seed.MovedFile{
			ID: r.Int("attachment_id"), Post: r.Int("content_id"), Author: r.Int("data_id"), At: unixMoment(r, "attach_date"),
		})
	}
	return nil
}

// file reads the content of a file.
func (b *xenforo) file(r *sqldump.Row) error {
	id := r.Int("data_id")
	b.data[id] = xfData{r.Int("user_id"), r.Text("filename"), b.within(fmt.Sprintf("%d/%d-%s.data", id/1000, id,
		cmp.Or(r.Text("file_key"), r.Text("file_hash"))))}
	return nil
}

// conversationRow reads the title of a conversation.
func (b *xenforo) conversationRow(r *sqldump.Row) error {
	b.titles[r.Int("conversation_id")] = r.Text("title")
	return nil
}

// recipient reads a participant of a conversation. Participants who have left are left out.
func (b *xenforo) recipient(r *sqldump.Row) error {
	if r.Text("recipient_state") == "active" {
		id, user := r.Int("conversation_id"), r.Int("user_id")
		b.people[id] = append(b.people[id], user)
		b.read[xfReader{id, user}] = r.Int("last_read_date")
	}
	return nil
}

// private reads a message of a conversation.
func (b *xenforo) private(r *sqldump.Row) error {
	b.messages.add(message{
		ref: ref{r.Int("conversation_id"), r.Int("message_id"), r.Int("message_date"), r.Place}, author: r.Int("user_id"),
	})
	return nil
}
