// Package content manages the pages of a site: templates and fields, the page tree, values and their searchable copies,
// revisions, the trash, drafts, and scheduled publication.
//
// A page has a template, which lists the roles that may view, edit and create its pages. A user with a role that may
// view sees published and hidden pages. A user with a role that may edit sees pages in every other status, too. Lists
// do not contain hidden pages; a request for a single page returns them. A superuser sees every page and may do
// everything that does not break the page tree.
//
// A page that a user may not see is reported as not found. An error that refuses a request is a *apierror.Error with
// one of these statuses: 400 for an invalid selector, 404 for a missing page, 409 for a conflict with the current
// state, 412 for an outdated version, and 422 for an invalid value, with the name of the field.
package content

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/cache"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The statuses of a page.
const (
	StatusPublished   = "published"
	StatusHidden      = "hidden"      // like published, but only in lists that ask for hidden pages
	StatusUnpublished = "unpublished" // visible only to users who may edit the page
	StatusTrash       = "trash"
)

// The topics of the events that webhooks receive.
const (
	TopicCreated     = "page.created"
	TopicChanged     = "page.changed"
	TopicPublished   = "page.published"
	TopicUnpublished = "page.unpublished"
	TopicTrashed     = "page.trashed" // with all pages below it
	TopicDeleted     = "page.deleted" // permanently, with all pages below it
)

// Topics lists all topics.
var Topics = []string{TopicCreated, TopicChanged, TopicPublished, TopicUnpublished, TopicTrashed, TopicDeleted}

// Content manages the pages of a site. A Content is safe for concurrent use.
type Content struct {
	*kernel.Server
	schemas *cache.Cache[*schema]
	stop    func()
}

// topic is the topic under which nodes notify each other of changed templates and fields.
const topic = "cms_schema"

// New returns the content of the site of s, without using the database yet. The caller must call Close.
func New(s *kernel.Server) *Content {
	p := &Content{Server: s}
	p.schemas = cache.New(1, s.Now, p.loadSchema)
	p.stop = s.DB.Listen(topic, p.schemas.Drop)
	return p
}

// Close stops listening for notifications from other nodes.
func (p *Content) Close() { p.stop() }

// Page is a page as the calling user sees it.
type Page struct {
	ID       int64  `json:"id"`
	Parent   int64  `json:"parent"` // 0 for the root
	Template string `json:"template"`
	Name     string `json:"name"`
	Path     string `json:"path"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Sort     int64  `json:"sort"` // position among its siblings
	// Fields holds the values by field name; fields without a value are left out. A value is a string, float64, bool,
	// []any or map[string]any. A datetime is a string in RFC 3339, and a reference to a page is the page's ID. The value
	// of a field with several pages or options is a list.
	Fields     map[string]any `json:"fields"`
	Created    kernel.Moment  `json:"created"`
	CreatedBy  int64          `json:"created_by"`
	Modified   kernel.Moment  `json:"modified"`
	ModifiedBy int64          `json:"modified_by"`
	// Published is the time of the first publication, or zero if the page has never been published.
	Published kernel.Moment `json:"published,omitzero"`
	Version   int64         `json:"version"` // grows with each change

	// The following fields are only set for users who may edit the page.
	Draft       bool          `json:"draft,omitempty"` // whether there is a draft
	PublishAt   kernel.Moment `json:"publish_at,omitzero"`
	UnpublishAt kernel.Moment `json:"unpublish_at,omitzero"`

	// Warning is a hint for the user who has just changed the page, or empty.
	Warning string `json:"warning,omitempty"`

	// status is the stored form of Status. Code that changes the status of a page sets only status; the methods create and
	// write then set Status.
	status selector.Status
	draft  string // JSON text of a storedDraft, or empty
	size   int    // size of the stored values, in bytes
	// hasStaleValues reports whether there are stored values of fields that no longer exist or that the template no
	// longer has.
	hasStaleValues bool
}

// maxListBytes limits the total size of the pages in one part of a list. The last page may exceed the limit; even then
// the list fits into an answer of the API.
const maxListBytes = 5 << 20

// rowBytes is the estimated size of a page in an answer without its texts, in bytes.
const rowBytes = 512

// List is one part of a list of pages. A part has fewer pages than the limit if that many pages would take more than 5
// MiB together; the remaining pages follow in the next part.
type List struct {
	Pages []*Page `json:"pages"`
	// Next is a cursor: with this value of "after=", a selector finds the next part of the list. Next is empty at the end
	// of the list.
	Next  string `json:"next"`
	Limit int    `json:"limit"`
	Start int    `json:"start"`
}

// columns are the columns of cms_pages that scan reads.
const columns = `p.id, COALESCE(p.parent_id, 0), p.template_id, p.name, p.path, p.title, p.status, p.sort, p.data, p.created, p.created_by,
	p.modified, p.modified_by, p.published, p.version, COALESCE(p.draft, ''), COALESCE(p.publish_at, 0), COALESCE(p.unpublish_at, 0)`

// scan reads a page from a row with columns. Any further columns of the row are scanned into extra.
func (s *schema) scan(r store.Row, extra ...any) (*Page, error) {
	page := new(Page)
	var template int64
	var data string
	err := r.Scan(append([]any{
		&page.ID, &page.Parent, &template, &page.Name, &page.Path, &page.Title, &page.status, &page.Sort, &data,
		&page.Created, &page.CreatedBy,
		&page.Modified, &page.ModifiedBy, &page.Published, &page.Version, &page.draft, &page.PublishAt, &page.UnpublishAt,
	}, extra...)...)
	if err != nil {
		return nil, err
	}
	page.Status, page.Draft = selector.Statuses[page.status], page.draft != ""
	page.size = len(data) + len(page.draft) + len(page.Path) + len(page.Title) + rowBytes
	t := s.templatesByID[template]
	if t == nil { // another node has just created the template, and s does not contain it yet
		t = &Template{}
	}
	page.Template = t.Name
	stored, err := decode(data)
	if err != nil {
		return nil, err
	}
	page.Fields, page.hasStaleValues = s.byName(t, stored)
	return page, nil
}

// decode parses the JSON text of stored values.
func decode(data string) (fields map[string]any, err error) {
	decoder := json.NewDecoder(strings.NewReader(data))
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("the stored values of a page: %w", err)
	}
	return fields, nil
}

// encode returns the values as JSON text for the database, without escaping HTML characters.
func encode(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // the callers have checked that the value can be encoded
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// withoutEditorData returns page. Unless u may edit the page, it first removes the data that only editors may see.
func (s *schema) withoutEditorData(u *kernel.User, page *Page) *Page {
	if !s.may(u, page.Template, editing) {
		page.Draft, page.PublishAt, page.UnpublishAt, page.draft = false, 0, 0, ""
	}
	return page
}

// Find returns the pages that match the selector text, without those that u may not see.
func (p *Content) Find(ctx context.Context, u *kernel.User, text string) (*List, error) {
	s, q, err := p.query(ctx, u, text, false)
	if err != nil {
		return nil, err
	}
	return p.list(ctx, s, u, q)
}

// list returns the pages that the compiled selector q finds. It stops at the selector's limit, or when the pages
// together exceed maxListBytes; List.Next is then the cursor for the next part.
func (p *Content) list(ctx context.Context, s *schema, u *kernel.User, q *selector.Query) (*List, error) {
	list := &List{Pages: []*Page{}, Limit: q.Limit, Start: q.Start}
	statement, args := q.Select(columns)
	err := p.Read(ctx, func(c kernel.Conn) error {
		var lastKeys []any // the sort keys of the last page in the list
		more, err := readPart(c.ByValues(), q.Limit, func(r store.Row) (size int, err error) {
			lastKeys = q.Keys() // new pointers, through which scan stores the keys of this row
			page, err := s.scan(r, lastKeys...)
			if err != nil {
				return 0, err
			}
			list.Pages = append(list.Pages, s.withoutEditorData(u, page))
			return page.size, nil
		}, statement, args...)
		if more {
			list.Next = q.Cursor(lastKeys)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// readPart reads one part of a list: it calls read for each row of a query. It stops when it has read limit rows, or
// when the sum of the sizes that read has returned exceeds maxListBytes. more reports whether the query has further
// rows.
func readPart(
	c kernel.Conn, limit int, read func(r store.Row) (size int, err error), query string, args ...any,
) (more bool, err error) {
	rows, size := 0, 0
	errFull := errors.New("full") // ends c.All
	err = c.All(query, args, func(r store.Row) error {
		if rows == limit || size > maxListBytes {
			return errFull
		}
		n, err := read(r)
		rows++
		size += n
		return err
	})
	if errors.Is(err, errFull) {
		return true, nil
	}
	return false, err
}

// Get returns the first page that matches the selector text and that u may see. The page may be hidden.
func (p *Content) Get(ctx context.Context, u *kernel.User, text string) (*Page, error) {
	s, q, err := p.query(ctx, u, text, true)
	if err != nil {
		return nil, err
	}
	q.Limit = 1
	list, err := p.list(ctx, s, u, q)
	if err == nil && len(list.Pages) == 0 {
		err = kernel.NotFound("page")
	}
	if err != nil {
		return nil, err
	}
	return list.Pages[0], nil
}

// Count returns the number of pages that match the selector text and that u may see, ignoring the selector's limit and
// start.
func (p *Content) Count(ctx context.Context, u *kernel.User, text string) (n int64, err error) {
	_, q, err := p.query(ctx, u, text, false)
	if err != nil {
		return 0, err
	}
	statement, args := q.Count()
	err = p.Read(ctx, func(c kernel.Conn) error { return c.ByValues().Row(statement, args...).Scan(&n) })
	return n, err
}

// query compiles the selector text with the rights of u. If hidden is true, hidden pages match even if the selector
// does not include them.
func (p *Content) query(
	ctx context.Context, u *kernel.User, text string, hidden bool,
) (*schema, *selector.Query, error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := selector.Parse(text)
	if err != nil {
		return nil, nil, badSelector(err)
	}
	paths, err := p.paths(ctx, parsed.Paths())
	if err != nil {
		return nil, nil, err
	}
	q, err := parsed.Compile(&selector.Scheme{
		Dialect: p.DB.Dialect(), Fields: s.selectorFields, Templates: s.templateIDs, Paths: paths, Hidden: hidden,
		View: s.templatesFor(u, viewing), Edit: s.templatesFor(u, editing), Cursor: p.Signer("cms list"),
	})
	if err != nil {
		return nil, nil, badSelector(err)
	}
	return s, q, nil
}

// paths returns the IDs of the pages at the given paths. Paths without a page are not in the map.
func (p *Content) paths(ctx context.Context, paths []string) (map[string]int64, error) {
	if len(paths) == 0 {
		return nil, nil // without paths there are no IDs
	}
	ids, args := make(map[string]int64), make([]any, len(paths))
	for i, path := range paths {
		args[i] = path
	}
	err := p.Read(ctx, func(c kernel.Conn) error {
		return c.All("SELECT path, id FROM cms_pages WHERE path IN (?"+strings.Repeat(", ?", len(args)-1)+
			")", args, func(r store.Row) error {
			var path string
			var id int64
			err := r.Scan(&path, &id)
			ids[path] = id
			return err
		})
	})
	return ids, err
}

// badSelector converts a syntax error of a selector to a 400 error, and returns other errors unchanged.
func badSelector(err error) error {
	if e, ok := errors.AsType[*selector.Error](err); ok {
		return &apierror.Error{Status: http.StatusBadRequest, Code: "bad_selector", Message: e.Error()}
	}
	return err
}

// Page returns the page with the given ID, if u may see it. The page may be hidden and, if u may edit it, have any
// other status.
func (p *Content) Page(ctx context.Context, u *kernel.User, id int64) (page *Page, err error) {
	return p.read(ctx, u, "p.id = ?", id)
}

// At returns the page at a path, which may end with a slash, if u may see it.
func (p *Content) At(ctx context.Context, u *kernel.User, path string) (*Page, error) {
	return p.read(ctx, u, "p.path = ?", cleanPath(path))
}

// cleanPath returns a path in its stored form. It replaces zero bytes, which PostgreSQL does not accept and no stored
// path has.
func cleanPath(path string) string {
	return "/" + strings.Trim(strings.ToLower(strings.ReplaceAll(path, "\x00", "\uFFFD")), "/")
}

// read returns the page that visible finds.
func (p *Content) read(ctx context.Context, u *kernel.User, condition string, arg any) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		page, err = s.visible(c, u, condition, arg)
		return err
	})
	return page, err
}

// visible returns the page that meets the SQL condition, in which p is the table cms_pages and arg is the only
// parameter. It returns a not-found error if there is no such page or if u may not see it.
func (s *schema) visible(c kernel.Conn, u *kernel.User, condition string, arg any) (*Page, error) {
	page, err := s.scan(c.Row("SELECT "+columns+" FROM cms_pages p WHERE "+condition, arg))
	if err != nil {
		return nil, kernel.OrNotFound(err, "page")
	}
	if !s.sees(u, page) {
		return nil, kernel.NotFound("page")
	}
	return s.withoutEditorData(u, page), nil
}

// sees reports whether u may see a page. The statuses before Unpublished are published and hidden.
func (s *schema) sees(u *kernel.User, page *Page) bool {
	return page.status < selector.Unpublished && s.may(u, page.Template, viewing) || s.may(u, page.Template, editing)
}

// Moved returns the current path of the page that was previously at path. It returns a not-found error if no page was
// there, if u may not see the page, or if the page is at path now.
func (p *Content) Moved(ctx context.Context, u *kernel.User, path string) (newPath string, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return "", err
	}
	path = cleanPath(path)
	if len(path) > maxPath {
		return "", kernel.NotFound("page")
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		// Look for a redirect from the path itself, then from each path above it. The first redirect applies.
		for prefix := path; prefix != ""; prefix = prefix[:strings.LastIndexByte(prefix, '/')] {
			var target string
			err := c.Row("SELECT p.path FROM cms_page_redirects r JOIN cms_pages p ON p.id = r.page_id WHERE r.path = ?",
				prefix).Scan(&target)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			} else if err != nil {
				return err
			}
			newPath = target + path[len(prefix):]
			page, err := s.visible(c, u, "p.path = ?", newPath)
			if err == nil && page.Path == path {
				err = kernel.NotFound("page")
			}
			return err
		}
		return kernel.NotFound("page")
	})
	if err != nil {
		return "", err
	}
	return newPath, nil
}
