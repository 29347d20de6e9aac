package web

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board"
)

// prefixesPage are the prefixes, and one to be made or changed.
type prefixesPage struct {
	List   []board.PrefixRow
	Forums []option
	board.PrefixRow
}

func (c *call) prefixes() error {
	edit, err := c.queryNumber("edit")
	if err != nil {
		return err
	}
	return c.showPrefixes(nil, board.PrefixRow{}, edit)
}

func (c *call) showPrefixes(refusal error, p board.PrefixRow, edit int64) error {
	list, err := c.service.Prefixes(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	for _, found := range list {
		if found.ID == edit {
			p = found
		}
	}
	tree, err := c.service.ForumTree(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	page := prefixesPage{List: list, PrefixRow: p}
	for _, f := range tree {
		if f.Type == "forum" {
			page.Forums = append(page.Forums, option{itoa(f.ID), f.Title, slices.Contains(p.Forums, f.ID)})
		}
	}
	return c.form(refusal, "admin_prefixes", "Prefixes", page)
}

func (c *call) setPrefix() error {
	p := board.PrefixRow{Label: c.text("label")}
	var err error
	for name, into := range map[string]*int64{"id": &p.ID, "position": &p.Position} {
		if *into, err = c.number(name); err != nil {
			return err
		}
	}
	if p.Forums, err = c.numbers("forum"); err != nil {
		return err
	}
	if err := c.service.SetPrefix(c.ctx(), c.actor, p); err != nil {
		return c.showPrefixes(err, p, 0)
	}
	return c.redirect("/admin/prefixes", "Saved.")
}

func (c *call) deletePrefix() error {
	id, err := c.id("prefixId")
	if err != nil {
		return err
	}
	if err := c.service.DeletePrefix(c.ctx(), c.actor, id); err != nil {
		return err
	}
	return c.redirect("/admin/prefixes", "The prefix is deleted.")
}

// wordsPage is the word filter, and a word to be added.
type wordsPage struct {
	List []board.WordFilter
	board.WordFilter
}

func (c *call) words() error { return c.showWords(nil, board.WordFilter{}) }

func (c *call) showWords(refusal error, f board.WordFilter) error {
	list, err := c.service.WordFilters(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	return c.form(refusal, "admin_words", "Word filter", wordsPage{list, f})
}

func (c *call) addWord() error {
	f := board.WordFilter{Pattern: c.text("pattern"), Replacement: c.text("replacement"), Hold: c.text("action") == "hold"}
	if err := c.service.AddWordFilter(c.ctx(), c.actor, f); err != nil {
		return c.showWords(err, f)
	}
	return c.redirect("/admin/words", "Saved. The word counts for what is written from now on.")
}

func (c *call) deleteWord() error {
	id, err := c.id("wordId")
	if err != nil {
		return err
	}
	if err := c.service.DeleteWordFilter(c.ctx(), c.actor, id); err != nil {
		return err
	}
	return c.redirect("/admin/words", "The word is not filtered any more.")
}
