package web

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board"
)

// threadForm is a thread that is being written.
type threadForm struct {
	enclosed
	Forum     board.ForumInfo
	Above     []board.ForumInfo
	Title     string
	Text      string
	Prefix    int64
	Subscribe bool
	Preview   string // HTML
}

func (c *call) threadForm() (*threadForm, error) {
	id, err := c.id("forumId")
	if err != nil {
		return nil, err
	}
	f, above, _, err := c.service.Forum(c.ctx(), c.actor, id)
	if err != nil {
		return nil, err
	}
	return &threadForm{Forum: f.ForumInfo, Above: above, enclosed: c.enclosed(id)}, nil
}

func (c *call) newThread() error {
	form, err := c.threadForm()
	if err != nil {
		return err
	}
	if err := c.service.MayStart(c.ctx(), c.actor, form.Forum.ID); err != nil {
		return err
	}
	form.Subscribe = true
	return c.page("thread_new", "New thread", form)
}

func (c *call) startThread() error {
	form, err := c.threadForm()
	if err != nil {
		return err
	}
	defer form.close()
	if err := c.readEnclosed(&form.enclosed, c.service.MayStart(c.ctx(), c.actor, form.Forum.ID)); err != nil {
		return err
	}
	form.Title, form.Text, form.Subscribe = c.text("title"), c.text("message"), c.flag("subscribe")
	if form.Prefix, err = c.number("prefixId"); err != nil {
		return err
	}
	if c.flag("preview") {
		form.Preview, err = c.service.Preview(c.actor, form.Text, 0)
		return c.form(err, "thread_new", "New thread", form)
	}
	if err := c.receive(&form.enclosed); err != nil {
		return c.form(err, "thread_new", "New thread", form)
	}
	done, err := c.service.StartThread(c.ctx(), c.actor, form.Forum.ID, board.NewThread{
		Title: form.Title, Message: form.Text, Prefix: form.Prefix, Subscribe: form.Subscribe, Files: form.received,
	}, c.once(form.Title, form.Text))
	if err != nil {
		return c.form(err, "thread_new", "New thread", form)
	}
	return c.redirect(slugged("/threads/", done.Thread, done.Slug), postedNotice(done))
}

// heldNotice tells the author that nobody sees a post yet.
func heldNotice(held bool) string {
	if held {
		return "Thank you. A moderator will look at your post before others see it."
	}
	return ""
}

// postedNotice adds what became of the files.
func postedNotice(done board.Posted) string {
	notice := heldNotice(done.Held())
	if len(done.Missing) > 0 {
		notice = strings.TrimSpace(notice + " The post is there, but not these files; add them under Files: " + strings.Join(done.Missing, ", "))
	}
	return notice
}

// replyForm is an answer that is being written.
type replyForm struct {
	enclosed
	Thread    board.ThreadInfo
	Text      string
	Subscribe bool
	Preview   string // HTML
}

// replyForm finds the thread, which the actor sees; MayAnswer tells the rest.
func (c *call) replyForm() (*replyForm, error) {
	id, err := c.id("threadId")
	if err != nil {
		return nil, err
	}
	thread, err := c.service.Thread(c.ctx(), c.actor, id)
	return &replyForm{Thread: thread, Subscribe: thread.IsSubscribed != nil && *thread.IsSubscribed, enclosed: c.enclosed(thread.ForumID)}, err
}

func (c *call) newReply() error {
	form, err := c.replyForm()
	if err != nil {
		return err
	}
	if err := c.service.MayAnswer(c.ctx(), c.actor, form.Thread.ID); err != nil {
		return err
	}
	quoted, err := c.queryNumber("quote")
	if err != nil {
		return err
	}
	if quoted != 0 {
		post, _, err := c.service.Post(c.ctx(), c.actor, form.Thread.ID, quoted)
		if err != nil {
			return err
		}
		form.Text = board.Quote(post.PostInfo)
	}
	return c.page("reply", "Reply", form)
}

func (c *call) reply() error {
	form, err := c.replyForm()
	if err != nil {
		return err
	}
	defer form.close()
	if err := c.readEnclosed(&form.enclosed, c.service.MayAnswer(c.ctx(), c.actor, form.Thread.ID)); err != nil {
		return err
	}
	form.Text, form.Subscribe = c.text("message"), c.flag("subscribe")
	if c.flag("preview") {
		form.Preview, err = c.service.Preview(c.actor, form.Text, 0)
		return c.form(err, "reply", "Reply", form)
	}
	if err := c.receive(&form.enclosed); err != nil {
		return c.form(err, "reply", "Reply", form)
	}
	done, err := c.service.Reply(c.ctx(), c.actor, form.Thread.ID, board.NewReply{Message: form.Text, Subscribe: form.Subscribe, Files: form.received}, c.once(form.Text))
	if err != nil {
		return c.form(err, "reply", "Reply", form)
	}
	return c.redirect("/posts/"+itoa(done.Post), postedNotice(done))
}

// editForm is a post that is being edited.
type editForm struct {
	Post    board.PostView
	Thread  board.ThreadInfo
	Text    string
	Reason  string
	Preview string // HTML
	Version string
	Theirs  []change // from the other text, which came first, to this one
}

// post finds the post of the path.
func (c *call) post() (post board.PostView, thread board.ThreadInfo, err error) {
	in, err := c.id("threadId")
	if err != nil {
		return post, thread, err
	}
	id, err := c.id("postId")
	if err != nil {
		return post, thread, err
	}
	return c.service.Post(c.ctx(), c.actor, in, id)
}

func (c *call) editPost() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	if err := c.service.MayEditPost(c.ctx(), c.actor, thread.ID, post.ID); err != nil {
		return err
	}
	return c.page("edit", "Edit", &editForm{Post: post, Thread: thread, Text: post.Message, Version: post.Tag()})
}

func (c *call) savePost() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	form := &editForm{Post: post, Thread: thread, Text: c.text("message"), Reason: c.text("reason"), Version: c.text("version")}
	if c.flag("preview") {
		form.Preview, err = c.service.Preview(c.actor, form.Text, post.ID)
		return c.form(err, "edit", "Edit", form)
	}
	done, err := c.service.Edit(c.ctx(), c.actor, thread.ID, post.ID, board.PostEdit{Message: form.Text, Reason: form.Reason, Match: c.match()})
	if refusal, is := changed(err); is {
		if form.Post, form.Thread, err = c.post(); err != nil {
			return err
		}
		form.Version, form.Theirs = form.Post.Tag(), diff(form.Post.Message, strings.ReplaceAll(form.Text, "\r\n", "\n"))
		return c.form(refusal, "edit", "Edit", form)
	}
	if err != nil {
		return c.form(err, "edit", "Edit", form)
	}
	return c.redirect("/posts/"+itoa(post.ID), heldNotice(done.Held))
}

// historyPage is a post with its former texts, the newest first.
type historyPage struct {
	Post   board.PostView
	Thread board.ThreadInfo
	Steps  []step
}

// step is an edit: what was taken away and what came.
type step struct {
	board.Revision
	Changes []change
}

func (c *call) history() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	list, err := c.service.Revisions(c.ctx(), c.actor, thread.ID, post.ID)
	if err != nil {
		return err
	}
	page := historyPage{Post: post, Thread: thread}
	after := post.Message
	for _, r := range slices.Backward(list) {
		page.Steps = append(page.Steps, step{r, diff(r.Message, after)})
		after = r.Message
	}
	return c.page("history", "History", page)
}

// postPage is a question about a post.
type postPage struct {
	Post   board.PostView
	Thread board.ThreadInfo
	Reason string
}

func (c *call) askDelete() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	return c.page("delete", "Delete", postPage{Post: post, Thread: thread})
}

func (c *call) deletePost() error {
	post, thread, err := c.post()
	if err != nil {
		return err
	}
	if _, err := c.service.Delete(c.ctx(), c.actor, thread.ID, post.ID, nil); err != nil {
		return c.form(err, "delete", "Delete", postPage{Post: post, Thread: thread})
	}
	_, err = c.service.Thread(c.ctx(), c.actor, thread.ID)
	if err != nil { // it went with its first post
		return c.redirect("/forums/"+itoa(thread.ForumID), "The thread is deleted.")
	}
	return c.redirect(slugged("/threads/", thread.ID, thread.Slug), "The post is deleted.")
}

func (c *call) restorePost() error {
	id, err := c.id("postId")
	if err != nil {
		return err
	}
	if _, err := c.service.Restore(c.ctx(), c.actor, id); err != nil {
		return err
	}
	return c.redirect("/posts/"+itoa(id), "The post is back.")
}

func (c *call) askReport() error {
	id, err := c.id("postId")
	if err != nil {
		return err
	}
	post, thread, err := c.service.PostByID(c.ctx(), c.actor, id)
	if err != nil {
		return err
	}
	return c.page("report", "Report", postPage{Post: post, Thread: thread})
}

func (c *call) report() error {
	id, err := c.id("postId")
	if err != nil {
		return err
	}
	post, thread, err := c.service.PostByID(c.ctx(), c.actor, id)
	if err != nil {
		return err
	}
	page := postPage{Post: post, Thread: thread, Reason: c.text("reason")}
	if _, err := c.service.Report(c.ctx(), c.actor, id, page.Reason); err != nil {
		return c.form(err, "report", "Report", page)
	}
	return c.redirect("/posts/"+itoa(id), "Thank you. The moderators will look at it.")
}

// manageForm is what may be changed of a thread.
type manageForm struct {
	*board.Reading
	Forums []board.ForumInfo
	Title  string
	Prefix int64
	Target int64
}

func (c *call) manageForm() (*manageForm, error) {
	id, err := c.id("threadId")
	if err != nil {
		return nil, err
	}
	reading, err := c.service.ReadThread(c.ctx(), c.actor, id, 0, 1)
	if err != nil {
		return nil, err
	}
	form := &manageForm{Reading: reading, Title: reading.Thread.Title, Target: reading.Thread.ForumID}
	if reading.Thread.Prefix != nil {
		form.Prefix = reading.Thread.Prefix.ID
	}
	form.Forums, err = c.service.Forums(c.ctx(), c.actor)
	return form, err
}

func (c *call) manage() error {
	form, err := c.manageForm()
	if err != nil {
		return err
	}
	return c.page("manage", "Manage thread", form)
}

// change changes what the form has: its buttons send one part each.
func (c *call) change() error {
	form, err := c.manageForm()
	if err != nil {
		return err
	}
	var change board.ThreadChange
	notice := "The thread is changed."
	yes, no := true, false
	switch c.text("do") {
	case "lock":
		change.Locked, notice = &yes, "The thread is locked."
	case "unlock":
		change.Locked, notice = &no, "The thread is open again."
	case "stick":
		change.Sticky, notice = &yes, "The thread stays at the top of its forum."
	case "unstick":
		change.Sticky, notice = &no, "The thread takes its turn again."
	case "title":
		form.Title = c.text("title")
		change.Title = &form.Title
		if form.Prefix, err = c.number("prefixId"); err != nil {
			return err
		}
		change.Prefix = &form.Prefix
	case "move":
		if form.Target, err = c.number("forumId"); err != nil {
			return err
		}
		change.Forum, notice = &form.Target, "The thread is moved."
	default:
		return notFound()
	}
	if err := c.service.Change(c.ctx(), c.actor, form.Thread.ID, change); err != nil {
		return c.form(err, "manage", "Manage thread", form)
	}
	return c.redirect("/threads/"+itoa(form.Thread.ID), notice)
}

func (c *call) subscribe() error {
	id, err := c.id("threadId")
	if err != nil {
		return err
	}
	mode := c.text("mode")
	if mode == "off" {
		err = c.service.Unsubscribe(c.ctx(), c.actor, id)
	} else {
		err = c.service.Subscribe(c.ctx(), c.actor, id, mode)
	}
	if err != nil {
		return err
	}
	notice := "You follow this thread."
	if mode == "off" || mode == "none" {
		notice = "You do not follow this thread any more."
	}
	if c.flag("list") {
		return c.redirect("/account/subscriptions", "Saved.")
	}
	return c.redirect("/threads/"+itoa(id), notice)
}
