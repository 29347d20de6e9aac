// Package resource is the administration of every service: a list, a form or a history is one descriptor in Go, and
// the templates here show it in the way of all the others. What is in a list, who may see it, and what a change does is
// the service's; the page around it is written once.
//
// A List has columns, filters, ways to be sorted, and actions over the rows that are ticked:
//
//	var members = resource.List[*call, shop.Member]{
//		Path: "/admin/members", Head: resource.Head{Title: "Members"}, Nouns: [2]string{"member", "members"},
//		Empty: "There are no members yet. Open the registration in the settings.",
//		Columns: []resource.Column[shop.Member]{
//			{Label: "Name", Sort: "name", Show: func(m shop.Member) resource.Cell { return resource.Link(path(m), m.Name) }},
//			{Label: "Joined", Sort: "joined", Time: func(m shop.Member) instant.Moment { return m.JoinedAt }},
//		},
//		Filters: []resource.Input[*call]{{Name: "q", Label: "Name"}, {Name: "state", Label: "State", Options: states}},
//		Rows:    func(c *call, q resource.Query) ([]shop.Member, string, error) {
//			return c.shop.Members(c.Context(), c.user, q.Text("q"), q.Text("state"), q.Sort, q.After, q.Limit)
//		},
//		ID: func(m shop.Member) string { return m.ID }, Name: func(m shop.Member) string { return m.Name },
//		Actions: []resource.Action[*call]{{Name: "delete", Label: "Delete", Done: "deleted", Danger: true,
//			Confirm: "Delete these members for ever?",
//			Do: func(c *call, id string) error { return c.shop.Delete(c.Context(), c.user, id) }}},
//		CSV: "members.csv",
//	}
//
// Filters, order and place of a list live in its address, so that a page can be kept, sent to others and gone back to.
// Rows returns a page of at most Query.Limit rows behind the cursor Query.After, and the cursor of the next one; a list
// has no page numbers, and a column is sorted by only where the database has an index for it. An action runs for one row
// after the other: what some of them are refused for is told beside the others that were changed.
//
// A Form has fields, each of which points into a value of the service (Field.Text, Number, Flag or List). It is shown,
// read, refused with its problems beside the fields, and compared with what somebody else has saved meanwhile, without a
// line of the service:
//
//	var member = resource.Form[*call, shop.Member]{
//		Path: "/admin/members/{memberId}", New: "/admin/members/new", Load: load, Save: save,
//		Fields:  []resource.Field[*call, shop.Member]{
//			{Name: "name", Label: "Name", Required: true, Max: 40, Text: func(m *shop.Member) *string { return &m.Name }},
//			{Name: "guest", Label: "May only read", Flag: func(m *shop.Member) *bool { return &m.Guest }},
//		},
//		Version: func(m *shop.Member) string { return m.Tag() },
//	}
//
// History returns the list of who changed what. A service puts the pages into its table and the templates into its look:
//
//	var table = slices.Concat(own, members.Pages(), member.Pages())
//
//	pages.NewLook("shop", files, nil, resource.Templates)
//
// Its type for a request embeds *pages.Call, as that of every service does. Rights are asked in Admit, as on all pages,
// and above all by the service's own methods, for which it makes no difference which page called them. A template of
// the service shows a list's tabs or a table of its own by {{template "tabs" ($.With .Tabs)}} and {{template "table"
// ($.With .Part)}}.
package resource

import (
	"embed"
	"net/http"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// Templates are the pages that descriptors are shown by, for pages.NewLook.
//
//go:embed templates
var Templates embed.FS

// Caller is a service's call.
type Caller interface{ Common() *pages.Call }

// Head is the top of a page.
type Head struct {
	Title string
	Marks []Cell // behind the title, such as a state
	Lead  string // a sentence below it
	Tabs  Tabs
	Above []Target // the pages above this one, the first one first
	New   Target   // leads to the form that makes one more
	Links []Target // beside the title
}

// Target is where a link leads: a path of the site.
type Target struct{ Label, Path string }

// Tabs lead from one page to those beside it.
type Tabs struct {
	Label string // of the navigation, for those who do not see it
	Links []Target
	path  string
}

// At returns the tabs as the page of a path has them.
func (t Tabs) At(path string) Tabs {
	t.path = path
	return t
}

// Current reports whether a link leads to this page, or is the nearest one above it.
func (t Tabs) Current(link Target) bool {
	nearest := ""
	for _, l := range t.Links {
		if (t.path == l.Path || strings.HasPrefix(t.path, l.Path+"/")) && len(l.Path) > len(nearest) {
			nearest = l.Path
		}
	}
	return link.Path == nearest
}

// Choice is one of those that a field or a filter offers.
type Choice struct {
	Value, Label string
	Group        string // the heading that it stands under, of boxes; empty: none
	On           bool   // chosen; set when it is shown
}

// Words returns choices that are called as they are.
func Words(words ...string) []Choice {
	list := make([]Choice, len(words))
	for i, word := range words {
		list[i] = Choice{Value: word, Label: word}
	}
	return list
}

// Fixed returns the Options of a field that are always the same.
func Fixed[C, T any](list ...Choice) func(C, T) ([]Choice, error) {
	return func(C, T) ([]Choice, error) { return list, nil }
}

// All returns choices behind one that stands for all of them, for a filter.
func All(list ...Choice) []Choice { return append([]Choice{{Label: "All"}}, list...) }

// Input is a filter of a list, or what an action asks for. The values are read by their names: of a filter from the
// address (Query.Text), of an action from the form (Call.Form).
type Input[C Caller] struct {
	Name, Label, Help string
	// Type is that of the element: text, date, number, or flag for a box. Default: text; of a filter search.
	Type     string
	Value    string // at first
	Max      int64  // characters, or the greatest number
	Required bool
	// Least is the first date that may be given, as 2027-01-31.
	Least func(C) string
	// Options makes it a select.
	Options func(C) ([]Choice, error)
}

// view makes what templates show of an input; value is what it has.
func (i *Input[C]) view(c C, id, kind, value string) (input, error) {
	v := input{
		ID: id + i.Name, Name: i.Name, Label: i.Label, Help: i.Help, Kind: kind, Type: i.Type,
		Value: value, On: value != "", Max: i.Max, Required: i.Required,
	}
	if i.Least != nil {
		v.Least = i.Least(c)
	}
	switch {
	case i.Options != nil:
		v.Kind = "select"
		options, err := i.Options(c)
		v.Options = chosen(options, value)
		return v, err
	case i.Type == "flag":
		v.Kind = "flag"
	case i.Type != "":
		v.Kind = "text"
	}
	return v, nil
}

// chosen returns the choices with those on that are in values.
func chosen(list []Choice, values ...string) []Choice {
	shown := make([]Choice, len(list))
	for i, choice := range list {
		for _, value := range values {
			choice.On = choice.On || choice.Value == value
		}
		shown[i] = choice
	}
	return shown
}

// input is what the template "input" shows: an element with its label, its help and its problem.
type input struct {
	ID, Name, Label, Help, Section string
	Kind                           string // text, search, number, area, select, flag, boxes
	Type                           string // of a text: email, url, date, password
	Value, Placeholder             string
	Autocomplete, Least            string
	On                             bool
	Options                        []Choice
	Min, Max                       int64
	Rows                           int
	Required                       bool
}

// Optional reports whether the label says that it may stay empty.
func (i input) Optional() bool {
	return !i.Required && (i.Kind == "text" || i.Kind == "area") && i.Type != "password" && !strings.Contains(i.Label, "(")
}

// path returns that of the page without its parameters.
func path(p *pages.Call) string {
	return strings.TrimPrefix(p.R.URL.EscapedPath(), p.At(""))
}

// address returns a path with parameters.
func address(path string, parameters url.Values) string {
	if len(parameters) == 0 {
		return path
	}
	return path + "?" + parameters.Encode()
}

// unknown refuses a form that names an action which the page does not have.
func unknown() error {
	return apierror.New(http.StatusBadRequest, "bad_request", "There is no such action on this page.")
}
