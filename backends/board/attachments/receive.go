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
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Received is a file that was received and checked. If it is an image, its metadata was stripped. It does not belong to
// a post yet.
type Received struct {
	Attachment
	content *blob.Received
}

// Close removes the received content, unless Keep has stored it.
func (f *Received) Close() { f.content.Close() }

// Keep stores the content of a received file.
func (s *Service) Keep(ctx context.Context, f *Received) error {
	return kernel.Unavailable(s.files.Keep(ctx, f.content))
}

// Receive reads and checks a file that the actor uploads. It returns an error if the file may not be attached.
func (s *Service) Receive(a *rights.Actor, name string, content io.Reader) (*Received, error) {
	received, err := s.receive(name, content, a.Rights.Settings.AttachmentKiB<<10)
	if err != nil {
		return nil, err
	}
	return &Received{Attachment: Attachment{User: a.ID(), File: received.File, Stripped: true}, content: received}, nil
}

// receive reads and checks a file of at most limit bytes.
func (s *Service) receive(name string, content io.Reader, limit int64) (*blob.Received, error) {
	received, err := s.files.Receive(name, content, limit)
	if errors.Is(err, blob.ErrIncomplete) {
		return nil, kernel.BadBody("", "incomplete", err.Error())
	}
	return received, refusal(err, limit)
}

// refusal converts the error of a file that package blob refuses, or that is larger than limit bytes, to an API error.
// Other errors are returned unchanged.
func refusal(err error, limit int64) error {
	if refused, ok := errors.AsType[*blob.Error](err); ok {
		return kernel.Invalid(refused.Field, refused.Reason, refused.Message)
	}
	if errors.Is(err, blob.ErrTooLarge) {
		return TooLarge(limit >> 10)
	}
	return err
}

// TooLarge returns the error for a file that is larger than the maximum of kib KiB.
func TooLarge(kib int64) error {
	return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "the file is larger than %d KiB", kib)
}

// Take receives a file of an imported forum, and stores its content if store is set. The limits of the settings do not
// apply. The caller must insert the row with Add at once, since content without a row is removed after some time.
func (s *Service) Take(ctx context.Context, name string, content io.Reader, store bool) (*Attachment, error) {
	received, err := s.files.Receive(name, content, Largest)
	if err != nil {
		return nil, refusal(err, Largest)
	}
	defer received.Close()
	if store {
		if err := s.files.Keep(ctx, received); err != nil {
			return nil, kernel.Unavailable(err)
		}
	}
	return &Attachment{File: received.File, Stripped: true}, nil
}

// Add inserts the row of a file whose content is stored.
func Add(c store.Conn, f *Attachment) error {
	return insert(c, f, nil)
}
