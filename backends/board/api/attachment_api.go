package api

import (
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// AttachmentInfo is the view of a post's file for clients.
type AttachmentInfo struct {
	ID        int64         `json:"id"`
	ThreadID  int64         `json:"threadId"`
	PostID    int64         `json:"postId"`
	UserID    int64         `json:"userId"`
	Name      string        `json:"name"`
	MediaType string        `json:"mediaType"`
	Size      int64         `json:"size"`
	SHA256    string        `json:"sha256"`
	Width     *int64        `json:"width"`
	Height    *int64        `json:"height"`
	CreatedAt kernel.Moment `json:"createdAt"`
	Path      string        `json:"path"`
}

// viewAttachment returns the view of a file for clients.
func viewAttachment(f *attachments.Attachment) AttachmentInfo {
	return AttachmentInfo{
		f.ID, f.Thread, f.Post, f.User, f.Name, f.MediaType, f.Size, f.Hash,
		kernel.NilIfZero(f.Width), kernel.NilIfZero(f.Height),
		f.CreatedAt,
		kernel.Mount + "/attachments/" + kernel.Itoa(f.ID),
	}
}

// getAttachments serves GET /threads/{threadId}/posts/{postId}/attachments.
func (s *service) getAttachments(c *rest.Call, a *rights.Actor, thread, post int64) (any, error) {
	list, err := s.Posts.Attachments(c.R.Context(), a, thread, post)
	views := make([]AttachmentInfo, 0, len(list))
	for i := range list {
		views = append(views, viewAttachment(&list[i]))
	}
	return envelope{views}, err
}

// postAttachment serves POST /threads/{threadId}/posts/{postId}/attachments.
func (s *service) postAttachment(c *rest.Call, a *rights.Actor, thread, post int64) (any, error) {
	if maxKiB := a.Rights.Settings.AttachmentKiB; c.R.ContentLength > maxKiB<<10 {
		return nil, attachments.TooLarge(maxKiB)
	}
	inbound.Default.Keep(c.W, c.R) // limits how slowly the body may arrive
	f, err := s.Posts.Attach(c.R.Context(), a, thread, post, c.Text("name"), c.R.Body)
	if err != nil {
		return nil, err
	}
	s.locate(c, "/attachments/"+kernel.Itoa(f.ID))
	return envelope{viewAttachment(f)}, nil
}

// deleteAttachment serves DELETE /threads/{threadId}/posts/{postId}/attachments/{attachmentId}.
func (s *service) deleteAttachment(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	thread, post := in.post()
	id := in.id("attachmentId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	return nil, s.Posts.Detach(c.R.Context(), a, thread, post, id)
}

// getAttachment serves GET /attachments/{attachmentId}.
func (s *service) getAttachment(c *rest.Call, a *rights.Actor, id int64) (any, error) {
	f, err := s.Posts.Attachment(c.R.Context(), a, id)
	if err != nil {
		return nil, err
	}
	return s.Attachments.Download(c.R.Context(), f)
}
