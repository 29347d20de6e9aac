package admin

import (
	"context"
	"database/sql"
	"errors"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// QueueItem is a held post, with the information that a moderator needs for the decision.
type QueueItem struct {
	Post       content.PostInfo
	Thread     content.ThreadInfo
	ForumTitle string
	Reason     string            // why the post is held
	Before     *content.PostInfo // the previous visible post; nil if there is none
	Author     AuthorRecord
	Files      posts.Files // without the images in its text
	Version    string      // of the held post, for SettleAll
}

// AuthorRecord summarizes an author's history on the board. Posts in forums that the actor cannot see do not count.
type AuthorRecord struct {
	ID        int64
	State     string // of the account
	Moderated bool   // whether all posts of the author are held
	Posts     int64  // visible posts
	JoinedAt  kernel.Moment
	// Recent counts those of the author's last hundred posts that the actor can see. Held and Deleted count the held
	// posts and the deleted posts among them.
	Recent, Held, Deleted int64
}

// recordPosts is the number of an author's last posts that an AuthorRecord takes into account.
const recordPosts = 100

// QueuePage returns a page of the held posts in one forum or, if forum is 0, in all forums in which the actor may
// approve posts. cursor is the previous page's next, or 0 for the first page. next is 0 on the last page.
func (s *Service) QueuePage(
	ctx context.Context, a *rights.Actor, forum, cursor int64, limit int,
) (items []QueueItem, next int64, err error) {
	held, next, err := s.posts.Queue(ctx, a, forum, cursor, limit)
	if err != nil {
		return nil, 0, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		items = nil
		titles, records := make(map[int64]string), make(map[int64]AuthorRecord)
		for _, h := range held {
			item := QueueItem{Post: content.ViewPost(h.Post), Thread: content.ViewThread(a, h.Thread, content.Marks{},
				s.Moment()), Reason: h.Reason, Files: h.Files, Version: h.Version}
			if item.ForumTitle, err = titleOf(c, titles, h.Thread.Forum); err != nil {
				return err
			}
			record, known := records[h.Post.Author]
			if !known {
				if record, err = recordOf(c, a, h.Post.Author); err != nil {
					return err
				}
				records[h.Post.Author] = record
			}
			item.Author = record
			if item.Before, err = postBefore(c, h.Thread, h.Post.ID); err != nil {
				return err
			}
			items = append(items, item)
		}
		return nil
	})
	return items, next, err
}

// titleOf returns the title of a forum. known caches titles by forum id.
func titleOf(c store.Conn, known map[int64]string, forum int64) (string, error) {
	if title, ok := known[forum]; ok {
		return title, nil
	}
	var title string
	err := c.Row("SELECT title FROM board_forums WHERE id = ?", forum).Scan(&title)
	known[forum] = title
	return title, kernel.OrNotFound(err)
}

// recordOf returns the record of an author. It is zero for an author without an account.
func recordOf(c store.Conn, a *rights.Actor, author int64) (r AuthorRecord, err error) {
	err = c.Row("SELECT id, state, moderated, joined_at FROM board_users WHERE id = ?",
		author).Scan(&r.ID, &r.State, &r.Moderated, &r.JoinedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if r.Posts, err = content.PostsSeen(c, a, author); err != nil {
		return r, err
	}
	return r, c.All("SELECT forum_id, visibility FROM board_post_ids WHERE author_id = ? ORDER BY id DESC LIMIT ?",
		[]any{author, recordPosts}, func(row store.Row) error {
			var forum, visibility int64
			err := row.Scan(&forum, &visibility)
			if a.ReadsAll(forum) {
				r.Recent++
				r.Held += int64(kernel.Bool(visibility == rights.Unapproved))
				r.Deleted += int64(kernel.Bool(visibility >= rights.Deleted)) // including archived ones
			}
			return err
		})
}

// postBefore returns the last visible post before the post id in thread t, or nil if there is no such post.
func postBefore(c store.Conn, t *content.Thread, id int64) (*content.PostInfo, error) {
	p, err := content.ScanPost(c.Row("SELECT "+content.PostColumns+" FROM board_posts p WHERE p.thread_id = ?"+
		" AND p.id < ? AND p.visibility = 0 ORDER BY p.id DESC LIMIT 1", t.ID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	view := content.ViewPost(p)
	return &view, nil
}

// ForumCount is a forum with the number of held posts, or of open reports, in it.
type ForumCount struct {
	ID    int64
	Title string
	Depth int64
	Count int64 // MaxCount means that many or more
}

// MaxCount is the maximum of a count: counting stops there.
const MaxCount = 100

// QueueForums lists the forums in which the actor may approve posts, each with the number of held posts.
func (s *Service) QueueForums(ctx context.Context, a *rights.Actor) ([]ForumCount, error) {
	return s.countForums(ctx, a, "SELECT count(*) FROM (SELECT 1 FROM board_post_ids WHERE forum_id = ?"+
		" AND visibility = 1 LIMIT ?) q")
}

// ReportForums lists the forums in which the actor may approve posts, each with the number of open reports.
func (s *Service) ReportForums(ctx context.Context, a *rights.Actor) ([]ForumCount, error) {
	return s.countForums(ctx, a, "SELECT count(*) FROM (SELECT 1 FROM board_reports WHERE forum_id = ?"+
		" AND closed_at IS NULL LIMIT ?) q")
}

// countForums lists the forums in which the actor may approve posts, each with a count. statement selects the count;
// its arguments are the forum's id and MaxCount.
func (s *Service) countForums(ctx context.Context, a *rights.Actor, statement string) (list []ForumCount, err error) {
	forums, err := s.posts.Forums(ctx, a)
	if err != nil {
		return nil, err
	}
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []ForumCount, err error) {
		for _, f := range forums {
			if f.Type != "forum" || !a.Has(f.ID, rights.ContentApprove) {
				continue
			}
			n := ForumCount{ID: f.ID, Title: f.Title, Depth: f.Depth}
			if err := c.Row(statement, f.ID, MaxCount).Scan(&n.Count); err != nil {
				return list, err
			}
			list = append(list, n)
		}
		return list, nil
	})
}

// MaxSettled is the maximum number of posts in a call of SettleAll.
const MaxSettled = 100

// AllSettled is the result of SettleAll. Done counts the posts that were approved or rejected. Skipped counts those
// that somebody else has settled meanwhile or that the actor cannot see. Changed counts those that have changed since
// the actor saw them.
type AllSettled struct{ Done, Skipped, Changed int }

// SettleAll approves held posts or, if approve is false, rejects them, each in a separate transaction. versions maps
// the id of each post to the Version of the post that the actor saw. Posts that have changed since are not settled.
// SettleAll ends at any error that AllSettled does not count; the posts that it settled before stay settled.
func (s *Service) SettleAll(
	ctx context.Context, a *rights.Actor, ids []int64, approve bool, reason string, versions map[int64]string,
) (n AllSettled, err error) {
	if len(ids) > MaxSettled {
		return n, kernel.Invalid("post", "too_many", "choose at most "+kernel.Itoa(MaxSettled)+" posts at once")
	}
	settle := s.posts.Reject
	if approve {
		settle = s.posts.Approve
	}
	for _, id := range ids {
		_, err := settle(ctx, a, id, posts.Decision{Reason: reason, Seen: versions[id]})
		e, refused := apierror.From(err)
		switch {
		case err == nil:
			n.Done++
		case refused && (e.Status == http.StatusConflict || e.Status == http.StatusNotFound):
			n.Skipped++
		case refused && e.Status == http.StatusPreconditionFailed:
			n.Changed++
		default:
			return n, err
		}
	}
	return n, nil
}
