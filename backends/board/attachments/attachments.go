// Package attachments receives, stores and serves the files of posts and the pictures of members. It limits the number
// and size of the files of a post and a member. It removes the metadata of images, which can reveal where they were
// taken. Package posts decides which posts may have files.
package attachments

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta"
)

const (
	// Largest is the highest value, in bytes, that administrators can set as the maximum size of a file.
	Largest = kernel.MaxAttachmentKiB << 10
	// keep is the age from which unused content is removed. Younger content may belong to an upload that has not
	// written its row yet.
	keep = time.Hour
)

// Service manages the attachments of a board.
type Service struct {
	*kernel.Server
	files  *blob.Store
	strips *semaphore.Weighted
}

// NewStrips returns the semaphore that limits how many images are rewritten at a time. All boards on one database share
// the semaphore.
func NewStrips() *semaphore.Weighted { return semaphore.NewWeighted(2) }

// New returns the attachments of a board. Their content is stored in the folder of the option Attachments or, without
// the option, in the database. All boards on one database must share strips.
func New(board *kernel.Server, strips *semaphore.Weighted) *Service {
	s := &Service{Server: board, strips: strips}
	s.files = blob.New(s.DB, blob.Options{
		Folder: s.Options.Attachments, Table: "board_contents", Now: func() time.Time { return s.Now() },
		Uses: []blob.Use{
			{Table: "board_attachments", Column: "sha256", Where: "removed_at IS NULL"},
			{Table: "board_avatars", Column: "sha256"},
		},
	})
	return s
}

// Attachment is a file of a post. An actor who sees the post also sees that the file exists.
type Attachment struct {
	ID           int64
	Thread, Post int64
	User         int64 // the member who has attached the file
	blob.File
	CreatedAt kernel.Moment

	Stripped bool // there is no metadata left to remove, or the image is broken
}

// keepsMetadata reports whether the file is an image that still has metadata because the image is broken. Such images
// were stored before uploads were stripped. All other images are Inline.
func (f *Attachment) keepsMetadata() bool { return !f.Inline() && imagemeta.Knows(f.MediaType) }

// Download returns the handler that serves a file. The caller must check the actor's rights before. Browsers show
// images but never execute a file. An image that still has metadata is stripped first.
func (s *Service) Download(ctx context.Context, f *Attachment) (http.Handler, error) {
	if !f.Stripped {
		if err := s.StripStored(ctx, f); err != nil {
			return nil, kernel.Unavailable(err)
		}
	}
	if f.keepsMetadata() {
		return nil, apierror.New(http.StatusNotFound, "not_found",
			"this image is broken and is not shown, because it may contain the place where it was taken; its author can remove"+
				" it and attach another")
	}
	content, err := s.files.Open(ctx, &f.File)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer content.Close()
		w.Header().Set("Cache-Control", "private, no-cache") // rights are checked on every request
		blob.Serve(w, r, &f.File, f.CreatedAt.Time(), content)
	}), nil
}
