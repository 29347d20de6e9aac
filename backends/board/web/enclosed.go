package web

import (
	"errors"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// maxEnclosed bounds a form with a post and its files, in bytes.
const maxEnclosed = board.LargestAttachment + maxForm

// enclosed are the files of a post that is being written. A browser does not keep
// them with a form that is shown once more, so the form tells which they were.
type enclosed struct {
	Attach  bool
	Accept  string
	Largest int64 // bytes
	Most    int64
	Chosen  []string

	form     *multipart.Form
	received []*board.Received
}

// enclosed is what the actor may send with a post in a forum.
func (c *call) enclosed(forum int64) enclosed {
	set := c.actor.Settings()
	return enclosed{
		Attach: set.AttachmentsMost > 0 && c.actor.MayIn(forum, board.AttachmentUpload),
		Accept: strings.Join(blob.Extensions(), ","), Largest: set.AttachmentKiB << 10, Most: set.AttachmentsMost,
	}
}

// readEnclosed reads a form that may have files, as PostForm is read; one without
// was read before. Of a member who may not post (refusal) it takes no more than a
// text, which is shown once more with the reason.
func (c *call) readEnclosed(e *enclosed, refusal error) error {
	if c.r.PostForm != nil {
		return nil
	}
	e.Attach = e.Attach && refusal == nil
	most := int64(maxForm)
	if e.Attach {
		most = min(most+e.Most*e.Largest, maxEnclosed)
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, most)
	reader, err := c.parts()
	if err != nil {
		return err
	}
	if e.form, err = reader.ReadForm(maxForm); err != nil {
		if refusal != nil {
			return refusal
		}
		if errors.Is(err, multipart.ErrMessageTooLarge) {
			return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "This is larger than the board takes.")
		}
		return badForm(err)
	}
	size := 0
	for _, values := range e.form.Value {
		for _, value := range values {
			size += len(value)
		}
	}
	if size > maxForm {
		return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "This is larger than the board takes.")
	}
	c.r.PostForm = e.form.Value
	for _, file := range e.form.File["file"] {
		e.Chosen = append(e.Chosen, valid(file.Filename))
	}
	return nil
}

// receive has the service check the files, before anything is posted.
func (c *call) receive(e *enclosed) error {
	if e.form == nil {
		return nil
	}
	if n := int64(len(e.form.File["file"])); n > e.Most {
		return fileProblem("", "A post has at most "+plural(e.Most, "file", "files")+".")
	}
	for _, header := range e.form.File["file"] {
		file, err := header.Open()
		if err != nil {
			return err
		}
		received, err := c.service.Receive(c.actor, header.Filename, file)
		_ = file.Close() // it was only read
		if refusal, ok := apierror.From(err); ok && refusal.Status < http.StatusInternalServerError {
			return fileProblem("The file "+valid(header.Filename)+": ", refusal.Message)
		}
		if err != nil {
			return err
		}
		e.received = append(e.received, received)
	}
	return nil
}

func fileProblem(name, message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: "file", Reason: "file", Message: name + message}},
	}
}

// close removes what was stored for a time.
func (e *enclosed) close() {
	for _, f := range e.received {
		f.Close()
	}
	if e.form != nil {
		_ = e.form.RemoveAll() // in the folder for what is temporary
	}
}

// placed serves a file at a post by its name, as texts have it.
func (c *call) placed() error {
	post, err := c.id("postId")
	if err != nil {
		return err
	}
	f, err := c.service.PlacedFile(c.ctx(), c.actor, post, c.r.PathValue("name"))
	if err != nil {
		return err
	}
	return c.serveFile(f)
}
