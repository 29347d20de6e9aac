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

// withFiles runs fn once for each key, with the method once. fn writes a post and announces the post's files. After
// that, withFiles stores the files. If the client repeats the request, only the files that are still missing are
// stored. The result's Missing lists the names of files that could not be stored.
func (s *Service) withFiles(ctx context.Context, a *rights.Actor, files []*attachments.Received, turn turnOf, key Once,
	fn func(c store.Conn) (Posted, error),
) (Posted, error) {
	posted, err := s.once(ctx, a, turn, key, fn)
	if err != nil {
		return posted, err
	}
	for _, f := range files {
		if err := s.storeEnclosed(ctx, a, posted.Post, f); err != nil {
			s.Logger.Warn("a file of a new post could not be stored", zap.Int64("post", posted.Post), zap.Error(err))
			posted.Missing = append(posted.Missing, f.Name)
		}
	}
	return posted, nil
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

var errNotAnnounced = errors.New("the file was not sent together with the post, or too long ago")

// storeEnclosed stores a file of a new post that announce has recorded. It does nothing if the file is stored already,
// or has been removed.
func (s *Service) storeEnclosed(ctx context.Context, a *rights.Actor, post int64, f *attachments.Received) error {
	var finished bool
	err := s.Read(ctx, func(c store.Conn) error {
		recorded, done, err := attachments.Noted(c, post, a.ID(), f.Name, f.Hash)
		f.ID, f.Thread, f.Post, finished = recorded.ID, recorded.Thread, post, done
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return errNotAnnounced
	}
	if err != nil || finished {
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
			return errNotAnnounced
		}
		return err
	})
}

// mayEnclose returns an error unless the actor may still write the post when its files are stored. The check is needed
// because a client may send the request again long after the post was created. It does not require the right to edit
// posts, which the author may lack.
func (s *Service) mayEnclose(c store.Conn, a *rights.Actor, thread, post int64) error {
	loaded, err := loadPost(c, a, thread, post, c.Lock())
	if err != nil {
		return err
	}
	f, t, p := loaded.forum, loaded.thread, loaded.post
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
