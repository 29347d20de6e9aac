package web

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/warnings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// warningView is a warning on a page.
type warningView struct {
	warnings.Warning
	Active bool // the warning counts now
}

// viewWarnings returns the views of warnings.
func (c *call) viewWarnings(list []warnings.Warning) (views []warningView) {
	now := c.kernel.Moment()
	for _, w := range list {
		views = append(views, warningView{w, w.Counts(now)})
	}
	return views
}

// warnPage is the form to warn the author of a post.
type warnPage struct {
	postPage
	Points, Days int64
}

// warnForm returns the form for the post in the path, with the usual values.
func (c *call) warnForm() (*warnPage, error) {
	post, thread, err := c.Posts.PostByID(c.Context(), c.actor, c.ID("postId"))
	return &warnPage{
		postPage: postPage{Post: post, Thread: thread}, Points: 1, Days: c.frame.Settings.WarningDays,
	}, err
}

// askWarn shows the form to warn the author of a post.
func (c *call) askWarn() error {
	form, err := c.warnForm()
	if err != nil {
		return err
	}
	if !form.Post.Warn {
		return kernel.Forbidden("postId", "no_permission", "you may not warn the author of this post")
	}
	return c.Show("warn", c.T("Warn"), form)
}

// warn warns the author of a post.
func (c *call) warn() error {
	form, err := c.warnForm()
	if err != nil {
		return err
	}
	form.Reason, form.Points, form.Days = c.Form.Text("reason"), c.Form.Number("points"), c.Form.Number("days")
	if err := c.Form.Err(); err != nil {
		return err
	}
	w, err := c.Warnings.Warn(c.Context(), c.actor, warnings.Request{
		Post: form.Post.ID, Reason: form.Reason, Points: form.Points, Days: form.Days,
	})
	if err != nil {
		return c.ShowForm(err, "warn", c.T("Warn"), form)
	}
	return c.Redirect("/members/"+itoa(w.Member), c.T("The member is warned."))
}

// ownWarnings lists the warnings of the user.
func (c *call) ownWarnings() error {
	list, err := c.Warnings.Own(c.Context(), c.actor)
	return c.ThenShow(err, "warnings", c.T("Warnings"), c.viewWarnings(list))
}

// memberPage is a member's profile. For moderators it includes the member's warnings and the notes about the member.
type memberPage struct {
	api.MemberInfo
	Record   *warnings.Record // nil for others
	Warnings []warningView
	Message  string // a note that is being written
	Writes   bool   // the actor is another member, who may write to this member or ignore it
	Ignored  bool   // by the actor
}

// Tab returns the name of the selected tab.
func (*memberPage) Tab() string { return "profile" }

// record adds the member's record to a profile, if the actor may see it.
func (c *call) record(page *memberPage, member int64) error {
	if !warnings.Moderates(c.actor) || c.actor.Owns(member) {
		return nil
	}
	r, err := c.Warnings.Of(c.Context(), c.actor, member)
	if err != nil {
		return err
	}
	page.Record, page.Warnings = &r, c.viewWarnings(r.Warnings)
	return nil
}

// profile reads the profile of the member in the path.
func (c *call) profile() (*memberPage, error) {
	user, err := c.Accounts.Profile(c.Context(), c.actor, c.ID("userId"))
	if err != nil {
		return nil, err
	}
	if err := c.faceOf(user.ID); err != nil {
		return nil, err
	}
	page := &memberPage{MemberInfo: api.Member(user)}
	if page.Writes = c.actor.User != nil && !c.actor.Owns(user.ID); page.Writes {
		if page.Ignored, err = c.Following.IgnoresMember(c.Context(), c.actor, user.ID); err != nil {
			return nil, err
		}
	}
	return page, c.record(page, user.ID)
}

// member shows a member's profile.
func (c *call) member() error {
	page, err := c.profile()
	if err != nil {
		return err
	}
	return c.Show("member", page.Username, page)
}

// saveRecord withdraws a warning, or adds or deletes a note.
func (c *call) saveRecord() error {
	page, err := c.profile()
	if err != nil {
		return err
	}
	if page.Record == nil {
		return pages.NotFound()
	}
	id := c.Form.Number("id")
	if err := c.Form.Err(); err != nil {
		return err
	}
	var notice string
	switch c.Form.Text("do") {
	case "withdraw":
		err, notice = c.Warnings.Withdraw(c.Context(), c.actor, page.UserID, id), c.T("The warning is withdrawn.")
	case "note":
		page.Message = c.Form.Text("message")
		err, notice = c.Warnings.AddNote(c.Context(), c.actor, page.UserID, page.Message), c.T("The note is saved.")
	case "picture":
		err, notice = c.Warnings.RemovePicture(c.Context(), c.actor, page.UserID), c.T("The picture is removed.")
	case "forget":
		err, notice = c.Warnings.DeleteNote(c.Context(), c.actor, page.UserID, id), c.T("The note is deleted.")
	default:
		return apierror.New(http.StatusBadRequest, "bad_request", "There is no such action on a member.")
	}
	if err != nil {
		return c.ShowForm(err, "member", page.Username, page)
	}
	return c.Redirect("/members/"+itoa(page.UserID), notice)
}
