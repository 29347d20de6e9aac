package admin

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// root redirects to the tree of the root page.
func (c *call) root() error {
	page, err := c.Content.At(c.ctx(), c.user, "/")
	if err != nil {
		return err
	}
	return c.Redirect(treeAt(page.ID), "")
}

// treeAt returns the path of the list of a page's children.
func treeAt(id int64) string { return "/tree/" + itoa(id) }

// treeList lists the children of a page, in parts.
var treeList = resource.List[*call, *content.Page]{
	Path: "/tree/{pageId}", Filters: pageFilters, Search: "/find", Nouns: [2]string{"page", "pages"},
	Empty: "No pages below this one.",
	About: func(c *call, h *resource.Head) error {
		page, err := c.Content.Page(c.ctx(), c.user, c.ID("pageId"))
		if err != nil {
			return err
		}
		h.Title = page.Title
		if h.Above, err = c.ancestors(page); err != nil {
			return err
		}
		allowed, err := c.creatableTemplates(page)
		if len(allowed) > 0 {
			h.New = resource.Target{Label: "New page below", Path: "/new?parent=" + itoa(page.ID)}
		}
		h.Links = []resource.Target{{Label: "Edit this page", Path: pageAt(page.ID)}}
		return err
	},
	Columns: pageColumns,
	Rows: func(c *call, q resource.Query) ([]*content.Page, string, error) {
		return c.findPages("parent="+itoa(c.ID("pageId"))+", sort=sort, include=all", q)
	},
	ID: func(p *content.Page) string { return itoa(p.ID) }, Name: func(p *content.Page) string { return p.Title },
	Actions: pageActions,
}

var pageColumns = []resource.Column[*content.Page]{
	{Label: "Page", Show: func(p *content.Page) resource.Cell { return resource.Link(pageAt(p.ID), p.Title) }},
	{Label: "Path", Code: func(p *content.Page) string { return p.Path }},
	{Label: "Template", Text: func(p *content.Page) string { return p.Template }},
	{Label: "Status", Show: func(p *content.Page) resource.Cell {
		status := resource.Tag(p.Status, map[string]string{content.StatusUnpublished: "held"}[p.Status])
		return resource.Cells(status, resource.Tag("draft", "held").If(p.Draft))
	}},
	{Label: "Changed", Time: func(p *content.Page) kernel.Moment { return p.Modified }},
	{Label: "Subpages", Show: func(p *content.Page) resource.Cell { return resource.Link(treeAt(p.ID), "Subpages") }},
}

// pageActions are the actions on the selected pages of a list. If the user must not change one of the pages, the result
// names that page.
var pageActions = []resource.Action[*call]{
	{
		Name: "publish", Label: "Publish", Done: "published",
		Do: func(c *call, id string) error { return c.setPageStatus(id, content.StatusPublished) },
	},
	{
		Name: "unpublish", Label: "Unpublish", Done: "unpublished",
		Do: func(c *call, id string) error { return c.setPageStatus(id, content.StatusUnpublished) },
	},
	{
		Name: "trash", Label: "Move to the trash", Done: "moved to the trash", Danger: true,
		Confirm: "All pages below them are moved to the trash, too. Pages can be restored from the trash.",
		Do: func(c *call, id string) error {
			_, err := c.Content.Trash(c.ctx(), c.user, c.idOf(id, "pageId"), 0)
			return err
		},
	},
}

// setPageStatus changes the status of a page. row identifies the page, as in idOf.
func (c *call) setPageStatus(row, status string) error {
	_, err := c.Content.Save(c.ctx(), c.user, content.Edit{ID: c.idOf(row, "pageId"), Status: &status})
	return err
}

// findPages returns one part of the pages that match the selector text, and the cursor for the next part.
func (c *call) findPages(text string, q resource.Query) (found []*content.Page, next string, err error) {
	text += ", limit=" + strconv.Itoa(q.Limit)
	if q.After != "" {
		text += ", after=" + selector.Quote(q.After)
	}
	list, err := c.Content.Find(c.ctx(), c.user, text)
	if err != nil {
		return nil, "", err
	}
	return list.Pages, list.Next, nil
}

var pageFilters = []resource.Input[*call]{
	{Name: "q", Label: "Words of a title, or a selector"},
	{
		Name: "template", Label: "Template",
		Options: func(c *call) ([]resource.Choice, error) { return c.templateChoices(resource.All()) },
	},
	{Name: "status", Label: "Status", Options: func(*call) ([]resource.Choice, error) {
		words := resource.Words(content.StatusPublished, content.StatusHidden, content.StatusUnpublished)
		return resource.All(words...), nil
	}},
}

// pageList lists the pages whose titles contain the typed words, or that match the typed selector.
var pageList = resource.List[*call, *content.Page]{
	Path: "/find", Head: resource.Head{Title: "Find pages"}, Nouns: [2]string{"page", "pages"}, CSV: "pages.csv",
	Empty: "There are no pages that you may see.", Columns: pageColumns,
	Filters: pageFilters,
	Rows: func(c *call, q resource.Query) ([]*content.Page, string, error) {
		var terms []string
		switch text := strings.TrimSpace(q.Text("q")); {
		case strings.ContainsAny(text, "=<>"):
			terms = append(terms, text)
		case text != "":
			terms = append(terms, "title~="+selector.Quote(text))
		}
		if template := q.Text("template"); template != "" {
			terms = append(terms, "template="+selector.Quote(template))
		}
		if status := q.Text("status"); status != "" {
			terms = append(terms, "status="+selector.Quote(status))
		} else {
			terms = append(terms, "include=all")
		}
		return c.findPages(strings.Join(terms, ", "), q)
	},
	ID: func(p *content.Page) string { return itoa(p.ID) }, Name: func(p *content.Page) string { return p.Title },
	Actions: pageActions,
}

// trashList lists the pages in the trash that can be restored.
var trashList = resource.List[*call, *content.Page]{
	Path: "/trash", Nouns: [2]string{"page", "pages"}, Empty: "The trash is empty.",
	Head: resource.Head{
		Title: "Trash",
		Lead:  "Pages in the trash, each with all pages below it. They can be restored until they are deleted.",
	},
	Columns: []resource.Column[*content.Page]{
		{Label: "Page", Text: func(p *content.Page) string { return p.Title }},
		{Label: "Path", Code: func(p *content.Page) string { return p.Path }},
		{Label: "Template", Text: func(p *content.Page) string { return p.Template }},
		{Label: "Changed", Time: func(p *content.Page) kernel.Moment { return p.Modified }},
	},
	Rows: func(c *call, q resource.Query) ([]*content.Page, string, error) {
		beforeID, _ := strconv.ParseInt(q.After, 10, 64)
		list, next, err := c.Content.Trashed(c.ctx(), c.user, beforeID, q.Limit)
		if next == 0 {
			return list, "", err
		}
		return list, itoa(next), err
	},
	ID: func(p *content.Page) string { return itoa(p.ID) }, Name: func(p *content.Page) string { return p.Title },
	Actions: []resource.Action[*call]{
		{Name: "restore", Label: "Restore", Done: "restored", Each: true, Do: func(c *call, id string) error {
			_, err := c.Content.Restore(c.ctx(), c.user, c.idOf(id, "pageId"))
			return err
		}},
		{
			Name: "delete", Label: "Delete permanently", Done: "deleted", Danger: true, Each: true,
			Confirm: "All pages below them are deleted, too. Deleted pages cannot be restored.",
			Do:      func(c *call, id string) error { return c.Content.Delete(c.ctx(), c.user, c.idOf(id, "pageId")) },
		},
	},
}

// ancestors returns the ancestors of a page, from the root downwards, without those that the user may not see.
func (c *call) ancestors(page *content.Page) (list []resource.Target, err error) {
	segments := strings.Split(strings.Trim(page.Path, "/"), "/")
	for i := range segments { // the path of the first i segments, which is the root for 0
		ancestor, err := c.Content.At(c.ctx(), c.user, strings.Join(segments[:i], "/"))
		if kernel.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if ancestor.ID != page.ID {
			list = append(list, resource.Target{Label: ancestor.Title, Path: treeAt(ancestor.ID)})
		}
	}
	return list, nil
}

// creatableTemplates returns the templates of the pages that the user may create below parent.
func (c *call) creatableTemplates(parent *content.Page) (list []*content.Template, err error) {
	all, err := c.Content.Templates(c.ctx(), c.user)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.Name == parent.Template && t.Family.NoChildren {
			return nil, nil
		}
	}
	for _, t := range all {
		has := func(role string) bool { return role == kernel.RoleGuest || c.user.Is(role) }
		if c.user.Superuser() || slices.ContainsFunc(t.Create, has) {
			list = append(list, t)
		}
	}
	return list, nil
}
