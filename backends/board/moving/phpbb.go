package moving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// Values of columns of phpBB.
const (
	phpbbAnonymous = 1 // the user id of guests

	phpbbUserInactive = 1 // user_type
	phpbbUserIgnored  = 2 // guests and search engines

	phpbbForumCategory = 0 // forum_type
	phpbbForumLink     = 2

	phpbbTopicLocked = 1 // topic_status
	phpbbTopicShadow = 2 // where a topic was that has been moved

	phpbbUnapproved = 0 // topic_visibility and post_visibility
	phpbbApproved   = 1
	phpbbDeleted    = 2
)

// phpbb is a dump of phpBB 3.0 to 3.3 that is read.
type phpbb struct {
	*sqldump.Dump
	*Report

	options Options
	prefix  string
	tables  map[string]bool // those that end like the table of topics, and so tell the prefix

	users  []seed.MovedMember
	names  map[int64]string // of users who may have posts, by id
	forums []phpbbForum
	topics []phpbbTopic
	posts  []ref // after sorting: by topic
	files  []seed.MovedFile
	byPost map[int64][]int // the indexes in files, by post
	bans   map[int64]int64 // the end of a user's ban in seconds, or 0 if it has none
	groups phpbbGroups

	first map[int64]int // the index of the first post of a topic
	// What the board does not have.
	polls, signatures, avatars, messages int64
}

type phpbbForum struct {
	seed.MovedForum
	left int64 // the order
}

type phpbbTopic struct {
	id, forum, views, visibility int64
	title                        string
	sticky, locked               bool
}

// readPHPBB reads a dump of phpBB once and keeps all of it but the texts of posts, which Thread reads.
func readPHPBB(ctx context.Context, o Options, report *Report) (*Source, error) {
	dump, err := sqldump.Open(o.Dump)
	if err != nil {
		return nil, err
	}
	b := &phpbb{
		Dump: dump, Report: report, options: o, prefix: cmp.Or(o.Prefix, "phpbb_"), tables: make(map[string]bool),
		names: make(map[int64]string), byPost: make(map[int64][]int), bans: make(map[int64]int64),
		groups: newPHPBBGroups(), first: make(map[int64]int),
	}
	tables := map[string]func(*sqldump.Row) error{
		"users": b.user, "forums": b.forum, "topics": b.topic, "posts": b.post, "attachments": b.attachment,
		"banlist": b.ban, "bans": b.ban, "privmsgs": b.message, "groups": b.groups.group, "user_group": b.groups.member,
		"acl_options": b.groups.option, "acl_roles_data": b.groups.role, "acl_groups": b.groups.right,
	}
	err = dump.Scan(ctx, func(table string) bool {
		if strings.HasSuffix(table, "topics") {
			b.tables[table] = true
		}
		suffix, ours := strings.CutPrefix(table, b.prefix)
		return ours && tables[suffix] != nil
	}, func(r *sqldump.Row) error {
		return tables[strings.TrimPrefix(r.Table, b.prefix)](r)
	}, func(bytes int64) {
		if o.Progress != nil {
			o.Progress("bytes", bytes)
		}
	})
	if err == nil {
		err = b.finish()
	}
	if err != nil {
		return nil, errors.Join(err, dump.Close())
	}
	s := &Source{Closer: dump}
	s.Members, s.Threads, s.Thread = b.users, len(b.topics), b.thread
	for _, f := range b.forums {
		s.Forums = append(s.Forums, f.MovedForum)
	}
	if o.Attachments != "" {
		s.Files = b.files
	}
	return s, nil
}

// finish orders what was read, and notes what the board does not have.
func (b *phpbb) finish() error {
	if len(b.forums) == 0 || len(b.topics) == 0 {
		others := slices.Sorted(maps.Keys(b.tables))
		return fmt.Errorf("the dump has no rows in %sforums and %stopics; tables of topics in it: %q; "+
			"if their names begin with something else than %q, name it with --prefix", b.prefix, b.prefix, others, b.prefix)
	}
	byID := func(x, y seed.MovedMember) int { return cmp.Compare(x.ID, y.ID) }
	slices.SortFunc(b.users, byID)
	b.users = slices.CompactFunc(b.users, func(x, y seed.MovedMember) bool { return x.ID == y.ID })
	for i := range b.users {
		if end, banned := b.bans[b.users[i].ID]; banned {
			b.users[i].State = "banned"
			b.users[i].BannedUntil = kernel.Moment(end * 1e6)
		}
	}
	slices.SortFunc(b.topics, func(x, y phpbbTopic) int { return cmp.Compare(x.id, y.id) })
	slices.SortFunc(b.posts, byTopic)
	for i := range b.posts {
		if i == 0 || b.posts[i].topic != b.posts[i-1].topic {
			b.first[b.posts[i].topic] = i
		}
	}
	b.orderForums()
	b.orderFiles()
	b.Notes = append(b.Notes, b.groups.notes(b.names)...)
	b.without("private messages", b.messages, "the board has none")
	b.without("polls", b.polls, "the board has none; the threads are imported")
	b.without("avatars", b.avatars, "the board has none")
	b.without("signatures", b.signatures, "the board has none")
	if b.options.Attachments == "" {
		b.without("files", int64(len(b.files)), "no folder with them was named")
	}
	return nil
}

// orderForums puts parents before their children, and applies the rights of guests and members.
func (b *phpbb) orderForums() {
	slices.SortFunc(b.forums, func(x, y phpbbForum) int {
		return cmp.Or(cmp.Compare(x.left, y.left), cmp.Compare(x.ID, y.ID))
	})
	known := make(map[int64]bool)
	ordered := make([]phpbbForum, 0, len(b.forums))
	for rest := b.forums; len(rest) > 0; {
		var later []phpbbForum
		for _, f := range rest {
			if f.Parent != 0 && !known[f.Parent] {
				later = append(later, f)
				continue
			}
			known[f.ID] = true
			ordered = append(ordered, f)
		}
		if len(later) == len(rest) { // their parents are missing
			for i := range later {
				later[i].Parent = 0
			}
		}
		rest = later
	}
	b.forums = ordered
	for i := range b.forums {
		b.groups.apply(&b.forums[i].MovedForum)
	}
	if !b.groups.known() {
		b.Notes = append(b.Notes, "The dump has no tables of permissions: all forums are hidden from guests and members. "+
			"Open those that they may see on the page of the administration.")
	}
}

func (b *phpbb) orderFiles() {
	slices.SortFunc(b.files, func(x, y seed.MovedFile) int { return cmp.Compare(x.ID, y.ID) })
	for i := range b.files {
		post := b.files[i].Post
		b.byPost[post] = append(b.byPost[post], i)
	}
}

// text returns a column whose texts phpBB has escaped for HTML.
func text(r *sqldump.Row, column string) string { return html.UnescapeString(r.Text(column)) }

func seconds(r *sqldump.Row, column string) time.Time {
	if n := r.Int(column); n > 0 && n < 1<<33 {
		return time.Unix(n, 0).UTC()
	}
	return time.Time{}
}

func (b *phpbb) user(r *sqldump.Row) error {
	id, kind := r.Int("user_id"), r.Int("user_type")
	if id == phpbbAnonymous || kind == phpbbUserIgnored {
		return nil
	}
	m := seed.MovedMember{ID: id, Hash: r.Text("user_password")}
	m.Name, m.Email, m.JoinedAt = text(r, "username"), text(r, "user_email"), seconds(r, "user_regdate")
	if kind == phpbbUserInactive {
		m.State = "awaiting"
	}
	if at := seconds(r, "user_lastvisit"); !at.IsZero() {
		m.LastActive = kernel.MomentOf(at)
	}
	if r.Text("user_sig") != "" {
		b.signatures++
	}
	if r.Text("user_avatar") != "" {
		b.avatars++
	}
	b.names[id] = m.Name
	b.users = append(b.users, m)
	return nil
}

func (b *phpbb) ban(r *sqldump.Row) error {
	// phpBB 3.3 and before have the user in a column; later versions have the kind of a ban, and the user as a text.
	user, end := r.Int("ban_userid"), r.Int("ban_end")
	if r.Text("ban_mode") == "user" {
		user = r.Int("ban_item")
	}
	if user != 0 && r.Int("ban_exclude") == 0 && (end == 0 || time.Unix(end, 0).After(time.Now())) {
		b.bans[user] = end
	}
	return nil
}

func (b *phpbb) message(*sqldump.Row) error {
	b.messages++
	return nil
}

func (b *phpbb) forum(r *sqldump.Row) error {
	f := phpbbForum{left: r.Int("left_id")}
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
		f.Hidden = []string{"guest", "registered"}
		b.changed(&seed.MovedError{
			Kind: content.MovedForum, ID: f.ID, Name: f.Title,
			Err: errors.New("the forum has a password; it is hidden from guests and members"),
		})
	}
	b.forums = append(b.forums, f)
	return nil
}

// visibility returns the visibility of a topic or post. phpBB 3.0 has a column that tells whether it is approved.
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

func (b *phpbb) topic(r *sqldump.Row) error {
	t := phpbbTopic{
		id: r.Int("topic_id"), forum: r.Int("forum_id"), views: r.Int("topic_views"),
		visibility: visibility(r, "topic_visibility", "topic_approved"), title: text(r, "topic_title"),
		sticky: r.Int("topic_type") != 0, locked: r.Int("topic_status") == phpbbTopicLocked,
	}
	if r.Int("topic_status") == phpbbTopicShadow || r.Int("topic_moved_id") != 0 {
		return nil // the topic is elsewhere
	}
	if r.Text("poll_title") != "" {
		b.polls++
	}
	b.topics = append(b.topics, t)
	return nil
}

func (b *phpbb) post(r *sqldump.Row) error {
	b.posts = append(b.posts, ref{r.Int("topic_id"), r.Int("post_id"), r.Int("post_time"), r.Place})
	return nil
}

func (b *phpbb) attachment(r *sqldump.Row) error {
	if r.Int("in_message") != 0 || r.Int("is_orphan") != 0 || r.Int("post_msg_id") == 0 {
		return nil
	}
	f := seed.MovedFile{
		ID: r.Int("attach_id"), Post: r.Int("post_msg_id"), Author: r.Int("poster_id"), Name: text(r, "real_filename"),
		// The name is one that phpBB has made; whatever it is, it does not leave the folder.
		Path: filepath.Join(b.options.Attachments, filepath.Base(filepath.FromSlash(r.Text("physical_filename")))),
	}
	if at := seconds(r, "filetime"); !at.IsZero() {
		f.At = kernel.MomentOf(at)
	}
	b.files = append(b.files, f)
	return nil
}
