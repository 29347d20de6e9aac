package web

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// prefixesPage are the prefixes, and one to be made or changed.
type prefixesPage struct {
	List   []admin.PrefixRow
	Forums pages.Select
	admin.PrefixRow
}

func (c *call) prefixes() error {
	edit := c.Query.Number("edit")
	if err := c.Query.Err(); err != nil {
		return err
	}
	return c.showPrefixes(nil, admin.PrefixRow{}, edit)
}

func (c *call) showPrefixes(refusal error, p admin.PrefixRow, edit int64) error {
	list, err := c.service.Prefixes(c.Context(), c.actor)
	if err != nil {
		return err
	}
	for _, found := range list {
		if found.ID == edit {
			p = found
		}
	}
	tree, err := c.service.ForumTree(c.Context(), c.actor)
	if err != nil {
		return err
	}
	page := prefixesPage{List: list, PrefixRow: p}
	for _, f := range tree {
		if f.Type == "forum" {
			page.Forums.Add(itoa(f.ID), f.Title, slices.Contains(p.Forums, f.ID))
		}
	}
	return c.ShowForm(refusal, "admin_prefixes", "Prefixes", page)
}

func (c *call) setPrefix() error {
	p := admin.PrefixRow{ID: c.Form.Number("id"), Label: c.Form.Text("label"), Position: c.Form.Number("position"), Forums: c.Form.Numbers("forum")}
	if err := c.Form.Err(); err != nil {
		return err
	}
	if err := c.service.SetPrefix(c.Context(), c.actor, p); err != nil {
		return c.showPrefixes(err, p, 0)
	}
	return c.Redirect("/admin/prefixes", "Saved.")
}

func (c *call) deletePrefix() error {
	return c.Then(c.service.DeletePrefix(c.Context(), c.actor, c.ID("prefixId")), "/admin/prefixes", "The prefix is deleted.")
}

// wordsPage is the word filter, and a word to be added.
type wordsPage struct {
	List []admin.WordFilter
	admin.WordFilter
}

func (c *call) words() error { return c.showWords(nil, admin.WordFilter{}) }

func (c *call) showWords(refusal error, f admin.WordFilter) error {
	list, err := c.service.WordFilters(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return c.ShowForm(refusal, "admin_words", "Word filter", wordsPage{list, f})
}

func (c *call) addWord() error {
	f := admin.WordFilter{Pattern: c.Form.Text("pattern"), Replacement: c.Form.Text("replacement"), Hold: c.Form.Text("action") == "hold"}
	if err := c.service.AddWordFilter(c.Context(), c.actor, f); err != nil {
		return c.showWords(err, f)
	}
	return c.Redirect("/admin/words", "Saved. The word counts for what is written from now on.")
}

func (c *call) deleteWord() error {
	return c.Then(c.service.DeleteWordFilter(c.Context(), c.actor, c.ID("wordId")), "/admin/words", "The word is not filtered any more.")
}
