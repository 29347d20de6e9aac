package attachments

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// stripBatch is the number of images that are read at a time. The progress is logged after each batch.
const stripBatch = 100

// StripAttachments removes the metadata from images that were attached before uploads were stripped, and returns the
// number of these images. Later calls have nothing left to do. An image that is requested before StripAttachments
// reaches it is stripped at the request.
func (s *Service) StripAttachments(ctx context.Context) (done int, err error) {
	var total int
	err = s.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT count(*) FROM board_attachments t WHERE t.stripped = 0").Scan(&total)
	})
	if err != nil || total == 0 {
		return 0, err
	}
	s.Logger.Info("removing metadata from images", zap.Int("images", total))
	failed := 0
	for lastID := int64(0); ; {
		list, err := kernel.Value(ctx, s.Read, func(c store.Conn) ([]*Attachment, error) {
			return store.List(c, scan, "SELECT "+
				columns+" FROM board_attachments t WHERE t.stripped = 0 AND t.id > ? ORDER BY t.id LIMIT ?", lastID, stripBatch)
		})
		if err != nil {
			return done, err
		}
		for _, f := range list {
			lastID = f.ID
			if err := s.StripStored(ctx, f); err != nil {
				if ctx.Err() != nil {
					return done, ctx.Err()
				}
				failed++
				s.Logger.Warn("could not remove the metadata of an image, which is therefore not served",
					zap.Int64("attachment", f.ID), zap.Error(err))
				continue
			}
			done++
		}
		s.Logger.Info("removed metadata from images", zap.Int("done", done), zap.Int("failed", failed), zap.Int("images",
			total))
		if len(list) < stripBatch {
			return done, nil
		}
	}
}

// StripStored removes the metadata from the content of an image, for all attachments with this content, and updates f.
// A broken image keeps its content, and is not served from then on.
func (s *Service) StripStored(ctx context.Context, f *Attachment) error {
	if err := s.strips.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.strips.Release(1)
	current, err := kernel.Value(ctx, s.Read, func(c store.Conn) (*Attachment, error) {
		current, err := scan(c.Row("SELECT "+columns+" FROM board_attachments t WHERE t.id = ?", f.ID))
		return current, kernel.OrNotFound(err)
	})
	if err != nil {
		return err
	}
	*f = *current
	if f.Stripped { // another request has stripped the image while this one waited
		return nil
	}
	result := *f
	stripped, err := s.files.Strip(ctx, &f.File)
	switch {
	case errors.Is(err, imagemeta.ErrBroken):
		result.Width, result.Height = 0, 0
		s.Logger.Warn("a broken image keeps its metadata and is therefore not served", zap.Int64("attachment", f.ID),
			zap.Error(err))
	case err != nil:
		return err
	default:
		defer stripped.Close()
		result.File = stripped.File
		if result.Hash != f.Hash {
			if err := s.files.Keep(ctx, stripped); err != nil {
				return err
			}
		}
	}
	err = s.Exec(ctx, "UPDATE board_attachments SET sha256 = ?, size = ?, width = ?, height = ?, stripped = 1"+
		" WHERE sha256 = ? AND media_type = ? AND stripped = 0",
		result.Hash, result.Size, kernel.Null(result.Width), kernel.Null(result.Height), f.Hash, f.MediaType)
	if err != nil {
		return err
	}
	*f = result
	f.Stripped = true
	return nil
}
