package admin

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
)

// rows is how many pages a list shows at once.
const rows = 50

// crumb is a page above another one.
type crumb struct {
	ID    int64
	Title string
}

type treeData struct {
	Page   *content.Page
	Above  []crumb
	List   *content.List
	After  string
	Next   string
	New    bool // the user may make pages below
	Search string
}

// root shows the tree from its first page.
func (c *call) root() error {
	page, err := c.Content.At(c.ctx(), c.by, "/")
	if err != nil {
		return err
	}
	return c.Redirect("/tree/"+strconv.FormatInt(page.ID, 10), "")
}

// tree shows the pages below one, a part of them at a time however many there are.
func (c *call) tree() error {
	page, err := c.Content.Page(c.ctx(), c.by, c.ID("pageId"))
	if err != nil {
		return err
	}
	text := "parent=" + strconv.FormatInt(page.ID, 10) + ", include=all, sort=sort, limit=" + strconv.Itoa(rows)
	after := c.Query.Text("after")
	if after != "" {
		text += ", after=" + selector.Quote(after)
	}
	list, err := c.Content.Find(c.ctx(), c.by, text)
	if err != nil {
		return err
	}
	d := &treeData{Page: page, List: list, After: after}
	if list.Next != "" {
		d.Next = c.At("/tree/"+strconv.FormatInt(page.ID, 10)) + "?after=" + url.QueryEscape(list.Next)
	}
	if d.Above, err = c.above(page); err != nil {
		return err
	}
	made, err := c.creatable(page)
	d.New = len(made) > 0
	if err != nil {
		return err
	}
	return c.Show("tree", page.Title, d)
}

// above are the pages above one that the user sees, the first one first.
func (c *call) above(page *content.Page) (list []crumb, err error) {
	segments := strings.Split(strings.Trim(page.Path, "/"), "/")
	for i := range segments {
		up, err := c.Content.At(c.ctx(), c.by, strings.Join(segments[:i], "/"))
		if kernel.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if up.ID != page.ID {
			list = append(list, crumb{up.ID, up.Title})
		}
	}
	return list, nil
}

type findData struct {
	Search string
	List   *content.List
	Next   string
}

// find looks for pages by the words of their texts, or by a selector.
func (c *call) find() error {
	d := &findData{Search: strings.TrimSpace(c.Query.Text("q"))}
	if d.Search == "" {
		return c.Redirect("/", "")
	}
	text := d.Search
	if !strings.ContainsAny(text, "=<>") {
		text = "title~=" + selector.Quote(text)
	}
	text += ", include=all, limit=" + strconv.Itoa(rows)
	if after := c.Query.Text("after"); after != "" {
		text += ", after=" + selector.Quote(after)
	}
	var err error
	if d.List, err = c.Content.Find(c.ctx(), c.by, text); err != nil {
		d.List = new(content.List)
		return c.ShowForm(err, "find", "Found", d)
	}
	if d.List.Next != "" {
		d.Next = c.At("/find") + "?q=" + url.QueryEscape(d.Search) + "&after=" + url.QueryEscape(d.List.Next)
	}
	return c.Show("find", "Found", d)
}

type trashData struct {
	Pages []*content.Page
	Next  string
}

// trash shows what can be restored.
func (c *call) trash() error {
	before := c.Query.Number("before")
	if err := c.Query.Err(); err != nil {
		return err
	}
	list, next, err := c.Content.Trashed(c.ctx(), c.by, before, rows)
	if err != nil {
		return err
	}
	d := &trashData{Pages: list}
	if next != 0 {
		d.Next = c.At("/trash") + "?before=" + strconv.FormatInt(next, 10)
	}
	return c.Show("trash", "Trash", d)
}

// fromTrash restores a page, or deletes it for good.
func (c *call) fromTrash() error {
	id := c.ID("pageId")
	if c.Form.Text("do") == "delete" {
		return c.Then(c.Content.Delete(c.ctx(), c.by, id), "/trash", "The page is deleted.")
	}
	_, err := c.Content.Restore(c.ctx(), c.by, id)
	return c.Then(err, "/pages/"+strconv.FormatInt(id, 10), "The page is restored.")
}

// creatable are the templates of pages that the user may make below one.
func (c *call) creatable(parent *content.Page) (list []*content.Template, err error) {
	all, err := c.Content.Templates(c.ctx(), c.by)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.Name == parent.Template && t.Family.NoChildren {
			return nil, nil
		}
	}
	for _, t := range all {
		if c.by.Superuser() || mayAny(c.by, t.Create) {
			list = append(list, t)
		}
	}
	return list, nil
}

// mayAny tells whether the user has one of roles.
func mayAny(u *kernel.User, roles []string) bool {
	for _, role := range roles {
		if role == kernel.RoleGuest || u.Is(role) {
			return true
		}
	}
	return false
}
