package web

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

const membersPerPage = 50

// membersPage are members that were looked for.
type membersPage struct {
	List   []admin.MemberRow
	Name   string
	States pages.Select
	Next   string // address; empty: the last page
}

func (c *call) findMembers() error {
	q := admin.MemberQuery{Name: c.Query.Text("name"), State: c.Query.Text("state"), After: c.Query.Text("after"), Limit: membersPerPage}
	list, next, err := c.service.FindMembers(c.Context(), c.actor, q)
	if err != nil {
		return err
	}
	page := membersPage{List: list, Name: q.Name}
	page.States.Add("", "All", q.State == "")
	for _, state := range admin.States {
		page.States.Add(state, pages.Capital(state), state == q.State)
	}
	if next != "" {
		page.Next = "/admin/members?" + url.Values{"name": {q.Name}, "state": {q.State}, "after": {next}}.Encode()
	}
	return c.Show("admin_members", "Members", page)
}

// names are those that look alike.
func (c *call) names() error {
	list, err := c.service.NameClashes(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return c.Show("admin_names", "Names that look alike", list)
}

// memberPage is a member with all that may be changed.
type memberPage struct {
	admin.MemberRow
	Groups    []groupBox
	Tokens    []admin.TokenRow
	Suspended bool
	Self      bool
	Password  string // shown once
	Today     string
}

type groupBox struct {
	admin.GroupRow
	In bool
}

func (c *call) adminMember() error {
	return c.showMember(nil, c.ID("userId"), "")
}

func (c *call) showMember(refusal error, id int64, password string) error {
	m, err := c.service.MemberByID(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	groups, err := c.service.Groups(c.Context(), c.actor)
	if err != nil {
		return err
	}
	tokens, err := c.service.MemberTokens(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	now := c.service.Moment()
	page := memberPage{
		MemberRow: m, Tokens: tokens, Suspended: m.SuspendedUntil > now, Self: m.ID == c.actor.User.ID, Password: password,
		Today: now.Time().In(c.actor.User.Zone()).Format(time.DateOnly),
	}
	for _, g := range groups {
		if g.Kind != "guest" {
			page.Groups = append(page.Groups, groupBox{g, slices.Contains(m.Groups, g.ID)})
		}
	}
	return c.ShowForm(refusal, "admin_member", m.Name, page)
}

// until is the end that a form gives: a date, or a number of days; 0: never.
func (c *call) until() (kernel.Moment, error) {
	if text := c.Form.Text("date"); text != "" {
		day, err := time.ParseInLocation(time.DateOnly, text, c.actor.User.Zone())
		if err != nil {
			return 0, apierror.New(http.StatusUnprocessableEntity, "validation_failed", "The date must look like 2027-01-31.")
		}
		return kernel.MomentOf(day.AddDate(0, 0, 1)), nil
	}
	days := c.Form.Number("days")
	if days == 0 {
		return 0, c.Form.Err()
	}
	return c.service.Moment().Add(time.Duration(min(days, 36_500)) * 24 * time.Hour), nil
}

func (c *call) changeMember() error {
	id := c.ID("userId")
	ctx, s, notice := c.Context(), c.service, "Saved."
	var err error
	switch c.Form.Text("do") {
	case "approve":
		notice = "The member is let in."
		err = s.ApproveMember(ctx, c.actor, id)
	case "ban":
		notice = "The member is banned and signed out."
		var until kernel.Moment
		if until, err = c.until(); err == nil {
			err = s.Ban(ctx, c.actor, id, until, c.Form.Text("reason"))
		}
	case "unban":
		notice = "The ban is over."
		err = s.Unban(ctx, c.actor, id)
	case "suspend":
		notice = "The member can only read until then."
		var until kernel.Moment
		if until, err = c.until(); err == nil && until == 0 {
			err = apierror.New(http.StatusUnprocessableEntity, "validation_failed", "Give an end: a number of days, or a date.")
		}
		if err == nil {
			err = s.Suspend(ctx, c.actor, id, until, c.Form.Text("reason"))
		}
	case "unsuspend":
		notice = "The member can write again."
		err = s.Suspend(ctx, c.actor, id, 0, "")
	case "moderate":
		err = s.SetModerated(ctx, c.actor, id, c.Form.Flag("moderated"))
	case "groups":
		groups := c.Form.Numbers("group")
		if err = c.Form.Err(); err == nil {
			err = s.SetGroups(ctx, c.actor, id, groups)
		}
	case "password":
		var password string
		if password, err = s.ResetPassword(ctx, c.actor, id); err == nil {
			return c.showMember(nil, id, password) // on this answer only: it is stored nowhere
		}
	case "delete":
		notice = "The member is deleted. The posts stay."
		err = s.DeleteMember(ctx, c.actor, id)
	default:
		err = apierror.New(http.StatusBadRequest, "bad_request", "There is no such change of a member.")
	}
	if err != nil {
		return c.showMember(err, id, "")
	}
	to := "/admin/members/" + itoa(id)
	if c.Form.Text("back") == "admin" {
		to = "/admin"
	}
	return c.Redirect(to, notice)
}

// adminTokensPage are tokens of members, and one to be made.
type adminTokensPage struct {
	List   []admin.TokenRow
	Next   string
	All    []string
	User   string
	Name   string
	Scopes []string
	Days   int64
	Made   string // shown once
	Now    kernel.Moment
}

// Has reports whether a scope is ticked.
func (p adminTokensPage) Has(scope string) bool { return slices.Contains(p.Scopes, scope) }

func (c *call) adminTokens() error {
	return c.showTokens(nil, adminTokensPage{User: c.Query.Text("user"), Scopes: rights.Scopes, Days: c.actor.Settings().TokenDays})
}

func (c *call) showTokens(refusal error, page adminTokensPage) error {
	before := c.Query.Number("before")
	if err := c.Query.Err(); err != nil {
		return err
	}
	list, next, err := c.service.Tokens(c.Context(), c.actor, 0, before, membersPerPage)
	if err != nil {
		return err
	}
	page.List, page.All, page.Now = list, rights.Scopes, c.service.Moment()
	if next != 0 {
		page.Next = "/admin/tokens?before=" + itoa(next)
	}
	return c.ShowForm(refusal, "admin_tokens", "Tokens", page)
}

func (c *call) issueTokenFor() error {
	days := c.Form.Number("days")
	if err := c.Form.Err(); err != nil {
		return err
	}
	request := accounts.TokenRequest{User: c.Form.Text("user"), Name: c.Form.Text("name"), Scopes: c.Form.Values("scope"), Days: int(min(days, 1<<20))}
	made, refusal := c.service.IssueTokenFor(c.Context(), c.actor, request)
	if refusal != nil {
		return c.showTokens(refusal, adminTokensPage{User: request.User, Name: request.Name, Scopes: request.Scopes, Days: days})
	}
	return c.showTokens(nil, adminTokensPage{User: request.User, Scopes: rights.Scopes, Days: c.actor.Settings().TokenDays, Made: made})
}

func (c *call) revokeTokenFor() error {
	to := "/admin/tokens"
	if user := c.Form.Number("user"); user != 0 {
		to = "/admin/members/" + itoa(user)
	}
	return c.Then(c.service.RevokeTokenFor(c.Context(), c.actor, c.ID("tokenId")), to, "The token is revoked.")
}
