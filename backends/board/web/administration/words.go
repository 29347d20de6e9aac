package administration

import (
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// prefixList is the list of prefixes.
var prefixList = resource.List[*Call, admin.PrefixRow]{
	Path: "/admin/prefixes", Head: listHead("Prefixes", "New prefix", "/admin/prefixes/new"),
	Nouns: [2]string{"prefix", "prefixes"},
	Empty: "There are no prefixes. A prefix is a label of threads, such as Question.",
	Columns: []resource.Column[admin.PrefixRow]{
		{
			Label: "Label",
			Show: func(p admin.PrefixRow) resource.Cell {
				return resource.Link("/admin/prefixes/"+kernel.Itoa(p.ID), p.Label)
			},
		},
		{Label: "Offered by", Show: func(p admin.PrefixRow) resource.Cell {
			return resource.Text(pages.Plural(int64(len(p.Forums)), "forum", "forums"))
		}},
		{Label: "Place", Count: func(p admin.PrefixRow) int64 { return p.Position }},
	},
	Rows: resource.Whole(func(c *Call) ([]admin.PrefixRow, error) { return c.Admin.Prefixes(c.Context(), c.Actor) }),
	ID:   func(p admin.PrefixRow) string { return kernel.Itoa(p.ID) },
	Name: func(p admin.PrefixRow) string { return p.Label },
	Actions: []resource.Action[*Call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, Each: true,
		Confirm: "They are removed from all threads.",
		Do:      withID((*admin.Service).DeletePrefix, ""),
	}},
}

// prefix holds the values of the form for a prefix.
type prefix struct {
	admin.PrefixRow
	forums []string
}

// prefixForm is the form for a new or an existing prefix.
var prefixForm = resource.Form[*Call, prefix]{
	Path: "/admin/prefixes/{prefixId}", New: "/admin/prefixes/new",
	Head: formHead("New prefix", "Prefixes", "/admin/prefixes"),
	About: func(_ *Call, p *prefix, h *resource.Head) error {
		if p.ID != 0 {
			h.Title = "Prefix " + p.Label
		}
		return nil
	},
	Load: func(c *Call) (*prefix, error) {
		if c.isNew("prefixId") {
			return new(prefix), nil
		}
		list, err := c.Admin.Prefixes(c.Context(), c.Actor)
		row, err := resource.One(list, err, func(p admin.PrefixRow) bool { return p.ID == c.ID("prefixId") })
		return &prefix{row, textsOf(row.Forums)}, err
	},
	Fields: []resource.Field[*Call, prefix]{
		{Name: "label", Label: "Label", Required: true, Max: 30, Text: func(p *prefix) *string { return &p.Label }},
		{
			Name: "position", Label: "Place in lists", Required: true, Max: 1_000_000,
			Number: func(p *prefix) *int64 { return &p.Position },
		},
		{
			Name: "forum", Label: "Offered by", List: func(p *prefix) *[]string { return &p.forums },
			Options: func(c *Call, _ *prefix) ([]resource.Choice, error) { return c.forumChoices(nil, "forum") },
		},
	},
	Save: func(c *Call, p *prefix) (resource.Done, error) {
		row := p.PrefixRow
		row.Forums = numbersOf(p.forums)
		return resource.Done{To: "/admin/prefixes"}, c.Admin.SetPrefix(c.Context(), c.Actor, row)
	},
}

// wordList is the list of filtered words.
var wordList = resource.List[*Call, admin.WordFilter]{
	Path: "/admin/words", Head: listHead("Word filter", "New word", "/admin/words/new"),
	Nouns: [2]string{"word", "words"},
	Empty: "No word is filtered. A filter can replace a word, or make posts with the word wait for approval.",
	Columns: []resource.Column[admin.WordFilter]{
		{Label: "Word", Text: func(f admin.WordFilter) string { return f.Pattern }},
		{Label: "What happens", Show: func(f admin.WordFilter) resource.Cell {
			switch {
			case f.Hold:
				return resource.Tag("holds the post", "held")
			case f.Replacement == "":
				return resource.Note("it is removed")
			}
			return resource.Text("→ " + f.Replacement)
		}},
	},
	Rows: resource.Whole(func(c *Call) ([]admin.WordFilter, error) { return c.Admin.WordFilters(c.Context(), c.Actor) }),
	ID:   func(f admin.WordFilter) string { return kernel.Itoa(f.ID) },
	Name: func(f admin.WordFilter) string { return f.Pattern },
	Actions: []resource.Action[*Call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, Each: true,
		Do: withID((*admin.Service).DeleteWordFilter, ""),
	}},
}

// word holds the values of the form for a filtered word.
type word struct {
	admin.WordFilter
	action string // replace or hold
}

// wordForm is the form for a new filtered word.
var wordForm = resource.Form[*Call, word]{
	New:  "/admin/words/new",
	Head: formHead("New word", "Word filter", "/admin/words"),
	Load: func(*Call) (*word, error) { return &word{action: "replace"}, nil },
	Fields: []resource.Field[*Call, word]{
		{
			Name: "pattern", Label: "Word", Required: true, Max: 100,
			Help: "Upper and lower case are the same. Parts of words count too.",
			Text: func(w *word) *string { return &w.Pattern },
		},
		{
			Name: "action", Label: "What happens", Text: func(w *word) *string { return &w.action },
			Options: resource.Fixed[*Call, *word](
				resource.Choice{Value: "replace", Label: "It is replaced"},
				resource.Choice{Value: "hold", Label: "The post waits for approval"}),
		},
		{Name: "replacement", Label: "Replaced by", Max: 100, Text: func(w *word) *string { return &w.Replacement }},
	},
	Save: func(c *Call, w *word) (resource.Done, error) {
		w.Hold = w.action == "hold"
		err := c.Admin.AddWordFilter(c.Context(), c.Actor, w.WordFilter)
		return resource.Done{To: "/admin/words", Notice: "Saved. It applies to new posts from now on."}, err
	},
}
