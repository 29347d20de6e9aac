package seed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Moved is the content of a forum that ran on another program, to be imported.
type Moved struct {
	Program string // such as phpbb
	Digest  string // identifies the import, so that an interrupted import can continue
	Members []MovedMember
	Forums  []MovedForum // parents before their children
	Files   []MovedFile
	// Threads is the number of threads. Thread returns the thread with index i and its posts in their order. Only one
	// goroutine calls Thread at a time.
	Threads int
	Thread  func(i int) (*SeedThread, error)
	// Conversations is the number of private conversations. Conversation returns the conversation with index i and its
	// id in the other program. The ids of members in it are those of the other program.
	Conversations int
	Conversation  func(i int) (id int64, v conversations.Imported, err error)
}

// MovedMember is a member to be imported.
type MovedMember struct {
	ID int64
	SeedUser
	Hash        string // of the password; empty means none
	BannedUntil kernel.Moment
	LastActive  kernel.Moment
	Picture     string // the path of the member's picture; empty means none
}

// MovedForum is a forum to be imported. Its new slug is made from its slug in the other program or, if it had no slug,
// from its title.
type MovedForum struct {
	ID, Parent int64
	SeedForum
	// These fields name groups. The groups in Hidden do not see the forum, the groups in Silent may not begin threads
	// in it, and the groups in Reading may not reply in it.
	Hidden, Silent, Reading []string
}

// MovedThread describes the origin of an imported thread.
type MovedThread struct {
	ID, Forum int64
	Tags      []string
	// Convert completes the thread before it is checked, for example by converting its texts. Several goroutines call
	// it for different threads at the same time.
	Convert func(*SeedThread) error
}

// MovedFile is a file attached to a post of the other program.
type MovedFile struct {
	ID, Post, Author int64
	Name, Path       string // Path is the file with the content
	At               kernel.Moment
	Sum              int64 // from content.MovedSumID, for old URLs with the file's sum; 0: none
}

// MovedError is an error about an element of the import, such as a member or a thread.
type MovedError struct {
	Kind string
	ID   int64 // in the other program
	Name string
	Err  error
}

// Error implements error.
func (e *MovedError) Error() string { return fmt.Sprintf("%s %d %q: %s", e.Kind, e.ID, e.Name, e.Err) }

// Unwrap returns Err, the reason.
func (e *MovedError) Unwrap() error { return e.Err }

// MovedOptions are the options of LoadMoved. LoadMoved calls the callbacks from its caller's goroutine.
type MovedOptions struct {
	// DryRun makes LoadMoved check everything and write nothing.
	DryRun bool
	// Progress is called like Options.Progress. The parts are members, pictures, forums, threads, posts, files and
	// conversations.
	Progress func(part string, done int)
	// LeftOut is called for every element that is not imported, and Changed for every element that is imported with a
	// change.
	LeftOut, Changed func(e *MovedError)
}

// LoadMoved imports a forum. Elements that break a rule are left out, and the others are imported. Each transaction
// also records its progress, so that the next run continues an interrupted import. No mail, notification or webhook is
// sent. LoadMoved returns an error if the database fails or ctx ends.
func (s *Service) LoadMoved(ctx context.Context, m *Moved, o MovedOptions) error {
	sd := &seeder{
		service: s, ctx: ctx, program: m.Program, fixture: m.Program + ":" + m.Digest, done: make(map[string]int),
		users: make(map[string]author), forums: make(map[string]int64), prefixes: make(map[string]int64),
		movedForums: make(map[int64]int64), movedAuthors: make(map[int64]author),
	}
	sd.Progress = o.Progress
	sd.Refused = func(err error) {
		moved, ok := errors.AsType[*MovedError](err)
		if !ok {
			moved = &MovedError{Kind: sd.name, Err: err}
		}
		o.LeftOut(moved)
	}
	l := &movedLoader{seeder: sd, Moved: m, MovedOptions: o, names: make(map[string]bool)}
	if o.DryRun {
		return l.check()
	}
	if err := sd.resume(); err != nil {
		return err
	}
	return l.load()
}

// movedLoader is one run of LoadMoved.
type movedLoader struct {
	*seeder
	*Moved
	MovedOptions
	names map[string]bool // of members, in a dry run
	notes []*MovedError   // for Changed, of the running transaction
	index int             // the index of the next thread
}

// load imports all parts, each from where earlier runs ended.
func (l *movedLoader) load() error {
	l.seeder.name = "members"
	if err := loadMoved(l, l.Members, l.member); err != nil {
		return err
	}
	l.seeder.name = "pictures"
	if err := l.pictures(); err != nil {
		return err
	}
	l.seeder.name = "forums"
	if err := loadMoved(l, l.Forums, l.importForum); err != nil {
		return err
	}
	if err := l.service.Read(l.ctx, func(c store.Conn) error {
		return c.All("SELECT old_id, new_id FROM board_moved WHERE program = ? AND kind = ?",
			[]any{l.program, content.MovedForum}, func(r store.Row) error {
				var oldID, newID int64
				err := r.Scan(&oldID, &newID)
				l.movedForums[oldID] = newID
				return err
			})
	}); err != nil {
		return err
	}
	l.seeder.name = partThreads
	if err := l.loadThreads(l); err != nil {
		return err
	}
	l.seeder.name = "files"
	if err := l.files(); err != nil {
		return err
	}
	l.seeder.name = "conversations"
	// Conversations are read one by one, so the list that loadMoved needs has only their indexes.
	indexes := make([]int, l.Conversations)
	for i := range indexes {
		indexes[i] = i
	}
	return loadMoved(l, indexes, l.conversation)
}

// loadMoved adds the elements of a list, except those that earlier runs have added. Each batch of elements is added in
// a transaction that also records how far the list is loaded.
func loadMoved[T any](l *movedLoader, list []T, add func(c store.Conn, element *T) error) error {
	name := l.seeder.name
	for start := l.done[name]; start < len(list); start += seedBatch {
		end := min(start+seedBatch, len(list))
		err := l.seeder.load(start, end, func(lo, hi int) error {
			err := l.service.Write(l.ctx, func(c store.Conn) error {
				l.notes = nil // drops those of a failed attempt
				for i := lo; i < hi; i++ {
					if err := add(c, &list[i]); err != nil {
						return err
					}
				}
				if err := rights.BumpPermissions(c); err != nil {
					return err
				}
				return l.note(c, name, hi)
			})
			if err == nil {
				l.reportChanges()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	l.progress(name, len(list))
	return nil
}

// reportChanges calls Changed for the changes that were noted in the transaction.
func (l *movedLoader) reportChanges() {
	for _, note := range l.notes {
		l.Changed(note)
	}
	l.notes = nil
}

// more implements threadSource.
func (l *movedLoader) more() bool { return l.index < l.Threads }

// next implements threadSource.
func (l *movedLoader) next(position *place) (t *SeedThread, refused, err error) {
	i := l.index
	l.index++
	position.number = l.index
	if l.index <= l.done[partThreads] {
		return nil, nil, nil
	}
	t, err = l.Thread(i)
	if refused, ok := errors.AsType[*MovedError](err); ok {
		return nil, refused, nil
	}
	return t, nil, err
}

// check makes the same checks as load, and writes nothing.
func (l *movedLoader) check() error {
	err := l.service.Read(l.ctx, func(c store.Conn) error {
		for i := range l.Members {
			if _, err := l.newMember(c, &l.Members[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.reportChanges()
	l.progress("members", len(l.Members))
	for i, m := range l.withPicture() {
		if _, err := l.picture(m); err != nil {
			return err
		}
		l.progress("pictures", i+1)
	}
	for i := range l.Forums {
		l.movedForums[l.Forums[i].ID] = 1 // any id: the forum would be imported
	}
	l.progress("forums", len(l.Forums))
	posts := 0
	for position := (place{}); l.more(); {
		batch := l.readThreads(l, position)
		if batch.err != nil {
			return batch.err
		}
		if err := l.ctx.Err(); err != nil {
			return err
		}
		position = batch.last
		for _, err := range batch.refused {
			l.Refused(err)
		}
		posts += countPosts(batch.threads)
		l.progress(partThreads, l.index)
		l.progress("posts", posts)
	}
	for i := range l.Files {
		if _, err := l.file(&l.Files[i]); err != nil {
			return err
		}
	}
	l.progress("files", len(l.Files))
	l.progress("conversations", l.Conversations)
	return nil
}

// movedAuthor returns the author of an imported post: a member, or a name without an account.
func (sd *seeder) movedAuthor(c store.Conn, p SeedPost) (author, error) {
	guest := author{name: p.Guest}
	if p.MovedAuthor == 0 {
		return guest, nil
	}
	author, known := sd.movedAuthors[p.MovedAuthor]
	if !known {
		err := c.All("SELECT u.id, u.username FROM board_moved m JOIN board_users u ON u.id = m.new_id"+
			" WHERE m.program = ? AND m.kind = ? AND m.old_id = ?", []any{sd.program, content.MovedMember, p.MovedAuthor},
			func(r store.Row) error { return r.Scan(&author.id, &author.name) })
		if err != nil {
			return author, err
		}
		sd.movedAuthors[p.MovedAuthor] = author
	}
	if author.id == 0 {
		return guest, nil
	}
	return author, nil
}

// These limits are in characters. They are wider than the limits of the board, so that no imported text is lost.
const (
	maxMovedTitle   = 120
	maxMovedMessage = 1 << 20
)

// checkTitle converts the title of an imported thread to a title that the board accepts. Its error is always nil; it
// has the type of kernel.SeedRules.CheckTitle.
func (t *MovedThread) checkTitle(title string) (string, error) {
	title = MovedLine(title, maxMovedTitle)
	if text.Words(title) == 0 {
		title = strings.TrimSpace(title + " " + kernel.Itoa(t.ID))
	}
	return title, nil
}

// MovedLine converts an imported text to a single line of at most limit characters, without control characters.
func MovedLine(line string, limit int) string {
	line = text.Normal(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, line))
	if utf8.RuneCountInString(line) > limit {
		line = text.Normal(string([]rune(line)[:limit-1]) + "…")
	}
	return line
}

// checkMoved converts the text of an imported post to a text that the board accepts. An empty text becomes an ellipsis.
// It returns an error for a text that is too long.
func checkMoved(message string) (string, error) {
	message = text.Lines(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return -1
		}
		return r
	}, message))
	if n := utf8.RuneCountInString(message); n > maxMovedMessage {
		return "", fmt.Errorf("a text has %d characters, at most %d are accepted", n, maxMovedMessage)
	}
	if message == "" {
		message = "…"
	}
	return message, nil
}
