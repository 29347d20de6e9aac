package administration

import (
	"net/http"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// memberAt returns the path of the page of a member.
func memberAt(id int64) string { return "/admin/members/" + kernel.Itoa(id) }

// stateTag returns the state of a member as a cell, highlighted unless it is active.
func stateTag(m admin.MemberRow) resource.Cell {
	switch {
	case m.State == "active":
		return resource.Text(m.State)
	case m.Outside():
		return resource.Tag(m.State, "held")
	}
	return resource.Tag(m.State, "gone")
}

// memberList is the list of members.
var memberList = resource.List[*Call, admin.MemberRow]{
	Path: "/admin/members",
	Head: resource.Head{
		Title: "Members", Tabs: Tabs, Links: []resource.Target{{Label: "Names that look alike", Path: "/admin/names"}},
	},
	Nouns: [2]string{"member", "members"}, CSV: "members.csv",
	Empty: "There are no members yet. The settings decide who may join.",
	Columns: []resource.Column[admin.MemberRow]{
		{
			Label: "Name", Sort: "name",
			Show: func(m admin.MemberRow) resource.Cell { return resource.Link(memberAt(m.ID), m.Name) },
		},
		{Label: "State", Show: func(m admin.MemberRow) resource.Cell {
			return resource.Cells(stateTag(m), resource.Tag("moderated", "held").If(m.Moderated))
		}},
		{Label: "Mail", Text: func(m admin.MemberRow) string { return m.Email }},
		{Label: "Posts", Sort: admin.MembersPosts, Down: true, Count: func(m admin.MemberRow) int64 { return m.Posts }},
		{
			Label: "Joined", Sort: admin.MembersNewest, Down: true,
			Time: func(m admin.MemberRow) kernel.Moment { return m.JoinedAt },
		},
		{
			Label: "Last seen", Sort: admin.MembersSeen, Down: true,
			Time: func(m admin.MemberRow) kernel.Moment { return m.LastActiveAt },
		},
	},
	Filters: []resource.Input[*Call]{
		{Name: "name", Label: "Name begins with, or mail address", Max: 254},
		{Name: "state", Label: "State", Options: func(*Call) ([]resource.Choice, error) {
			return resource.All(capitals(rights.States)...), nil
		}},
		{
			Name: "group", Label: "Group",
			Options: func(c *Call) ([]resource.Choice, error) { return c.groupChoices(resource.All()) },
		},
	},
	Fixed: func(q resource.Query) bool { return q.Text("name") != "" || q.Text("group") != "" },
	Rows: func(c *Call, q resource.Query) ([]admin.MemberRow, string, error) {
		return c.Admin.FindMembers(c.Context(), c.Actor, admin.MemberQuery{
			Name: q.Text("name"), State: q.Text("state"), Group: q.Number("group"), Sort: q.Sort, After: q.After, Limit: q.Limit,
		})
	},
	ID:      func(m admin.MemberRow) string { return kernel.Itoa(m.ID) },
	Name:    func(m admin.MemberRow) string { return m.Name },
	Actions: memberActions,
}

// endInputs lists the inputs for the end and the reason of a ban or a suspension.
var endInputs = []resource.Input[*Call]{
	{Name: "days", Label: "For", Value: "7", Options: func(*Call) ([]resource.Choice, error) {
		return []resource.Choice{
			{Value: "1", Label: "1 day"},
			{Value: "3", Label: "3 days"},
			{Value: "7", Label: "1 week"},
			{Value: "30", Label: "30 days"},
			{Value: "90", Label: "90 days"},
			{Value: "365", Label: "1 year"},
			{Value: "0", Label: "ever (only for a ban)"},
		}, nil
	}},
	{Name: "date", Label: "Or until the end of", Type: "date", FirstDate: func(c *Call) string {
		return c.Kernel.Moment().Time().In(c.Actor.User.Zone()).Format(time.DateOnly)
	}},
	{Name: "reason", Label: "Reason, for the log", Max: 200},
}

// memberActions lists the actions that both the list of members and the page of a member offer.
var memberActions = []resource.Action[*Call]{
	{Name: "approve", Label: "Approve", Done: "approved", Do: withID((*admin.Service).ApproveMember, "userId")},
	{
		Name: "suspend", Label: "Suspend…", Done: "suspended", Ask: endInputs, Do: (*Call).suspend,
		Confirm: "A suspended member can only read until then.",
	},
	{Name: "unsuspend", Label: "End the suspension", Done: "allowed to write again", Do: func(c *Call, id string) error {
		return c.Admin.Suspend(c.Context(), c.Actor, c.idOf(id, "userId"), 0, "")
	}},
	{
		Name: "unban", Label: "End the ban", Done: "unbanned",
		Do: withID((*admin.Service).Unban, "userId"),
	},
	{
		Name: "ban", Label: "Ban…", Done: "banned and signed out", Danger: true, Ask: endInputs, Do: (*Call).ban,
		Confirm: "A banned member is signed out and cannot sign in until then.",
	},
	{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true,
		Confirm: "This cannot be undone: mail address, password, profile and tokens are deleted. The posts stay under the " +
			"name; the name of a member who was never approved is free again.",
		Do: withID((*admin.Service).DeleteMember, "userId"),
	},
}

// suspend suspends a member until the end that the form gives. id is the selected row; see idOf.
func (c *Call) suspend(id string) error {
	end, err := c.until()
	if err == nil && end == 0 {
		err = apierror.New(http.StatusUnprocessableEntity, "validation_failed", "Give an end: a number of days, or a date.")
	}
	if err != nil {
		return err
	}
	return c.Admin.Suspend(c.Context(), c.Actor, c.idOf(id, "userId"), end, c.Form.Text("reason"))
}

// ban bans a member until the end that the form gives, or for ever. id is the selected row; see idOf.
func (c *Call) ban(id string) error {
	end, err := c.until()
	if err != nil {
		return err
	}
	return c.Admin.Ban(c.Context(), c.Actor, c.idOf(id, "userId"), end, c.Form.Text("reason"))
}

// newPassword is the action that only the page of a member offers.
var newPassword = resource.Action[*Call]{
	Name: "password", Label: "New password",
	Confirm: "The present password ends, and the member is signed out everywhere. " +
		"Tell the member the new password, which the member must change after signing in.",
	Make: func(c *Call, _ string) (string, error) {
		return c.Admin.ResetPassword(c.Context(), c.Actor, c.ID("userId"))
	},
}

// until returns the end of a ban or suspension that a form gives: the end of a date, or a number of days from now. It
// returns 0 if the form gives no end.
func (c *Call) until() (kernel.Moment, error) {
	if text := c.Form.Text("date"); text != "" {
		day, err := time.ParseInLocation(time.DateOnly, text, c.Actor.User.Zone())
		if err != nil {
			return 0, apierror.New(http.StatusUnprocessableEntity, "validation_failed", "The date must look like 2027-01-31.")
		}
		return kernel.MomentOf(day.AddDate(0, 0, 1)), nil
	}
	days := c.Form.Number("days")
	if days == 0 {
		return 0, c.Form.Err()
	}
	return c.Kernel.Moment().Add(time.Duration(min(days, 36_500)) * 24 * time.Hour), nil
}

// member holds the values of the form for a member.
type member struct {
	admin.MemberRow
	groups []string
}

// memberForm is the page of a member.
var memberForm = resource.Form[*Call, member]{
	Path: "/admin/members/{userId}",
	Head: formHead("", "Members", "/admin/members"),
	About: func(_ *Call, m *member, h *resource.Head) error {
		h.Title = m.MemberRow.Name
		if m.State != "active" {
			h.Marks = []resource.Cell{stateTag(m.MemberRow)}
		}
		h.Links = []resource.Target{
			{Label: "Public profile", Path: "/members/" + kernel.Itoa(m.ID)},
			{Label: "API tokens", Path: "/admin/tokens" + query("user", m.MemberRow.Name)},
			{Label: "Log", Path: "/moderation/log" + query("actor", m.MemberRow.Name)},
		}
		return nil
	},
	Load: func(c *Call) (*member, error) {
		m, err := c.Admin.MemberByID(c.Context(), c.Actor, c.ID("userId"))
		return &member{m, textsOf(m.Groups)}, err
	},
	Facts: func(c *Call, m *member) []resource.Fact {
		list := []resource.Fact{
			{Label: "Mail", Cell: resource.Cells(
				resource.Text("none").If(m.Email == ""), resource.Text(m.Email).If(m.Email != ""),
				resource.Text("(not confirmed)").If(m.Email != "" && !m.EmailConfirmed),
				resource.Text("asked for "+m.EmailAsked+" (not confirmed)").If(m.EmailAsked != ""))},
			{Label: "State", Cell: resource.Cells(
				resource.Text(m.State), resource.Text("until").If(m.BannedUntil != 0),
				resource.Time(m.BannedUntil).If(m.BannedUntil != 0),
				resource.Text("for ever").If(m.State == "banned" && m.BannedUntil == 0))},
			{
				Label: "Posts",
				Cell:  resource.Cells(resource.Count(m.Posts), resource.Note("the last one"), resource.Time(m.LastPostAt)),
			},
			{Label: "Joined", Cell: resource.Time(m.JoinedAt)},
			{Label: "Last seen", Cell: resource.Time(m.LastActiveAt)},
		}
		if m.suspended(c) {
			suspended := resource.Cells(resource.Text("reads only until"), resource.Time(m.SuspendedUntil))
			list = append(list, resource.Fact{Label: "Suspended", Cell: suspended})
		}
		return list
	},
	Fields: []resource.Field[*Call, member]{
		{
			Name: "groups", Label: "Groups", Hide: isDeleted, List: func(m *member) *[]string { return &m.groups },
			Options: func(c *Call, _ *member) ([]resource.Choice, error) { return c.groupChoices(nil) },
		},
		{
			Name: "moderated", Label: "Every post waits for approval", Hide: isDeleted,
			Flag: func(m *member) *bool { return &m.Moderated },
		},
	},
	Save: func(c *Call, m *member) (resource.Done, error) {
		stored, err := c.Admin.MemberByID(c.Context(), c.Actor, m.ID)
		if err != nil {
			return resource.Done{}, err
		}
		if stored.Moderated != m.Moderated {
			if err := c.Admin.SetModerated(c.Context(), c.Actor, m.ID, m.Moderated); err != nil {
				return resource.Done{}, err
			}
		}
		return resource.Done{}, c.Admin.SetGroups(c.Context(), c.Actor, m.ID, numbersOf(m.groups))
	},
	// The dangerous actions, which are the last two, stay at the end.
	Actions: slices.Insert(slices.Clone(memberActions), len(memberActions)-2, newPassword),
	Name:    func(m *member) string { return m.MemberRow.Name },
	Offers: func(c *Call, m *member, action string) bool {
		self, banned := m.ID == c.Actor.User.ID, m.State == "banned"
		if m.State == "deleted" {
			return false
		}
		switch action {
		case "approve":
			return m.Outside()
		case "suspend", "ban":
			return !self && !m.Outside() && !banned
		case "unban":
			return banned
		case "unsuspend":
			return m.suspended(c)
		case "delete":
			return !self
		}
		return true // a new password
	},
}

// isDeleted reports whether the member is deleted.
func isDeleted(_ *Call, m *member) bool { return m.State == "deleted" }

// suspended reports whether the member is suspended now.
func (m *member) suspended(c *Call) bool { return m.SuspendedUntil > c.Kernel.Moment() }

// nameList is the list of pairs of members whose names look alike.
var nameList = resource.List[*Call, admin.NameClash]{
	Path: "/admin/names", Head: resource.Head{
		Title: "Names that look alike", Tabs: Tabs, Above: []resource.Target{{Label: "Members", Path: "/admin/members"}},
		Lead: "These members joined before names were compared, or were loaded from a fixture. They keep their names; " +
			"no new member can have a name that looks like one of theirs.",
	},
	Empty: "No two members have names that look alike.",
	Columns: []resource.Column[admin.NameClash]{
		{Label: "Name", Show: func(n admin.NameClash) resource.Cell { return namesake(n.Member) }},
		{Label: "Looks like", Show: func(n admin.NameClash) resource.Cell { return namesake(n.Like) }},
	},
	Rows: resource.Whole(func(c *Call) ([]admin.NameClash, error) { return c.Admin.NameClashes(c.Context(), c.Actor) }),
}

// namesake returns a cell that describes one of the members of a pair.
func namesake(m admin.MemberRow) resource.Cell {
	link, state := resource.Link(memberAt(m.ID), m.Name), stateTag(m).If(m.State != "active")
	return resource.Cells(link, state, resource.Note("joined"), resource.Time(m.JoinedAt))
}

// tokenList is the list of all API tokens.
var tokenList = resource.List[*Call, admin.TokenRow]{
	Path: "/admin/tokens", Head: listHead("Tokens", "New token", "/admin/tokens/new"),
	Nouns: [2]string{"token", "tokens"}, Empty: "There are no tokens. A program needs a token to act for a member.",
	CSV: "tokens.csv",
	Columns: []resource.Column[admin.TokenRow]{
		{Label: "Member", Show: func(t admin.TokenRow) resource.Cell { return resource.Link(memberAt(t.User), t.UserName) }},
		{Label: "Name", Text: func(t admin.TokenRow) string { return t.Name }},
		{Label: "Scopes", Show: func(t admin.TokenRow) resource.Cell {
			if len(t.Scopes) == len(rights.Scopes) {
				return resource.Text("all")
			}
			return joined(t.Scopes)
		}},
		{Label: "Ends", Show: func(t admin.TokenRow) resource.Cell {
			if t.RevokedAt != 0 {
				return resource.Cells(resource.Tag("revoked", "gone"), resource.Time(t.RevokedAt))
			}
			return resource.Cells(resource.Tag("expired", "gone").If(t.Expired), resource.Time(t.ExpiresAt))
		}},
		{Label: "Used", Time: func(t admin.TokenRow) kernel.Moment { return t.LastUsedAt }},
	},
	Filters: []resource.Input[*Call]{{Name: "user", Label: "Member", Max: 40}},
	Rows: func(c *Call, q resource.Query) ([]admin.TokenRow, string, error) {
		return resource.Before(q, func(beforeID int64) ([]admin.TokenRow, int64, error) {
			return c.Admin.Tokens(c.Context(), c.Actor, q.Text("user"), beforeID, q.Limit)
		})
	},
	ID:   func(t admin.TokenRow) string { return kernel.Itoa(t.ID) },
	Name: func(t admin.TokenRow) string { return t.Name + " of " + t.UserName },
	Actions: []resource.Action[*Call]{{
		Name: "revoke", Label: "Revoke", Done: "revoked", Danger: true, Each: true,
		Confirm: "Programs that use them lose access. This cannot be undone.",
		Do:      withID((*admin.Service).RevokeTokenFor, ""),
	}},
	Offers: func(_ *Call, t admin.TokenRow, _ string) bool { return t.RevokedAt == 0 },
}

// token holds the values of the form for a new token.
type token struct {
	User, Name string
	Scopes     []string
	Days       int64
}

// tokenForm is the form for a new token.
var tokenForm = resource.Form[*Call, token]{
	New:    "/admin/tokens/new",
	Head:   formHead("New token", "Tokens", "/admin/tokens"),
	Submit: "Make the token",
	Load: func(c *Call) (*token, error) {
		return &token{User: c.Query.Text("user"), Scopes: rights.Scopes, Days: c.Actor.Settings().TokenDays}, nil
	},
	Fields: []resource.Field[*Call, token]{
		{Name: "user", Label: "Member", Required: true, Max: 40, Text: func(t *token) *string { return &t.User }},
		{Name: "name", Label: "Name of the token", Required: true, Max: 80, Text: func(t *token) *string { return &t.Name }},
		{
			Name: "scopes", Label: "Scopes", List: func(t *token) *[]string { return &t.Scopes },
			Options: func(*Call, *token) ([]resource.Choice, error) { return resource.Words(rights.Scopes...), nil },
		},
		{
			Name: "expires", Label: "Days until it expires", Help: "0: never.", Required: true, Max: 3650,
			Number: func(t *token) *int64 { return &t.Days },
		},
	},
	Save: func(c *Call, t *token) (resource.Done, error) {
		request := accounts.TokenRequest{User: t.User, Name: t.Name, Scopes: t.Scopes, Days: int(min(t.Days, 1<<20))}
		token, err := c.Admin.IssueTokenFor(c.Context(), c.Actor, request)
		target, title := "/admin/tokens"+query("user", t.User), "The token "+t.Name+" of "+t.User
		return resource.Done{To: target, Notice: title, Secret: token}, err
	},
}
