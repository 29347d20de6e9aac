package board

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const (
	// maxAttachmentKiB bounds what the setting of the largest attachment can be.
	maxAttachmentKiB = 100 << 10
	// LargestAttachment is what the setting can be at most, in bytes.
	LargestAttachment = maxAttachmentKiB << 10
	// attachmentKeep is how old content must be before it is removed: an upload
	// stores it a moment before it writes the row.
	attachmentKeep = time.Hour
)

// Attachment is a file at a post. Who sees the post sees that it is there.
type Attachment struct {
	ID           int64
	Thread, Post int64
	User         int64
	Name         string
	MediaType    string
	Size         int64
	Hash         string // SHA-256 of the content, hex
	Width        int64  // of an image; 0: it is none
	Height       int64
	CreatedAt    int64
}

// Inline reports whether it may be shown in a page: images, and nothing that a
// browser could run.
func (t *Attachment) Inline() bool { return t.Width > 0 }

const attachmentColumns = "t.id, t.thread_id, t.post_id, t.user_id, t.name, t.media_type, t.size, t.sha256, COALESCE(t.width, 0), COALESCE(t.height, 0), t.created_at"

func scanAttachment(r row) (*Attachment, error) {
	t := new(Attachment)
	return t, r.Scan(&t.ID, &t.Thread, &t.Post, &t.User, &t.Name, &t.MediaType, &t.Size, &t.Hash, &t.Width, &t.Height, &t.CreatedAt)
}

// Attachments lists the files at a post.
func (s *Service) Attachments(ctx context.Context, a *Actor, thread, post int64) (list []Attachment, err error) {
	err = s.read(ctx, func(c conn) error {
		t, err := threadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		if _, err := postFor(c, a, t, post); err != nil {
			return err
		}
		list, err = attachmentsOf(c, []any{post})
		return err
	})
	return list, err
}

// addAttachments adds their files to posts that the actor sees.
func addAttachments(c conn, posts []PostView) error {
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
	return err
}

func attachmentsOf(c conn, posts []any) (list []Attachment, err error) {
	err = c.all("SELECT "+attachmentColumns+" FROM board_attachments t WHERE t.post_id IN ("+marksFor(len(posts))+") ORDER BY t.id", posts, func(r row) error {
		t, err := scanAttachment(r)
		list = append(list, *t)
		return err
	})
	return list, err
}

// Attachment finds a file that the actor may download.
func (s *Service) Attachment(ctx context.Context, a *Actor, id int64) (t *Attachment, err error) {
	err = s.read(ctx, func(c conn) error {
		if t, err = scanAttachment(c.row("SELECT "+attachmentColumns+" FROM board_attachments t WHERE t.id = ?", id)); err != nil {
			return none(err)
		}
		in, _, err := postByID(c, a, t.Post, "")
		if err != nil {
			return err
		}
		if !a.may(in.forum, AttachmentDownload) {
			return forbidden("attachmentId", "no_permission", "you may not download files in this forum")
		}
		return nil
	})
	return t, err
}

// Attach puts a file at a post. Content is what the client sends; it is read
// only when the actor may attach files there.
func (s *Service) Attach(ctx context.Context, a *Actor, thread, post int64, name string, content io.Reader) (*Attachment, error) {
	f := &Attachment{Thread: thread, Post: post, User: a.id()}
	err := s.read(ctx, func(c conn) error {
		_, _, err := s.mayAttach(c, a, thread, post, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	var kind fileType
	if f.Name, kind, err = checkFileName(name); err != nil {
		return nil, err
	}
	f.MediaType = kind.media
	temporary, err := s.files.temporary()
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = temporary.Close(), os.Remove(temporary.Name()) }()
	if err := receive(f, temporary, content, a.rights.settings.AttachmentKiB<<10); err != nil {
		return nil, err
	}
	if err := kind.check(f, temporary); err != nil {
		return nil, err
	}
	if err := s.roomFor(ctx, a, f); err != nil { // before it takes room
		return nil, err
	}
	if err := s.files.keep(ctx, temporary, f.Hash); err != nil {
		return nil, unavailable(err)
	}
	err = s.write(ctx, func(c conn) error {
		t, p, err := s.mayAttach(c, a, thread, post, c.lock())
		if err != nil {
			return err
		}
		if err := checkRoom(c, a, f); err != nil {
			return err
		}
		f.CreatedAt = s.micros()
		err = c.row("INSERT INTO board_attachments (thread_id, post_id, user_id, name, media_type, size, sha256, width, height, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
			f.Thread, f.Post, f.User, f.Name, f.MediaType, f.Size, f.Hash, null(f.Width), null(f.Height), f.CreatedAt).Scan(&f.ID)
		if err != nil {
			return err
		}
		return s.attached(c, a, t, p, "attachment.add", f.Name)
	})
	return f, err
}

// Detach removes a file from a post. Its content goes when no other file has it.
func (s *Service) Detach(ctx context.Context, a *Actor, thread, post, id int64) error {
	return s.write(ctx, func(c conn) error {
		t, p, err := s.mayAttach(c, a, thread, post, c.lock())
		if err != nil {
			return err
		}
		var name string
		if err := c.row("DELETE FROM board_attachments WHERE id = ? AND post_id = ? RETURNING name", id, post).Scan(&name); err != nil {
			return none(err)
		}
		return s.attached(c, a, t, p, "attachment.remove", name)
	})
}

// mayAttach finds a post whose files the actor may change: files are part of a
// post, and who may edit it may change them.
func (s *Service) mayAttach(c conn, a *Actor, thread, post int64, lock string) (*thread, *post, error) {
	t, err := threadFor(c, a, thread, lock)
	if err != nil {
		return nil, nil, err
	}
	p, err := postFor(c, a, t, post)
	if err != nil {
		return nil, nil, err
	}
	f, err := forumFor(c, a, t.forum)
	if err != nil {
		return nil, nil, err
	}
	if !a.may(f.id, AttachmentUpload) {
		return nil, nil, forbidden("postId", "no_permission", "you may not attach files in this forum")
	}
	_, err = s.mayEdit(a, f, t, p, s.micros())
	return t, p, err
}

// attached notes a change of a post's files by others, and holds the post where
// an edit would: a picture can say what a text may not.
func (s *Service) attached(c conn, a *Actor, t *thread, p *post, action, name string) error {
	if !a.owns(p.author) {
		if err := s.logged(c, a, action, PostEditOthers, t.forum, t.id, p.id, name); err != nil {
			return err
		}
	}
	if err := s.emit(c, TopicPostEdited, eventOf(t, p)); err != nil {
		return err
	}
	r := a.in(t.forum)
	holds := !r.mask.Has(ModerationBypass) && r.restrict.Has(EditNeedsApproval) || a.User.Moderated
	if p.visibility != visible || !holds {
		return nil
	}
	return s.settle(c, t, p, unapproved, "edit")
}

// receive reads content into a file, and fills in its size and hash.
func receive(f *Attachment, into *os.File, content io.Reader, most int64) error {
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(into, hash), io.LimitReader(content, most+1))
	var large *http.MaxBytesError
	var path *os.PathError
	switch {
	case errors.As(err, &large), err == nil && n > most:
		return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "the file is larger than %d KiB", most>>10)
	case errors.As(err, &path): // ours
		return err
	case err != nil:
		return badBody("", "incomplete", "the file could not be read whole")
	case n == 0:
		return invalid("file", "required", "the file is empty")
	}
	f.Size, f.Hash = n, hex.EncodeToString(hash.Sum(nil))
	return nil
}

func (s *Service) roomFor(ctx context.Context, a *Actor, f *Attachment) error {
	return s.read(ctx, func(c conn) error { return checkRoom(c, a, f) })
}

// checkRoom holds a file to how many a post and how much a member may have.
func checkRoom(c conn, a *Actor, f *Attachment) error {
	set := a.rights.settings
	var count, total int64
	if err := c.row("SELECT count(*) FROM board_attachments WHERE post_id = ?", f.Post).Scan(&count); err != nil {
		return err
	}
	if count >= set.AttachmentsMost {
		return invalid("file", "count", "a post has at most "+itoa(set.AttachmentsMost)+" files")
	}
	if err := c.row("SELECT CAST(COALESCE(sum(size), 0) AS BIGINT) FROM board_attachments WHERE user_id = ?", f.User).Scan(&total); err != nil {
		return err
	}
	if set.MemberMiB > 0 && total+f.Size > set.MemberMiB<<20 {
		return invalid("file", "total", "your files may be "+itoa(set.MemberMiB)+" MiB together; remove some first")
	}
	return nil
}

// Download answers with a file that the actor may download. A browser shows
// images and runs nothing of it.
func (s *Service) Download(ctx context.Context, f *Attachment) (http.Handler, error) {
	content, err := s.files.open(ctx, f.Hash, f.Size)
	if err != nil {
		return nil, unavailable(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer content.Close()
		h := w.Header()
		h.Set("Content-Type", f.MediaType)
		h.Set("Content-Disposition", disposition(f))
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-cache") // each time the rights are checked
		h.Set("ETag", `"`+f.Hash+`"`)
		http.ServeContent(w, r, "", time.UnixMicro(f.CreatedAt), content)
	}), nil
}

// disposition names the file (RFC 6266), and has it downloaded but for images.
func disposition(f *Attachment) string {
	kind := "attachment"
	if f.Inline() {
		kind = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, f.Name)
	return kind + `; filename="` + plain + `"; filename*=UTF-8''` + extValue(f.Name)
}

// extValue is a text as RFC 8187 writes it.
func extValue(text string) string {
	const hexadecimal = "0123456789ABCDEF"
	var out strings.Builder
	for _, b := range []byte(text) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("!#$&+-.^_`|~", b) >= 0 {
			out.WriteByte(b)
			continue
		}
		out.WriteString(string([]byte{'%', hexadecimal[b>>4], hexadecimal[b&15]}))
	}
	return out.String()
}

// SweepAttachments removes content that no attachment has, and tells how much.
func (s *Service) SweepAttachments(ctx context.Context) (int, error) {
	n, err := s.files.sweep(ctx, s.now().Add(-attachmentKeep), func(hash string) (used bool, err error) {
		err = s.read(ctx, func(c conn) error {
			return c.row("SELECT EXISTS (SELECT 1 FROM board_attachments WHERE sha256 = ?)", hash).Scan(&used)
		})
		return used, err
	})
	return n, unavailable(err)
}
