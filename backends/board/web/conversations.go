package web

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/drafts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const (
	conversationsPerPage = 30
	messagesPerPage      = 25
)

// conversationsPage lists a member's private conversations. Its first page also lists the members that the member
// ignores.
type conversationsPage struct {
	List    []conversations.Conversation
	Older   int64 // the message before which the next page begins; 0 on the last page
	Ignored []conversations.Person
	First   bool // this is the first page
	Wishes  conversations.Preferences
}

// conversations lists the member's private conversations.
func (c *call) conversations() error {
	var page conversationsPage
	var err error
	cursor := c.Query.Number("before")
	page.List, page.Older, err = c.Conversations.List(c.Context(), c.actor, cursor, conversationsPerPage)
	if err != nil {
		return err
	}
	for i := range page.List {
		page.List[i].People = c.others(page.List[i].People)
	}
	if page.First = cursor == 0; page.First {
		if page.Wishes, err = c.Conversations.Preferences(c.Context(), c.actor); err != nil {
			return err
		}
		page.Ignored, err = c.Following.Ignored(c.Context(), c.actor)
	}
	return c.ThenShow(err, "conversations", c.T("Messages"), page)
}

// savePreferences saves the member's settings for private messages.
func (c *call) savePreferences() error {
	return c.Then(c.Conversations.SetPreferences(c.Context(), c.actor, conversations.Preferences{
		Mails: c.Form.Flag("mails"), Accepts: c.Form.Flag("accepts"),
	}), "/conversations", c.T("Saved."))
}

// others removes the actor from people and returns the result.
func (c *call) others(people []conversations.Person) []conversations.Person {
	return slices.DeleteFunc(people, func(p conversations.Person) bool { return p.ID == c.actor.ID() })
}

// conversationForm is the form for a new conversation.
type conversationForm struct {
	Recipients  string // names, with commas between them
	Title, Text string
	Max         int    // recipients
	Preview     string // HTML
	Draft       *drafts.Draft
}

// newMessage identifies the draft of a new conversation.
var newMessage = drafts.Place{Kind: drafts.Message}

// newConversation shows the form for a new conversation, filled from a draft unless the draft has other recipients.
func (c *call) newConversation() error {
	form := &conversationForm{Recipients: c.Query.Text("to"), Max: conversations.MaxRecipients}
	draft, err := c.Drafts.Of(c.Context(), c.actor, newMessage)
	if err != nil {
		return err
	}
	if draft != nil && (form.Recipients == "" || form.Recipients == draft.Recipients) {
		form.Recipients, form.Title, form.Text, form.Draft = draft.Recipients, draft.Title, draft.Message, draft
	}
	return c.Show("conversation_new", c.T("New conversation"), form)
}

// startConversation starts a conversation, saves it as a draft or shows a preview, depending on the pressed button.
func (c *call) startConversation() (err error) {
	form := &conversationForm{
		Recipients: c.Form.Text("recipients"), Title: c.Form.Text("title"), Text: c.Form.Text("message"),
		Max: conversations.MaxRecipients,
	}
	if c.Previews() {
		form.Preview, err = c.Conversations.Preview(c.actor, form.Text)
		return c.ShowForm(err, "conversation_new", c.T("New conversation"), form)
	}
	if c.Form.Flag("draft") {
		return c.saveDraft(drafts.Draft{
			Place: newMessage, Title: form.Title, Recipients: form.Recipients, Message: form.Text,
		}, "conversation_new", c.T("New conversation"), form)
	}
	id, err := c.Conversations.Start(c.Context(), c.actor, conversations.NewConversation{
		Recipients: strings.Split(form.Recipients, ","), Title: form.Title, Message: form.Text,
	}, c.once(form.Recipients, form.Title, form.Text))
	if err != nil {
		return c.ShowForm(err, "conversation_new", c.T("New conversation"), form)
	}
	c.endDraft(newMessage)
	return c.Redirect("/conversations/"+itoa(id), c.T("Your message is sent."))
}

// conversationPage shows messages of a conversation and the form for a reply.
type conversationPage struct {
	conversations.Reading
	Others  []conversations.Person
	Last    bool   // the page has the last messages
	Me      int64  // the id of the actor
	Reports bool   // the actor may report messages
	Text    string // of the reply
	Preview string // HTML
	Draft   *drafts.Draft
}

// conversationPage reads the page of the conversation in the path and marks the conversation as read.
func (c *call) conversationPage() (*conversationPage, error) {
	beforeID := c.Query.Number("before")
	if err := c.Query.Err(); err != nil { // Open marks the conversation as read
		return nil, err
	}
	reading, err := c.Conversations.Open(c.Context(), c.actor, c.ID("conversationId"), beforeID, messagesPerPage)
	return &conversationPage{
		Reading: reading, Others: c.others(reading.People), Last: beforeID == 0, Me: c.actor.ID(),
		Reports: c.actor.May(rights.ReportCreate),
	}, err
}

// conversation shows a conversation. The last page has the form for a reply, filled from a draft.
func (c *call) conversation() error {
	page, err := c.conversationPage()
	if err != nil {
		return err
	}
	if page.Last {
		page.Draft, err = c.Drafts.Of(c.Context(), c.actor, drafts.Place{Kind: drafts.Message, ID: page.ID})
		if err != nil {
			return err
		}
	}
	if page.Draft != nil {
		page.Text = page.Draft.Message
	}
	return c.Show("conversation", page.Title, page)
}

// answerConversation sends a reply, saves it as a draft or shows a preview, depending on the pressed button.
func (c *call) answerConversation() error {
	id, text := c.ID("conversationId"), c.Form.Text("message")
	if c.Previews() {
		preview, refusal := c.Conversations.Preview(c.actor, text)
		return c.showReply(text, preview, refusal)
	}
	if c.Form.Flag("draft") {
		return c.draftMessage(id, text)
	}
	err := c.Conversations.Reply(c.Context(), c.actor, id, text, c.once(itoa(id), text))
	if err == nil {
		c.endDraft(drafts.Place{Kind: drafts.Message, ID: id})
		return c.Redirect("/conversations/"+itoa(id), c.T("Your message is sent."))
	}
	if _, refused := apierror.From(err); !refused {
		return err
	}
	return c.showReply(text, "", err)
}

// showReply shows the conversation with the text of a reply that was not sent. preview is its HTML, or empty. refusal
// is the reason why it was refused, or nil.
func (c *call) showReply(text, preview string, refusal error) error {
	page, err := c.conversationPage()
	if err != nil {
		return err
	}
	page.Text, page.Preview = text, preview
	return c.ShowForm(refusal, "conversation", page.Title, page)
}

// leaveConversation removes the member from a conversation.
func (c *call) leaveConversation() error {
	return c.Then(c.Conversations.Leave(c.Context(), c.actor, c.ID("conversationId")), "/conversations",
		c.T("You have left the conversation."))
}

// reportForm is the form to report a message.
type reportForm struct {
	Conversation int64
	Message      conversations.Message
	Before       int // how many messages before it the moderators see
	Reason       string
}

// reportForm returns the form for the message in the path.
func (c *call) reportForm() (reportForm, error) {
	id := c.ID("conversationId")
	message, err := c.Conversations.Reportable(c.Context(), c.actor, id, c.ID("messageId"))
	return reportForm{Conversation: id, Message: message, Before: conversations.ContextSize}, err
}

// askReportMessage shows the form to report a message.
func (c *call) askReportMessage() error {
	form, err := c.reportForm()
	return c.ThenShow(err, "conversation_report", c.T("Report"), form)
}

// reportMessage reports a message to the moderators.
func (c *call) reportMessage() error {
	form, err := c.reportForm()
	if err != nil {
		return err
	}
	form.Reason = c.Form.Text("reason")
	err = c.Conversations.Report(c.Context(), c.actor, form.Conversation, form.Message.ID, form.Reason)
	if err != nil {
		return c.ShowForm(err, "conversation_report", c.T("Report"), form)
	}
	return c.Redirect("/conversations/"+itoa(form.Conversation), c.T("Thank you. The moderators will look at it."))
}

// ignore makes the user ignore a member, or stop ignoring the member.
func (c *call) ignore() error {
	id := c.ID("userId")
	location := "/members/" + itoa(id)
	if c.Form.Flag("list") {
		location = "/conversations"
	}
	switch c.Form.Text("ignore") {
	case "yes":
		return c.Then(c.Following.Ignore(c.Context(), c.actor, id), location,
			c.T("You get no messages and notifications of this member, and its posts are collapsed."))
	case "no":
		return c.Then(c.Following.Unignore(c.Context(), c.actor, id), location,
			c.T("You do not ignore this member any more."))
	}
	return kernel.Invalid("ignore", "unknown", "ignore must be yes or no")
}
