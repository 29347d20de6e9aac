package web

import (
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// maxEnclosed limits the size of a form with a post and its files, in bytes.
const maxEnclosed = attachments.Largest + pages.MaxForm

// enclosed holds the files of a post that is being written. A browser forgets the chosen files when a form is shown
// again, so the form lists their names.
type enclosed struct {
	Attach  bool
	Accept  string
	Largest int64 // bytes
	Most    int64
	Chosen  []string

	form     *multipart.Form
	received []*attachments.Received
}

// enclosed returns what the actor may attach to a post in a forum.
func (c *call) enclosed(forum int64) enclosed {
	set := c.actor.Settings()
	return enclosed{
		Attach: set.AttachmentsMost > 0 && c.actor.MayIn(forum, rights.AttachmentUpload),
		Accept: strings.Join(blob.Extensions(), ","), Largest: set.AttachmentKiB << 10, Most: set.AttachmentsMost,
	}
}

// readEnclosed reads a form that may have files; a form without files has been read before. If refusal tells why
// the member may not post, it accepts no more than the text, which is shown again together with the reason.
func (c *call) readEnclosed(e *enclosed, refusal error) (err error) {
	if !c.Uploads() {
		return nil
	}
	e.Attach = e.Attach && refusal == nil
	limit := int64(pages.MaxForm)
	if e.Attach {
		limit = min(limit+e.Most*e.Largest, maxEnclosed)
	}
	if e.form, err = c.ReadFiles(limit, refusal); err != nil {
		return err
	}
	for _, file := range e.form.File["file"] {
		e.Chosen = append(e.Chosen, pages.Valid(file.Filename))
	}
	return nil
}

// receive checks the files of the form before anything is posted.
func (c *call) receive(e *enclosed) error {
	if e.form == nil {
		return nil
	}
	if n := int64(len(e.form.File["file"])); n > e.Most {
		return fileProblem(c.Language().Plural(e.Most, "A post has at most {n} file.", "A post has at most {n} files."))
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

func fileProblem(message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: "file", Reason: "file", Message: message}},
	}
}

// close removes the temporary files.
func (e *enclosed) close() {
	for _, f := range e.received {
		f.Close()
	}
	if e.form != nil {
		_ = e.form.RemoveAll() // they are in the folder for temporary files anyway
	}
}

// placed serves a file at a post by its name, under the path that texts link to.
func (c *call) placed() error {
	f, err := c.Posts.PlacedFile(c.Context(), c.actor, c.ID("postId"), c.R.PathValue("name"))
	if err != nil {
		return err
	}
	return c.serveFile(f)
}
