package content

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Revision is a previous state of a page. The last 50 revisions of a page are kept.
type Revision struct {
	Revision int64          `json:"revision"` // the version of the page
	Title    string         `json:"title"`
	Fields   map[string]any `json:"fields"`
	By       int64          `json:"by"` // the user who made this version
	At       kernel.Moment  `json:"at"`

	size int // size of the stored values, in bytes
}

// keepRevision stores the current state of a page, which is about to change, as a revision, and deletes all but the
// last 50 revisions.
func (s *schema) keepRevision(c kernel.Conn, page *Page) error {
	_, err := c.Exec("INSERT INTO cms_page_revisions (page_id, rev, title, data, by_user, at) VALUES (?, ?, ?, ?, ?, ?)",
		page.ID, page.Version, page.Title, s.encodeFields(page.Fields), page.ModifiedBy, page.Modified)
	if err != nil {
		return err
	}
	_, err = c.Exec("DELETE FROM cms_page_revisions WHERE page_id = ? AND rev <= (SELECT r.rev FROM cms_page_revisions r WHERE r.page_id = ? ORDER BY r.rev DESC LIMIT 1 OFFSET ?)",
		page.ID, page.ID, maxRevisions)
	return err
}

// Revisions returns the revisions of a page, newest first, but only as many as fit into a List. u must be allowed to
// edit the page.
func (p *Content) Revisions(ctx context.Context, u *kernel.User, id int64) (list []*Revision, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		page, err := s.visible(c, u, "p.id = ?", id)
		if err != nil {
			return err
		}
		if !s.may(u, page.Template, editing) {
			return kernel.Forbidden("you may not see revisions of pages of the template %s", page.Template)
		}
		_, err = readPart(c, maxRevisions, func(r store.Row) (size int, err error) {
			v, err := s.revision(r)
			if err != nil {
				return 0, err
			}
			list = append(list, v)
			return v.size, nil
		}, "SELECT rev, title, data, by_user, at FROM cms_page_revisions WHERE page_id = ? ORDER BY rev DESC LIMIT ?", id, maxRevisions)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// revision reads a revision from a row with the columns rev, title, data, by_user and at.
func (s *schema) revision(r store.Row) (*Revision, error) {
	v := new(Revision)
	var data string
	if err := r.Scan(&v.Revision, &v.Title, &data, &v.By, &v.At); err != nil {
		return nil, err
	}
	v.size = len(data) + len(v.Title) + rowBytes
	stored, err := decode(data)
	if err != nil {
		return nil, err
	}
	v.Fields = s.fieldsOfRevision(stored)
	return v, nil
}

// Revert restores a page from the revision rev, without fields that the template no longer has. The current state
// becomes a revision. See Edit for version.
func (p *Content) Revert(ctx context.Context, u *kernel.User, id, rev, version int64) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		previous, err := s.editable(c, u, id, version)
		if err != nil {
			return err
		}
		revision, err := s.revision(c.Row("SELECT rev, title, data, by_user, at FROM cms_page_revisions WHERE page_id = ? AND rev = ?", id, rev))
		if err != nil {
			return kernel.OrNotFound(err, "revision")
		}
		page, err = p.restoreState(c, s, u, previous, revision.Title, revision.Fields)
		return err
	})
	return page, err
}

// restoreState sets the title and fields of a page to those of a revision or a draft. Files that were removed from the
// page come back: the content of a file is kept as long as a revision refers to it.
func (p *Content) restoreState(
	c kernel.Conn, s *schema, u *kernel.User, previous *Page, title string, fields map[string]any,
) (*Page, error) {
	page := *previous
	page.Title, page.Fields = title, make(map[string]any)
	for _, name := range s.templatesByName[page.Template].Fields {
		if value, ok := fields[name]; ok {
			page.Fields[name] = value
		}
	}
	if err := s.checkRequired(&page); err != nil {
		return nil, err
	}
	return p.write(c, s, u, previous, &page, s.encodeFields(page.Fields), p.Moment())
}
