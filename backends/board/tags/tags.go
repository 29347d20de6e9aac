// Package tags labels threads with tags, at most MaxOfThread for each thread, and lists threads by tag. A setting
// decides whether authors may write any tag or choose among the tags of administrators.
package tags

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// MaxOfThread is the maximum number of tags for one thread.
	MaxOfThread = 5
	maxName     = 30     // in characters
	maxTags     = 10_000 // of a board
)

// Service manages the tags of a board.
type Service struct {
	*kernel.Server
	rights *rights.Service
	posts  *posts.Service
}

// New returns the tags of a board.
func New(board *kernel.Server, actors *rights.Service, threads *posts.Service) *Service {
	return &Service{Server: board, rights: actors, posts: threads}
}

// Tag is a label of threads.
type Tag struct {
	ID   int64
	Name string
}

// Slug returns the tag's name in the form that URLs contain.
func (t Tag) Slug() string { return text.Slug(t.Name, kernel.MaxSlug) }

// scan reads a tag from a row with its id and name.
func scan(r store.Row) (t Tag, err error) { return t, r.Scan(&t.ID, &t.Name) }

// Split splits the texts of a form's fields at commas and returns the names in them.
func Split(texts []string) (names []string) {
	for part := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		if name := text.Normal(part); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// isName reports whether a normalized text can be the name of a tag.
func isName(name string) bool {
	n := utf8.RuneCountInString(name)
	return n >= 1 && n <= maxName && text.IsLine(name) && !strings.Contains(name, ",")
}

// check returns the normalized name of a tag. It returns an error of Invalid for the field if the name is not valid.
func check(a *rights.Actor, field, name string) (string, error) {
	name = text.Normal(name)
	words := a.Rights.Access.Words
	switch {
	case !isName(name):
		return "", kernel.Invalid(field, "length", "a tag has 1 to 30 characters, in one line and without a comma")
	case words.Holds(name) || words.Replace(name) != name:
		return "", kernel.Invalid(field, "word_filter", "the tag "+name+" is not allowed here")
	}
	return name, nil
}

// Put replaces the tags of a thread by the tags with these names, in the transaction of another change. Names that
// differ only by case count once. Put returns an error of Invalid if a name is not allowed or there are too many.
func (s *Service) Put(c store.Conn, a *rights.Actor, t *content.Thread, names []string) error {
	var ids []int64
	for _, name := range names {
		id, err := find(c, a, name)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if len(ids) > MaxOfThread {
			return kernel.Invalid("tags", "too_many", "a thread has at most "+kernel.Itoa(MaxOfThread)+" tags")
		}
	}
	if _, err := c.Exec("DELETE FROM board_thread_tags WHERE thread_id = ?", t.ID); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := c.Exec("INSERT INTO board_thread_tags (tag_id, thread_id, last_post_at) VALUES (?, ?, ?)",
			id, t.ID, t.LastAt); err != nil {
			return err
		}
	}
	return nil
}

// find returns the id of the tag with this name. If members may write any tag, it creates a missing tag.
func find(c store.Conn, a *rights.Actor, name string) (id int64, err error) {
	if name, err = check(a, "tags", name); err != nil {
		return 0, err
	}
	err = c.Row("SELECT id FROM board_tags WHERE name_key = ?", text.Fold(name)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if a.Rights.Settings.Tags != kernel.TagsFree {
		return 0, kernel.Invalid("tags", "unknown", "there is no tag "+name)
	}
	return add(c, name)
}

// add adds a tag with this name and returns its id. If there is such a tag already, it returns the id of that tag.
func add(c store.Conn, name string) (id int64, err error) {
	var count int
	if err := c.Row("SELECT count(*) FROM board_tags").Scan(&count); err != nil {
		return 0, err
	}
	if count >= maxTags {
		return 0, kernel.Conflict("a board has at most " + kernel.Itoa(maxTags) + " tags")
	}
	err = c.Row("INSERT INTO board_tags (name, name_key) VALUES (?, ?) ON CONFLICT (name_key) DO UPDATE"+
		" SET name_key = excluded.name_key RETURNING id", name, text.Fold(name)).Scan(&id)
	return id, err
}

// Import adds tags of another forum to a new thread. It leaves out names that no tag can have here, and tags beyond
// MaxOfThread.
func Import(c store.Conn, thread int64, names []string) error {
	for _, name := range names[:min(len(names), MaxOfThread)] {
		name = text.Normal(name)
		if !isName(name) {
			continue
		}
		id, err := add(c, name)
		if _, refused := apierror.From(err); refused {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := c.Exec("INSERT INTO board_thread_tags (tag_id, thread_id, last_post_at) SELECT CAST(? AS BIGINT), id,"+
			" last_post_at FROM board_threads WHERE id = ? ON CONFLICT DO NOTHING", id, thread); err != nil {
			return err
		}
	}
	return nil
}

// Set replaces the tags of a thread. The actor must be allowed to change the thread's title.
func (s *Service) Set(ctx context.Context, a *rights.Actor, thread int64, names []string) error {
	return s.Write(ctx, func(c store.Conn) error {
		t, err := s.posts.LockForTitle(c, a, thread)
		if err != nil {
			return err
		}
		if err := s.Put(c, a, t, names); err != nil {
			return err
		}
		return s.rights.Logged(c, a, "thread.tag", rights.ThreadEditTitle, t.Forum, t.ID, 0,
			kernel.ForLog(strings.Join(names, ", ")))
	})
}

// Choice returns the tags among which authors choose, or nil if they may write any tag.
func (s *Service) Choice(ctx context.Context, a *rights.Actor) (list []Tag, err error) {
	if a.Rights.Settings.Tags == kernel.TagsFree {
		return nil, nil
	}
	return kernel.Value(ctx, s.Read, func(c store.Conn) ([]Tag, error) {
		return store.List(c, scan, "SELECT id, name FROM board_tags ORDER BY name_key LIMIT ?", maxChoice)
	})
}

// maxChoice is the maximum number of tags that administrators define for a board.
const maxChoice = 200
