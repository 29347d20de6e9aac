package attachments

import (
	"context"
	"errors"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Take receives a file of a forum that is imported, and stores its content if store is set. The limits of the settings
// do not apply. The caller adds the row with Add at once, since content without a row is removed after some time.
func (s *Service) Take(ctx context.Context, name string, content io.Reader, store bool) (*Attachment, error) {
	received, err := s.files.Receive(name, content, Largest)
	refused, ok := errors.AsType[*blob.Error](err)
	switch {
	case ok:
		return nil, kernel.Invalid(refused.Field, refused.Reason, refused.Message)
	case errors.Is(err, blob.ErrTooLarge):
		return nil, TooLarge(Largest >> 10)
	case err != nil:
		return nil, err
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
