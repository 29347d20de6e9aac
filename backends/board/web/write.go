package web

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/drafts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// threadForm is the form for a new thread.
type threadForm struct {
	enclosed
	Forum     content.ForumInfo
	Above     []content.ForumInfo
	Title     string
	Text      string
	Prefix    int64
	Tags      []string
	Poll      pollForm
	Subscribe bool
	Preview   string        // HTML
	Draft     *drafts.Draft // with which the form begins; nil for none
}

// threadForm returns an empty form for a new thread in the forum of the path.
func (c *call) threadForm() (*threadForm, error) {
	id := c.ID("forumId")
	f, above, _, err := c.Posts.Forum(c.Context(), c.actor, id)
	if err != nil {
		return nil, err
	}
	return &threadForm{Forum: f.ForumInfo, Above: above, enclosed: c.enclosed(id)}, nil
}

// newThread shows the form for a new thread, filled from a draft.
func (c *call) newThread() error {
	form, err := c.threadForm()
	if err != nil {
		return err
	}
	if err := c.Posts.MayStart(c.Context(), c.actor, form.Forum.ID); err != nil {
		return err
	}
	form.Subscribe, form.Poll.Choices = true, 1
	draft, err := c.Drafts.Of(c.Context(), c.actor, drafts.Place{Kind: drafts.Thread, ID: form.Forum.ID})
	if err != nil {
		return err
	}
	if form.Draft = draft; draft != nil {
		form.Title, form.Prefix, form.Text = draft.Title, draft.Prefix, draft.Message
		form.Tags = tags.Split([]string{draft.Tags})
	}
	return c.Show("thread_new", c.T("New thread"), form)
}

// startThread starts a thread, saves it as a draft or shows a preview, depending on the pressed button.
func (c *call) startThread() error {
	form, err := c.threadForm()
	if err != nil {
		return err
	}
	defer form.close()
	if err := c.readEnclosed(&form.enclosed, c.Posts.MayStart(c.Context(), c.actor, form.Forum.ID)); err != nil {
		return err
	}
	form.Title, form.Text, form.Subscribe = c.Form.Text("title"), c.Form.Text("message"), c.Form.Flag("subscribe")
	form.Prefix, form.Tags = c.Form.Number("prefixId"), tags.Split(c.Form.Values("tags"))
	form.Poll = c.pollForm()
	if err := c.Form.Err(); err != nil {
		return err
	}
	if c.Previews() {
		form.Preview, err = c.Posts.Preview(c.Context(), c.actor, form.Text, 0)
		return c.ShowForm(err, "thread_new", c.T("New thread"), form)
	}
	place := drafts.Place{Kind: drafts.Thread, ID: form.Forum.ID}
	if c.Form.Flag("draft") {
		return c.saveDraft(drafts.Draft{
			Place: place, Title: form.Title, Prefix: form.Prefix, Tags: strings.Join(form.Tags, ", "), Message: form.Text,
		}, "thread_new", c.T("New thread"), form)
	}
	if err := c.receive(&form.enclosed); err != nil {
		return c.ShowForm(err, "thread_new", c.T("New thread"), form)
	}
	posted, err := c.Posts.StartThread(c.Context(), c.actor, form.Forum.ID, posts.NewThread{
		Title: form.Title, Message: form.Text, Prefix: form.Prefix, Subscribe: form.Subscribe, Files: form.received,
		Also: func(r store.Conn, t *content.Thread, first int64) error {
			if err := c.Tags.Put(r, c.actor, t, form.Tags); err != nil || len(form.Poll.Answers) == 0 {
				return err
			}
			return c.Polls.Put(r, c.actor, t, first, form.Poll.Request)
		},
	}, c.once(form.Title, form.Text))
	if err != nil {
		return c.ShowForm(err, "thread_new", c.T("New thread"), form)
	}
	c.endDraft(place)
	return c.Redirect(pages.Slugged("/threads/", posted.Thread, posted.Slug), c.postedNotice(posted))
}

// heldNotice returns the notice for an author whose post waits for approval. If held is false, the notice is empty.
func (c *call) heldNotice(held bool) string {
	if held {
		return c.T("Thank you. A moderator will look at your post before others see it.")
	}
	return ""
}

// postedNotice returns the notice for the author of a new post. It names the files that could not be stored. The notice
// is empty if the post is visible and complete.
func (c *call) postedNotice(posted posts.Posted) string {
	notice := c.heldNotice(posted.Held())
	if len(posted.Missing) > 0 {
		notice = strings.TrimSpace(notice + " " + c.T("The post is saved, but these files could not be stored; add them under Files: {names}",
			"names", strings.Join(posted.Missing, ", ")))
	}
	return notice
}

// replyForm is the form for a reply.
type replyForm struct {
	enclosed
	Thread    content.ThreadInfo
	Text      string
	Subscribe bool
	Preview   string        // HTML
	Draft     *drafts.Draft // with which the form begins; nil for none
}

// replyForm returns the form for a reply in the thread of the path, which the actor must see. It does not check whether
// the actor may reply; MayReply does.
func (c *call) replyForm() (*replyForm, error) {
	thread, err := c.Posts.Thread(c.Context(), c.actor, c.ID("threadId"))
	return &replyForm{
		Thread: thread, Subscribe: thread.IsSubscribed != nil && *thread.IsSubscribed,
		enclosed: c.enclosed(thread.ForumID),
	}, err
}

// newReply shows the form for a reply, filled from a draft and from quotations.
func (c *call) newReply() error {
	form, err := c.replyForm()
	if err != nil {
		return err
	}
	if err := c.Posts.MayReply(c.Context(), c.actor, form.Thread.ID); err != nil {
		return err
	}
	quotes, err := c.quotes(form.Thread.ID)
	if err != nil {
		return err
	}
	if !c.Query.Flag("bare") { // bare is set by the form's script, which needs only the quotations, without the draft
		form.Draft, err = c.Drafts.Of(c.Context(), c.actor, drafts.Place{Kind: drafts.Reply, ID: form.Thread.ID})
		if err != nil {
			return err
		}
	}
	form.Text = quotes
	switch {
	case form.Draft != nil && quotes != "":
		form.Text = form.Draft.Message + "\n\n" + quotes
	case form.Draft != nil:
		form.Text = form.Draft.Message
	}
	return c.Show("reply", c.T("Reply"), form)
}

// reply adds a reply, saves it as a draft or shows a preview, depending on the pressed button.
func (c *call) reply() error {
	form, err := c.replyForm()
	if err != nil {
		return err
	}
	defer form.close()
	if err := c.readEnclosed(&form.enclosed, c.Posts.MayReply(c.Context(), c.actor, form.Thread.ID)); err != nil {
		return err
	}
	form.Text, form.Subscribe = c.Form.Text("message"), c.Form.Flag("subscribe")
	if c.Previews() {
		form.Preview, err = c.Posts.Preview(c.Context(), c.actor, form.Text, 0)
		return c.ShowForm(err, "reply", c.T("Reply"), form)
	}
	place := drafts.Place{Kind: drafts.Reply, ID: form.Thread.ID}
	if c.Form.Flag("draft") {
		return c.saveDraft(drafts.Draft{Place: place, Message: form.Text}, "reply", c.T("Reply"), form)
	}
	if err := c.receive(&form.enclosed); err != nil {
		return c.ShowForm(err, "reply", c.T("Reply"), form)
	}
	posted, err := c.Posts.Reply(c.Context(), c.actor, form.Thread.ID,
		posts.NewReply{Message: form.Text, Subscribe: form.Subscribe, Files: form.received}, c.once(form.Text))
	if err != nil {
		return c.ShowForm(err, "reply", c.T("Reply"), form)
	}
	c.endDraft(place)
	return c.Redirect("/posts/"+itoa(posted.Post), c.postedNotice(posted))
}

// editForm is the form to edit a post.
type editForm struct {
	Post    posts.PostView
	Thread  content.ThreadInfo
	Text    string
	Reason  string
	Preview string // HTML
	Version string // the Tag of the version of the post that is edited
	// Theirs holds the changes that lead to Text from another text, which somebody else has saved meanwhile. It is nil
	// if there is no such text.
	Theirs []pages.Change
}

// post returns the post that the path names, and the post's thread.
func (c *call) post() (posts.PostView, content.ThreadInfo, error) {
	return c.Posts.Post(c.Context(), c.actor, c.ID("threadId"), c.ID("postId"))
}

// editPost shows the form to edit a post.
func (c *call) editPost() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	if err := c.Posts.MayEditPost(c.Context(), c.actor, thread.ID, post.ID); err != nil {
		return err
	}
	return c.Show("edit", c.T("Edit"), &editForm{Post: post, Thread: thread, Text: post.Message, Version: post.Tag()})
}

// savePost saves the new text of a post, or shows a preview. If somebody else has changed the post meanwhile, it shows
// the form with the differences.
func (c *call) savePost() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	form := &editForm{
		Post: post, Thread: thread, Text: c.Form.Text("message"), Reason: c.Form.Text("reason"),
		Version: c.Form.Text("version"),
	}
	if c.Previews() {
		form.Preview, err = c.Posts.Preview(c.Context(), c.actor, form.Text, post.ID)
		return c.ShowForm(err, "edit", c.T("Edit"), form)
	}
	edited, err := c.Posts.Edit(c.Context(), c.actor, thread.ID, post.ID,
		posts.PostEdit{Message: form.Text, Reason: form.Reason, Match: c.Match()})
	if refusal, changed := pages.Changed(err); changed {
		if form.Post, form.Thread, err = c.post(); err != nil {
			return err
		}
		form.Version = form.Post.Tag()
		form.Theirs = pages.Diff(form.Post.Message, strings.ReplaceAll(form.Text, "\r\n", "\n"))
		return c.ShowForm(refusal, "edit", c.T("Edit"), form)
	}
	if err != nil {
		return c.ShowForm(err, "edit", c.T("Edit"), form)
	}
	return c.Redirect("/posts/"+itoa(post.ID), c.heldNotice(edited.Held))
}

// editsPerPage is the number of edits on a page of a post's history. It is small, since a text may have thousands of
// lines.
const editsPerPage = 10

// historyPage shows a post and its former texts, newest first.
type historyPage struct {
	Post   posts.PostView
	Thread content.ThreadInfo
	Steps  []step
	Older  int64 // the edit before which the next page begins; 0 on the last page
}

// step is an edit, with the removed and the added text.
type step struct {
	posts.Revision
	Changes []pages.Change
}

// history shows the edits of a post, newest first. Each edit is shown as the difference between the text before it and
// the text after it.
func (c *call) history() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	beforeNumber := c.Query.Number("before")
	newText, limit := post.Message, editsPerPage // newText is the text after the newest edit on this page
	if beforeNumber != 0 {                       // read also the next newer revision, which has that text
		beforeNumber, limit = beforeNumber+1, editsPerPage+1
	}
	list, err := c.Posts.Revisions(c.Context(), c.actor, thread.ID, post.ID, beforeNumber, limit)
	if err != nil {
		return err
	}
	if last := len(list) - 1; beforeNumber != 0 && last >= 0 {
		newText, list = list[last].Message, list[:last]
	}
	page := historyPage{Post: post, Thread: thread}
	if len(list) > 0 && list[0].Number > 1 {
		page.Older = list[0].Number
	}
	for _, r := range slices.Backward(list) {
		page.Steps = append(page.Steps, step{r, pages.Diff(r.Message, newText)})
		newText = r.Message
	}
	return c.Show("history", c.T("History"), page)
}

// postPage is a page with a question about a post, such as whether to delete it.
type postPage struct {
	Post   posts.PostView
	Thread content.ThreadInfo
	Reason string
}

// askDelete asks whether to delete a post.
func (c *call) askDelete() error {
	post, thread, err := c.post()
	return c.ThenShow(err, "delete", c.T("Delete"), postPage{Post: post, Thread: thread})
}

// deletePost deletes a post. It redirects to the thread or, if the thread was deleted too, to the forum.
func (c *call) deletePost() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	if _, err := c.Posts.Delete(c.Context(), c.actor, thread.ID, post.ID, nil); err != nil {
		return c.ShowForm(err, "delete", c.T("Delete"), postPage{Post: post, Thread: thread})
	}
	_, err = c.Posts.Thread(c.Context(), c.actor, thread.ID)
	if kernel.IsNotFound(err) { // the thread was deleted with its first post
		return c.Redirect("/forums/"+itoa(thread.ForumID), c.T("The thread is deleted."))
	}
	return c.Then(err, pages.Slugged("/threads/", thread.ID, thread.Slug), c.T("The post is deleted."))
}

// restorePost makes a deleted post visible again.
func (c *call) restorePost() error {
	id := c.ID("postId")
	_, err := c.Posts.Restore(c.Context(), c.actor, id)
	return c.Then(err, "/posts/"+itoa(id), c.T("The post is restored."))
}

// askReport shows the form to report a post.
func (c *call) askReport() error {
	post, thread, err := c.Posts.PostByID(c.Context(), c.actor, c.ID("postId"))
	return c.ThenShow(err, "report", c.T("Report"), postPage{Post: post, Thread: thread})
}

// report reports a post to the moderators.
func (c *call) report() error {
	id := c.ID("postId")
	post, thread, err := c.Posts.PostByID(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	page := postPage{Post: post, Thread: thread, Reason: c.Form.Text("reason")}
	if _, err := c.Posts.Report(c.Context(), c.actor, id, page.Reason); err != nil {
		return c.ShowForm(err, "report", c.T("Report"), page)
	}
	return c.Redirect("/posts/"+itoa(id), c.T("Thank you. The moderators will look at it."))
}
