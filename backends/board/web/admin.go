package web

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board"
)

// adminRoutes are the pages of administrators; each asks for the password again
// when that was given long ago.
var adminRoutes = administrative([]route{
	{method: get, path: "/admin", serve: (*call).admin},
	{method: get, path: "/admin/settings", serve: (*call).settings},
	{method: post, path: "/admin/settings", serve: (*call).saveSettings},

	{method: get, path: "/admin/forums", serve: (*call).adminForums},
	{method: get, path: "/admin/forums/new", serve: (*call).newForum},
	{method: post, path: "/admin/forums/new", serve: (*call).createForum},
	{method: get, path: "/admin/forums/{forumId}", serve: (*call).editForum},
	{method: post, path: "/admin/forums/{forumId}", serve: (*call).saveForum},
	{method: post, path: "/admin/forums/{forumId}/shift", serve: (*call).shiftForum},
	{method: post, path: "/admin/forums/{forumId}/delete", serve: (*call).deleteForum},
	{method: get, path: "/admin/forums/{forumId}/rights", serve: (*call).matrix},
	{method: post, path: "/admin/forums/{forumId}/rights", serve: (*call).saveMatrix},

	{method: get, path: "/admin/groups", serve: (*call).groups},
	{method: get, path: "/admin/groups/new", serve: (*call).newGroup},
	{method: post, path: "/admin/groups/new", serve: (*call).createGroup},
	{method: get, path: "/admin/groups/{groupId}", serve: (*call).editGroup},
	{method: post, path: "/admin/groups/{groupId}", serve: (*call).saveGroup},
	{method: post, path: "/admin/groups/{groupId}/delete", serve: (*call).deleteGroup},

	{method: get, path: "/admin/moderators", serve: (*call).moderators},
	{method: post, path: "/admin/moderators", serve: (*call).setModerator},
	{method: post, path: "/admin/moderators/{moderatorId}/remove", serve: (*call).removeModerator},

	{method: get, path: "/admin/members", serve: (*call).findMembers},
	{method: get, path: "/admin/members/{userId}", serve: (*call).adminMember},
	{method: post, path: "/admin/members/{userId}", serve: (*call).changeMember},

	{method: get, path: "/admin/names", serve: (*call).names},

	{method: get, path: "/admin/prefixes", serve: (*call).prefixes},
	{method: post, path: "/admin/prefixes", serve: (*call).setPrefix},
	{method: post, path: "/admin/prefixes/{prefixId}/delete", serve: (*call).deletePrefix},

	{method: get, path: "/admin/words", serve: (*call).words},
	{method: post, path: "/admin/words", serve: (*call).addWord},
	{method: post, path: "/admin/words/{wordId}/delete", serve: (*call).deleteWord},

	{method: get, path: "/admin/tokens", serve: (*call).adminTokens},
	{method: post, path: "/admin/tokens", serve: (*call).issueTokenFor},
	{method: post, path: "/admin/tokens/{tokenId}/revoke", serve: (*call).revokeTokenFor},

	{method: get, path: "/admin/webhooks", serve: (*call).webhooks},
	{method: post, path: "/admin/webhooks", serve: (*call).addWebhook},
	{method: get, path: "/admin/webhooks/{webhookId}", serve: (*call).webhook},
	{method: post, path: "/admin/webhooks/{webhookId}", serve: (*call).changeWebhook},
})

func administrative(list []route) []route {
	for i := range list {
		list[i].who, list[i].fresh = administrators, true
	}
	return list
}

// adminPage is the overview.
type adminPage struct {
	Awaiting []board.MemberRow
	More     bool // await approval
}

func (c *call) admin() error {
	list, next, err := c.service.FindMembers(c.ctx(), c.actor, board.MemberQuery{State: "awaiting", Limit: 5})
	if err != nil {
		return err
	}
	return c.page("admin", "Administration", adminPage{list, next != ""})
}

// settingsPage are the settings in their sections.
type settingsPage struct {
	version
	Sections []settingSection
}

type settingSection struct {
	Title    string
	Settings []settingField
}

type settingField struct {
	board.Setting
	Text    string
	Options []option
}

func (c *call) settings() error {
	set, err := c.service.Settings(c.ctx())
	if err != nil {
		return err
	}
	return c.showSettings(nil, &set, func(s *board.Setting) string { return s.Value(&set) })
}

// showSettings shows values, over those that are set.
func (c *call) showSettings(refusal error, set *board.Settings, value func(*board.Setting) string) error {
	var page settingsPage
	refusal, is := changed(refusal)
	if page.Version = c.text("version"); is || page.Version == "" {
		page.Version = set.Tag()
	}
	for _, setting := range board.AllSettings() {
		last := len(page.Sections) - 1
		if last < 0 || page.Sections[last].Title != setting.Section {
			page.Sections = append(page.Sections, settingSection{Title: setting.Section})
			last++
		}
		field := settingField{Setting: setting, Text: value(&setting)}
		if there := setting.Value(set); is && strings.ReplaceAll(field.Text, "\r\n", "\n") != there {
			page.Differing = append(page.Differing, board.Difference{What: setting.Label, From: shownValue(&setting, there), To: shownValue(&setting, field.Text)})
		}
		for _, choice := range setting.Choices {
			field.Options = append(field.Options, option{choice, sentenceCase(choice), choice == field.Text})
		}
		page.Sections[last].Settings = append(page.Sections[last].Settings, field)
	}
	return c.form(refusal, "admin_settings", "Settings", page)
}

// shownValue is a value for people.
func shownValue(s *board.Setting, text string) string {
	switch {
	case s.Kind == board.KindFlag && text == "":
		return "no"
	case s.Kind == board.KindFlag:
		return "yes"
	}
	return text
}

// sentenceCase begins a word with a capital.
func sentenceCase(word string) string { return initial(word) + word[min(1, len(word)):] }

func (c *call) saveSettings() error {
	values := make(map[string]string)
	for _, setting := range board.AllSettings() {
		// A box that is not ticked is not sent.
		if setting.Kind == board.KindFlag || c.r.PostForm.Has(setting.Name) {
			values[setting.Name] = c.text(setting.Name)
		}
	}
	if err := c.service.ChangeSettings(c.ctx(), c.actor, values, c.match()); err != nil {
		set, now := c.service.Settings(c.ctx())
		if now != nil {
			return now
		}
		return c.showSettings(err, &set, func(s *board.Setting) string { return values[s.Name] })
	}
	return c.redirect("/admin/settings", "Saved. The settings count from now on.")
}

// rightSection are rights as a form shows them.
type rightSection struct {
	Title  string
	Rights []rightBox
}

type rightBox struct {
	board.Right
	On bool
}

// sections are the rights of a mask; inForums leaves out those of the board.
func sections(mask board.Mask, inForums bool) (list []rightSection) {
	for _, right := range board.Rights() {
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
func (c *call) mask(field string, rights []board.Right) (mask board.Mask) {
	ticked := c.values(field)
	for _, right := range rights {
		if slices.Contains(ticked, right.Name) {
			mask |= right.Mask()
		}
	}
	return mask
}
