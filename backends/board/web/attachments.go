package web

import (
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// attachmentRoutes lists the pages of the files at posts, and those that manage mails to members.
var attachmentRoutes = []page{
	{Method: get, Path: "/attachments/{attachmentId}", Admit: guests, Serve: (*call).download},
	{Method: get, Path: "/posts/{postId}/files/{name}", Admit: guests, Serve: (*call).placed},
	{Method: get, Path: "/threads/{threadId}/posts/{postId}/attachments", Serve: (*call).attachments},
	{Method: post, Path: "/threads/{threadId}/posts/{postId}/attachments", Serve: (*call).attach, Upload: maxEnclosed},
	{Method: post, Path: "/threads/{threadId}/posts/{postId}/attachments/{attachmentId}/delete", Serve: (*call).detach},

	{Method: post, Path: "/forums/{forumId}/subscription", Serve: (*call).followForum},
	{Method: get, Path: "/unsubscribe", Admit: everybody, Serve: (*call).askUnsubscribe},
	{Method: post, Path: "/unsubscribe", NoToken: true, Admit: everybody, Serve: (*call).unsubscribe},
}

// attachmentsPage lists the files at a post, with a form to add one.
type attachmentsPage struct {
	Post    posts.PostView
	Thread  content.ThreadInfo
	List    []attachments.Attachment
	Accept  string
	Largest int64 // bytes
	Most    int64
}

func (c *call) attachmentsPage() (page attachmentsPage, err error) {
	if page.Post, page.Thread, err = c.post(); err != nil {
		return page, err
	}
	set := c.actor.Settings()
	page.Accept, page.Largest, page.Most = strings.Join(blob.Extensions(), ","), set.AttachmentKiB<<10, set.AttachmentsMost
	page.List, err = c.Posts.Attachments(c.Context(), c.actor, page.Thread.ID, page.Post.ID)
	return page, err
}

func (c *call) attachments() error {
	page, err := c.attachmentsPage()
	if err != nil {
		return err
	}
	return c.Show("attachments", c.T("Files"), page)
}

func (c *call) attach() error {
	page, err := c.attachmentsPage()
	if err != nil {
		return err
	}
	file, err := c.file()
	if err != nil {
		return err
	}
	if _, err := c.Posts.Attach(c.Context(), c.actor, page.Thread.ID, page.Post.ID, file.FileName(), file); err != nil {
		return c.ShowForm(err, "attachments", c.T("Files"), page)
	}
	return c.Redirect(attachmentsPath(page.Thread.ID, page.Post.ID), c.T("The file is attached."))
}

// file returns the part of a multipart form that is the file.
func (c *call) file() (*multipart.Part, error) {
	reader, err := c.Parts()
	if err != nil {
		return nil, err
	}
	file, err := reader.NextPart()
	if err != nil || file.FormName() != "file" {
		return nil, apierror.New(http.StatusBadRequest, "bad_request", "Choose a file.")
	}
	return file, nil
}

func (c *call) detach() error {
	page, err := c.attachmentsPage()
	if err != nil {
		return err
	}
	if err := c.Posts.Detach(c.Context(), c.actor, page.Thread.ID, page.Post.ID, c.ID("attachmentId")); err != nil {
		return c.ShowForm(err, "attachments", c.T("Files"), page)
	}
	return c.Redirect(attachmentsPath(page.Thread.ID, page.Post.ID), c.T("The file is removed."))
}

func attachmentsPath(thread, post int64) string {
	return "/threads/" + itoa(thread) + "/posts/" + itoa(post) + "/attachments"
}

func (c *call) download() error {
	f, err := c.Posts.Attachment(c.Context(), c.actor, c.ID("attachmentId"))
	if err != nil {
		return err
	}
	return c.serveFile(f)
}

func (c *call) serveFile(f *attachments.Attachment) error {
	content, err := c.Attachments.Download(c.Context(), f)
	if err != nil {
		return err
	}
	content.ServeHTTP(c.W, c.R)
	return nil
}
