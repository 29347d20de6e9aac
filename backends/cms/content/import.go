package content

import (
	"context"
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// History is what a page was elsewhere.
type History struct {
	Created, Modified, Published kernel.Moment
	Sort                         int64
}

// Import saves pages in one change, in their order, in the name of the site: those that
// are at a path are changed, the others are made below the page that is at the rest of
// it. Histories are of pages that are made; webhooks are told as of any change. Required
// fields are not asked for: they may come with a later call.
func (p *Content) Import(ctx context.Context, pages []Imported) error {
	s, err := p.schema(ctx)
	if err != nil {
		return err
	}
	edits := make([]Edit, len(pages))
	for i := range pages {
		edits[i] = pages[i].Edit
		edits[i].incomplete = true
		if edits[i].Fields, err = plain(edits[i].Fields); err != nil {
			return at(pages[i].Path, err)
		}
	}
	return p.Write(ctx, func(c kernel.Conn) error {
		if err := c.Enter(gateTree); err != nil {
			return err
		}
		for i := range edits {
			if err := p.importOne(c, s, pages[i], edits[i]); err != nil {
				return at(pages[i].Path, err)
			}
		}
		return nil
	})
}

// Imported is a page of another site.
type Imported struct {
	Path string
	Edit
	History History
}

func (p *Content) importOne(c kernel.Conn, s *schema, page Imported, e Edit) error {
	site := kernel.Site()
	there, err := s.seen(c, site, "p.path = ?", page.Path)
	if err == nil {
		if e.Template != "" && there.Template != e.Template {
			return kernel.Conflict("there is a page of the template %s, not %s", there.Template, e.Template)
		}
		e.ID = there.ID
		_, err = p.edit(c, s, site, &e)
		return err
	}
	if !kernel.IsNotFound(err) {
		return err
	}
	above, name := split(page.Path)
	parent, err := s.seen(c, site, "p.path = ?", above)
	if kernel.IsNotFound(err) {
		return kernel.Conflict("there is no page %s to put it below", above)
	} else if err != nil {
		return err
	}
	e.Parent, e.Name = parent.ID, &name
	made, err := p.create(c, s, site, &e)
	if err != nil {
		return err
	}
	h := page.History
	_, err = c.Exec("UPDATE cms_pages SET created = ?, modified = ?, published = ?, sort = ? WHERE id = ?", h.Created, h.Modified, h.Published, h.Sort, made.ID)
	return err
}

// split is the path above a page, and its name.
func split(path string) (above, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/", path[i+1:]
	}
	return path[:i], path[i+1:]
}

// at says of which page a refusal is.
func at(path string, err error) error {
	e, ok := apierror.From(err)
	if !ok {
		return fmt.Errorf("page %s: %w", path, err)
	}
	told := *e
	told.Message = "page " + path + ": " + e.Message
	return &told
}
