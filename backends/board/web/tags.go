package web

import (
	"errors"
	"net/url"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

var tagRoutes = []page{
	{Method: get, Path: "/tags/{tagId}", Admit: guests, Serve: (*call).tag},
}

// readTags reads the tags of the threads on a page, for the page's template.
func (c *call) readTags(lists ...[]content.ThreadInfo) (err error) {
	c.frame.tags, err = c.Tags.Of(c.Context(), slices.Concat(lists...)...)
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
	cursor := c.Query.Text("after")
	list, err := c.Tags.Threads(c.Context(), c.actor, c.ID("tagId"), cursor, threadsPerPage)
	if err != nil {
		return err
	}
	if err := errors.Join(c.nameForums(), c.facesOfThreads(list.Threads), c.readTags(list.Threads)); err != nil {
		return err
	}
	c.frame.Place = pages.Slugged("/tags/", list.Tag.ID, list.Tag.Slug())
	if cursor != "" {
		c.frame.Place += "?" + url.Values{"after": {cursor}}.Encode()
	}
	return c.Show("tag", list.Tag.Name, list)
}
