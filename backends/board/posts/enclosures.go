package posts

import (
	"context"
	"database/sql"
	"errors"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// withFiles runs fn, which writes a post, as once does, and then stores the post's files. If the client repeats the
// request, only the files that are still missing are stored. The result's Missing lists the names of files that could
// not be stored.
func (s *Service) withFiles(ctx context.Context, a *rights.Actor, files []*attachments.Received, turn turnOf, key Once,
	fn func(c store.Conn) (Posted, error),
) (Posted, error) {
	done, err := s.once(ctx, a, turn, key, fn)
	if err != nil {
		return done, err
	}
	for _, f := range files {
		if err := s.storeEnclosed(ctx, a, done.Post, f); err != nil {
			s.Logger.Warn("a file of a new post is not stored", zap.Int64("post", done.Post), zap.Error(err))
			done.Missing = append(done.Missing, f.Name)
		}
	}
	return done, nil
}

// announce records the files of a new post before they are stored, in the transaction that writes the post. This
// reserves the member's storage for them.
func announce(
	c store.Conn, a *rights.Actor, t *content.Thread, post int64, files []*attachments.Received, now kernel.Moment,
) error {
	if len(files) == 0 {
		return nil
	}
	if !a.Has(t.Forum, rights.AttachmentUpload) {
		return kernel.Forbidden("file", "no_permission", "you may not attach files in this forum")
	}
	if limit := a.Rights.Settings.MaxAttachments; int64(len(files)) > limit {
		return kernel.Invalid("file", "count", "a post has at most "+kernel.Itoa(limit)+" files")
	}
	for _, f := range files {
		f.Thread, f.Post, f.CreatedAt = t.ID, post, now
		if err := attachments.Note(c, a, &f.Attachment); err != nil {
			return err
		}
	}
	return nil
}

var errAnnounced = errors.New("it was not announced with the post, or too long ago")

// storeEnclosed stores a file of a new post. It does nothing if the file is stored already, or has been removed.
func (s *Service) storeEnclosed(ctx context.Context, a *rights.Actor, post int64, f *attachments.Received) error {
	var settled bool
	err := s.Read(ctx, func(c store.Conn) error {
		noted, done, err := attachments.Noted(c, post, a.ID(), f.Name, f.Hash)
		f.ID, f.Thread, f.Post, settled = noted.ID, noted.Thread, post, done
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return errAnnounced
	}
	if err != nil || settled {
		return err
	}
	if err := s.attachments.Keep(ctx, f); err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		if err := s.mayEnclose(c, a, f.Thread, post); err != nil {
			return err
		}
		published, err := attachments.Publish(c, a, &f.Attachment)
		if err == nil && !published {
			return errAnnounced
		}
		return err
	})
}

// mayEnclose returns an error unless the actor may still write the post when its files are stored. This check is
// repeated because a client may send the request again long after the post was created. The right to edit posts is not
// needed, as the author may lack it.
func (s *Service) mayEnclose(c store.Conn, a *rights.Actor, thread, post int64) error {
	placed, err := placeOf(c, a, thread, post, c.Lock())
	if err != nil {
		return err
	}
	f, t, p := placed.forum, placed.thread, placed.post
	switch {
	case !a.Has(f.ID, rights.AttachmentUpload):
		return kernel.Forbidden("file", "no_permission", "you may not attach files in this forum")
	case p.Visibility == rights.Deleted:
		return kernel.Forbidden("postId", "post_deleted", "this post is deleted")
	case p.Number > 1:
		return s.mayReply(a, f, t)
	case t.Locked && !a.Has(f.ID, rights.LockBypass):
		return kernel.Forbidden("threadId", "thread_locked", "this thread is locked")
	}
	return s.mayStart(a, f)
}
