// Package resource provides the administration pages of every service. Lists, forms and histories are descriptors in
// Go, and the templates of this package show all of them alike. The service determines the content, the access and the
// effect of a change; the pages around them are written once.
//
// A List has columns, filters, sort orders, and actions on the rows that are ticked:
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
// The filters, order and position of a list are in its URL, so that a page can be bookmarked, shared and returned to.
// Rows returns a page of at most Query.Limit rows after the cursor Query.After, and the cursor of the next page. A list
// has no page numbers, and it can be sorted only by columns for which the database has an index. An action runs on one
// row after another; the page then shows which rows were refused and why, and how many were changed.
//
// A Form has fields, each of which points into a value of the service (Field.Text, Number, Flag or List). Without any
// code in the service, the package shows and reads the form, and shows it again with the faults beside the fields. It
// also shows the differences if somebody else has changed the value meanwhile:
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
// History returns a list of changes and their authors. A service adds the pages to its table and the templates to its
// look:
//
//	var table = slices.Concat(own, members.Pages(), member.Pages())
//
//	pages.NewLook("shop", files, nil, resource.Templates)
//
// The service's type for a request embeds *pages.Call. Permissions are checked in Admit, as on all pages, and above all
// by the methods of the service, whichever page calls them. In its own templates, a service shows tabs by
// {{template "tabs" ($.With .Tabs)}} and tables by {{template "table" ($.With .Part)}}.
package resource

import (
	"embed"
	"net/http"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// Templates are the templates of the pages in this package, for pages.NewLook.
//
//go:embed templates
var Templates embed.FS

// Caller is a service's type for a request, which embeds *pages.Call.
type Caller interface{ Common() *pages.Call }

// Head is the top of a page.
type Head struct {
	Title string
	Marks []Cell // after the title, such as a state
	Lead  string // a sentence below the title
	Tabs  Tabs
	Above []Target // the pages above this one, outermost first
	New   Target   // leads to the form for a new entry
	Links []Target // beside the title
}

// Target is a link to a path of the site.
type Target struct{ Label, Path string }

// Tabs are the links between a page and its siblings.
type Tabs struct {
	Label string // of the navigation, for screen readers
	Links []Target
	path  string
}

// At returns the tabs as shown on the page with a path.
func (t Tabs) At(path string) Tabs {
	t.path = path
	return t
}

// Current reports whether a link leads to the current page or, if no link does, to the nearest page above.
func (t Tabs) Current(link Target) bool {
	nearest := ""
	for _, l := range t.Links {
		if (t.path == l.Path || strings.HasPrefix(t.path, l.Path+"/")) && len(l.Path) > len(nearest) {
			nearest = l.Path
		}
	}
	return link.Path == nearest
}

// Choice is an option of a field or a filter.
type Choice struct {
	Value, Label string
	Group        string // heading for checkboxes; empty for none
	On           bool   // chosen; set when it is shown
}

// Words returns choices whose labels are their values.
func Words(words ...string) []Choice {
	list := make([]Choice, len(words))
	for i, word := range words {
		list[i] = Choice{Value: word, Label: word}
	}
	return list
}

// Fixed returns a function for Field.Options that always returns the same choices.
func Fixed[C, T any](list ...Choice) func(C, T) ([]Choice, error) {
	return func(C, T) ([]Choice, error) { return list, nil }
}

// All returns the choices after a first choice "All" with an empty value, for a filter.
func All(list ...Choice) []Choice { return append([]Choice{{Label: "All"}}, list...) }

// Input is a filter of a list, or an input on the page before an action. The value of a filter is a parameter of the
// URL (Query.Text), and the value of an action's input is a field of the form (Call.Form). Name is the name of the
// parameter or field.
type Input[C Caller] struct {
	Name, Label, Help string
	// Type is the type of the element: text, date, number, or flag for a checkbox. Default: text, or search for a
	// filter.
	Type     string
	Value    string // initial value
	Max      int64  // in characters, or the greatest number
	Required bool
	// FirstDate returns the earliest allowed date, such as 2027-01-31.
	FirstDate func(C) string
	// Options returns choices, which make the input a select element.
	Options func(C) ([]Choice, error)
}

// view returns an input with a value as data for the templates. id precedes the name in the id of the HTML element.
// kind is the kind of the element, unless Options or Type determine the kind.
func (i *Input[C]) view(c C, id, kind, value string) (input, error) {
	v := input{
		ID: id + i.Name, Name: i.Name, Label: i.Label, Help: i.Help, Kind: kind, Type: i.Type,
		Value: value, On: value != "", Max: i.Max, Required: i.Required,
	}
	if i.FirstDate != nil {
		v.Least = i.FirstDate(c)
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

// chosen returns a copy of the choices. In the copy, On is set for those with the given values.
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

// input is the data of the template "input": an element with its label and help.
type input struct {
	ID, Name, Label, Help, Section string
	Kind                           string // text, search, number, area, select, flag, boxes
	Type                           string // type of a text: email, url, date, password
	Value, Placeholder             string
	Autocomplete, Least            string
	On                             bool
	Options                        []Choice
	Min, Max                       int64
	Rows                           int
	Required                       bool
}

// Optional reports whether the label says that the input may stay empty.
func (i input) Optional() bool {
	return !i.Required && (i.Kind == "text" || i.Kind == "area") && i.Type != "password" &&
		!strings.Contains(i.Label, "(")
}

// path returns the path of the page without its parameters.
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

// unknown returns the error for a form that names an action which the page does not have.
func unknown() error {
	return apierror.New(http.StatusBadRequest, "bad_request", "There is no such action on this page.")
}
