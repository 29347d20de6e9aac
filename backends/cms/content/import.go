package content

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// History holds the times and the position that an imported page had on its original site.
type History struct {
	Created, Modified, Published kernel.Moment
	Sort                         int64
}

// Import saves pages in the given order in one transaction, in the name of the site. A page whose path exists is
// changed; any other page is created below the page at the parent path. A created page gets the whole History, a
// changed page only the modification time. Webhooks are notified as of any other change. Required fields may be empty,
// because a later call may fill them. The templates named in freelyPlaced do not restrict parents and children here,
// because the pages had these positions on the original site.
func (p *Content) Import(ctx context.Context, pages []Imported, freelyPlaced map[string]bool) error {
	s, err := p.schema(ctx)
	if err != nil {
		return err
	}
	s = s.withFreePlacement(freelyPlaced)
	edits := make([]Edit, len(pages))
	for i := range pages {
		edits[i] = pages[i].Edit
		edits[i].incomplete = true
		if edits[i].Fields, err = plainValues(edits[i].Fields); err != nil {
			return withPath(pages[i].Path, err)
		}
	}
	return p.Write(ctx, func(c kernel.Conn) error {
		if err := c.Enter(gateTree); err != nil {
			return err
		}
		for i := range edits {
			if err := p.importOne(c, s, pages[i], edits[i]); err != nil {
				return withPath(pages[i].Path, err)
			}
		}
		return nil
	})
}

// withFreePlacement returns a copy of the schema in which the given templates allow any parents and children.
func (s *schema) withFreePlacement(templates map[string]bool) *schema {
	result := *s
	result.templatesByName = maps.Clone(s.templatesByName)
	for name := range templates {
		if t := result.templatesByName[name]; t != nil {
			t = t.clone()
			t.Family.Children, t.Family.Parents = nil, nil
			result.templatesByName[name] = t
		}
	}
	return &result
}

// Definition is either a field or a template.
type Definition struct {
	Field    *Field
	Template *Template
}

// Define creates fields and templates, or changes those with the same names, in the name of the site. It makes all
// changes in one transaction, because definitions refer to each other. If Define fails because of a definition, index
// is the index of this definition in list. Otherwise index is -1.
func (p *Content) Define(ctx context.Context, list []Definition) (index int, err error) {
	index = -1
	err = p.changeSchema(ctx, kernel.Site(), func(c kernel.Conn, s *schema) error {
		index = -1 // a transaction that loses a race is repeated
		// A field may refer to a template that follows in the list. Therefore s first gets all new templates, without IDs.
		for _, d := range list {
			if t := d.Template; t != nil && s.templatesByName[t.Name] == nil {
				s.templatesByName[t.Name] = &Template{Name: t.Name}
			}
		}
		for i, d := range list {
			if err := s.define(c, d); err != nil {
				index = i
				return err
			}
		}
		return nil
	})
	return index, err
}

// define creates the field or template d, or changes the one with the same name, in the transaction of c.
func (s *schema) define(c kernel.Conn, d Definition) error {
	if d.Template != nil {
		t := *d.Template
		t.ID = s.templatesByName[t.Name].ID
		t.System = false // system templates exist already and do not change
		return s.saveTemplate(c, t)
	}
	f := *d.Field
	f.ID = 0
	if old := s.fields[f.Name]; old != nil {
		f.ID = old.ID
	}
	return s.saveField(c, f)
}

// Imported is a page of another site, to be imported at Path.
type Imported struct {
	Path string
	Edit
	History History
}

// importOne imports a page in the transaction of c: it changes the page at the path, or creates it. It returns a
// conflict if the existing page has another template, or if the parent does not exist.
func (p *Content) importOne(c kernel.Conn, s *schema, page Imported, e Edit) error {
	site := kernel.Site()
	stored, err := s.visible(c, site, "p.path = ?", page.Path)
	if err == nil { // the page exists: change it
		if e.Template != "" && stored.Template != e.Template {
			return kernel.Conflict("this page exists already, with the template %s instead of %s", stored.Template, e.Template)
		}
		e.ID = stored.ID
		if _, err = p.edit(c, s, site, &e); err != nil {
			return err
		}
		modified := cmp.Or(page.History.Modified, stored.Modified)
		_, err = c.Exec("UPDATE cms_pages SET modified = ? WHERE id = ?", modified, stored.ID)
		return err
	}
	if !kernel.IsNotFound(err) {
		return err
	}
	parentPath, name := splitPath(page.Path)
	parent, err := s.visible(c, site, "p.path = ?", parentPath)
	if kernel.IsNotFound(err) {
		return kernel.Conflict("the parent page %s does not exist", parentPath)
	} else if err != nil {
		return err
	}
	e.Parent, e.Name = parent.ID, &name
	created, err := p.create(c, s, site, &e)
	if err != nil {
		return err
	}
	h := page.History
	_, err = c.Exec("UPDATE cms_pages SET created = ?, modified = ?, published = ?, sort = ? WHERE id = ?",
		h.Created, h.Modified, h.Published, h.Sort, created.ID)
	return err
}

// splitPath divides a path into the path of the parent page and the name.
func splitPath(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/", path[i+1:]
	}
	return path[:i], path[i+1:]
}

// withPath adds the path of a page to an error.
func withPath(path string, err error) error {
	e, ok := apierror.From(err)
	if !ok {
		return fmt.Errorf("page %s: %w", path, err)
	}
	prefixed := *e
	prefixed.Message = "page " + path + ": " + e.Message
	return &prefixed
}
