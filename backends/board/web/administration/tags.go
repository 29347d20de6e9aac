package administration

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// tagList is the list of tags.
var tagList = resource.List[*Call, tags.Tag]{
	Path: "/admin/tags", Head: listHead("Tags", "New tag", "/admin/tags/new"), Nouns: [2]string{"tag", "tags"},
	Empty: "There are no tags. Authors add tags to threads; a setting decides whether they must choose among these.",
	Columns: []resource.Column[tags.Tag]{{
		Label: "Name",
		Show:  func(t tags.Tag) resource.Cell { return resource.Link("/admin/tags/"+kernel.Itoa(t.ID), t.Name) },
	}},
	Rows: resource.Whole(func(c *Call) ([]tags.Tag, error) { return c.Tags.All(c.Context(), c.Actor) }),
	ID:   func(t tags.Tag) string { return kernel.Itoa(t.ID) }, Name: func(t tags.Tag) string { return t.Name },
	Actions: []resource.Action[*Call]{
		{
			Name: "merge", Label: "Merge…", Done: "merged", Each: true, Confirm: "Threads get the other tag instead.",
			Ask: []resource.Input[*Call]{{Name: "into", Label: "Other tag", Max: 30, Required: true}},
			Do: func(c *Call, id string) error {
				return c.Tags.Merge(c.Context(), c.Actor, c.idOf(id, ""), c.Form.Text("into"))
			},
		},
		{
			Name: "delete", Label: "Delete", Done: "deleted", Danger: true, Each: true,
			Confirm: "They are removed from all threads.",
			Do:      func(c *Call, id string) error { return c.Tags.Delete(c.Context(), c.Actor, c.idOf(id, "")) },
		},
	},
}

// tagForm is the form for a new or an existing tag.
var tagForm = resource.Form[*Call, tags.Tag]{
	Path: "/admin/tags/{tagId}", New: "/admin/tags/new",
	Head: formHead("Tag", "Tags", "/admin/tags"),
	Load: func(c *Call) (*tags.Tag, error) {
		if c.isNew("tagId") {
			return new(tags.Tag), nil
		}
		list, err := c.Tags.All(c.Context(), c.Actor)
		tag, err := resource.One(list, err, func(t tags.Tag) bool { return t.ID == c.ID("tagId") })
		return &tag, err
	},
	Fields: []resource.Field[*Call, tags.Tag]{
		{Name: "name", Label: "Name", Required: true, Max: 30, Text: func(t *tags.Tag) *string { return &t.Name }},
	},
	Save: func(c *Call, t *tags.Tag) (resource.Done, error) {
		return resource.Done{To: "/admin/tags"}, c.Tags.Save(c.Context(), c.Actor, *t)
	},
}
