package posts

import (
	"context"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Attachments lists the files of a post. It returns an error if the actor does not see the post.
func (s *Service) Attachments(
	ctx context.Context, a *rights.Actor, thread, post int64,
) ([]attachments.Attachment, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []attachments.Attachment, err error) {
		if _, _, err := content.PostIn(c, a, thread, post, ""); err != nil {
			return list, err
		}
		return attachments.Of(c, post)
	})
}

// addAttachments sets the files of posts, except images that are shown in the texts of their posts.
func addAttachments(c store.Conn, posts []PostView) error {
	if len(posts) == 0 {
		return nil
	}
	ids, indexes := make([]any, len(posts)), make(map[int64]int, len(posts))
	for i := range posts {
		ids[i], indexes[posts[i].ID] = posts[i].ID, i
	}
	list, err := attachments.Of(c, ids...)
	if err != nil {
		return err
	}
	for _, f := range list {
		p := &posts[indexes[f.Post]]
		p.Attachments = append(p.Attachments, f)
	}
	for i := range posts {
		posts[i].Attachments = attachments.NotPlaced(posts[i].Attachments, posts[i].MessageHTML)
	}
	return nil
}

// Attachment returns a file that the actor may download, by its id.
func (s *Service) Attachment(ctx context.Context, a *rights.Actor, id int64) (*attachments.Attachment, error) {
	return s.file(ctx, a, func(c store.Conn) (*attachments.Attachment, error) { return attachments.ByID(c, id) })
}

// PlacedFile returns a file that the actor may download, by its post and name. If several files of the post have that
// name, it returns the newest.
func (s *Service) PlacedFile(
	ctx context.Context, a *rights.Actor, post int64, name string,
) (*attachments.Attachment, error) {
	return s.file(ctx, a, func(c store.Conn) (*attachments.Attachment, error) { return attachments.ByName(c, post, name) })
}

// file returns the file that find returns. It returns an error unless the actor sees the file's post and may download
// files.
func (s *Service) file(
	ctx context.Context, a *rights.Actor, find func(c store.Conn) (*attachments.Attachment, error),
) (f *attachments.Attachment, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		if f, err = find(c); err != nil {
			return err
		}
		thread, _, err := content.PostByID(c, a, f.Post, "")
		if err != nil {
			return err
		}
		if !a.Has(thread.Forum, rights.AttachmentDownload) {
			return kernel.Forbidden("attachmentId", "no_permission", "you may not download files in this forum")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Attach stores a file with a post. name is the file's name. content is the body of the client's request; it is read
// only if the actor may attach files to the post. No transaction is open while the file is received and stored, so the
// rights are checked again in each of the transactions before and after that.
func (s *Service) Attach(
	ctx context.Context, a *rights.Actor, thread, post int64, name string, content io.Reader,
) (*attachments.Attachment, error) {
	err := s.Read(ctx, func(c store.Conn) error {
		_, err := s.mayAttach(c, a, thread, post, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	received, err := s.attachments.Receive(a, name, content)
	if err != nil {
		return nil, err
	}
	defer received.Close()
	f := &received.Attachment
	f.Thread, f.Post = thread, post
	if err := s.reserve(ctx, a, f); err != nil {
		return nil, err
	}
	if err := s.attachments.Keep(ctx, received); err != nil {
		return nil, err
	}
	err = s.Write(ctx, func(c store.Conn) error {
		loaded, err := s.mayAttach(c, a, thread, post, c.Lock())
		if err != nil {
			return err
		}
		published, err := attachments.Publish(c, a, f)
		if err != nil {
			return err
		}
		if !published {
			return kernel.Conflict("storing the file took too long; send it again")
		}
		return s.fileChanged(c, a, loaded, "attachment.add", f.Name)
	})
	return f, err
}

// reserve records a file before its content is stored, so that the file counts towards the limit of the member's
// storage.
func (s *Service) reserve(ctx context.Context, a *rights.Actor, f *attachments.Attachment) error {
	return s.Write(ctx, func(c store.Conn) error {
		loaded, err := s.mayAttach(c, a, f.Thread, f.Post, c.Lock())
		if err != nil {
			return err
		}
		if err := kernel.LockMember(c, f.User); err != nil { // two uploads must not both use the remaining storage
			return err
		}
		f.CreatedAt = s.Moment()
		if err := attachments.Note(c, a, f); err != nil {
			return err
		}
		return s.spendEdit(c, a, loaded.forum.ID, f.CreatedAt)
	})
}

// Detach removes the file with this id from a post.
func (s *Service) Detach(ctx context.Context, a *rights.Actor, thread, post, id int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		loaded, err := s.mayAttach(c, a, thread, post, c.Lock())
		if err != nil {
			return err
		}
		now := s.Moment()
		name, err := attachments.Remove(c, post, id, now)
		if err != nil {
			return err
		}
		if err := s.spendEdit(c, a, loaded.forum.ID, now); err != nil {
			return err
		}
		return s.fileChanged(c, a, loaded, "attachment.remove", name)
	})
}

// loadedPost is a post with its thread and its forum.
type loadedPost struct {
	forum  *content.Forum
	thread *content.Thread
	post   *content.Post
}

// loadPost returns a post with its thread and forum. It returns an error if the actor does not see the post. lock is
// appended to the query of the thread: c.Lock() or an empty string.
func loadPost(c store.Conn, a *rights.Actor, thread, post int64, lock string) (loaded loadedPost, err error) {
	if loaded.thread, loaded.post, err = content.PostIn(c, a, thread, post, lock); err != nil {
		return loaded, err
	}
	loaded.forum, err = content.ForumFor(c, a, loaded.thread.Forum)
	return loaded, err
}

// mayAttach returns a post with its thread and forum. It returns an error unless the actor may change the post's files,
// for which it needs the right to edit the post and the right to upload files. lock is passed to loadPost.
func (s *Service) mayAttach(c store.Conn, a *rights.Actor, thread, post int64, lock string) (loadedPost, error) {
	loaded, err := loadPost(c, a, thread, post, lock)
	if err != nil {
		return loaded, err
	}
	if !a.Has(loaded.forum.ID, rights.AttachmentUpload) {
		return loaded, kernel.Forbidden("postId", "no_permission", "you may not attach files in this forum")
	}
	_, err = s.mayEdit(a, loaded.forum, loaded.thread, loaded.post, s.Moment())
	return loaded, err
}

// fileChanged completes a change of a post's files: it logs the change if the post is another member's, and emits the
// event of an edit. It holds the post for approval if an edit by the actor would be held, because a picture can show
// what a text must not say. action is the action in the log, and name is the file's name.
func (s *Service) fileChanged(c store.Conn, a *rights.Actor, loaded loadedPost, action, name string) error {
	t, p := loaded.thread, loaded.post
	if !a.Owns(p.Author) {
		if err := s.rights.Logged(c, a, action, rights.PostEditOthers, t.Forum, t.ID, p.ID, name); err != nil {
			return err
		}
	}
	if err := s.Hooks.Emit(c, kernel.TopicPostEdited, eventOf(t, p)); err != nil {
		return err
	}
	if p.Visibility != rights.Visible || !s.editIsHeld(a, t.Forum, false) {
		return nil
	}
	return s.settle(c, t, p, rights.Unapproved, heldByEdit)
}
