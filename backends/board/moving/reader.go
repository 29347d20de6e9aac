package moving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// reader reads a dump; the readers of all programs, such as phpbb, embed it and fill it from the rows of their tables.
// A reader keeps the content of a dump in memory, except texts, which are read again when they are needed.
type reader struct {
	*sqldump.Dump
	*Report

	options Options
	prefix  string // of the names of tables
	program
	threadTables map[string]bool // tables whose names end like that of threads, for an error message

	users    []seed.MovedMember
	names    map[int64]string // of users who may have posts, by id
	bans     map[int64]int64  // the end of a user's ban in Unix seconds, or 0 for ever
	forums   []forum
	threads  []thread
	posts    []ref         // order sorts them by thread
	first    map[int64]int // the index in posts of the first post, by thread
	files    []seed.MovedFile
	byPost   map[int64][]int // the indexes in files, by post
	messages messages
	// These fields count elements that the board does not support.
	polls, signatures, avatars int64
}

// program holds the parts of a reader that depend on the program.
type program struct {
	tables map[string]func(*sqldump.Row) error // by the name without its prefix
	// threadTable and forumTable are the names of the tables of threads and of forums, without the prefix.
	threadTable, forumTable string
	// rights returns the rights of a group in a forum. The group is guest or registered. If rights is nil, the dump has no
	// permissions, and all forums are hidden.
	rights func(f *seed.MovedForum, group string) access
	// post returns the post in a row without its text, and a function that converts its text to Markdown.
	post func(r *sqldump.Row) (p seed.SeedPost, markdown func() string)
	// message returns the text of the private message in a row.
	message func(r *sqldump.Row) string
}

// access holds the rights of a group in a forum: to see it, to begin threads and to reply.
type access struct{ view, begin, reply bool }

// forum is a forum with the value by which siblings are sorted.
type forum struct {
	seed.MovedForum
	order int64
}

// thread is a thread without its posts.
type thread struct {
	id, forum, views, visibility int64
	title                        string
	sticky, locked               bool
	tags                         []string
}

// newReader returns a reader. prefix is the program's default prefix of table names.
func newReader(o Options, report *Report, prefix string) *reader {
	return &reader{
		Report: report, options: o, prefix: cmp.Or(o.Prefix, prefix), threadTables: make(map[string]bool),
		names: make(map[int64]string), byPost: make(map[int64][]int), bans: make(map[int64]int64),
		first: make(map[int64]int), messages: newMessages(),
	}
}

// read opens the dump and reads it once: it passes each row to the function for its table. At the end of the dump it
// calls finish, and then sorts the content. It returns an error if the dump has no forums or no threads.
func (b *reader) read(ctx context.Context, p program, finish func()) (s *Source, err error) {
	if b.Dump, err = sqldump.Open(b.options.Dump); err != nil {
		return nil, err
	}
	b.program = p
	err = b.Scan(ctx, func(table string) bool {
		if strings.HasSuffix(table, p.threadTable) {
			b.threadTables[table] = true
		}
		suffix, hasPrefix := strings.CutPrefix(table, b.prefix)
		return hasPrefix && p.tables[suffix] != nil
	}, func(r *sqldump.Row) error {
		return p.tables[strings.TrimPrefix(r.Table, b.prefix)](r)
	}, func(bytes int64) {
		if b.options.Progress != nil {
			b.options.Progress("bytes", bytes)
		}
	})
	if err == nil && (len(b.forums) == 0 || len(b.threads) == 0) {
		err = fmt.Errorf("the dump has no rows in %[1]s%[2]s and %[1]s%[3]s; tables of threads in it: %[4]q; "+
			"if the names of the tables have another prefix than %[1]q, set it with --prefix", b.prefix, p.forumTable,
			p.threadTable, slices.Sorted(maps.Keys(b.threadTables)))
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	finish()
	b.order()
	s = &Source{Closer: b}
	s.Members, s.Threads, s.Thread = b.users, len(b.threads), b.thread
	s.Conversations, s.Conversation = len(b.messages.conversations), b.conversation
	for _, f := range b.forums {
		s.Forums = append(s.Forums, f.MovedForum)
	}
	if b.options.Attachments != "" {
		s.Files = b.files
	}
	return s, nil
}

// order sorts the content of the dump, and reports the elements that the board does not support.
func (b *reader) order() {
	slices.SortFunc(b.users, func(x, y seed.MovedMember) int { return cmp.Compare(x.ID, y.ID) })
	b.users = slices.CompactFunc(b.users, func(x, y seed.MovedMember) bool { return x.ID == y.ID })
	for i := range b.users {
		if end, banned := b.bans[b.users[i].ID]; banned {
			b.users[i].State = "banned"
			b.users[i].BannedUntil = kernel.Moment(end * 1e6) // end is in seconds; 0 means for ever
		}
	}
	slices.SortFunc(b.threads, func(x, y thread) int { return cmp.Compare(x.id, y.id) })
	slices.SortFunc(b.posts, byThread)
	for i := range b.posts {
		if i == 0 || b.posts[i].thread != b.posts[i-1].thread {
			b.first[b.posts[i].thread] = i
		}
	}
	b.orderForums()
	b.closeForums()
	b.orderFiles()
	b.messages.order()
	b.without("polls", b.polls, "polls cannot be imported; their threads are imported")
	b.without("avatars", b.avatars, "no folder with the avatars was given")
	b.without("signatures", b.signatures, "the board has no signatures")
	if b.options.Attachments == "" {
		b.without("files", int64(len(b.files)), "no folder with the files was given")
	}
}

// orderForums sorts the forums, with parents before their children. A forum whose parent is not in the dump becomes a
// root.
func (b *reader) orderForums() {
	slices.SortFunc(b.forums, func(x, y forum) int {
		return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(x.ID, y.ID))
	})
	placed := make(map[int64]bool) // the forums in ordered
	ordered := make([]forum, 0, len(b.forums))
	for remaining := b.forums; len(remaining) > 0; {
		var postponed []forum // their parents are not placed yet
		for _, f := range remaining {
			if f.Parent != 0 && !placed[f.Parent] {
				postponed = append(postponed, f)
				continue
			}
			placed[f.ID] = true
			ordered = append(ordered, f)
		}
		if len(postponed) == len(remaining) { // no parent of these forums exists, or they form a cycle
			for i := range postponed {
				postponed[i].Parent = 0
			}
		}
		remaining = postponed
	}
	b.forums = ordered
}

// closeForums determines for each forum which of the groups guest and registered may not see the forum, and which of
// them may not write in it.
func (b *reader) closeForums() {
	for i := range b.forums {
		f := &b.forums[i].MovedForum
		for _, group := range []string{"guest", "registered"} {
			allowed := access{}
			if b.rights != nil {
				allowed = b.rights(f, group)
			}
			if !allowed.view && !slices.Contains(f.Hidden, group) {
				f.Hidden = append(f.Hidden, group)
			}
			if !allowed.view || f.Type != "forum" || group == "guest" { // guests may not write anywhere
				continue
			}
			if !allowed.begin {
				f.Silent = append(f.Silent, group)
			}
			if !allowed.reply {
				f.Reading = append(f.Reading, group)
			}
		}
	}
	if b.rights == nil {
		b.Notes = append(b.Notes, "The dump has no tables of permissions: all forums are hidden from guests and members. "+
			"Open the forums that they may see in the administration of the board.")
	}
}

// orderFiles sorts the files and sets byPost.
func (b *reader) orderFiles() {
	slices.SortFunc(b.files, func(x, y seed.MovedFile) int { return cmp.Compare(x.ID, y.ID) })
	for i := range b.files {
		post := b.files[i].Post
		b.byPost[post] = append(b.byPost[post], i)
	}
}

// unixTime converts a column with Unix seconds to a time. It returns the zero time for 0 and for impossible values.
func unixTime(r *sqldump.Row, column string) time.Time { return timeOf(r.Int(column)) }

// timeOf converts Unix seconds to a time. It returns the zero time for 0 and for impossible values.
func timeOf(seconds int64) time.Time {
	if seconds > 0 && seconds < 1<<33 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Time{}
}

// unixMoment converts a column with Unix seconds to a Moment. It returns 0 for 0 and for impossible values.
func unixMoment(r *sqldump.Row, column string) kernel.Moment { return momentOf(r.Int(column)) }

// momentOf converts Unix seconds to a Moment. It returns 0 for 0 and for impossible values.
func momentOf(seconds int64) kernel.Moment { return kernel.Moment(max(0, timeOf(seconds).UnixMicro())) }

// member adds a user. hasSignature reports whether the user has a signature; signatures are only counted. avatar is
// the path of the user's picture in the folder of pictures, or empty.
func (b *reader) member(m seed.MovedMember, hasSignature bool, avatar string) {
	b.signatures += int64(kernel.Bool(hasSignature))
	switch {
	case avatar == "":
		// The user has no picture.
	case b.options.Avatars == "":
		b.avatars++
	default:
		m.Picture = within(b.options.Avatars, avatar)
	}
	b.names[m.ID] = m.Name
	b.users = append(b.users, m)
}

// edited sets the time and the editor of a post's last edit.
func (b *reader) edited(p *seed.SeedPost, edited time.Time, editor int64) {
	p.EditedAt = edited
	if !edited.IsZero() && editor != p.MovedAuthor { // an empty EditedBy means the author
		p.EditedBy = seed.MovedLine(b.names[editor], 40)
	}
}

// ban records that a user is banned until end, in Unix seconds, or for ever if end is 0. Bans that are over are left
// out.
func (b *reader) ban(user, end int64) {
	if user != 0 && (end == 0 || time.Unix(end, 0).After(time.Now())) {
		b.bans[user] = end
	}
}

// thread returns the thread with index i and its posts, whose texts are converted later by Convert.
func (b *reader) thread(i int) (*seed.SeedThread, error) {
	old := &b.threads[i]
	start, found := b.first[old.id]
	if !found {
		return nil, &seed.MovedError{
			Kind: content.MovedThread, ID: old.id, Name: old.title, Err: errors.New("it has no posts"),
		}
	}
	t := &seed.SeedThread{
		Title: old.title, Sticky: old.sticky, Locked: old.locked, Views: old.views,
		Moved: &seed.MovedThread{ID: old.id, Forum: old.forum, Tags: old.tags},
	}
	var texts []func() string // return the texts of the posts
	firstVisible := -1        // the index of the first visible post
	for j := start; j < len(b.posts) && b.posts[j].thread == old.id; j++ {
		r, err := b.At(b.posts[j].place)
		if err != nil {
			return nil, err
		}
		p, markdown := b.post(r)
		if p.Visibility == rights.VisibilityNames[rights.Visible] && firstVisible < 0 {
			firstVisible = len(t.Posts)
		}
		t.Posts = append(t.Posts, p)
		texts = append(texts, markdown)
	}
	// The first post of a visible thread must be visible, so the first visible post becomes the first post.
	if old.visibility == rights.Visible && firstVisible > 0 {
		moveToFront(t.Posts, firstVisible)
		moveToFront(texts, firstVisible)
	}
	if old.visibility != rights.Visible {
		t.Posts[0].Visibility = rights.VisibilityNames[old.visibility]
	}
	t.Moved.Convert = func(t *seed.SeedThread) error {
		for i := range t.Posts {
			t.Posts[i].Message = texts[i]()
		}
		return nil
	}
	return t, nil
}

// moveToFront moves the element with index i to the beginning of list.
func moveToFront[T any](list []T, i int) {
	element := list[i]
	copy(list[1:i+1], list[:i])
	list[0] = element
}

// hide hides a forum from guests and members, and reports the reason.
func (b *reader) hide(f *seed.MovedForum, reason string) {
	f.Hidden = []string{"guest", "registered"}
	b.changed(&seed.MovedError{Kind: content.MovedForum, ID: f.ID, Name: f.Title, Err: errors.New(reason)})
}

// guestName returns the name of a post's author without an account: the first name that is not empty, or "Guest".
func guestName(names ...string) string { return cmp.Or(seed.MovedLine(cmp.Or(names...), 40), "Guest") }
