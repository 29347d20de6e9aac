// Package administration implements the pages for administrators of a board.
package administration

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// Services holds the services of a board that the pages of administrators use. All are required.
type Services struct {
	Kernel *kernel.Server
	Rights *rights.Service
	Admin  *admin.Service
	Tags   *tags.Service
}

// Call is a request for a page of the administration.
type Call struct {
	*pages.Call
	Services
	Actor *rights.Actor
}

// Pages lists the pages of administrators.
var Pages = slices.Concat([]pages.Page[*Call]{
	{Method: http.MethodGet, Path: "/admin", Serve: (*Call).admin},
	{Method: http.MethodGet, Path: "/admin/forums", Serve: (*Call).adminForums},
	{Method: http.MethodPost, Path: "/admin/forums/{forumId}/shift", Serve: (*Call).shiftForum},
	{Method: http.MethodGet, Path: "/admin/forums/{forumId}/rights", Serve: (*Call).matrix},
	{Method: http.MethodPost, Path: "/admin/forums/{forumId}/rights", Serve: (*Call).saveMatrix},
},
	settingsForm.Pages(), forumForm.Pages(), groupList.Pages(), groupForm.Pages(), moderatorList.Pages(),
	moderatorForm.Pages(), memberList.Pages(), memberForm.Pages(),
	nameList.Pages(), prefixList.Pages(), prefixForm.Pages(),
	tagList.Pages(), tagForm.Pages(), wordList.Pages(), wordForm.Pages(), tokenList.Pages(),
	tokenForm.Pages(), webhookList.Pages(), webhookForm.Pages(), newWebhook.Pages())

// Tabs links to the pages of administrators.
var Tabs = resource.Tabs{Label: "Administration", Links: []resource.Target{
	{Label: "Overview", Path: "/admin"},
	{Label: "Settings", Path: "/admin/settings"},
	{Label: "Forums", Path: "/admin/forums"},
	{Label: "Groups", Path: "/admin/groups"},
	{Label: "Moderators", Path: "/admin/moderators"},
	{Label: "Members", Path: "/admin/members"},
	{Label: "Prefixes", Path: "/admin/prefixes"},
	{Label: "Tags", Path: "/admin/tags"},
	{Label: "Word filter", Path: "/admin/words"},
	{Label: "Tokens", Path: "/admin/tokens"},
	{Label: "Webhooks", Path: "/admin/webhooks"},
}}

// listHead returns the head of a list for administrators. label and path are those of the link to the form for a new
// entry.
func listHead(title, label, path string) resource.Head {
	return resource.Head{Title: title, Tabs: Tabs, New: resource.Target{Label: label, Path: path}}
}

// formHead returns the head of a form for administrators. label and path are those of the link back to the list.
func formHead(title, label, path string) resource.Head {
	return resource.Head{Title: title, Tabs: Tabs, Above: []resource.Target{{Label: label, Path: path}}}
}

// withID returns the function of an action, which calls fn with the id of the entry that the action is for. See idOf
// for the id and wildcard.
func withID(
	fn func(s *admin.Service, ctx context.Context, a *rights.Actor, id int64) error, wildcard string,
) func(c *Call, id string) error {
	return func(c *Call, id string) error { return fn(c.Admin, c.Context(), c.Actor, c.idOf(id, wildcard)) }
}

// idOf returns the id of the entry that an action is for. In a list, the id is in row, the selected row; on the page of
// an entry, row is empty and the id is the value of wildcard in the path. An invalid id becomes 0.
func (c *Call) idOf(row, wildcard string) int64 {
	if row == "" {
		return c.ID(wildcard)
	}
	id, _ := strconv.ParseInt(row, 10, 64) // no entry has the id 0
	return id
}

// isNew reports whether the form is for a new entry, that is, whether the path has no value for wildcard.
func (c *Call) isNew(wildcard string) bool { return c.R.PathValue(wildcard) == "" }

// adminPage is the overview for administrators.
type adminPage struct {
	Awaiting []admin.MemberRow
	More     bool // more than these await approval
}

// admin shows the overview.
func (c *Call) admin() error {
	list, next, err := c.Admin.FindMembers(c.Context(), c.Actor, admin.MemberQuery{State: "awaiting", Limit: 5})
	if err != nil {
		return err
	}
	return c.Show("admin", "Administration", adminPage{list, next != ""})
}

// boardSettings holds the values of the settings form. The slices texts and flags have an element for each of
// kernel.AllSettings. For a flag, the form shows and reads the element in flags. For any other setting, it shows and
// reads the element in texts.
type boardSettings struct {
	kernel.Settings
	texts []string
	flags []bool
}

// settingsForm is the form for the settings of the board.
var settingsForm = resource.Form[*Call, boardSettings]{
	Path: "/admin/settings", Head: resource.Head{Title: "Settings", Tabs: Tabs}, Fields: settingFields(),
	Load: func(c *Call) (*boardSettings, error) {
		set, err := c.Rights.Settings(c.Context())
		if err != nil {
			return nil, err
		}
		s := &boardSettings{Settings: set}
		for _, setting := range kernel.AllSettings() {
			value := setting.Value(&set)
			s.texts, s.flags = append(s.texts, value), append(s.flags, value != "")
		}
		return s, nil
	},
	Version: func(s *boardSettings) string { return s.Tag() },
	Save: func(c *Call, s *boardSettings) (resource.Done, error) {
		values := make(map[string]string)
		for i, setting := range kernel.AllSettings() {
			switch {
			case setting.Kind != kernel.KindFlag:
				values[setting.Name] = s.texts[i]
			case s.flags[i]:
				values[setting.Name] = "1"
			default:
				values[setting.Name] = ""
			}
		}
		err := c.Admin.ChangeSettings(c.Context(), c.Actor, values, c.Match())
		return resource.Done{Notice: "Saved. The settings count from now on."}, err
	},
}

// settingFields returns the fields of the settings form, one for each of kernel.AllSettings.
func settingFields() (list []resource.Field[*Call, boardSettings]) {
	section := ""
	for i, setting := range kernel.AllSettings() {
		f := resource.Field[*Call, boardSettings]{
			Name: setting.Name, Label: setting.Label, Help: setting.Hint,
			Min: setting.Min, Max: setting.Max, Required: setting.Min > 0,
		}
		if setting.Section != section { // only the first field of a section names it
			section, f.Section = setting.Section, setting.Section
		}
		if setting.Kind == kernel.KindFlag {
			f.Flag = func(s *boardSettings) *bool { return &s.flags[i] }
			list = append(list, f)
			continue
		}
		f.Text = func(s *boardSettings) *string { return &s.texts[i] }
		switch setting.Kind {
		case kernel.KindChoice:
			f.Options = func(*Call, *boardSettings) ([]resource.Choice, error) { return capitals(setting.Choices), nil }
		case kernel.KindText:
			f.Lines = 3
		case kernel.KindNumber:
			f.Type, f.Required = "number", true
		}
		list = append(list, f)
	}
	return list
}

// capitals returns words as choices, with labels that begin with a capital letter.
func capitals(words []string) []resource.Choice {
	list := resource.Words(words...)
	for i := range list {
		list[i].Label = pages.Capital(list[i].Label)
	}
	return list
}

// rightChoices returns knownRights as choices, grouped by their sections. With inForums it leaves out rights that apply
// to the whole board.
func rightChoices(knownRights []admin.Right, inForums bool) (list []resource.Choice) {
	for _, right := range knownRights {
		if !inForums || right.InForums {
			list = append(list, resource.Choice{Value: right.Name, Label: right.Label, Group: right.Section})
		}
	}
	return list
}

// rightNames returns the names of those of knownRights that mask contains.
func rightNames(mask rights.Mask, knownRights []admin.Right) (names []string) {
	for _, right := range knownRights {
		if mask.Has(right.Mask()) {
			names = append(names, right.Name)
		}
	}
	return names
}

// maskOf returns the mask of the rights in knownRights whose names are in names. It leaves out unknown names.
func maskOf(names []string, knownRights []admin.Right) (mask rights.Mask) {
	for _, right := range knownRights {
		if slices.Contains(names, right.Name) {
			mask |= right.Mask()
		}
	}
	return mask
}

// numbersOf parses the values of checkboxes, which are ids. It leaves out values that are not numbers.
func numbersOf(texts []string) (list []int64) {
	for _, text := range texts {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// textsOf formats ids as the values of checkboxes.
func textsOf(ids []int64) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = kernel.Itoa(id)
	}
	return list
}

// query returns a query string with one parameter, beginning with a question mark.
func query(name, value string) string { return "?" + url.Values{name: {value}}.Encode() }

// Indented adds dashes before the title of a forum for its depth in the tree, for lists that cannot indent it.
func Indented(title string, depth int64) string { return strings.Repeat("– ", int(depth)) + title }

// joined returns a cell that lists several texts.
func joined(texts []string) resource.Cell { return resource.Text(strings.Join(texts, ", ")) }

// forumChoices appends the forums of the given types to a list of choices.
func (c *Call) forumChoices(list []resource.Choice, types ...string) ([]resource.Choice, error) {
	tree, err := c.Admin.ForumTree(c.Context(), c.Actor)
	for _, f := range tree {
		if slices.Contains(types, f.Type) {
			list = append(list, resource.Choice{Value: kernel.Itoa(f.ID), Label: Indented(f.Title, f.Depth)})
		}
	}
	return list, err
}

// groupChoices appends the groups that members can be in to a list of choices.
func (c *Call) groupChoices(list []resource.Choice) ([]resource.Choice, error) {
	groups, err := c.Admin.Groups(c.Context(), c.Actor)
	for _, g := range groups {
		if g.Kind != "guest" {
			list = append(list, resource.Choice{Value: kernel.Itoa(g.ID), Label: g.Name})
		}
	}
	return list, err
}
