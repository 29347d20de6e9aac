package attachments

import (
	"context"
	escape "html"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The row of a file is inserted before the content of the file is stored. At first the row is marked as removed, with
// the creation time as the time of the removal. So the file counts towards the storage of the member, even after a
// crash, until the content is swept. Publish makes the file visible.

// columns lists the columns of board_attachments t that scan reads.
const columns = "t.id, t.thread_id, t.post_id, t.user_id, t.name, t.media_type, t.size, t.sha256, COALESCE(t.width," +
	" 0), COALESCE(t.height, 0), t.created_at, t.stripped"

func scan(r store.Row) (*Attachment, error) {
	f := new(Attachment)
	var stripped int
	err := r.Scan(&f.ID, &f.Thread, &f.Post, &f.User, &f.Name, &f.MediaType, &f.Size, &f.Hash, &f.Width, &f.Height,
		&f.CreatedAt, &stripped)
	f.Stripped = stripped != 0
	return f, err
}

// ByID returns a file by its id.
func ByID(c store.Conn, id int64) (*Attachment, error) {
	f, err := scan(c.Row("SELECT "+columns+" FROM board_attachments t WHERE t.id = ? AND t.removed_at IS NULL", id))
	return f, kernel.OrNotFound(err)
}

// ByName returns the newest file of a post with this name.
func ByName(c store.Conn, post int64, name string) (*Attachment, error) {
	name = text.Storable(strings.ToValidUTF8(name, "\uFFFD"))
	f, err := scan(c.Row("SELECT "+columns+" FROM board_attachments t WHERE t.post_id = ? AND t.name = ?"+
		" AND t.removed_at IS NULL ORDER BY t.id DESC LIMIT 1", post, name))
	return f, kernel.OrNotFound(err)
}

// Of lists the files of posts, in the order in which they were attached.
func Of(c store.Conn, posts ...any) (list []Attachment, err error) {
	err = c.All("SELECT "+columns+" FROM board_attachments t WHERE t.removed_at IS NULL AND t.post_id IN ("+
		kernel.Marks(len(posts))+") ORDER BY t.id", posts, func(r store.Row) error {
		f, err := scan(r)
		list = append(list, *f)
		return err
	})
	return list, err
}

// NotPlaced returns the files that the HTML of a post does not show as images. A file name in the HTML refers to the
// newest file of that name.
func NotPlaced(list []Attachment, html string) (notPlaced []Attachment) {
	newest := make(map[string]int64, len(list)) // the ids of the newest files, by name
	for _, f := range list {
		newest[f.Name] = max(newest[f.Name], f.ID)
	}
	for _, f := range list {
		byID := strings.Contains(html, `src="/attachments/`+kernel.Itoa(f.ID)+`"`)
		byName := f.ID == newest[f.Name] &&
			strings.Contains(html, `src="`+markup.FilesPath(f.Post)+escape.EscapeString(url.PathEscape(f.Name))+`"`)
		if !f.Inline() || !byID && !byName {
			notPlaced = append(notPlaced, f)
		}
	}
	return notPlaced
}

// Note inserts the row of a file whose content is not stored yet. It returns an error if the file exceeds a limit; see
// checkRoom.
func Note(c store.Conn, a *rights.Actor, f *Attachment) error {
	if err := checkRoom(c, a, f); err != nil {
		return err
	}
	return insert(c, f, f.CreatedAt)
}

// insert inserts the row of a file. removed is the time at which the file was removed, or nil.
func insert(c store.Conn, f *Attachment, removed any) error {
	return c.Row("INSERT INTO board_attachments (thread_id, post_id, user_id, name, media_type, size, sha256, width,"+
		" height, created_at, removed_at, stripped) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) RETURNING id",
		f.Thread, f.Post, f.User, f.Name, f.MediaType, f.Size, f.Hash, kernel.Null(f.Width), kernel.Null(f.Height),
		f.CreatedAt, removed).Scan(&f.ID)
}

// Noted returns the row of a file that was sent with a post, by the file's name and the hash of its content. settled
// reports whether the file has since been published or removed. Noted returns sql.ErrNoRows if there is no such row.
func Noted(c store.Conn, post, user int64, name, hash string) (f *Attachment, settled bool, err error) {
	f = &Attachment{Post: post}
	err = c.Row("SELECT id, thread_id, removed_at IS NULL OR removed_at <> created_at FROM board_attachments"+
		" WHERE post_id = ? AND user_id = ? AND name = ? AND sha256 = ? ORDER BY id LIMIT 1",
		post, user, name, hash).Scan(&f.ID, &f.Thread, &settled)
	return f, settled, err
}

// Publish makes the file of a row from Note visible once its content is stored. It returns false if the row was swept
// or somebody has removed the file meanwhile.
func Publish(c store.Conn, a *rights.Actor, f *Attachment) (bool, error) {
	if err := checkRoom(c, a, f); err != nil {
		return false, err
	}
	n, err := c.Exec("UPDATE board_attachments SET removed_at = NULL WHERE id = ? AND (removed_at = created_at"+
		" OR removed_at IS NULL)", f.ID)
	return n > 0, err
}

// Remove removes a file from a post and returns the file's name. The content is swept once no other file has the same
// content. Until then it counts towards the storage of the member.
func Remove(c store.Conn, post, id int64, now kernel.Moment) (name string, err error) {
	err = c.Row("UPDATE board_attachments SET removed_at = ? WHERE id = ? AND post_id = ?"+
		" AND removed_at IS NULL RETURNING name", now, id, post).Scan(&name)
	return name, kernel.OrNotFound(err)
}

// checkRoom returns an error if the post already has the maximum number of files, or if the member's files would
// exceed their maximum total size with this file.
func checkRoom(c store.Conn, a *rights.Actor, f *Attachment) error {
	settings := a.Rights.Settings
	var count, total int64
	if err := c.Row("SELECT count(*) FROM board_attachments WHERE post_id = ? AND removed_at IS NULL",
		f.Post).Scan(&count); err != nil {
		return err
	}
	if count >= settings.MaxAttachments {
		return kernel.Invalid("file", "count", "a post has at most "+kernel.Itoa(settings.MaxAttachments)+" files")
	}
	if err := c.Row("SELECT CAST(COALESCE(sum(size), 0) AS BIGINT) FROM board_attachments WHERE user_id = ? AND id <> ?",
		f.User, f.ID).Scan(&total); err != nil {
		return err
	}
	if settings.MemberMiB > 0 && total+f.Size > settings.MemberMiB<<20 {
		return kernel.Invalid("file", "total", "all your files together may have at most "+kernel.Itoa(settings.MemberMiB)+
			" MiB; remove some of them and try again some hours later")
	}
	return nil
}

// SweepAttachments removes content that no attachment has. It also removes the rows of removed attachments, which until
// then count towards the storage of their members. It returns the number of removed contents.
func (s *Service) SweepAttachments(ctx context.Context) (int, error) {
	cutoff := s.Now().Add(-keep)
	n, err := s.files.Sweep(ctx, cutoff)
	if err != nil {
		return n, kernel.Unavailable(err)
	}
	_, err = s.DB.Purge(ctx, kernel.PurgeBatch, "DELETE FROM board_attachments WHERE id IN (SELECT id"+
		" FROM board_attachments WHERE removed_at IS NOT NULL AND created_at <= ? LIMIT ?)", cutoff.UnixMicro())
	return n, kernel.Unavailable(err)
}
