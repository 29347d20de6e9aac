package web

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// adminRoutes are the pages of administrators; each asks for the password again
// when that was given long ago.
var adminRoutes = administrative([]page{
	{Method: get, Path: "/admin", Serve: (*call).admin},
	{Method: get, Path: "/admin/settings", Serve: (*call).settings},
	{Method: post, Path: "/admin/settings", Serve: (*call).saveSettings},

	{Method: get, Path: "/admin/forums", Serve: (*call).adminForums},
	{Method: get, Path: "/admin/forums/new", Serve: (*call).newForum},
	{Method: post, Path: "/admin/forums/new", Serve: (*call).createForum},
	{Method: get, Path: "/admin/forums/{forumId}", Serve: (*call).editForum},
	{Method: post, Path: "/admin/forums/{forumId}", Serve: (*call).saveForum},
	{Method: post, Path: "/admin/forums/{forumId}/shift", Serve: (*call).shiftForum},
	{Method: post, Path: "/admin/forums/{forumId}/delete", Serve: (*call).deleteForum},
	{Method: get, Path: "/admin/forums/{forumId}/rights", Serve: (*call).matrix},
	{Method: post, Path: "/admin/forums/{forumId}/rights", Serve: (*call).saveMatrix},

	{Method: get, Path: "/admin/groups", Serve: (*call).groups},
	{Method: get, Path: "/admin/groups/new", Serve: (*call).newGroup},
	{Method: post, Path: "/admin/groups/new", Serve: (*call).createGroup},
	{Method: get, Path: "/admin/groups/{groupId}", Serve: (*call).editGroup},
	{Method: post, Path: "/admin/groups/{groupId}", Serve: (*call).saveGroup},
	{Method: post, Path: "/admin/groups/{groupId}/delete", Serve: (*call).deleteGroup},

	{Method: get, Path: "/admin/moderators", Serve: (*call).moderators},
	{Method: post, Path: "/admin/moderators", Serve: (*call).setModerator},
	{Method: post, Path: "/admin/moderators/{moderatorId}/remove", Serve: (*call).removeModerator},

	{Method: get, Path: "/admin/members", Serve: (*call).findMembers},
	{Method: get, Path: "/admin/members/{userId}", Serve: (*call).adminMember},
	{Method: post, Path: "/admin/members/{userId}", Serve: (*call).changeMember},

	{Method: get, Path: "/admin/names", Serve: (*call).names},

	{Method: get, Path: "/admin/prefixes", Serve: (*call).prefixes},
	{Method: post, Path: "/admin/prefixes", Serve: (*call).setPrefix},
	{Method: post, Path: "/admin/prefixes/{prefixId}/delete", Serve: (*call).deletePrefix},

	{Method: get, Path: "/admin/words", Serve: (*call).words},
	{Method: post, Path: "/admin/words", Serve: (*call).addWord},
	{Method: post, Path: "/admin/words/{wordId}/delete", Serve: (*call).deleteWord},

	{Method: get, Path: "/admin/tokens", Serve: (*call).adminTokens},
	{Method: post, Path: "/admin/tokens", Serve: (*call).issueTokenFor},
	{Method: post, Path: "/admin/tokens/{tokenId}/revoke", Serve: (*call).revokeTokenFor},

	{Method: get, Path: "/admin/webhooks", Serve: (*call).webhooks},
	{Method: post, Path: "/admin/webhooks", Serve: (*call).addWebhook},
	{Method: get, Path: "/admin/webhooks/{webhookId}", Serve: (*call).webhook},
	{Method: post, Path: "/admin/webhooks/{webhookId}", Serve: (*call).changeWebhook},
})

func administrative(list []page) []page {
	for i := range list {
		list[i].Admit = administrators
	}
	return list
}

// adminPage is the overview.
type adminPage struct {
	Awaiting []admin.MemberRow
	More     bool // await approval
}

func (c *call) admin() error {
	list, next, err := c.service.FindMembers(c.Context(), c.actor, admin.MemberQuery{State: "awaiting", Limit: 5})
	if err != nil {
		return err
	}
	return c.Show("admin", "Administration", adminPage{list, next != ""})
}

// settingsPage are the settings in their sections.
type settingsPage struct {
	pages.Edit
	Sections []settingSection
}

type settingSection struct {
	Title    string
	Settings []settingField
}

type settingField struct {
	kernel.Setting
	Text    string
	Options pages.Select
}

func (c *call) settings() error {
	set, err := c.service.Settings(c.Context())
	if err != nil {
		return err
	}
	return c.showSettings(nil, &set, func(s *kernel.Setting) string { return s.Value(&set) })
}

// showSettings shows values, over those that are set.
func (c *call) showSettings(refusal error, set *kernel.Settings, value func(*kernel.Setting) string) error {
	var page settingsPage
	page.Edit, refusal = c.Edit(refusal, func() (string, any, error) { return set.Tag(), settingDifferences(set, value), nil })
	for _, setting := range kernel.AllSettings() {
		last := len(page.Sections) - 1
		if last < 0 || page.Sections[last].Title != setting.Section {
			page.Sections = append(page.Sections, settingSection{Title: setting.Section})
			last++
		}
		field := settingField{Setting: setting, Text: value(&setting)}
		for _, choice := range setting.Choices {
			field.Options.Add(choice, pages.Capital(choice), choice == field.Text)
		}
		page.Sections[last].Settings = append(page.Sections[last].Settings, field)
	}
	return c.ShowForm(refusal, "admin_settings", "Settings", page)
}

// settingDifferences lists what values say that is not so.
func settingDifferences(set *kernel.Settings, value func(*kernel.Setting) string) (list []posts.Difference) {
	for _, setting := range kernel.AllSettings() {
		if there, text := setting.Value(set), value(&setting); strings.ReplaceAll(text, "\r\n", "\n") != there {
			list = append(list, posts.Difference{What: setting.Label, From: shownValue(&setting, there), To: shownValue(&setting, text)})
		}
	}
	return list
}

// shownValue is a value for people.
func shownValue(s *kernel.Setting, text string) string {
	switch {
	case s.Kind == kernel.KindFlag && text == "":
		return "no"
	case s.Kind == kernel.KindFlag:
		return "yes"
	}
	return text
}

func (c *call) saveSettings() error {
	values := make(map[string]string)
	for _, setting := range kernel.AllSettings() {
		// A box that is not ticked is not sent.
		if setting.Kind == kernel.KindFlag || c.Form.Has(setting.Name) {
			values[setting.Name] = c.Form.Text(setting.Name)
		}
	}
	if err := c.service.ChangeSettings(c.Context(), c.actor, values, c.Match()); err != nil {
		set, now := c.service.Settings(c.Context())
		if now != nil {
			return now
		}
		return c.showSettings(err, &set, func(s *kernel.Setting) string { return values[s.Name] })
	}
	return c.Redirect("/admin/settings", "Saved. The settings count from now on.")
}

// rightSection are rights as a form shows them.
type rightSection struct {
	Title  string
	Rights []rightBox
}

type rightBox struct {
	admin.Right
	On bool
}

// sections are the rights of a mask; inForums leaves out those of the board.
func sections(mask rights.Mask, inForums bool) (list []rightSection) {
	for _, right := range admin.Rights() {
		if inForums && !right.InForums {
			continue
		}
		last := len(list) - 1
		if last < 0 || list[last].Title != right.Section {
			list = append(list, rightSection{Title: right.Section})
			last++
		}
		list[last].Rights = append(list[last].Rights, rightBox{right, mask.Has(right.Mask())})
	}
	return list
}

// mask is what boxes with the names of rights come to.
func (c *call) mask(field string, rights []admin.Right) (mask rights.Mask) {
	ticked := c.Form.Values(field)
	for _, right := range rights {
		if slices.Contains(ticked, right.Name) {
			mask |= right.Mask()
		}
	}
	return mask
}
