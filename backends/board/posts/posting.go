package posts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/idempotency"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// IdempotencyTTL is how long the idempotency keys of requests are stored.
const IdempotencyTTL = 24 * time.Hour

// Requests stores the idempotency keys of clients.
var Requests = idempotency.NewTable("board_idempotency", IdempotencyTTL)

// NewThread is a request to start a thread.
type NewThread struct {
	Title     string
	Message   string
	Prefix    int64 // 0 for none
	Subscribe bool
	Files     []*attachments.Received
	// Also, unless it is nil, stores further data of the thread, such as its tags, in the same transaction. It may be
	// called more than once.
	Also func(c store.Conn, t *content.Thread, first int64) error
}

// NewReply is a request to reply in a thread.
type NewReply struct {
	Message   string
	Subscribe bool
	Files     []*attachments.Received
}

// Once is the idempotency key of a request, with the data that identifies the request.
type Once = idempotency.Once

// Posted is the result of a new thread or reply.
type Posted struct {
	Thread     int64  `json:"thread"`
	Post       int64  `json:"post"`
	Slug       string `json:"slug,omitempty"`
	Visibility int64  `json:"visibility"`

	// Missing lists the names of files that could not be stored.
	Missing []string `json:"-"`
}

// Held reports whether the post waits for approval.
func (p Posted) Held() bool { return p.Visibility == rights.Unapproved }

// StartThread starts a thread in a forum. A request that is repeated with the same key gets the first request's result.
func (s *Service) StartThread(
	ctx context.Context, a *rights.Actor, forum int64, request NewThread, once Once,
) (Posted, error) {
	given, titleErr := a.Rights.Settings.CheckTitle(request.Title)
	body, err := s.compose(ctx, a, request.Message)
	if err != nil {
		return Posted{}, err
	}
	return s.withFiles(ctx, a, request.Files, turnOf{author: a.ID()}, once, func(c store.Conn) (done Posted, err error) {
		look, err := s.lookAtForum(c, a, forum)
		if err != nil {
			return done, err
		}
		f := look.forum
		if err := s.mayStart(a, f); err != nil {
			return done, err
		}
		if err := errors.Join(titleErr, body.err); err != nil {
			return done, apierror.Join(titleErr, body.err)
		}
		if err := checkPrefix(a, f, request.Prefix); err != nil {
			return done, err
		}
		w, err := s.author(c, a, look, body)
		if err != nil {
			return done, err
		}
		if w.visibility == rights.Visible && a.Rights.Access.Words.Holds(given) {
			w.hold(a.In(f.ID).Mask, "word_filter")
		}
		title, err := filteredTitle(a, given)
		if err != nil {
			return done, err
		}
		t := &content.Thread{
			Forum: f.ID, Title: title, Slug: kernel.Slug(title), Author: a.ID(), AuthorName: a.User.Name, Prefix: request.Prefix,
			Visibility: w.visibility, LastPoster: a.User.Name, Created: w.now, LastAt: w.now, Next: 1,
		}
		err = c.Row("INSERT INTO board_threads (forum_id, title, slug, author_id, author_name, prefix_id, visibility,"+
			" last_poster_name, created_at, last_post_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
			t.Forum, t.Title, t.Slug, kernel.Null(t.Author), t.AuthorName, kernel.Null(t.Prefix), t.Visibility, t.LastPoster,
			t.Created, t.LastAt).Scan(&t.ID)
		if err != nil {
			return done, err
		}
		p, err := s.insert(c, a, t, w, request.Files)
		if err != nil {
			return done, err
		}
		if request.Also != nil {
			if err := request.Also(c, t, p); err != nil {
				return done, err
			}
		}
		w.rights |= rights.ForumView | rights.ThreadPost
		if !f.Open || !f.AllowThreads {
			w.rights |= rights.LockBypass
		}
		if err := s.rights.Used(c, a, "thread.post", w.rights, f.ID, t.ID, p); err != nil {
			return done, err
		}
		return Posted{Thread: t.ID, Post: p, Slug: t.Slug, Visibility: t.Visibility}, s.conclude(c, a, t, p, w,
			request.Subscribe)
	})
}

// Reply adds a post to a thread. A request that is repeated with the same key gets the first request's result.
func (s *Service) Reply(
	ctx context.Context, a *rights.Actor, thread int64, request NewReply, once Once,
) (Posted, error) {
	body, err := s.compose(ctx, a, request.Message)
	if err != nil {
		return Posted{}, err
	}
	return s.withFiles(ctx, a, request.Files, turnOf{thread: thread}, once, func(c store.Conn) (done Posted, err error) {
		look, err := s.lookAtThread(c, a, thread)
		if err != nil {
			return done, err
		}
		f, t := look.forum, look.thread
		if err := s.mayReply(a, f, t); err != nil {
			return done, err
		}
		if body.err != nil {
			return done, body.err
		}
		w, err := s.author(c, a, look, body)
		if err != nil {
			return done, err
		}
		p, err := s.insert(c, a, t, w, request.Files)
		if err != nil {
			return done, err
		}
		w.rights |= rights.ThreadView | rights.ReplyPost
		if !f.Open || !f.AllowReplies || t.Locked {
			w.rights |= rights.LockBypass
		}
		if err := s.rights.Used(c, a, "reply.post", w.rights, f.ID, t.ID, p); err != nil {
			return done, err
		}
		return Posted{Thread: t.ID, Post: p, Visibility: w.visibility}, s.conclude(c, a, t, p, w, request.Subscribe)
	})
}

// mayStart returns an error if the actor may not start threads in a forum that it sees.
func (s *Service) mayStart(a *rights.Actor, f *content.Forum) error {
	switch {
	case f.Kind != "forum":
		return kernel.Forbidden("forumId", "not_a_forum", "a "+f.Kind+" holds no threads")
	case !a.Has(f.ID, rights.ThreadPost):
		return kernel.Forbidden("forumId", "no_permission", "you may not start threads in this forum")
	case !f.Open && !a.Has(f.ID, rights.LockBypass), !f.AllowThreads && !a.Has(f.ID, rights.LockBypass):
		return kernel.Forbidden("forumId", "forum_closed", "this forum takes no new threads")
	}
	return a.CheckSuspended(s.Moment())
}

// mayReply returns an error if the actor may not reply in a thread that it sees.
func (s *Service) mayReply(a *rights.Actor, f *content.Forum, t *content.Thread) error {
	switch {
	case !a.Has(f.ID, rights.ReplyPost):
		return kernel.Forbidden("threadId", "no_permission", "you may not reply in this forum")
	case a.Has(f.ID, rights.LockBypass):
	case !f.Open || !f.AllowReplies:
		return kernel.Forbidden("threadId", "forum_closed", "this forum takes no replies")
	case t.Locked:
		return kernel.Forbidden("threadId", "thread_locked", "this thread is locked")
	}
	if t.Visibility == rights.Deleted {
		return kernel.Forbidden("threadId", "thread_deleted", "this thread is deleted")
	}
	return a.CheckSuspended(s.Moment())
}

// checkPrefix returns an error if the forum does not offer the prefix, or if id is 0 although the forum requires a
// prefix.
func checkPrefix(a *rights.Actor, f *content.Forum, id int64) error {
	switch {
	case id == 0 && f.RequiresPrefix:
		return kernel.Invalid("prefixId", "required", "threads in this forum need a prefix")
	case id != 0 && !slices.ContainsFunc(a.Rights.Access.Offered[f.ID], func(p rights.Prefix) bool { return p.ID == id }):
		return kernel.Invalid("prefixId", "unknown", "this forum does not offer that prefix")
	}
	return nil
}

// composed is a message that was checked, filtered and rendered before the transaction in which it is posted.
type composed struct {
	given      string // as it was sent
	text, html string // after the word filter
	held       bool   // given contains a word that holds posts
	err        error
	unfit      error // why text is not allowed although given is
}

// compose checks, filters and renders a message. This is slow, so it is done before the transaction, for which other
// writers wait. Faults of the message are in body. The returned error means that the mentioned members could not be
// looked up.
func (s *Service) compose(ctx context.Context, a *rights.Actor, message string) (body composed, err error) {
	set, words := a.Rights.Settings, a.Rights.Access.Words
	given, err := set.CheckMessage(message)
	if err != nil {
		return composed{err: err}, nil
	}
	body = composed{given: given, held: words.Holds(given)}
	if body.text = words.Replace(given); body.text != given {
		if body.text, body.unfit = set.CheckMessage(body.text); body.unfit != nil {
			return body, nil
		}
	}
	body.html, err = s.withMentions(ctx, a, markup.RenderBy(set, body.text))
	return body, err
}

// writing is a post that has passed the rules of posting.
type writing struct {
	text, html string
	hash       string
	now        kernel.Moment
	visibility int64
	held       string      // why the post is held
	rights     rights.Mask // the rights that it needed to pass
	id         int64       // 0 if the insert of its row assigns it
	followed   bool        // whether anybody else follows the thread or forum
}

// author applies the rules of posting to a message of the actor, and returns the post to insert. The flood limits are
// charged only after all other rules that can refuse a post.
func (s *Service) author(c store.Conn, a *rights.Actor, at *look, body composed) (w writing, err error) {
	w = writing{now: s.Moment(), id: at.id, followed: at.followed}
	f, starts := at.forum, at.thread == nil
	set := a.Rights.Settings
	if err := w.compose(set, f, body); err != nil {
		return w, err
	}
	w.hash = BodyHash(w.text)
	if slices.Contains(at.recent, w.hash) {
		return w, kernel.Invalid("message", "duplicate", "you have just posted the same text in this thread")
	}
	if at.missing != nil {
		return w, at.missing
	}
	if set.Flood && !a.Has(f.ID, rights.FloodBypass) {
		if err := s.spendPost(c, a, at, w.now); err != nil {
			return w, err
		}
	}
	if at.moderated {
		w.hold(0, "author_moderated")
	} else if why, err := s.heldBecause(c, a, f, w, at.posts, starts, body.held); err != nil {
		return w, err
	} else if why != "" {
		w.hold(a.In(f.ID).Mask, why)
	}
	return w, nil
}

// hold makes a post wait for approval, unless mask lets its author bypass the queue.
func (w *writing) hold(mask rights.Mask, why string) {
	if mask.Has(rights.ModerationBypass) {
		w.rights |= rights.ModerationBypass
		return
	}
	w.visibility, w.held = rights.Unapproved, why
}

// spendPost charges a post to each of the author's flood limits. It returns an error if one of the limits is exhausted.
func (s *Service) spendPost(c store.Conn, a *rights.Actor, at *look, now kernel.Moment) error {
	f, full, set := at.forum, at.full, a.Rights.Settings
	flood, own := set.FloodFor(at.posts), kernel.Moment(0)
	bucket := &full[0]
	if f.FloodSeconds.Valid { // a separate bucket: one post here may count for longer than elsewhere
		flood.Interval, bucket = time.Duration(f.FloodSeconds.Int64)*time.Second, &own
		err := c.Row("SELECT full_at FROM board_forum_floods WHERE user_id = ? AND forum_id = ?", a.ID(), f.ID).Scan(&own)
		if err := kernel.OrNone(err); err != nil {
			return err
		}
	}
	var waits [3]time.Duration
	*bucket, waits[0] = flood.Take(*bucket, now)
	if at.thread == nil {
		full[1], waits[1] = ratelimit.Every(set.ThreadsPerHour, time.Hour).Take(full[1], now)
	}
	full[2], waits[2] = ratelimit.Every(set.PostsPerHour, time.Hour).Take(full[2], now)
	if wait := max(waits[0], waits[1], waits[2]); wait > 0 {
		return kernel.Flooded(wait)
	}
	if free := at.oldest.Add(24 * time.Hour); at.oldest != 0 && free > now {
		return kernel.Flooded(free.Sub(now))
	}
	if f.FloodSeconds.Int64 > 0 {
		err := c.Later("INSERT INTO board_forum_floods (user_id, forum_id, full_at) VALUES (?, ?, ?)"+
			" ON CONFLICT (user_id, forum_id) DO UPDATE SET full_at = excluded.full_at", a.ID(), f.ID, own)
		if err != nil {
			return err
		}
	}
	return c.Later("UPDATE board_users SET flood_posts = ?, hourly_threads = ?, hourly_posts = ? WHERE id = ?",
		full[0], full[1], full[2], a.ID())
}

// heldBecause returns the reason for which a post must wait for approval, or an empty string if there is no reason. The
// caller decides whether the author may bypass the queue. posts is the number of the author's visible posts, starts is
// whether the post starts a thread, and bad is whether it has a word that holds posts.
func (s *Service) heldBecause(
	c store.Conn, a *rights.Actor, f *content.Forum, w writing, posts int64, starts, bad bool,
) (string, error) {
	r, set := a.In(f.ID), a.Rights.Settings
	restricted := rights.ReplyNeedsApproval
	if starts {
		restricted = rights.ThreadNeedsApproval
	}
	switch {
	case starts && f.ModerateThreads, !starts && f.ModeratePosts:
		return "forum_moderated", nil
	case r.Restrict.Has(restricted):
		return "group_moderated", nil
	case posts < set.HoldFirst:
		return "first_posts", nil
	case posts < set.NewMemberPosts && int64(text.Links(w.text)) > set.NewMemberLinks:
		return "links", nil
	case bad:
		return "word_filter", nil
	case posts >= set.NewMemberPosts || r.Mask.Has(rights.ModerationBypass):
		return "", nil
	}
	twice, err := postedTwice(c, w, set.NewMemberTwice)
	if err != nil || !twice {
		return "", err
	}
	return "duplicate", nil
}

// shortText is the minimum length, in characters, of texts that postedTwice compares: many people write the same short
// text, such as a thank you.
const shortText = 20

// postedTwice reports whether the text of a new post equals that of one of the board's newest posts, in any forum. last
// is the number of posts to compare.
func postedTwice(c store.Conn, w writing, last int64) (twice bool, err error) {
	if last == 0 || utf8.RuneCountInString(w.text) < shortText {
		return false, nil
	}
	err = c.Row("SELECT EXISTS (SELECT 1 FROM (SELECT id, thread_id FROM board_post_ids ORDER BY id DESC"+
		content.Limit(c.Dialect())+") i JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id"+
		" WHERE p.body_hash = ?)", last, w.hash).Scan(&twice)
	return twice, err
}

// BodyHash returns a hash of a text, by which repeated texts are recognized.
func BodyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// compose sets the text of the post from a composed message. It checks the number of words against the limits of the
// forum, both before and after the word filter.
func (w *writing) compose(set *kernel.Settings, f *content.Forum, body composed) error {
	limit := min(f.MaxWords, set.MaxWords)
	if err := kernel.CheckWords(body.given, f.MinWords, limit); err != nil {
		return err
	}
	if body.unfit != nil {
		return body.unfit
	}
	if body.text != body.given {
		if err := kernel.CheckWords(body.text, f.MinWords, limit); err != nil {
			return err
		}
	}
	w.text, w.html = body.text, body.html
	return nil
}

// filteredTitle returns a title with filtered words replaced, or an error if the result is not a valid title.
func filteredTitle(a *rights.Actor, title string) (string, error) {
	filtered := a.Rights.Access.Words.Replace(title)
	if filtered == title {
		return title, nil
	}
	return a.Rights.Settings.CheckTitle(filtered)
}
