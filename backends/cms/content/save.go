package content

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/sanitize"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Limits of a page.
const (
	maxPath         = 2048 // of a path, in characters
	maxRevisions    = 50   // of a page; older ones are deleted
	maxNameAttempts = 1000 // how many names such as post, post-2, post-3 are tried for a page without a given name
)

// gateTree is the number of the advisory lock that serializes changes of the tree on PostgreSQL; see store.Conn.Enter.
// It is needed because the path of a page depends on the pages above it.
const gateTree = 0x636d7374

// Edit describes a change of a page, or a new page. A nil member leaves the value of a page unchanged, and sets the
// default for a new page.
type Edit struct {
	ID int64 // 0 for a new page
	// Version is the version of the page on which the change is based. If the page has another version by now, the
	// error has the status 412. The value 0 disables the check.
	Version int64
	// Parent and Template are only used for a new page.
	Parent   int64
	Template string
	// Name is the last segment of the path. The default is derived from the title.
	Name  *string
	Title *string
	// Status is published, hidden or unpublished. A new page is unpublished by default.
	Status *string
	// Fields holds the new values by field name. A nil value removes the field's value.
	Fields map[string]any
	// PublishAt and UnpublishAt are the times of automatic publication and unpublication. The zero time removes a
	// planned time.
	PublishAt, UnpublishAt *kernel.Moment
	// Draft stores the title and fields as a draft; see PublishDraft. The published page keeps its values until then.
	// When a page becomes unpublished, its draft replaces its values.
	Draft bool

	incomplete bool // whether required fields may be missing
}

// Save creates or changes a page and returns the result. Required fields must have values, except in an unpublished
// page or a draft.
func (p *Content) Save(ctx context.Context, u *kernel.User, e Edit) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	if e.Fields, err = plainValues(e.Fields); err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		if e.ID == 0 || e.Name != nil { // the path of a page is set
			if err := c.Enter(gateTree); err != nil {
				return err
			}
		}
		if e.ID == 0 {
			page, err = p.create(c, s, u, &e)
		} else {
			page, err = p.edit(c, s, u, &e)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if e.ID == 0 || e.Name != nil {
		p.warnIfShadowed(page)
	}
	return page, nil
}

// plainValues converts values of any Go types to the types that encoding/json decodes into any. It returns an error if
// the values exceed maxData bytes as JSON.
func plainValues(fields map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, kernel.Invalid("fields", "type", "the values cannot be represented as JSON")
	}
	if len(raw) > maxData {
		return nil, errTooLarge()
	}
	return decode(string(raw))
}

// errTooLarge returns the error for a page whose values exceed maxData.
func errTooLarge() error {
	return kernel.Invalid("fields", "length",
		fmt.Sprintf("the values of all fields of a page may have at most %d bytes together", maxData))
}

// create inserts a page. The caller's transaction must have entered gateTree.
func (p *Content) create(c kernel.Conn, s *schema, u *kernel.User, e *Edit) (*Page, error) {
	t := s.templatesByName[e.Template]
	if t == nil {
		return nil, kernel.Invalid("template", "unknown", "there is no template "+strconv.Quote(e.Template))
	}
	if !s.may(u, t.Name, creating) {
		return nil, kernel.Forbidden("you may not create pages of the template %s", t.Name)
	}
	page := &Page{Template: t.Name, Parent: e.Parent, Fields: map[string]any{}, status: selector.Unpublished}
	var parent *Page
	if e.Parent != 0 {
		var err error
		if parent, err = s.visible(c, u, "p.id = ?", e.Parent); kernel.IsNotFound(err) {
			return nil, kernel.Invalid("parent", "unknown", fmt.Sprintf("the parent page %d does not exist", e.Parent))
		} else if err != nil {
			return nil, err
		}
	}
	if err := s.checkNewPage(c, t, parent); err != nil {
		return nil, err
	}
	now := p.Moment()
	values, err := s.apply(page, e)
	if err != nil {
		return nil, err
	}
	if err := p.schedule(page, e); err != nil {
		return nil, err
	}
	if err := s.checkRequired(page); err != nil && !e.incomplete {
		return nil, err
	}
	if parent != nil {
		if page.Name, err = freeName(c, page, e.Name); err != nil {
			return nil, err
		}
	}
	if page.Path, err = childPath(parent, page.Name); err != nil {
		return nil, err
	}
	if page.status != selector.Unpublished {
		page.Published = now
	}
	page.Created, page.Modified, page.CreatedBy, page.ModifiedBy, page.Version = now, now, u.ID, u.ID, 1
	err = c.Row(`INSERT INTO cms_pages (parent_id, template_id, name, path, title, status, sort, data, created, created_by, modified, modified_by, published, publish_at, unpublish_at)
		VALUES (NULLIF(CAST(? AS BIGINT), 0), ?, ?, ?, ?, ?, COALESCE((SELECT MAX(o.sort) + 1 FROM cms_pages o WHERE o.parent_id = ?), 1), ?, ?, ?, ?, ?, ?, NULLIF(CAST(? AS BIGINT), 0), NULLIF(CAST(? AS BIGINT), 0)) RETURNING id, sort`,
		page.Parent, t.ID, page.Name, page.Path, page.Title, int(page.status), page.Parent, values, now, u.ID, now, u.ID,
		page.Published, page.PublishAt, page.UnpublishAt).
		Scan(&page.ID, &page.Sort)
	if err != nil {
		return nil, err
	}
	if parent != nil {
		if err := addAncestors(c, page.ID, parent.ID); err != nil {
			return nil, err
		}
	}
	if err := s.index(c, page, &Page{}); err != nil {
		return nil, err
	}
	// The new page takes over its path: the path no longer redirects to the page that was there before.
	if _, err := c.Exec("DELETE FROM cms_page_redirects WHERE path = ?", page.Path); err != nil {
		return nil, err
	}
	page.Status = selector.Statuses[page.status]
	if err := p.notify(c, TopicCreated, page); err != nil {
		return nil, err
	}
	if page.Published != 0 {
		err = p.notify(c, TopicPublished, page)
	}
	return s.withoutEditorData(u, page), err
}

// addAncestors stores the ancestors of a new page: the parent, and the ancestors of the parent.
func addAncestors(c kernel.Conn, page, parent int64) error {
	if _, err := c.Exec("INSERT INTO cms_page_ancestors (ancestor_id, page_id) SELECT ancestor_id, CAST(? AS BIGINT) FROM cms_page_ancestors WHERE page_id = ?", page, parent); err != nil {
		return err
	}
	_, err := c.Exec("INSERT INTO cms_page_ancestors (ancestor_id, page_id) VALUES (?, ?)", parent, page)
	return err
}

// edit changes a page. If the name is to be changed, the caller's transaction must have entered gateTree.
func (p *Content) edit(c kernel.Conn, s *schema, u *kernel.User, e *Edit) (*Page, error) {
	page, err := s.editable(c, u, e.ID, e.Version)
	if err != nil {
		return nil, err
	}
	if e.Draft && page.status == selector.Unpublished {
		return nil, kernel.Conflict("an unpublished page cannot have a draft: change the page itself")
	}
	if e.Draft && (e.Name != nil || e.Status != nil) {
		return nil, kernel.Conflict("a draft has only a title and fields: it cannot change the name or the status")
	}
	previous := *page
	previous.Fields = maps.Clone(page.Fields) // apply changes the map of page
	switch {
	case e.Draft && page.draft != "": // the edit continues the draft
		err = s.useDraft(page)
	// A page that is or becomes unpublished keeps no draft: the draft's content replaces the page's before the edit.
	case !e.Draft && (page.status == selector.Unpublished || e.Status != nil && *e.Status == StatusUnpublished):
		err = s.takeDraft(page)
	}
	if err != nil {
		return nil, err
	}
	values, err := s.apply(page, e)
	if err != nil {
		return nil, err
	}
	if err := p.schedule(page, e); err != nil {
		return nil, err
	}
	if e.Draft {
		return s.keepDraft(c, u, &previous, page)
	}
	now := p.Moment()
	if err := s.checkRequired(page); err != nil && !e.incomplete {
		return nil, err
	}
	if e.Name != nil && *e.Name != page.Name {
		if err := p.rename(c, s, page, *e.Name, now); err != nil {
			return nil, err
		}
	}
	return p.write(c, s, u, &previous, page, values, now)
}

// write stores the changed page and notifies the webhooks. If the title or fields differ from previous, it stores
// previous as a revision. values are the fields of page in their stored form, and now is the modification time.
func (p *Content) write(
	c kernel.Conn, s *schema, u *kernel.User, previous, page *Page, values string, now kernel.Moment,
) (*Page, error) {
	changed := page.Title != previous.Title || !reflect.DeepEqual(page.Fields, previous.Fields)
	if changed {
		if err := s.keepRevision(c, previous); err != nil {
			return nil, err
		}
	}
	if changed || previous.hasStaleValues {
		if err := s.index(c, page, previous); err != nil {
			return nil, err
		}
	}
	visible := page.status != selector.Unpublished
	if visible && page.Published == 0 {
		page.Published = now
	}
	page.Modified, page.ModifiedBy, page.Version, page.Status = now, u.ID, previous.Version+1,
		selector.Statuses[page.status]
	_, err := c.Exec(`UPDATE cms_pages SET title = ?, status = ?, data = ?, modified = ?, modified_by = ?, published = ?, version = ?,
		draft = NULLIF(?, ''), publish_at = NULLIF(CAST(? AS BIGINT), 0), unpublish_at = NULLIF(CAST(? AS BIGINT), 0) WHERE id = ?`,
		page.Title, int(page.status), values, now, u.ID, page.Published, page.Version, page.draft, page.PublishAt,
		page.UnpublishAt, page.ID)
	if err != nil {
		return nil, err
	}
	if err := p.notify(c, TopicChanged, page); err != nil {
		return nil, err
	}
	switch {
	case visible && previous.status == selector.Unpublished:
		err = p.notify(c, TopicPublished, page)
	case !visible && previous.status != selector.Unpublished:
		err = p.notify(c, TopicUnpublished, page)
	}
	return page, err
}

// editable returns the page with the given ID, locked until the end of the transaction, if u may change it. It returns
// a 412 error if version is neither 0 nor the page's version, and a conflict if the page is in the trash.
func (s *schema) editable(c kernel.Conn, u *kernel.User, id, version int64) (*Page, error) {
	page, err := s.visible(c, u, "p.id = ?"+c.Lock(), id)
	switch {
	case err != nil:
		return nil, err
	case !s.may(u, page.Template, editing):
		return nil, kernel.Forbidden("you may not change pages of the template %s", page.Template)
	case version != 0 && version != page.Version:
		return nil, kernel.Changed("the page")
	case page.status == selector.Trash:
		return nil, kernel.Conflict("the page is in the trash: restore it first")
	}
	return page, nil
}

// apply copies the title, status and fields that an Edit sets into a page, and returns the page's fields in their
// stored form. The error joins the errors of all invalid values.
func (s *schema) apply(page *Page, e *Edit) (storedFields string, err error) {
	var faults []error
	if e.Title != nil {
		title := strings.TrimSpace(*e.Title)
		limit := max(s.fields[TitleField].Settings.Most, maxText)
		if title == "" || utf8.RuneCountInString(title) > limit || !text.IsLine(title) {
			faults = append(faults, kernel.Invalid(TitleField, "length",
				fmt.Sprintf("the title must be one line of 1 to %d characters", limit)))
		}
		page.Title = title
	} else if page.ID == 0 {
		faults = append(faults, kernel.Invalid(TitleField, "required", "a new page needs a title"))
	}
	if e.Status != nil {
		i := slices.Index(selector.Statuses, *e.Status)
		if i < 0 || selector.Status(i) == selector.Trash {
			faults = append(faults, kernel.Invalid("status", "unknown",
				"the status must be published, hidden or unpublished"))
		} else {
			page.status = selector.Status(i)
		}
	}
	t := s.templatesByName[page.Template]
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		if t == nil || !slices.Contains(t.Fields, name) {
			faults = append(faults, kernel.Invalid(name, "unknown", "pages of the template "+page.Template+" have no field "+
				strconv.Quote(name)))
			continue
		}
		value, err := s.clean(s.fields[name], e.Fields[name], page.Fields[name])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		page.Fields[name] = value
		if value == nil {
			delete(page.Fields, name)
		}
	}
	if err := apierror.Join(faults...); err != nil {
		return "", err
	}
	storedFields = s.encodeFields(page.Fields)
	if len(storedFields) > maxData {
		return "", errTooLarge()
	}
	return storedFields, nil
}

// checkRequired returns an error that names the required fields without a value, unless the page is unpublished.
func (s *schema) checkRequired(page *Page) error {
	if page.status == selector.Unpublished {
		return nil
	}
	var faults []error
	for _, name := range s.templatesByName[page.Template].Fields {
		if _, ok := page.Fields[name]; !ok && s.fields[name].Required {
			faults = append(faults, kernel.Invalid(name, "required", "a published page needs a value for "+name))
		}
	}
	return apierror.Join(faults...)
}

// checkNewPage returns an error if a new page of template t must not be created below parent. A nil parent means that
// the page is the root.
func (s *schema) checkNewPage(c kernel.Conn, t *Template, parent *Page) error {
	if t.Family.One {
		var exists bool
		if err := c.Row("SELECT EXISTS (SELECT 1 FROM cms_pages WHERE template_id = ?)", t.ID).Scan(&exists); err != nil {
			return err
		}
		if exists {
			return kernel.Conflict("the template %s allows only one page, which exists already", t.Name)
		}
	}
	return s.checkParent(c, t, parent)
}

// checkParent returns an error if a page of template t must not be below parent. In contrast to checkNewPage, it does
// not check the number of pages of the template, so it is also used for pages that already exist.
func (s *schema) checkParent(c kernel.Conn, t *Template, parent *Page) error {
	if parent == nil {
		var exists bool
		if err := c.Row("SELECT EXISTS (SELECT 1 FROM cms_pages WHERE parent_id IS NULL)").Scan(&exists); err != nil {
			return err
		}
		if exists {
			return kernel.Invalid("parent", "required", "a parent page is required: only the root page has none")
		}
		return nil
	}
	parentTemplate := s.templatesByName[parent.Template]
	switch {
	case parent.status == selector.Trash:
		return kernel.Conflict("the parent page is in the trash")
	case parentTemplate == nil:
		return kernel.NotFound("template")
	case parentTemplate.Family.NoChildren,
		len(parentTemplate.Family.Children) > 0 && !slices.Contains(parentTemplate.Family.Children, t.Name),
		len(t.Family.Parents) > 0 && !slices.Contains(t.Family.Parents, parentTemplate.Name):
		return kernel.Invalid("parent", "family",
			fmt.Sprintf("pages of the template %s are not allowed below pages of the template %s", t.Name, parentTemplate.Name))
	}
	return nil
}

// freeName returns the name for a page that is to be created or renamed: *requested, or a name derived from the title
// if requested is nil or empty. It returns an error if the requested name is malformed or a sibling has it.
func freeName(c kernel.Conn, page *Page, requested *string) (string, error) {
	isTaken := func(name string) (exists bool, err error) {
		err = c.Row("SELECT EXISTS (SELECT 1 FROM cms_pages WHERE parent_id = ? AND name = ? AND id <> ?)",
			page.Parent, name, page.ID).Scan(&exists)
		return exists, err
	}
	if requested != nil && *requested != "" {
		if !kernel.GoodName(*requested) {
			return "", kernel.BadName()
		}
		inUse, err := isTaken(*requested)
		if inUse {
			err = kernel.Invalid("name", "taken", "another page below the same parent has this name")
		}
		return *requested, err
	}
	sanitized, err := sanitize.Apply("pageNameTranslate", page.Title)
	if err != nil {
		return "", err
	}
	translated, _ := sanitized.(string)
	// A run of spaces and punctuation in a title becomes one hyphen.
	base := strings.Join(strings.FieldsFunc(translated, func(r rune) bool { return r == '-' }), "-")
	if base == "" {
		base = "page"
	}
	if limit := kernel.MaxName - len("-1000"); len(base) > limit { // leave room for a number
		base = strings.Trim(base[:limit], "._-")
	}
	for n := 1; n <= maxNameAttempts; n++ {
		name := base
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		if inUse, err := isTaken(name); !inUse || err != nil {
			return name, err
		}
	}
	return "", kernel.Invalid("name", "taken", "too many pages below the same parent have this title: specify a name")
}

// childPath returns the path of a page with the given name below parent. If parent is nil, the page is the root.
func childPath(parent *Page, name string) (string, error) {
	if parent == nil {
		return "/", nil
	}
	path := strings.TrimSuffix(parent.Path, "/") + "/" + name
	if len(path) > maxPath {
		return "", kernel.Invalid("name", "length", fmt.Sprintf("a path has at most %d characters", maxPath))
	}
	return path, nil
}
