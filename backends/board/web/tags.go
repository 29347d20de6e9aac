package web

import (
	"errors"
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

var tagRoutes = []page{
	{Method: get, Path: "/tags/{tagId}", Admit: guests, Serve: (*call).tag},
}

// tagged reads the tags of the threads on a page, for its templates.
func (c *call) tagged(lists ...[]content.ThreadInfo) (err error) {
	var all []content.ThreadInfo
	for _, list := range lists {
		all = append(all, list...)
	}
	c.frame.tags, err = c.Tags.Of(c.Context(), all...)
	return err
}

// TagsOf returns the tags of a thread on this page.
func (f *frame) TagsOf(thread int64) []tags.Tag { return f.tags[thread] }

// TagChoice returns the tags among which authors choose.
func (f *frame) TagChoice() ([]tags.Tag, error) {
	return f.call.Tags.Choice(f.call.Context(), f.call.actor)
}

// tag lists the threads with a tag.
func (c *call) tag() error {
	after := c.Query.Text("after")
	list, err := c.Tags.Threads(c.Context(), c.actor, c.ID("tagId"), after, threadsPerPage)
	if err != nil {
		return err
	}
	if err := errors.Join(c.nameForums(), c.facesOfThreads(list.Threads), c.tagged(list.Threads)); err != nil {
		return err
	}
	c.frame.Place = pages.Slugged("/tags/", list.Tag.ID, list.Tag.Slug())
	if after != "" {
		c.frame.Place += "?" + url.Values{"after": {after}}.Encode()
	}
	return c.Show("tag", list.Tag.Name, list)
}

var tagList = resource.List[*call, tags.Tag]{
	Path: "/admin/tags", Head: adminHead("Tags", "New tag", "/admin/tags/new"), Nouns: [2]string{"tag", "tags"},
	Empty: "There are no tags. Authors give them to threads; a setting says whether they choose among those here.",
	Columns: []resource.Column[tags.Tag]{{
		Label: "Name",
		Show:  func(t tags.Tag) resource.Cell { return resource.Link("/admin/tags/"+itoa(t.ID), t.Name) },
	}},
	Rows: resource.Whole(func(c *call) ([]tags.Tag, error) { return c.Tags.All(c.Context(), c.actor) }),
	ID:   func(t tags.Tag) string { return itoa(t.ID) }, Name: func(t tags.Tag) string { return t.Name },
	Actions: []resource.Action[*call]{
		{
			Name: "merge", Label: "Merge…", Done: "merged", Each: true, Confirm: "Threads get the other tag instead.",
			Ask: []resource.Input[*call]{{Name: "into", Label: "Other tag", Max: 30, Required: true}},
			Do: func(c *call, id string) error {
				return c.Tags.Merge(c.Context(), c.actor, c.idOf(id, ""), c.Form.Text("into"))
			},
		},
		{
			Name: "delete", Label: "Delete", Done: "deleted", Danger: true, Each: true, Confirm: "Threads lose them.",
			Do: func(c *call, id string) error { return c.Tags.Delete(c.Context(), c.actor, c.idOf(id, "")) },
		},
	},
}

var tagForm = resource.Form[*call, tags.Tag]{
	Path: "/admin/tags/{tagId}", New: "/admin/tags/new",
	Head: formHead("Tag", "Tags", "/admin/tags"),
	Load: func(c *call) (*tags.Tag, error) {
		if c.isNew("tagId") {
			return new(tags.Tag), nil
		}
		list, err := c.Tags.All(c.Context(), c.actor)
		tag, err := resource.One(list, err, func(t tags.Tag) bool { return t.ID == c.ID("tagId") })
		return &tag, err
	},
	Fields: []resource.Field[*call, tags.Tag]{
		{Name: "name", Label: "Name", Required: true, Max: 30, Text: func(t *tags.Tag) *string { return &t.Name }},
	},
	Save: func(c *call, t *tags.Tag) (resource.Done, error) {
		return resource.Done{To: "/admin/tags"}, c.Tags.Save(c.Context(), c.actor, *t)
	},
}
