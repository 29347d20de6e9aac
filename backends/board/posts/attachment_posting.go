package posts

import (
	"context"
	"database/sql"
	"errors"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// withFiles writes a post once, and then stores the files that come with it. A
// request that is sent again stores what the first one did not come to.
func (s *Service) withFiles(ctx context.Context, a *rights.Actor, files []*Received, key Once, fn func(c store.Conn) (Posted, error)) (Posted, error) {
	done, err := s.once(ctx, a, key, fn)
	if err != nil {
		return done, err
	}
	for _, f := range files {
		if err := s.storeAnnounced(ctx, a, done.Post, f); err != nil {
			s.Logger.Warn("a file of a new post is not stored", zap.Int64("post", done.Post), zap.Error(err))
			done.Missing = append(done.Missing, f.Name)
		}
	}
	return done, nil
}

// announce notes the files of a new post with it, as reserve does for one: they
// have the room before they take it.
func announce(c store.Conn, a *rights.Actor, t *Thread, post int64, files []*Received, now int64) error {
	if len(files) == 0 {
		return nil
	}
	if !a.Has(t.Forum, rights.AttachmentUpload) {
		return kernel.Forbidden("file", "no_permission", "you may not attach files in this forum")
	}
	if most := a.Rights.Settings.AttachmentsMost; int64(len(files)) > most {
		return kernel.Invalid("file", "count", "a post has at most "+kernel.Itoa(most)+" files")
	}
	for _, f := range files {
		f.Thread, f.Post, f.CreatedAt = t.ID, post, now
		if err := checkRoom(c, a, &f.Attachment); err != nil {
			return err
		}
		if err := noteFile(c, &f.Attachment); err != nil {
			return err
		}
	}
	return nil
}

var errAnnounced = errors.New("it was not announced with the post, or too long ago")

// storeAnnounced stores a file of a new post. One that is there already, or that
// somebody has removed since, stays so.
func (s *Service) storeAnnounced(ctx context.Context, a *rights.Actor, post int64, f *Received) error {
	var id, thread int64
	var there bool
	err := s.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT id, thread_id, removed_at IS NULL OR removed_at <> created_at FROM board_attachments WHERE post_id = ? AND user_id = ? AND name = ? AND sha256 = ? ORDER BY id LIMIT 1",
			post, a.ID(), f.Name, f.Hash).Scan(&id, &thread, &there)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return errAnnounced
	}
	if err != nil || there {
		return err
	}
	if err := s.files.Keep(ctx, f.content); err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		if err := s.mayEnclose(c, a, thread, post); err != nil {
			return err
		}
		f.ID, f.Post = id, post
		if err := checkRoom(c, a, &f.Attachment); err != nil {
			return err
		}
		n, err := c.Exec("UPDATE board_attachments SET removed_at = NULL WHERE id = ? AND (removed_at = created_at OR removed_at IS NULL)", id)
		if err == nil && n == 0 {
			return errAnnounced
		}
		return err
	})
}

// mayEnclose tells whether the author of a new post could write it still, when
// its files are stored: a request that is sent again may come much later. Who may
// write it may not be one who may edit it.
func (s *Service) mayEnclose(c store.Conn, a *rights.Actor, thread, post int64) error {
	t, err := ThreadFor(c, a, thread, c.Lock())
	if err != nil {
		return err
	}
	p, err := PostFor(c, a, t, post)
	if err != nil {
		return err
	}
	f, err := ForumFor(c, a, t.Forum)
	if err != nil {
		return err
	}
	switch {
	case !a.Has(f.ID, rights.AttachmentUpload):
		return kernel.Forbidden("file", "no_permission", "you may not attach files in this forum")
	case p.visibility == rights.Deleted:
		return kernel.Forbidden("postId", "post_deleted", "this post is deleted")
	case p.number > 1:
		return s.mayReply(a, f, t)
	case t.Locked && !a.Has(f.ID, rights.LockBypass):
		return kernel.Forbidden("threadId", "thread_locked", "this thread is locked")
	}
	return s.mayStart(a, f)
}
