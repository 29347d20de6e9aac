package content

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxOrder limits how many siblings Order sorts at once.
const maxOrder = 1000

// subtree is an SQL condition for a page and all pages below it. Both of its parameters are the page's ID.
const subtree = "(id = ? OR id IN (SELECT a.page_id FROM cms_page_ancestors a WHERE a.ancestor_id = ?))"

// Move moves a page and all pages below it to another parent, where the page becomes the last child. The previous
// paths redirect to the new ones; see Moved.
func (p *Content) Move(ctx context.Context, u *kernel.User, id, parent int64) (page *Page, err error) {
	err = p.changeTree(ctx, func(c kernel.Conn, s *schema) error {
		if page, err = s.movablePage(c, u, id); err != nil {
			return err
		}
		if page.Parent == parent {
			return nil
		}
		target, err := s.visible(c, u, "p.id = ?", parent)
		if kernel.IsNotFound(err) {
			return kernel.Invalid("parent", "unknown", "the parent page "+strconv.FormatInt(parent, 10)+" does not exist")
		} else if err != nil {
			return err
		}
		var inside bool
		if err := c.Row("SELECT EXISTS (SELECT 1 FROM cms_page_ancestors WHERE ancestor_id = ? AND page_id = ?)",
			id, parent).Scan(&inside); err != nil {
			return err
		}
		if inside || id == parent {
			return kernel.Invalid("parent", "inside", "a page cannot be moved below itself")
		}
		if err := s.checkParent(c, s.templatesByName[page.Template], target); err != nil {
			return err
		}
		oldPath, now := page.Path, p.Moment()
		page.Parent = parent
		if _, err := freeName(c, page, &page.Name); err != nil { // no child of the new parent may have the name
			return err
		}
		if page.Path, err = childPath(target, page.Name); err != nil {
			return err
		}
		if err := moveAncestors(c, id, parent); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE cms_pages SET parent_id = ?, sort = COALESCE((SELECT MAX(o.sort) + 1 FROM cms_pages o WHERE o.parent_id = ?), 1) WHERE id = ?", parent, parent, id)
		if err == nil {
			err = p.updatePaths(c, page, oldPath, now)
		}
		if err == nil {
			page, err = p.touch(c, s, u, id, now, TopicChanged)
		}
		return err
	})
	if err == nil {
		p.warnIfShadowed(page)
	}
	return page, err
}

// moveAncestors replaces the ancestors of a page, and of all pages below it, for a move below another parent.
func moveAncestors(c kernel.Conn, id, parent int64) error {
	// Remove the previous ancestors first from the pages below the page and then from the page itself, because the first
	// query needs the rows that the second one deletes.
	_, err := c.Exec(`DELETE FROM cms_page_ancestors WHERE page_id IN (SELECT page_id FROM cms_page_ancestors WHERE ancestor_id = ?)
		AND ancestor_id IN (SELECT ancestor_id FROM cms_page_ancestors WHERE page_id = ?)`, id, id)
	if err == nil {
		_, err = c.Exec("DELETE FROM cms_page_ancestors WHERE page_id = ?", id)
	}
	if err != nil {
		return err
	}
	// Each page of the moved subtree gets the new parent and the ancestors of the parent.
	_, err = c.Exec(`INSERT INTO cms_page_ancestors (ancestor_id, page_id)
		SELECT up.id, down.id FROM cms_pages up, cms_pages down
		WHERE (up.id = ? OR up.id IN (SELECT a.ancestor_id FROM cms_page_ancestors a WHERE a.page_id = ?))
		AND (down.id = ? OR down.id IN (SELECT a.page_id FROM cms_page_ancestors a WHERE a.ancestor_id = ?))`, parent, parent, id, id)
	return err
}

// changeTree runs fn in a transaction that may change the page tree.
func (p *Content) changeTree(ctx context.Context, fn func(c kernel.Conn, s *schema) error) error {
	s, err := p.schema(ctx)
	if err != nil {
		return err
	}
	return p.Write(ctx, func(c kernel.Conn) error {
		if err := c.Enter(gateTree); err != nil {
			return err
		}
		return fn(c, s)
	})
}

// movablePage returns the page with the given ID, if u may change it. It returns an error for the pages that every site
// has, which cannot be moved or deleted.
func (s *schema) movablePage(c kernel.Conn, u *kernel.User, id int64) (*Page, error) {
	page, err := s.editable(c, u, id, 0)
	if err != nil {
		return nil, err
	}
	if page.Parent == 0 || s.templatesByName[page.Template].System {
		return nil, kernel.Conflict("this is a system page, which cannot be moved or deleted")
	}
	return page, nil
}

// rename changes the name of a page and the paths of the page and all pages below it. An empty name leaves the name
// unchanged.
func (p *Content) rename(c kernel.Conn, s *schema, page *Page, name string, now kernel.Moment) error {
	if page.Parent == 0 || s.templatesByName[page.Template].System {
		return kernel.Conflict("this is a system page, which cannot be renamed")
	}
	if name == "" {
		name = page.Name
	}
	name, err := freeName(c, page, &name)
	if err != nil {
		return err
	}
	if name == page.Name {
		return nil
	}
	oldPath := page.Path
	page.Name = name
	page.Path = oldPath[:strings.LastIndexByte(oldPath, '/')+1] + name
	if _, err := c.Exec("UPDATE cms_pages SET name = ? WHERE id = ?", name, page.ID); err != nil {
		return err
	}
	return p.updatePaths(c, page, oldPath, now)
}

// updatePaths changes the stored path of a page from oldPath to page.Path, and the paths of all pages below it
// accordingly. It stores a redirect from oldPath.
func (p *Content) updatePaths(c kernel.Conn, page *Page, oldPath string, now kernel.Moment) error {
	if err := rebase(c, page.ID, oldPath, page.Path); err != nil {
		return err
	}
	if _, err := c.Exec("DELETE FROM cms_page_redirects WHERE path = ?", page.Path); err != nil {
		return err
	}
	_, err := c.Exec("INSERT INTO cms_page_redirects (path, page_id, at) VALUES (?, ?, ?) ON CONFLICT (path) DO UPDATE SET page_id = excluded.page_id, at = excluded.at", oldPath, page.ID, now)
	return err
}

// rebase replaces the prefix oldPath by newPath in the paths of the page with the given ID and all pages below it. It
// returns an error if a path would become too long.
func rebase(c kernel.Conn, id int64, oldPath, newPath string) error {
	if len(newPath) > len(oldPath) {
		var longest int64
		if err := c.Row("SELECT MAX(LENGTH(path)) FROM cms_pages WHERE "+subtree, id, id).Scan(&longest); err != nil {
			return err
		}
		if longest+int64(len(newPath)-len(oldPath)) > maxPath {
			return kernel.Invalid("parent", "length", "the path of the page, or of a page below it, would have more than "+
				strconv.Itoa(maxPath)+" characters")
		}
	}
	_, err := c.Exec("UPDATE cms_pages SET path = ? || substr(path, ?) WHERE "+subtree, newPath, len(oldPath)+1, id, id)
	return err
}

// touch records that u has changed a page, and sends an event with the given topic to the webhooks. It returns the
// page.
func (p *Content) touch(
	c kernel.Conn, s *schema, u *kernel.User, id int64, now kernel.Moment, topic string,
) (*Page, error) {
	if _, err := c.Exec("UPDATE cms_pages SET modified = ?, modified_by = ?, version = version + 1 WHERE id = ?",
		now, u.ID, id); err != nil {
		return nil, err
	}
	page, err := s.scan(c.Row("SELECT "+columns+" FROM cms_pages p WHERE p.id = ?", id))
	if err != nil {
		return nil, err
	}
	return page, p.notify(c, topic, page)
}

// Order sorts the children of a page: the pages in children come first, in the given order, and the other children
// follow in their current order. It accepts at most maxOrder pages.
func (p *Content) Order(ctx context.Context, u *kernel.User, parent int64, children []int64) error {
	if len(children) > maxOrder {
		return kernel.Invalid("children", "many", "at most "+strconv.Itoa(maxOrder)+" pages can be ordered at once")
	}
	return p.changeTree(ctx, func(c kernel.Conn, s *schema) error {
		if _, err := s.editable(c, u, parent, 0); err != nil {
			return err
		}
		var first int64
		if err := c.Row("SELECT COALESCE(MIN(sort), 1) FROM cms_pages WHERE parent_id = ?", parent).Scan(&first); err != nil {
			return err
		}
		for i, id := range children { // the highest number is first-1, so that the other children keep their numbers
			n, err := c.Exec("UPDATE cms_pages SET sort = ? WHERE id = ? AND parent_id = ?",
				first-int64(len(children)-i), id, parent)
			if err != nil {
				return err
			}
			if n == 0 {
				return kernel.Invalid("children", "unknown", "page "+strconv.FormatInt(id, 10)+" is not a child of this page")
			}
		}
		return nil
	})
}

// Trash puts a page and all pages below it into the trash. See Edit for version.
func (p *Content) Trash(ctx context.Context, u *kernel.User, id, version int64) (page *Page, err error) {
	err = p.changeTree(ctx, func(c kernel.Conn, s *schema) error {
		if page, err = s.movablePage(c, u, id); err != nil {
			return err
		}
		if version != 0 && version != page.Version {
			return kernel.Changed("the page")
		}
		if err := s.checkDescendants(c, u, id); err != nil {
			return err
		}
		// Status 3 is the trash. A page that was in the trash before keeps its trash_root, the page with which it was put
		// there.
		_, err := c.Exec("UPDATE cms_pages SET trash_root = ?, trash_status = status, status = 3, publish_at = NULL, unpublish_at = NULL WHERE status <> 3 AND "+subtree, id, id, id)
		if err != nil {
			return err
		}
		name := "." + strconv.FormatInt(id, 10) // a name that no page can be given
		newPath := page.Path[:strings.LastIndexByte(page.Path, '/')+1] + name
		if _, err := c.Exec("UPDATE cms_pages SET trash_name = name, name = ? WHERE id = ?", name, id); err != nil {
			return err
		}
		if err := rebase(c, id, page.Path, newPath); err != nil {
			return err
		}
		page, err = p.touch(c, s, u, id, p.Moment(), TopicTrashed)
		return err
	})
	return page, err
}

// checkDescendants returns an error if there are pages below the page with the given ID that u may not change or that
// every site has.
func (s *schema) checkDescendants(c kernel.Conn, u *kernel.User, id int64) error {
	return c.All("SELECT DISTINCT p.template_id FROM cms_page_ancestors a JOIN cms_pages p ON p.id = a.page_id WHERE a.ancestor_id = ?", []any{id}, func(r store.Row) error {
		var template int64
		if err := r.Scan(&template); err != nil {
			return err
		}
		switch t := s.templatesByID[template]; {
		case t == nil || !s.may(u, t.Name, editing):
			return kernel.Forbidden("there are pages below this page that you may not change")
		case t.System:
			return kernel.Conflict("there are system pages below this page, which cannot be moved or deleted")
		}
		return nil
	})
}

// Restore takes a page out of the trash, with all pages that were put into the trash together with it. u must be
// allowed to change all these pages. If another page has taken the name in the meantime, the restored page gets a new
// name.
func (p *Content) Restore(ctx context.Context, u *kernel.User, id int64) (page *Page, err error) {
	err = p.changeTree(ctx, func(c kernel.Conn, s *schema) error {
		if page, err = s.trashed(c, u, id); err != nil {
			return err
		}
		if err := s.checkDescendants(c, u, id); err != nil {
			return err
		}
		parent, err := s.visible(c, kernel.Site(), "p.id = ?", page.Parent)
		if err != nil {
			return err
		}
		if parent.status == selector.Trash {
			return kernel.Conflict("the parent page is in the trash: restore it first")
		}
		var oldName string
		if err := c.Row("SELECT trash_name FROM cms_pages WHERE id = ?", id).Scan(&oldName); err != nil {
			return err
		}
		name, err := freeName(c, page, &oldName)
		if err != nil { // another page has taken the name
			if name, err = freeName(c, page, nil); err != nil {
				return err
			}
		}
		newPath, err := childPath(parent, name)
		if err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE cms_pages SET name = ?, trash_name = NULL WHERE id = ?", name, id); err != nil {
			return err
		}
		if err := rebase(c, id, page.Path, newPath); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE cms_pages SET status = trash_status, trash_status = NULL, trash_root = NULL WHERE trash_root = ?", id); err != nil {
			return err
		}
		// A redirect from this path is obsolete, because the page is there now.
		if _, err := c.Exec("DELETE FROM cms_page_redirects WHERE path = ?", newPath); err != nil {
			return err
		}
		page, err = p.touch(c, s, u, id, p.Moment(), TopicChanged)
		return err
	})
	return page, err
}

// trashed returns the page with the given ID, if u may change it. It returns a conflict if the page is not in the
// trash, or was put there together with a page above it.
func (s *schema) trashed(c kernel.Conn, u *kernel.User, id int64) (*Page, error) {
	page, err := s.visible(c, u, "p.id = ?"+c.Lock(), id)
	if err != nil {
		return nil, err
	}
	var root int64
	if err := c.Row("SELECT COALESCE(trash_root, 0) FROM cms_pages WHERE id = ?", id).Scan(&root); err != nil {
		return nil, err
	}
	switch {
	case page.status != selector.Trash:
		return nil, kernel.Conflict("the page is not in the trash")
	case root != id:
		return nil, kernel.Conflict(
			"the page was put into the trash together with page %d: restore or delete that page", root)
	}
	return page, nil
}

// maxDelete limits how many pages are deleted at once.
const maxDelete = 10_000

// Delete permanently removes a page in the trash, with its revisions and all pages below it. References to the page are
// removed from fields of other pages, but not from their blocks.
func (p *Content) Delete(ctx context.Context, u *kernel.User, id int64) error {
	return p.changeTree(ctx, func(c kernel.Conn, s *schema) error {
		page, err := s.trashed(c, u, id)
		if err != nil {
			return err
		}
		if err := s.checkDescendants(c, u, id); err != nil {
			return err
		}
		ids, err := store.List(c, func(r store.Row) (id int64, err error) {
			err = r.Scan(&id)
			return id, err
		}, "SELECT id FROM cms_pages WHERE "+subtree+" ORDER BY LENGTH(path) DESC LIMIT ?", id, id, maxDelete+1)
		if err != nil {
			return err
		}
		if len(ids) > maxDelete {
			return kernel.Conflict("there are more than %d pages below this page: delete some of them first", maxDelete)
		}
		for _, id := range ids { // lower pages first, because no page may refer to a parent that is deleted
			if err := p.removeReferences(c, s, id); err != nil {
				return err
			}
			if err := unindex(c, "v.page_id = ?", id); err != nil {
				return err
			}
			if _, err := c.Exec("DELETE FROM cms_pages WHERE id = ?", id); err != nil {
				return err
			}
		}
		return p.notify(c, TopicDeleted, page)
	})
}

// removeReferences removes references to a page that is about to be deleted from the fields of other pages.
func (p *Content) removeReferences(c kernel.Conn, s *schema, id int64) error {
	var fields []any
	for _, f := range s.fields {
		if f.Type == TypePage {
			fields = append(fields, f.ID)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	referring, err := store.List(c, func(r store.Row) (*Page, error) { return s.scan(r) }, "SELECT "+
		columns+" FROM cms_pages p WHERE p.id IN (SELECT v.page_id FROM cms_page_values v WHERE v.num = ? AND v.field_id IN (?"+
		strings.Repeat(", ?", len(fields)-1)+")) LIMIT ?", append(append([]any{float64(id)}, fields...), maxDelete+1)...)
	if err != nil {
		return err
	}
	if len(referring) > maxDelete {
		return kernel.Conflict("more than %d pages refer to page %d", maxDelete, id)
	}
	for _, previous := range referring {
		page := *previous // index compares the changed page with the previous one
		page.Fields = maps.Clone(previous.Fields)
		for name, value := range page.Fields {
			if f := s.fields[name]; f == nil || f.Type != TypePage {
				continue
			}
			list, isList := value.([]any)
			if isList {
				list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == float64(id) })
				page.Fields[name] = list
			}
			if value == float64(id) || isList && len(list) == 0 {
				delete(page.Fields, name)
			}
		}
		if _, err := c.Exec("UPDATE cms_pages SET data = ?, version = version + 1 WHERE id = ?",
			s.encodeFields(page.Fields), page.ID); err != nil {
			return err
		}
		if err := s.index(c, &page, previous); err != nil {
			return err
		}
	}
	return nil
}
