package web

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

func (c *call) adminForums() error { return c.showForums(nil) }

func (c *call) showForums(refusal error) error {
	list, err := c.service.ForumTree(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return c.ShowForm(refusal, "admin_forums", "Forums", list)
}

// forumForm is a forum to be made or changed.
type forumForm struct {
	ID int64 // 0: a new one
	pages.Edit
	admin.ForumSpec
	Flood           string // empty: the board's
	Parents         pages.Select
	Types           pages.Select
	Threads, Below  bool
	FromTheBoard    int64 // seconds of the flood control
	WordsOfTheBoard int64
}

// forumForm adds to what is set what can be chosen.
func (c *call) forumForm(id int64, spec admin.ForumSpec) (*forumForm, error) {
	tree, err := c.service.ForumTree(c.Context(), c.actor)
	if err != nil {
		return nil, err
	}
	set := c.actor.Settings()
	form := &forumForm{ID: id, ForumSpec: spec, FromTheBoard: set.FloodSeconds, WordsOfTheBoard: set.WordsMost}
	form.Parents.Add("0", "None: at the top", spec.Parent == 0)
	inside := int64(-1) // the depth of the forum, while what is below it is passed over
	for _, f := range tree {
		if inside >= 0 && f.Depth > inside {
			form.Below = true
			continue
		}
		inside = -1
		if f.ID == id {
			form.Threads, inside = f.Threads > 0, f.Depth
			continue
		}
		if f.Type != "link" {
			form.Parents.Add(itoa(f.ID), indented(f.Title, f.Depth), f.ID == spec.Parent)
		}
	}
	for _, kind := range []struct{ value, label string }{{"forum", "Forum: holds threads"}, {"category", "Category: holds forums"}, {"link", "Link: leads elsewhere"}} {
		form.Types.Add(kind.value, kind.label, kind.value == spec.Type)
	}
	if spec.FloodSeconds != nil {
		form.Flood = itoa(*spec.FloodSeconds)
	}
	return form, nil
}

func (c *call) newForum() error {
	spec := admin.NewForumSpec()
	spec.Parent = c.Query.Number("parent")
	if err := c.Query.Err(); err != nil {
		return err
	}
	return c.showForum(nil, 0, spec)
}

func (c *call) showForum(refusal error, id int64, spec admin.ForumSpec) error {
	form, err := c.forumForm(id, spec)
	if err != nil {
		return err
	}
	title := "New forum"
	if id != 0 {
		title = "Forum"
		form.Edit, refusal = c.Edit(refusal, func() (string, any, error) {
			f, err := c.service.ForumByID(c.Context(), c.actor, id)
			return f.Tag(), f.Differences(&spec), err
		})
	}
	return c.ShowForm(refusal, "admin_forum", title, form)
}

// forumSpec reads the form.
func (c *call) forumSpec() (admin.ForumSpec, error) {
	spec := admin.ForumSpec{
		Type: c.Form.Text("type"), Title: c.Form.Text("title"), Description: c.Form.Text("description"), LinkURL: c.Form.Text("link_url"), Open: c.Form.Flag("open"),
		AllowThreads: c.Form.Flag("allow_threads"), AllowReplies: c.Form.Flag("allow_replies"), ModerateThreads: c.Form.Flag("moderate_threads"),
		ModeratePosts: c.Form.Flag("moderate_posts"), RequiresPrefix: c.Form.Flag("requires_prefix"),
		Parent: c.Form.Number("parent"), MinWords: c.Form.Number("min_words"), MaxWords: c.Form.Number("max_words"),
	}
	if text := c.Form.Text("flood_seconds"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			n = -1 // refused with its field
		}
		spec.FloodSeconds = &n
	}
	return spec, c.Form.Err()
}

func (c *call) createForum() error {
	spec, err := c.forumSpec()
	if err != nil {
		return err
	}
	id, err := c.service.CreateForum(c.Context(), c.actor, spec)
	if err != nil {
		return c.showForum(err, 0, spec)
	}
	return c.Redirect("/admin/forums#forum-"+itoa(id), "The forum is made. It has the rights of what it is in; change them under Rights.")
}

func (c *call) editForum() error {
	id := c.ID("forumId")
	f, err := c.service.ForumByID(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	return c.showForum(nil, id, f.ForumSpec)
}

func (c *call) saveForum() error {
	id := c.ID("forumId")
	spec, err := c.forumSpec()
	if err != nil {
		return err
	}
	if err := c.service.EditForum(c.Context(), c.actor, id, spec, c.Match()); err != nil {
		return c.showForum(err, id, spec)
	}
	return c.Redirect("/admin/forums#forum-"+itoa(id), "Saved.")
}

func (c *call) shiftForum() error {
	id := c.ID("forumId")
	by := 1
	if c.Form.Text("to") == "up" {
		by = -1
	}
	return c.Then(c.service.ShiftForum(c.Context(), c.actor, id, by), "/admin/forums#forum-"+itoa(id), "")
}

func (c *call) deleteForum() error {
	if err := c.service.DeleteForum(c.Context(), c.actor, c.ID("forumId")); err != nil {
		return c.showForums(err)
	}
	return c.Redirect("/admin/forums", "The forum is deleted.")
}

// matrixPage are the rights of all groups in a forum.
type matrixPage struct {
	pages.Edit
	Forum    admin.ForumRow
	Groups   pages.Select // to show only one
	Only     int64        // 0: all
	Columns  []admin.MatrixColumn
	Sections []matrixSection
}

type matrixSection struct {
	Title string
	Rows  []matrixRow
}

type matrixRow struct {
	admin.Right
	Cells []matrixCell
}

type matrixCell struct {
	Field, Group string
	State        string // allow, deny or empty: inherited
	Inherited    bool   // what would be inherited
}

// matrixField is the name of a cell's field.
func matrixField(group int64, bit int) string { return "g" + itoa(group) + "b" + strconv.Itoa(bit) }

func (c *call) matrix() error {
	id := c.ID("forumId")
	only := c.Query.Number("group")
	if err := c.Query.Err(); err != nil {
		return err
	}
	return c.showMatrix(nil, id, only, nil)
}

// showMatrix shows the rights of one group, or (0) of all; of groups in sent as a
// form said.
func (c *call) showMatrix(refusal error, id, only int64, sent map[int64]admin.Override) error {
	f, err := c.service.ForumByID(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	columns, err := c.service.Matrix(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	page := matrixPage{Forum: f, Only: only}
	page.Groups.Add("0", "All groups", only == 0)
	there := make(map[int64]admin.Override)
	var differing []posts.Difference
	for _, column := range columns {
		page.Groups.Add(itoa(column.Group.ID), column.Group.Name, column.Group.ID == only)
		if only != 0 && column.Group.ID != only {
			continue
		}
		there[column.Group.ID] = column.Override
		if o, ok := sent[column.Group.ID]; ok {
			differing = append(differing, overrideDifferences(column, o)...)
			column.Override = o
		}
		page.Columns = append(page.Columns, column)
	}
	page.Edit, refusal = c.Edit(refusal, func() (string, any, error) { return admin.OverridesTag(there), differing, nil })
	for _, right := range admin.Rights() {
		if !right.InForums {
			continue
		}
		last := len(page.Sections) - 1
		if last < 0 || page.Sections[last].Title != right.Section {
			page.Sections = append(page.Sections, matrixSection{Title: right.Section})
			last++
		}
		row := matrixRow{Right: right}
		for _, column := range page.Columns {
			cell := matrixCell{Field: matrixField(column.Group.ID, right.Bit), Group: column.Group.Name, Inherited: column.Inherited.Has(right.Mask())}
			switch {
			case column.Deny.Has(right.Mask()):
				cell.State = "deny"
			case column.Allow.Has(right.Mask()):
				cell.State = "allow"
			}
			row.Cells = append(row.Cells, cell)
		}
		page.Sections[last].Rows = append(page.Sections[last].Rows, row)
	}
	return c.ShowForm(refusal, "admin_rights", "Rights in "+f.Title, page)
}

// overrideDifferences lists what a form says of a group that is not so.
func overrideDifferences(column admin.MatrixColumn, sent admin.Override) (list []posts.Difference) {
	for _, right := range admin.Rights() {
		if from, to := column.Word(right.Mask()), sent.Word(right.Mask()); from != to {
			list = append(list, posts.Difference{What: right.Label + ": " + column.Group.Name, From: from, To: to})
		}
	}
	return list
}

func (c *call) saveMatrix() error {
	id := c.ID("forumId")
	groups, err := c.service.Groups(c.Context(), c.actor)
	if err != nil {
		return err
	}
	by := make(map[int64]admin.Override)
	for _, g := range groups {
		var o admin.Override
		shown := false // a group that came meanwhile is not on the page
		for _, right := range admin.Rights() {
			field := matrixField(g.ID, right.Bit)
			shown = shown || c.Form.Has(field)
			switch c.Form.Text(field) {
			case "allow":
				o.Allow |= right.Mask()
			case "deny":
				o.Deny |= right.Mask()
			}
		}
		if shown {
			by[g.ID] = o
		}
	}
	only := c.Form.Number("group")
	if err := c.Form.Err(); err != nil {
		return err
	}
	if err := c.service.SetOverrides(c.Context(), c.actor, id, by, c.Match()); err != nil {
		return c.showMatrix(err, id, only, by)
	}
	to := "/admin/forums/" + itoa(id) + "/rights"
	if only != 0 {
		to += "?group=" + itoa(only)
	}
	return c.Redirect(to, "Saved. The rights count from now on.")
}
