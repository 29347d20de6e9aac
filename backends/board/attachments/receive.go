package attachments

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// Received is a file that was checked, an image without its metadata. It is at no
// post yet.
type Received struct {
	Attachment
	content *blob.Received
}

// Close removes what was received; what was kept stays.
func (f *Received) Close() { f.content.Close() }

// Keep stores the content of what was received.
func (s *Service) Keep(ctx context.Context, f *Received) error {
	return kernel.Unavailable(s.files.Keep(ctx, f.content))
}

// Receive reads a file that the actor sends, and refuses what cannot be attached.
func (s *Service) Receive(a *rights.Actor, name string, content io.Reader) (*Received, error) {
	most := a.Rights.Settings.AttachmentKiB
	received, err := s.files.Receive(name, content, most<<10)
	refused, ok := errors.AsType[*blob.Error](err)
	switch {
	case ok:
		return nil, kernel.Invalid(refused.Field, refused.Reason, refused.Message)
	case errors.Is(err, blob.ErrTooLarge):
		return nil, TooLarge(most)
	case errors.Is(err, blob.ErrIncomplete):
		return nil, kernel.BadBody("", "incomplete", err.Error())
	case err != nil:
		return nil, err
	}
	return &Received{Attachment: Attachment{User: a.ID(), File: received.File, Stripped: true}, content: received}, nil
}

// TooLarge refuses a file that is larger than the setting allows.
func TooLarge(kib int64) error {
	return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "the file is larger than %d KiB", kib)
}
