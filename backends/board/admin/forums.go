package admin

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The maximum number of forums of a board, and the maximum number of levels in the tree of forums.
const (
	maxForums = 2000
	maxLevels = 10
)

// ForumSpec holds the properties of a forum that administrators can set.
type ForumSpec struct {
	Parent          int64  // 0 means that it is a root
	Type            string // category, forum or link
	Title           string
	Description     string
	LinkURL         string // for a link, the address to which it leads
	Open            bool
	AllowThreads    bool
	AllowReplies    bool
	ModerateThreads bool // whether new threads are held for approval
	ModeratePosts   bool // whether replies are held for approval
	RequiresPrefix  bool
	FloodSeconds    *int64 // nil means the setting of the board; 0: no limit
	MinWords        int64  // 0 means one
	MaxWords        int64  // 0 means the setting of the board
	Answers         bool   // whether replies can be marked as the answer
}

// Tag returns the entity tag of the properties.
func (f *ForumSpec) Tag() string { return kernel.Tag(f) }

// NewForumSpec returns the initial values of the form for a new forum.
func NewForumSpec() ForumSpec {
	return ForumSpec{Type: "forum", Open: true, AllowThreads: true, AllowReplies: true}
}

// ForumRow is a forum in the views of administrators.
type ForumRow struct {
	ID    int64
	Slug  string
	Depth int64
	ForumSpec
	Threads, Posts int64
	First, Last    bool // whether it is the first or last of its siblings
}

// ForumTree lists all forums, each followed by the forums below it.
func (s *Service) ForumTree(ctx context.Context, a *rights.Actor) (list []ForumRow, err error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) (list []ForumRow, err error) {
		rows := make(map[int64]ForumRow)
		err = c.All(content.CountedForums(c.Dialect()), nil, func(r store.Row) error {
			f, err := content.ScanCounted(r)
			rows[f.ID] = rowOf(f)
			return err
		})
		last := make(map[int64]int) // by parent: the index in list of its last child so far
		for _, id := range a.Rights.Access.Order {
			f, ok := rows[id]
			if !ok {
				continue
			}
			previous, hasPrevious := last[f.Parent]
			f.First, f.Last = !hasPrevious, true
			if hasPrevious {
				list[previous].Last = false
			}
			last[f.Parent] = len(list)
			list = append(list, f)
		}
		return list, err
	})
}

// ForumByID returns a forum for administrators.
func (s *Service) ForumByID(ctx context.Context, a *rights.Actor, id int64) (ForumRow, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) (f ForumRow, err error) {
		found, err := content.ReadForum(c, id)
		if err == nil {
			f = rowOf(found)
		}
		return f, err
	})
}

// rowOf converts a forum to a ForumRow. A minimum or maximum of words that restricts nothing becomes 0.
func rowOf(f *content.Forum) ForumRow {
	r := ForumRow{
		ID: f.ID, Slug: f.Slug, Depth: f.Depth, Threads: f.Threads, Posts: f.Posts,
		ForumSpec: ForumSpec{
			Parent: f.Parent, Type: f.Kind, Title: f.Title, Description: f.Description, LinkURL: f.Link.String, Open: f.Open,
			AllowThreads: f.AllowThreads, AllowReplies: f.AllowReplies, ModerateThreads: f.ModerateThreads,
			ModeratePosts:  f.ModeratePosts,
			RequiresPrefix: f.RequiresPrefix, Answers: f.Answers,
		},
	}
	if f.FloodSeconds.Valid {
		r.FloodSeconds = &f.FloodSeconds.Int64
	}
	if f.MinWords > 1 {
		r.MinWords = f.MinWords
	}
	if f.MaxWords < kernel.MaxWords {
		r.MaxWords = f.MaxWords
	}
	return r
}

// check normalizes the texts. It returns an error of Invalid for the first property whose value no forum can have.
func (f *ForumSpec) check() error {
	f.Title, f.Description, f.LinkURL = text.Normal(f.Title), text.Normal(f.Description), strings.TrimSpace(f.LinkURL)
	switch n := utf8.RuneCountInString(f.Title); {
	case n < 1 || n > 100 || !text.IsLine(f.Title):
		return kernel.Invalid("title", "length", "the title must have 1 to 100 characters and no line break")
	case utf8.RuneCountInString(f.Description) > 500 || !text.IsPlain(f.Description):
		return kernel.Invalid("description", "length", "the description must have at most 500 characters")
	case f.Type != "category" && f.Type != "forum" && f.Type != "link":
		return kernel.Invalid("type", "unknown", "the type must be category, forum or link")
	case f.FloodSeconds != nil && (*f.FloodSeconds < 0 || *f.FloodSeconds > 86_400):
		return kernel.Invalid("flood_seconds", "range", "the seconds until one more post is allowed must be 0 to 86400")
	case f.MinWords < 0 || f.MinWords > kernel.MaxWords:
		return kernel.Invalid("min_words", "range", "the minimum number of words must be 0 to 10000")
	case f.MaxWords < 0 || f.MaxWords > kernel.MaxWords || f.MaxWords != 0 && f.MaxWords < f.MinWords:
		return kernel.Invalid("max_words", "range",
			"the maximum number of words must be at most 10000 and at least the minimum")
	}
	if f.Type != "link" {
		f.LinkURL = ""
		return nil
	}
	u, err := url.Parse(f.LinkURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(f.LinkURL) > 2000 {
		return kernel.Invalid("link_url", "unknown", "a link needs an address that begins with http:// or https://")
	}
	return nil
}

// checkParent returns an error of Invalid if the parent does not exist, cannot have children or is below the forum
// with the id forumID, or if forums would nest too deep. forumID is 0 for a new forum.
func (f *ForumSpec) checkParent(c store.Conn, forumID int64) error {
	if f.Parent == 0 {
		return nil
	}
	var parentType, parentPath string
	err := c.Row("SELECT type, path FROM board_forums WHERE id = ?", f.Parent).Scan(&parentType, &parentPath)
	if errors.Is(err, sql.ErrNoRows) {
		return kernel.Invalid("parent", "unknown", "the parent forum does not exist")
	}
	if err != nil {
		return err
	}
	levels := int64(strings.Count(parentPath, "/")) + 1 // of the tree down to the lowest forum below forumID
	if forumID != 0 {
		var ownPath string
		var below int64
		if err := c.Row("SELECT path FROM board_forums WHERE id = ?", forumID).Scan(&ownPath); err != nil {
			return kernel.OrNotFound(err)
		}
		if strings.HasPrefix(parentPath+"/", ownPath+"/") {
			return kernel.Invalid("parent", "cycle", "a forum cannot be below itself")
		}
		if err := c.Row("SELECT max(depth) - min(depth) FROM board_forums WHERE path = ? OR path LIKE ?",
			ownPath, ownPath+"/%").Scan(&below); err != nil {
			return err
		}
		levels += below
	}
	switch {
	case parentType == "link":
		return kernel.Invalid("parent", "link", "a link cannot have forums below it")
	case levels > maxLevels:
		return kernel.Invalid("parent", "depth", "forums can be nested at most "+kernel.Itoa(maxLevels)+" levels deep")
	}
	return nil
}

// CreateForum adds a forum after the other children of its parent, and returns its id.
func (s *Service) CreateForum(ctx context.Context, a *rights.Actor, spec ForumSpec) (id int64, err error) {
	specErr := spec.check() // is returned only to administrators
	return rights.AdministerValue(ctx, s.rights, a, func(c store.Conn) (id int64, err error) {
		var count int
		if err := c.Row("SELECT count(*) FROM board_forums").Scan(&count); err != nil {
			return id, err
		}
		switch {
		case specErr != nil:
			return id, specErr
		case count >= maxForums:
			return id, kernel.Conflict("a board has at most " + kernel.Itoa(maxForums) + " forums")
		}
		if err := spec.checkParent(c, 0); err != nil {
			return id, err
		}
		f := spec.forum()
		if f.Slug, err = content.FreeForumSlug(c, spec.Title); err != nil {
			return id, err
		}
		if id, err = content.AddForum(c, f); err != nil {
			return id, err
		}
		return id, s.rights.LogForumChange(c, a, "forum.create", id, spec.Type+" "+kernel.ForLog(spec.Title))
	})
}

// forum converts the properties to a row of board_forums.
func (f *ForumSpec) forum() content.Forum {
	forum := content.Forum{
		Parent: f.Parent, Kind: f.Type, Title: f.Title, Description: f.Description,
		Link: sql.NullString{String: f.LinkURL, Valid: f.LinkURL != ""},
		Open: f.Open, AllowThreads: f.AllowThreads, AllowReplies: f.AllowReplies, ModerateThreads: f.ModerateThreads,
		ModeratePosts:  f.ModeratePosts,
		RequiresPrefix: f.RequiresPrefix, MinWords: f.MinWords, MaxWords: f.MaxWords, Answers: f.Answers,
	}
	if f.FloodSeconds != nil {
		forum.FloodSeconds = sql.NullInt64{Int64: *f.FloodSeconds, Valid: true}
	}
	return forum
}

// EditForum changes the properties of a forum. If the parent changes, the forum and all forums below it move after the
// new parent's other children. match is checked against the Tag of the current properties, unless nothing changes.
func (s *Service) EditForum(ctx context.Context, a *rights.Actor, id int64, spec ForumSpec, match rest.Match) error {
	specErr := spec.check() // is returned only to administrators
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		old, err := content.ReadForum(c, id)
		if err != nil {
			return err
		}
		if specErr != nil {
			return specErr
		}
		oldSpec := rowOf(old).ForumSpec
		if spec.Tag() == oldSpec.Tag() {
			return nil
		}
		if err := match.Check(oldSpec.Tag()); err != nil {
			return err
		}
		if spec.Type != oldSpec.Type {
			if err := checkTypeChange(c, id, spec.Type); err != nil {
				return err
			}
		}
		if spec.Parent != oldSpec.Parent {
			if err := spec.checkParent(c, id); err != nil {
				return err
			}
			if err := reparent(c, id, spec.Parent); err != nil {
				return err
			}
		}
		f := spec.forum()
		_, err = c.Exec("UPDATE board_forums"+
			" SET type = ?, title = ?, description = ?, link_url = ?, is_open = ?, allow_threads = ?, allow_replies = ?,"+
			" moderate_threads = ?, moderate_posts = ?, requires_prefix = ?, flood_seconds = ?, min_words = ?, max_words = ?,"+
			" answers = ? WHERE id = ?",
			f.Kind, f.Title, f.Description, f.Link, kernel.Bool(f.Open), kernel.Bool(f.AllowThreads),
			kernel.Bool(f.AllowReplies),
			kernel.Bool(f.ModerateThreads), kernel.Bool(f.ModeratePosts), kernel.Bool(f.RequiresPrefix), f.FloodSeconds,
			kernel.Null(f.MinWords), kernel.Null(f.MaxWords), kernel.Bool(f.Answers), id)
		if err != nil {
			return err
		}
		return s.rights.LogForumChange(c, a, "forum.edit", id, InLog(oldSpec.Differences(&spec)))
	})
}

// checkTypeChange returns an error of Invalid if a forum contains threads or forums that a forum of the type newType
// cannot contain.
func checkTypeChange(c store.Conn, id int64, newType string) error {
	threads, children, err := contents(c, id)
	switch {
	case err != nil:
		return err
	case newType != "forum" && threads:
		return kernel.Invalid("type", "has_threads", "a "+newType+" cannot have threads, but this forum has some")
	case newType == "link" && children:
		return kernel.Invalid("type", "has_forums", "a link cannot have forums below it, but this forum has some")
	}
	return nil
}

// Differences lists the properties whose values differ between f and newSpec.
func (f *ForumSpec) Differences(newSpec *ForumSpec) []Difference {
	seconds := func(n *int64) string {
		if n == nil {
			return ""
		}
		return kernel.Itoa(*n)
	}
	return Differences([]Difference{
		{What: "parent", From: kernel.Itoa(f.Parent), To: kernel.Itoa(newSpec.Parent)},
		{What: "type", From: f.Type, To: newSpec.Type},
		{What: "title", From: f.Title, To: newSpec.Title},
		{What: "description", From: f.Description, To: newSpec.Description},
		{What: "link", From: f.LinkURL, To: newSpec.LinkURL},
		{What: "open", From: yes(f.Open), To: yes(newSpec.Open)},
		{What: "takes threads", From: yes(f.AllowThreads), To: yes(newSpec.AllowThreads)},
		{What: "takes replies", From: yes(f.AllowReplies), To: yes(newSpec.AllowReplies)},
		{What: "holds threads", From: yes(f.ModerateThreads), To: yes(newSpec.ModerateThreads)},
		{What: "holds posts", From: yes(f.ModeratePosts), To: yes(newSpec.ModeratePosts)},
		{What: "needs a prefix", From: yes(f.RequiresPrefix), To: yes(newSpec.RequiresPrefix)},
		{What: "has answers", From: yes(f.Answers), To: yes(newSpec.Answers)},
		{What: "flood seconds", From: seconds(f.FloodSeconds), To: seconds(newSpec.FloodSeconds)},
		{What: "least words", From: kernel.Itoa(f.MinWords), To: kernel.Itoa(newSpec.MinWords)},
		{What: "most words", From: kernel.Itoa(f.MaxWords), To: kernel.Itoa(newSpec.MaxWords)},
	})
}
