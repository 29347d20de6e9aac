package administration

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

func (c *Call) adminForums() error {
	list, err := c.Admin.ForumTree(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return c.Show("admin_forums", "Forums", list)
}

func (c *Call) shiftForum() error {
	id := c.ID("forumId")
	step := 1
	if c.Form.Text("to") == "up" {
		step = -1
	}
	return c.Then(c.Admin.ShiftForum(c.Context(), c.Actor, id, step), "/admin/forums#forum-"+kernel.Itoa(id), "")
}

// forum holds the values of the form for a forum.
type forum struct {
	ID int64 // 0 for a new forum
	admin.ForumSpec
	flood string // empty for the value of the board
}

var forumForm = resource.Form[*Call, forum]{
	Path: "/admin/forums/{forumId}", New: "/admin/forums/new",
	Head: formHead("New forum", "Forums", "/admin/forums"),
	About: func(_ *Call, f *forum, h *resource.Head) error {
		if f.ID != 0 {
			h.Title = "Edit " + f.Title
			h.Links = []resource.Target{
				{Label: "Rights", Path: "/admin/forums/" + kernel.Itoa(f.ID) + "/rights"},
				{Label: "Moderators", Path: "/admin/moderators" + query("forum", kernel.Itoa(f.ID))},
			}
		}
		return nil
	},
	Load: func(c *Call) (*forum, error) {
		if c.isNew("forumId") {
			f := &forum{ForumSpec: admin.NewForumSpec()}
			f.Parent = c.Query.Number("parent")
			return f, c.Query.Err()
		}
		row, err := c.Admin.ForumByID(c.Context(), c.Actor, c.ID("forumId"))
		if err != nil {
			return nil, err
		}
		f := &forum{ID: row.ID, ForumSpec: row.ForumSpec}
		if f.FloodSeconds != nil {
			f.flood = kernel.Itoa(*f.FloodSeconds)
		}
		return f, nil
	},
	Version: func(f *forum) string { return f.Tag() },
	Fields: []resource.Field[*Call, forum]{
		{Name: "title", Label: "Title", Required: true, Max: 100, Text: func(f *forum) *string { return &f.Title }},
		{
			Name: "type", Label: "Kind", Text: func(f *forum) *string { return &f.Type },
			Options: resource.Fixed[*Call, *forum](
				resource.Choice{Value: "forum", Label: "Forum: holds threads"},
				resource.Choice{Value: "category", Label: "Category: holds forums"},
				resource.Choice{Value: "link", Label: "Link: points to another page"}),
		},
		{Name: "parent", Label: "In", Number: func(f *forum) *int64 { return &f.Parent }, Options: (*Call).parentChoices},
		{
			Name: "description", Label: "Description", Lines: 2, Max: 500,
			Text: func(f *forum) *string { return &f.Description },
		},
		{
			Name: "link_url", Label: "Address (of a link)", Type: "url", Max: 2000,
			Text: func(f *forum) *string { return &f.LinkURL },
		},
		{
			Name: "open", Section: "Rules", Label: "Open for new threads and replies",
			Flag: func(f *forum) *bool { return &f.Open },
		},
		{Name: "allow_threads", Label: "Takes new threads", Flag: func(f *forum) *bool { return &f.AllowThreads }},
		{Name: "allow_replies", Label: "Takes replies", Flag: func(f *forum) *bool { return &f.AllowReplies }},
		{
			Name: "moderate_threads", Label: "New threads wait for approval",
			Flag: func(f *forum) *bool { return &f.ModerateThreads },
		},
		{Name: "moderate_posts", Label: "Replies wait for approval", Flag: func(f *forum) *bool { return &f.ModeratePosts }},
		{Name: "requires_prefix", Label: "Threads need a prefix", Flag: func(f *forum) *bool { return &f.RequiresPrefix }},
		{
			Name: "answers", Label: "A reply can be marked as the answer",
			Flag: func(f *forum) *bool { return &f.Answers },
		},
		{
			Name: "flood_seconds", Label: "Seconds until one more post", Help: "Empty: as on the board; 0: no limit.",
			Type: "number", Max: 86_400, Text: func(f *forum) *string { return &f.flood },
		},
		{
			Name: "min_words", Label: "Fewest words of a post", Help: "Empty: one.", Max: 10_000,
			Number: func(f *forum) *int64 { return &f.MinWords },
		},
		{
			Name: "max_words", Label: "Most words of a post", Help: "Empty: as on the board.", Max: 10_000,
			Number: func(f *forum) *int64 { return &f.MaxWords },
		},
	},
	Save: func(c *Call, f *forum) (resource.Done, error) {
		spec := f.ForumSpec
		if spec.FloodSeconds = nil; f.flood != "" {
			n, err := strconv.ParseInt(f.flood, 10, 64)
			if err != nil {
				n = -1 // refused with an error for its field
			}
			spec.FloodSeconds = &n
		}
		if f.ID != 0 {
			err := c.Admin.EditForum(c.Context(), c.Actor, f.ID, spec, c.Match())
			return resource.Done{To: "/admin/forums#forum-" + kernel.Itoa(f.ID)}, err
		}
		id, err := c.Admin.CreateForum(c.Context(), c.Actor, spec)
		notice := "The forum is made. It has the rights of what it is in; change them under Rights."
		return resource.Done{To: "/admin/forums#forum-" + kernel.Itoa(id), Notice: notice}, err
	},
	Actions: []resource.Action[*Call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/admin/forums",
		Confirm: "For ever. Only a forum that holds nothing can be deleted: move its threads and the forums in it first.",
		Do:      func(c *Call, _ string) error { return c.Admin.DeleteForum(c.Context(), c.Actor, c.ID("forumId")) },
	}},
	Name:   func(f *forum) string { return f.Title },
	Offers: func(_ *Call, f *forum, _ string) bool { return f.ID != 0 },
}

// parentChoices returns the possible parents of a forum: all forums, but no links, not the forum itself, and no forums
// below it.
func (c *Call) parentChoices(moved *forum) ([]resource.Choice, error) {
	tree, err := c.Admin.ForumTree(c.Context(), c.Actor)
	list := []resource.Choice{{Value: "0", Label: "None: at the top"}}
	inside := int64(-1) // the depth of the forum while the forums below it are skipped, or else -1
	for _, f := range tree {
		if inside >= 0 && f.Depth > inside {
			continue
		}
		if inside = -1; f.ID == moved.ID {
			inside = f.Depth
		} else if f.Type != "link" {
			list = append(list, resource.Choice{Value: kernel.Itoa(f.ID), Label: Indented(f.Title, f.Depth)})
		}
	}
	return list, err
}

// matrixPage shows the rights of all groups in a forum.
type matrixPage struct {
	pages.Edit
	Forum    admin.ForumRow
	Groups   pages.Select // to show only one group
	Only     int64        // the only group that is shown; 0 for all
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
	State        string // allow, deny, or empty if the right is inherited
	Inherited    bool   // whether the group would have the right by inheritance
}

// MatrixField returns the name of the field for a group's right in the form of matrixPage. bit is the bit of the right.
func MatrixField(group int64, bit int) string {
	return "g" + kernel.Itoa(group) + "b" + strconv.Itoa(bit)
}

func (c *Call) matrix() error {
	id := c.ID("forumId")
	only := c.Query.Number("group")
	if err := c.Query.Err(); err != nil {
		return err
	}
	return c.showMatrix(nil, id, only, nil)
}

// showMatrix shows the rights of one group in a forum or, if only is 0, of all groups. For groups in sent it shows the
// values that the refused form has sent.
func (c *Call) showMatrix(refusal error, id, only int64, sent map[int64]admin.Override) error {
	f, err := c.Admin.ForumByID(c.Context(), c.Actor, id)
	if err != nil {
		return err
	}
	columns, err := c.Admin.Matrix(c.Context(), c.Actor, id)
	if err != nil {
		return err
	}
	page := matrixPage{Forum: f, Only: only}
	page.Groups.Add("0", "All groups", only == 0)
	stored := make(map[int64]admin.Override)
	var differing []admin.Difference
	for _, column := range columns {
		page.Groups.Add(kernel.Itoa(column.Group.ID), column.Group.Name, column.Group.ID == only)
		if only != 0 && column.Group.ID != only {
			continue
		}
		stored[column.Group.ID] = column.Override
		if o, ok := sent[column.Group.ID]; ok {
			differing = append(differing, overrideDifferences(column, o)...)
			column.Override = o
		}
		page.Columns = append(page.Columns, column)
	}
	page.Edit, refusal = c.Edit(refusal, func() (string, any, error) { return admin.OverridesTag(stored), differing, nil })
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
			cell := matrixCell{
				Field: MatrixField(column.Group.ID, right.Bit), Group: column.Group.Name,
				Inherited: column.Inherited.Has(right.Mask()),
			}
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

// overrideDifferences lists the differences between the stored rights of a group and those that the form has sent.
func overrideDifferences(column admin.MatrixColumn, sent admin.Override) (list []admin.Difference) {
	for _, right := range admin.Rights() {
		if from, to := column.Word(right.Mask()), sent.Word(right.Mask()); from != to {
			list = append(list, admin.Difference{What: right.Label + ": " + column.Group.Name, From: from, To: to})
		}
	}
	return list
}

func (c *Call) saveMatrix() error {
	id := c.ID("forumId")
	groups, err := c.Admin.Groups(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	overrides := make(map[int64]admin.Override)
	for _, g := range groups {
		var o admin.Override
		shown := false // a group that was made in the meantime is not on the form
		for _, right := range admin.Rights() {
			field := MatrixField(g.ID, right.Bit)
			shown = shown || c.Form.Has(field)
			switch c.Form.Text(field) {
			case "allow":
				o.Allow |= right.Mask()
			case "deny":
				o.Deny |= right.Mask()
			}
		}
		if shown {
			overrides[g.ID] = o
		}
	}
	only := c.Form.Number("group")
	if err := c.Form.Err(); err != nil {
		return err
	}
	if err := c.Admin.SetOverrides(c.Context(), c.Actor, id, overrides, c.Match()); err != nil {
		return c.showMatrix(err, id, only, overrides)
	}
	to := "/admin/forums/" + kernel.Itoa(id) + "/rights"
	if only != 0 {
		to += "?group=" + kernel.Itoa(only)
	}
	return c.Redirect(to, "Saved. The rights count from now on.")
}
