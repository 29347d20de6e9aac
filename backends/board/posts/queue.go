package posts

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Held is a post that waits for approval.
type Held struct {
	Post    *content.Post
	Thread  *content.Thread
	Reason  string
	Files   Files  // without the images in its text
	Version string // for Decision.Seen
}

// Files lists files of a post.
type Files []attachments.Attachment

// Queue lists held posts, oldest first: those of one forum or, if forum is 0, of all forums in which the actor may
// approve posts. afterID is the value of next from the previous page, or 0 for the first page. next is 0 on the last
// page.
func (s *Service) Queue(
	ctx context.Context, a *rights.Actor, forum, afterID int64, limit int,
) (list []Held, next int64, err error) {
	forums, err := Moderated(a, forum)
	if err != nil {
		return nil, 0, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		list, next, err = queue(c, a, forums, afterID, limit)
		return err
	})
	return list, next, err
}

// queue reads a page of the held posts in the given forums. afterID and next work as in Queue.
func queue(
	c store.Conn, a *rights.Actor, forums []int64, afterID int64, limit int,
) (list []Held, next int64, err error) {
	type entry struct {
		id, thread int64
		reason     string
	}
	var entries []entry
	for _, id := range forums {
		held, err := store.List(c, func(r store.Row) (e entry, err error) {
			return e, r.Scan(&e.id, &e.thread, &e.reason)
		}, queueOfForum().SQL(c.Dialect()), id, afterID, limit+1)
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, held...)
	}
	kernel.SortBy(entries, func(e entry) int64 { return e.id })
	entries, next = store.CutAt(entries, limit, func(e entry) int64 { return e.id })
	for _, e := range entries {
		t, p, err := content.PostByID(c, a, e.id, "")
		if kernel.IsNotFound(err) {
			continue // decided in the meantime
		}
		if err != nil {
			return nil, 0, err
		}
		files, err := attachments.Of(c, p.ID)
		if err != nil {
			return nil, 0, err
		}
		listed := attachments.NotPlaced(files, content.ViewPost(p).MessageHTML)
		list = append(list, Held{Post: p, Thread: t, Reason: e.reason, Files: listed, Version: heldVersion(t, p, files)})
	}
	return list, next, nil
}

// Moderated returns the forums whose queue, reports and log the actor may see: the given forum or, if forum is 0, all
// forums in which the actor may approve posts. It returns an error if the result would be empty.
func Moderated(a *rights.Actor, forum int64) (forums []int64, err error) {
	for _, id := range a.Rights.Access.Order {
		if f := a.In(id); f.Visible && f.Mask.Has(rights.ContentApprove) && (forum == 0 || forum == id) {
			forums = append(forums, id)
		}
	}
	switch {
	case len(forums) > 0:
		return forums, nil
	case forum != 0 && !a.In(forum).Visible:
		return nil, kernel.NotFound()
	case forum != 0:
		return nil, kernel.Forbidden("forum", "no_permission", "you may not approve posts in this forum")
	}
	return nil, kernel.Forbidden("forum", "no_permission", "you may not approve posts in any forum")
}
