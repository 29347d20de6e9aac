// Package attachments is the files at posts: what of them is stored and how much a
// post and a member may have, what is received and what is sent, and that no image
// tells where it was taken. At which posts files may be is said by package posts.
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
	// Largest is what the setting can be at most, in bytes.
	Largest = kernel.MaxAttachmentKiB << 10
	// keep is how old content must be before it is removed: an upload stores it a
	// moment before it writes the row.
	keep = time.Hour
)

// Service is the attachments of a board.
type Service struct {
	*kernel.Server
	files  *blob.Store
	strips *semaphore.Weighted
}

// NewStrips bounds, for all boards on one database, how many images are rewritten at
// a time; more that are asked for wait.
func NewStrips() *semaphore.Weighted { return semaphore.NewWeighted(2) }

// New returns the attachments of a board. Their content is stored in the folder of its
// options, or in the database where there is none. All boards on one database share strips.
func New(board *kernel.Server, strips *semaphore.Weighted) *Service {
	s := &Service{Server: board, strips: strips}
	s.files = blob.New(s.DB, blob.Options{
		Folder: s.Options.Attachments, Table: "board_contents", Now: func() time.Time { return s.Now() },
		Uses: []blob.Use{{Table: "board_attachments", Column: "sha256", Where: "removed_at IS NULL"}},
	})
	return s
}

// Attachment is a file at a post. Who sees the post sees that it is there.
type Attachment struct {
	ID           int64
	Thread, Post int64
	User         int64
	blob.File
	CreatedAt kernel.Moment

	Stripped bool // it holds no metadata
}

// keepsMetadata reports whether it is an image out of which they could not be
// taken: it was stored before that was done with each, and is broken. All others
// have a width.
func (f *Attachment) keepsMetadata() bool { return !f.Inline() && imagemeta.Knows(f.MediaType) }

// Download answers with a file that the actor may download. A browser shows
// images and runs nothing of it.
func (s *Service) Download(ctx context.Context, f *Attachment) (http.Handler, error) {
	if !f.Stripped {
		if err := s.StripStored(ctx, f); err != nil {
			return nil, kernel.Unavailable(err)
		}
	}
	if f.keepsMetadata() {
		return nil, apierror.New(http.StatusNotFound, "not_found",
			"this image is broken, and is not served as it may tell where it was taken; its author can remove it and attach"+
				" another")
	}
	content, err := s.files.Open(ctx, &f.File)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer content.Close()
		w.Header().Set("Cache-Control", "private, no-cache") // each time the rights are checked
		blob.Serve(w, r, &f.File, f.CreatedAt.Time(), content)
	}), nil
}
