package posts

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// LargestAttachment is what the setting can be at most, in bytes.
	LargestAttachment = kernel.MaxAttachmentKiB << 10
	// attachmentKeep is how old content must be before it is removed: an upload
	// stores it a moment before it writes the row.
	attachmentKeep = time.Hour
)

// Attachment is a file at a post. Who sees the post sees that it is there.
type Attachment struct {
	ID           int64
	Thread, Post int64
	User         int64
	blob.File
	CreatedAt int64

	Stripped bool // it holds no metadata
}

// keepsMetadata reports whether it is an image out of which they could not be
// taken: it was stored before that was done with each, and is broken. All others
// have a width.
func (t *Attachment) keepsMetadata() bool { return !t.Inline() && imagemeta.Knows(t.MediaType) }

const attachmentColumns = "t.id, t.thread_id, t.post_id, t.user_id, t.name, t.media_type, t.size, t.sha256, COALESCE(t.width, 0), COALESCE(t.height, 0), t.created_at, t.stripped"

func scanAttachment(r store.Row) (*Attachment, error) {
	t := new(Attachment)
	var stripped int
	err := r.Scan(&t.ID, &t.Thread, &t.Post, &t.User, &t.Name, &t.MediaType, &t.Size, &t.Hash, &t.Width, &t.Height, &t.CreatedAt, &stripped)
	t.Stripped = stripped != 0
	return t, err
}

// Attachments lists the files at a post.
func (s *Service) Attachments(ctx context.Context, a *rights.Actor, thread, post int64) (list []Attachment, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		t, err := ThreadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		if _, err := PostFor(c, a, t, post); err != nil {
			return err
		}
		list, err = attachmentsOf(c, []any{post})
		return err
	})
	return list, err
}

// addAttachments adds their files to posts that the actor sees, but for the
// images in their texts.
func addAttachments(c store.Conn, posts []PostView) error {
	if len(posts) == 0 {
		return nil
	}
	ids, at := make([]any, len(posts)), make(map[int64]int, len(posts))
	for i := range posts {
		ids[i], at[posts[i].ID] = posts[i].ID, i
	}
	list, err := attachmentsOf(c, ids)
	for _, f := range list {
		p := &posts[at[f.Post]]
		p.Attachments = append(p.Attachments, f)
	}
	for i := range posts {
		posts[i].Attachments = NotPlaced(posts[i].Attachments, posts[i].MessageHTML)
	}
	return err
}

func attachmentsOf(c store.Conn, posts []any) (list []Attachment, err error) {
	err = c.All("SELECT "+attachmentColumns+" FROM board_attachments t WHERE t.removed_at IS NULL AND t.post_id IN ("+kernel.Marks(len(posts))+") ORDER BY t.id", posts, func(r store.Row) error {
		t, err := scanAttachment(r)
		list = append(list, *t)
		return err
	})
	return list, err
}

// Attachment finds a file that the actor may download.
func (s *Service) Attachment(ctx context.Context, a *rights.Actor, id int64) (t *Attachment, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		if t, err = scanAttachment(c.Row("SELECT "+attachmentColumns+" FROM board_attachments t WHERE t.id = ? AND t.removed_at IS NULL", id)); err != nil {
			return kernel.OrNotFound(err)
		}
		in, _, err := PostByID(c, a, t.Post, "")
		if err != nil {
			return err
		}
		if !a.Has(in.Forum, rights.AttachmentDownload) {
			return kernel.Forbidden("attachmentId", "no_permission", "you may not download files in this forum")
		}
		return nil
	})
	return t, err
}

// Attach puts a file at a post. Content is what the client sends; it is read
// only when the actor may attach files there.
func (s *Service) Attach(ctx context.Context, a *rights.Actor, thread, post int64, name string, content io.Reader) (*Attachment, error) {
	err := s.Read(ctx, func(c store.Conn) error {
		_, err := s.mayAttach(c, a, thread, post, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	received, err := s.Receive(a, name, content)
	if err != nil {
		return nil, err
	}
	defer received.Close()
	f := &received.Attachment
	f.Thread, f.Post = thread, post
	if err := s.reserve(ctx, a, f); err != nil {
		return nil, err
	}
	if err := s.files.Keep(ctx, received.content); err != nil {
		return nil, kernel.Unavailable(err)
	}
	err = s.Write(ctx, func(c store.Conn) error {
		at, err := s.mayAttach(c, a, thread, post, c.Lock())
		if err != nil {
			return err
		}
		if err := checkRoom(c, a, f); err != nil {
			return err
		}
		n, err := c.Exec("UPDATE board_attachments SET removed_at = NULL WHERE id = ?", f.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return kernel.Conflict("storing the file took too long; send it again")
		}
		return s.attached(c, a, at, "attachment.add", f.Name)
	})
	return f, err
}

// reserve notes a file, as removed, before its content takes room: whatever
// comes then, it counts for the member until the content is swept.
func (s *Service) reserve(ctx context.Context, a *rights.Actor, f *Attachment) error {
	return s.Write(ctx, func(c store.Conn) error {
		at, err := s.mayAttach(c, a, f.Thread, f.Post, c.Lock())
		if err != nil {
			return err
		}
		// Held, so that two uploads do not both get the room that is left.
		if err := c.Row("SELECT id FROM board_users WHERE id = ?"+c.Lock(), f.User).Scan(&f.User); err != nil {
			return err
		}
		if err := checkRoom(c, a, f); err != nil {
			return err
		}
		f.CreatedAt = s.Micros()
		if err := s.spendEdit(c, a, at.forum, f.CreatedAt); err != nil {
			return err
		}
		return noteFile(c, f)
	})
}

// noteFile writes the row of a file whose content is not stored yet: it was
// removed when it was made.
func noteFile(c store.Conn, f *Attachment) error {
	return c.Row("INSERT INTO board_attachments (thread_id, post_id, user_id, name, media_type, size, sha256, width, height, created_at, removed_at, stripped)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) RETURNING id",
		f.Thread, f.Post, f.User, f.Name, f.MediaType, f.Size, f.Hash, kernel.Null(f.Width), kernel.Null(f.Height), f.CreatedAt, f.CreatedAt).Scan(&f.ID)
}

// Detach removes a file from a post. Its content goes with a sweep when no other
// file has it, and counts for the member until then.
func (s *Service) Detach(ctx context.Context, a *rights.Actor, thread, post, id int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		at, err := s.mayAttach(c, a, thread, post, c.Lock())
		if err != nil {
			return err
		}
		now := s.Micros()
		var name string
		if err := c.Row("UPDATE board_attachments SET removed_at = ? WHERE id = ? AND post_id = ? AND removed_at IS NULL RETURNING name", now, id, post).Scan(&name); err != nil {
			return kernel.OrNotFound(err)
		}
		if err := s.spendEdit(c, a, at.forum, now); err != nil {
			return err
		}
		return s.attached(c, a, at, "attachment.remove", name)
	})
}

// place is a post with where it is.
type place struct {
	forum  *Forum
	thread *Thread
	post   *Post
}

// mayAttach finds a post whose files the actor may change: files are part of a
// post, and who may edit it may change them.
func (s *Service) mayAttach(c store.Conn, a *rights.Actor, thread, post int64, lock string) (at place, err error) {
	if at.thread, err = ThreadFor(c, a, thread, lock); err != nil {
		return at, err
	}
	if at.post, err = PostFor(c, a, at.thread, post); err != nil {
		return at, err
	}
	if at.forum, err = ForumFor(c, a, at.thread.Forum); err != nil {
		return at, err
	}
	if !a.Has(at.forum.ID, rights.AttachmentUpload) {
		return at, kernel.Forbidden("postId", "no_permission", "you may not attach files in this forum")
	}
	_, err = s.mayEdit(a, at.forum, at.thread, at.post, s.Micros())
	return at, err
}

// attached notes a change of a post's files by others, and holds the post where
// an edit would: a picture can say what a text may not.
func (s *Service) attached(c store.Conn, a *rights.Actor, at place, action, name string) error {
	t, p := at.thread, at.post
	if !a.Owns(p.Author) {
		if err := s.Logged(c, a, action, rights.PostEditOthers, t.Forum, t.ID, p.ID, name); err != nil {
			return err
		}
	}
	if err := s.Hooks.Emit(c, TopicPostEdited, eventOf(t, p)); err != nil {
		return err
	}
	if p.visibility != rights.Visible || !heldFor(a, t.Forum, false) {
		return nil
	}
	return s.settle(c, t, p, rights.Unapproved, heldByEdit)
}

// checkRoom holds a file to how many a post and how much a member may have
// beside it.
func checkRoom(c store.Conn, a *rights.Actor, f *Attachment) error {
	set := a.Rights.Settings
	var count, total int64
	if err := c.Row("SELECT count(*) FROM board_attachments WHERE post_id = ? AND removed_at IS NULL", f.Post).Scan(&count); err != nil {
		return err
	}
	if count >= set.AttachmentsMost {
		return kernel.Invalid("file", "count", "a post has at most "+kernel.Itoa(set.AttachmentsMost)+" files")
	}
	if err := c.Row("SELECT CAST(COALESCE(sum(size), 0) AS BIGINT) FROM board_attachments WHERE user_id = ? AND id <> ?", f.User, f.ID).Scan(&total); err != nil {
		return err
	}
	if set.MemberMiB > 0 && total+f.Size > set.MemberMiB<<20 {
		return kernel.Invalid("file", "total", "your files may be "+kernel.Itoa(set.MemberMiB)+" MiB together; remove some, which counts some hours later")
	}
	return nil
}

// Download answers with a file that the actor may download. A browser shows
// images and runs nothing of it.
func (s *Service) Download(ctx context.Context, f *Attachment) (http.Handler, error) {
	if !f.Stripped {
		if err := s.StripStored(ctx, f); err != nil {
			return nil, kernel.Unavailable(err)
		}
	}
	if f.keepsMetadata() {
		return nil, apierror.New(http.StatusNotFound, "not_found", "this image is broken, and is not served as it may tell where it was taken; its author can remove it and attach another")
	}
	content, err := s.files.Open(ctx, &f.File)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer content.Close()
		w.Header().Set("Cache-Control", "private, no-cache") // each time the rights are checked
		blob.Serve(w, r, &f.File, time.UnixMicro(f.CreatedAt), content)
	}), nil
}

// SweepAttachments removes content that no attachment has, and tells how much.
// Removed attachments count for their members until then.
func (s *Service) SweepAttachments(ctx context.Context) (int, error) {
	before := s.Now().Add(-attachmentKeep)
	n, err := s.files.Sweep(ctx, before)
	if err != nil {
		return n, kernel.Unavailable(err)
	}
	for batch := int64(kernel.PurgeBatch); batch == kernel.PurgeBatch; {
		err := s.Write(ctx, func(c store.Conn) (err error) {
			batch, err = c.Exec("DELETE FROM board_attachments WHERE id IN (SELECT id FROM board_attachments WHERE removed_at IS NOT NULL AND created_at <= ? LIMIT ?)",
				before.UnixMicro(), kernel.PurgeBatch)
			return err
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
