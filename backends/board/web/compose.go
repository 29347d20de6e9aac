package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/drafts"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
)

// composeRoutes lists the routes of aids for writing, such as previews and drafts. The forms work without them.
var composeRoutes = []page{
	{Method: get, Path: "/account/drafts", Serve: (*call).drafts},
	{Method: post, Path: "/account/drafts/{draftId}/discard", Serve: (*call).discardDraft},
	{Method: post, Path: "/account/mentions", Serve: (*call).setMentionMails},
	{Method: get, Path: "/members/names", Serve: (*call).names},
}

// maxQuoted limits the posts that a reply quotes at once.
const maxQuoted = 20

// quotes returns quotations of posts in a thread. The query of the request lists the posts.
func (c *call) quotes(thread int64) (string, error) {
	ids := c.Query.Numbers("quote")
	var quotes strings.Builder
	for _, id := range ids[:min(len(ids), maxQuoted)] {
		post, _, err := c.Posts.Post(c.Context(), c.actor, thread, id)
		if err != nil {
			return "", err
		}
		files, err := c.Posts.Attachments(c.Context(), c.actor, thread, id)
		if err != nil {
			return "", err
		}
		quotes.WriteString(posts.Quote(post.PostInfo, files))
	}
	return quotes.String(), nil
}

// saveDraft saves a draft and redirects to its form. If the draft is refused, saveDraft shows form again, in the
// template called name and with title as the title of the page. The form's script, which saves drafts in the
// background, gets an empty response.
func (c *call) saveDraft(d drafts.Draft, name, title string, form any) error {
	err := c.Drafts.Save(c.Context(), c.actor, d)
	switch {
	case err != nil:
		return c.ShowForm(err, name, title, form)
	case c.Form.Flag("script"):
		c.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	return c.Redirect(d.Path(), c.T("The draft is saved. You find it here and under Drafts in your account."))
}

// draftMessage saves a draft of a message in the conversation with this id.
func (c *call) draftMessage(id int64, text string) error {
	page, err := c.conversationPage()
	if err != nil {
		return err
	}
	page.Text = text
	return c.saveDraft(drafts.Draft{Place: drafts.Place{Kind: drafts.Message, ID: id}, Message: text},
		"conversation", page.Title, page)
}

// endDraft deletes the draft of a post that was written. An error is only logged, since the post exists.
func (c *call) endDraft(place drafts.Place) {
	if err := c.Drafts.Delete(c.Context(), c.actor, place); err != nil {
		c.kernel.Logger.Warn("the draft of a post could not be deleted", zap.Int64("member", c.actor.ID()), zap.Error(err))
	}
}

// Draft returns the draft that fills the form for a reply in a thread, or nil if the user has no such draft.
func (f *frame) Draft(thread int64) (*drafts.Draft, error) {
	return f.call.Drafts.Of(f.call.Context(), f.call.actor, drafts.Place{Kind: drafts.Reply, ID: thread})
}

// Encloses returns the limits of the files that the user may attach to a post in a forum.
func (f *frame) Encloses(forum int64) enclosed { return f.call.enclosed(forum) }

// drafts lists the member's drafts.
func (c *call) drafts() error {
	list, err := c.Drafts.List(c.Context(), c.actor)
	return c.ThenShow(err, "drafts", c.T("Drafts"), list)
}

// discardDraft deletes one of the member's drafts.
func (c *call) discardDraft() error {
	return c.Then(c.Drafts.Discard(c.Context(), c.actor, c.ID("draftId")), "/account/drafts", c.T("The draft is deleted."))
}

// MentionMails reports whether the user gets mails about mentions.
func (f *frame) MentionMails() (bool, error) {
	return f.call.Following.MentionMails(f.call.Context(), f.call.actor)
}

// setMentionMails sets whether the user gets mails about mentions.
func (c *call) setMentionMails() error {
	return c.Then(c.Following.ChooseMentionMails(c.Context(), c.actor, c.Form.Flag("mails")), "/account/subscriptions",
		c.T("Saved."))
}

// completion is a name that completes a mention, and the complete text of the mention.
type completion struct {
	Name    string `json:"name"`
	Mention string `json:"mention"`
}

// names sends the forms' script the names of members that begin with the parameter q, as JSON.
func (c *call) names() error {
	names, err := c.Accounts.Complete(c.Context(), c.actor, c.Query.Text("q"))
	if err != nil {
		return err
	}
	list := make([]completion, 0, len(names))
	for _, name := range names {
		list = append(list, completion{name, markup.Mention(name)})
	}
	out, err := json.Marshal(list)
	if err != nil {
		return err
	}
	c.W.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = c.W.Write(out) // the browser may be gone
	return nil
}
