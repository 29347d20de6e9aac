package web

import (
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// attachmentRoutes lists the pages of the files of posts, and the pages that manage mails to members.
var attachmentRoutes = []page{
	{Method: get, Path: "/attachments/{attachmentId}", Admit: guests, Serve: (*call).download},
	{Method: get, Path: "/posts/{postId}/files/{name}", Admit: guests, Serve: (*call).placedFile},
	{Method: get, Path: "/threads/{threadId}/posts/{postId}/attachments", Serve: (*call).attachments},
	{Method: post, Path: "/threads/{threadId}/posts/{postId}/attachments", Serve: (*call).attach, Upload: maxEnclosed},
	{Method: post, Path: "/threads/{threadId}/posts/{postId}/attachments/{attachmentId}/delete", Serve: (*call).detach},

	{Method: post, Path: "/forums/{forumId}/subscription", Serve: (*call).followForum},
	{Method: get, Path: "/unsubscribe", Admit: everybody, Serve: (*call).askUnsubscribe},
	{Method: post, Path: "/unsubscribe", NoToken: true, Admit: everybody, Serve: (*call).unsubscribe},
}

// attachmentsPage lists the files of a post, with a form to add a file.
type attachmentsPage struct {
	Post    posts.PostView
	Thread  content.ThreadInfo
	List    []attachments.Attachment
	Accept  string // the allowed extensions, as the attribute of an input
	Largest int64  // the size limit of a file, in bytes
	Max     int64  // the number of files that a post can have
}

// attachmentsPage returns the page of the post in the path.
func (c *call) attachmentsPage() (page attachmentsPage, err error) {
	if page.Post, page.Thread, err = c.post(); err != nil {
		return page, err
	}
	set := c.actor.Settings()
	page.Accept, page.Largest, page.Max = strings.Join(blob.Extensions(), ","), set.AttachmentKiB<<10, set.MaxAttachments
	page.List, err = c.Posts.Attachments(c.Context(), c.actor, page.Thread.ID, page.Post.ID)
	return page, err
}

// attachments lists the files of the post in the path.
func (c *call) attachments() error {
	page, err := c.attachmentsPage()
	return c.ThenShow(err, "attachments", c.T("Files"), page)
}

// attach adds the file of the form to the post.
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

// file returns the first part of a multipart form, which must be the file.
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

// detach removes a file from the post.
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

// attachmentsPath returns the path of the page with the files of a post.
func attachmentsPath(thread, post int64) string {
	return "/threads/" + itoa(thread) + "/posts/" + itoa(post) + "/attachments"
}

// download serves a file of a post by the file's id.
func (c *call) download() error {
	f, err := c.Posts.Attachment(c.Context(), c.actor, c.ID("attachmentId"))
	if err != nil {
		return err
	}
	return c.serveFile(f)
}

// serveFile sends the content of a file.
func (c *call) serveFile(f *attachments.Attachment) error {
	content, err := c.Attachments.Download(c.Context(), f)
	if err != nil {
		return err
	}
	content.ServeHTTP(c.W, c.R)
	return nil
}

// maxEnclosed limits the size of a form with a post and its files, in bytes.
const maxEnclosed = attachments.Largest + pages.MaxForm

// enclosed holds the files of a post that is being written. A browser forgets the chosen files when a form is shown
// again, so the form lists their names.
type enclosed struct {
	Attach  bool     // the actor may attach files
	Accept  string   // the allowed extensions, as the attribute of an input
	Largest int64    // the size limit of a file, in bytes
	Max     int64    // the number of files that a post can have
	Chosen  []string // the names of the sent files

	form     *multipart.Form // nil if the form has no files
	received []*attachments.Received
}

// enclosed returns the limits of the files that the actor may attach to a post in a forum.
func (c *call) enclosed(forum int64) enclosed {
	set := c.actor.Settings()
	return enclosed{
		Attach: set.MaxAttachments > 0 && c.actor.MayIn(forum, rights.AttachmentUpload),
		Accept: strings.Join(blob.Extensions(), ","), Largest: set.AttachmentKiB << 10, Max: set.MaxAttachments,
	}
}

// readEnclosed reads a form that may have files; it does nothing for a form without files, which has been read before.
// refusal is the reason why the member may not post, or nil. With a refusal, readEnclosed accepts only the text, which
// is shown again together with the reason.
func (c *call) readEnclosed(e *enclosed, refusal error) (err error) {
	if !c.Uploads() {
		return nil
	}
	e.Attach = e.Attach && refusal == nil
	limit := int64(pages.MaxForm)
	if e.Attach {
		limit = min(limit+e.Max*e.Largest, maxEnclosed)
	}
	if e.form, err = c.ReadFiles(limit, refusal); err != nil {
		return err
	}
	for _, file := range e.form.File["file"] {
		e.Chosen = append(e.Chosen, pages.Valid(file.Filename))
	}
	return nil
}

// receive receives and checks the files of the form before the post is written. It returns an error for the form if a
// file is refused.
func (c *call) receive(e *enclosed) error {
	if e.form == nil {
		return nil
	}
	if n := int64(len(e.form.File["file"])); n > e.Max {
		return fileProblem(c.Language().Plural(e.Max, "A post has at most {n} file.", "A post has at most {n} files."))
	}
	for _, header := range e.form.File["file"] {
		file, err := header.Open()
		if err != nil {
			return err
		}
		received, err := c.Attachments.Receive(c.actor, header.Filename, file)
		_ = file.Close() // it was only read
		if refusal, ok := apierror.From(err); ok && refusal.Status < http.StatusInternalServerError {
			return fileProblem(c.T("The file {name}: {why}", "name", pages.Valid(header.Filename),
				"why", c.Language().Message(refusal.Message)))
		}
		if err != nil {
			return err
		}
		e.received = append(e.received, received)
	}
	return nil
}

// fileProblem returns a 422 error about the files of a form.
func fileProblem(message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: "file", Reason: "file", Message: message}},
	}
}

// close removes the temporary files of the received files.
func (e *enclosed) close() {
	for _, f := range e.received {
		f.Close()
	}
	if e.form != nil {
		_ = e.form.RemoveAll() // the files are in the system's folder for temporary files
	}
}

// placedFile serves a file of a post by its name, under the path that texts link to.
func (c *call) placedFile() error {
	f, err := c.Posts.PlacedFile(c.Context(), c.actor, c.ID("postId"), c.R.PathValue("name"))
	if err != nil {
		return err
	}
	return c.serveFile(f)
}
