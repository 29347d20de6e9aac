package web

import (
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// attachmentRoutes are the files at posts, and what members are mailed.
var attachmentRoutes = []route{
	{method: get, path: "/attachments/{attachmentId}", serve: (*call).download},
	{method: get, path: "/posts/{postId}/files/{name}", serve: (*call).placed},
	{method: get, path: "/threads/{threadId}/posts/{postId}/attachments", who: members, serve: (*call).attachments},
	{method: post, path: "/threads/{threadId}/posts/{postId}/attachments", who: members, serve: (*call).attach, upload: board.LargestAttachment + maxForm},
	{method: post, path: "/threads/{threadId}/posts/{postId}/attachments/{attachmentId}/delete", who: members, serve: (*call).detach},

	{method: post, path: "/forums/{forumId}/subscription", who: members, serve: (*call).followForum},
	{method: get, path: "/unsubscribe", always: true, serve: (*call).askUnsubscribe},
	{method: post, path: "/unsubscribe", always: true, signed: true, serve: (*call).unsubscribe},
}

// attachmentsPage are the files at a post, and one to be added.
type attachmentsPage struct {
	Post    board.PostView
	Thread  board.ThreadInfo
	List    []board.Attachment
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
	page.List, err = c.service.Attachments(c.ctx(), c.actor, page.Thread.ID, page.Post.ID)
	return page, err
}

func (c *call) attachments() error {
	page, err := c.attachmentsPage()
	if err != nil {
		return err
	}
	return c.page("attachments", "Files", page)
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
	if _, err := c.service.Attach(c.ctx(), c.actor, page.Thread.ID, page.Post.ID, file.FileName(), file); err != nil {
		return c.form(err, "attachments", "Files", page)
	}
	return c.redirect(attachmentsPath(page.Thread.ID, page.Post.ID), "The file is attached.")
}

// file is the field of a form that holds the file.
func (c *call) file() (*multipart.Part, error) {
	reader, err := c.parts()
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
	id, err := c.id("attachmentId")
	if err != nil {
		return err
	}
	if err := c.service.Detach(c.ctx(), c.actor, page.Thread.ID, page.Post.ID, id); err != nil {
		return c.form(err, "attachments", "Files", page)
	}
	return c.redirect(attachmentsPath(page.Thread.ID, page.Post.ID), "The file is removed.")
}

func attachmentsPath(thread, post int64) string {
	return "/threads/" + itoa(thread) + "/posts/" + itoa(post) + "/attachments"
}

func (c *call) download() error {
	id, err := c.id("attachmentId")
	if err != nil {
		return err
	}
	f, err := c.service.Attachment(c.ctx(), c.actor, id)
	if err != nil {
		return err
	}
	return c.serveFile(f)
}

func (c *call) serveFile(f *board.Attachment) error {
	content, err := c.service.Download(c.ctx(), f)
	if err != nil {
		return err
	}
	content.ServeHTTP(c.w, c.r)
	return nil
}

// byteCount is a size for people.
func byteCount(n int64) string {
	switch {
	case n < 1<<10:
		return plural(n, "byte", "bytes")
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + "\u00a0KiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + "\u00a0MiB"
}
