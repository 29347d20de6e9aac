package posts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Posted is the result of a new thread or reply. Its JSON is stored with the idempotency key.
type Posted struct {
	Thread     int64  `json:"thread"`
	Post       int64  `json:"post"`
	Slug       string `json:"slug,omitempty"` // of a new thread
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
	checkedTitle, titleErr := a.Rights.Settings.CheckTitle(request.Title)
	body, err := s.compose(ctx, a, request.Message)
	if err != nil {
		return Posted{}, err
	}
	return s.withFiles(ctx, a, request.Files, turnOf{author: a.ID()}, once, func(c store.Conn) (posted Posted, err error) {
		input, err := s.inputForThread(c, a, forum)
		if err != nil {
			return posted, err
		}
		f := input.forum
		if err := s.mayStart(a, f); err != nil {
			return posted, err
		}
		// Only an actor who may start a thread here learns what is wrong with the texts.
		if titleErr != nil || body.err != nil {
			return posted, apierror.Join(titleErr, body.err)
		}
		if err := checkPrefix(a, f, request.Prefix); err != nil {
			return posted, err
		}
		w, err := s.applyRules(c, a, input, body)
		if err != nil {
			return posted, err
		}
		if w.visibility == rights.Visible && a.Rights.Access.Words.Holds(checkedTitle) {
			w.hold(a.In(f.ID).Mask, "word_filter")
		}
		title, err := filteredTitle(a, checkedTitle)
		if err != nil {
			return posted, err
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
			return posted, err
		}
		postID, err := s.insert(c, a, t, w, request.Files)
		if err != nil {
			return posted, err
		}
		if request.Also != nil {
			if err := request.Also(c, t, postID); err != nil {
				return posted, err
			}
		}
		neededRights := w.rights | rights.ForumView | rights.ThreadPost
		if !f.Open || !f.AllowThreads {
			neededRights |= rights.LockBypass
		}
		if err := s.rights.LogIfAdministrator(c, a, "thread.post", neededRights, f.ID, t.ID, postID); err != nil {
			return posted, err
		}
		posted = Posted{Thread: t.ID, Post: postID, Slug: t.Slug, Visibility: t.Visibility}
		return posted, s.conclude(c, a, t, postID, w, request.Subscribe)
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
	return s.withFiles(ctx, a, request.Files, turnOf{thread: thread}, once, func(c store.Conn) (posted Posted, err error) {
		input, err := s.inputForReply(c, a, thread)
		if err != nil {
			return posted, err
		}
		f, t := input.forum, input.thread
		if err := s.mayReply(a, f, t); err != nil {
			return posted, err
		}
		if body.err != nil {
			return posted, body.err
		}
		w, err := s.applyRules(c, a, input, body)
		if err != nil {
			return posted, err
		}
		postID, err := s.insert(c, a, t, w, request.Files)
		if err != nil {
			return posted, err
		}
		neededRights := w.rights | rights.ThreadView | rights.ReplyPost
		if !f.Open || !f.AllowReplies || t.Locked {
			neededRights |= rights.LockBypass
		}
		if err := s.rights.LogIfAdministrator(c, a, "reply.post", neededRights, f.ID, t.ID, postID); err != nil {
			return posted, err
		}
		posted = Posted{Thread: t.ID, Post: postID, Visibility: w.visibility}
		return posted, s.conclude(c, a, t, postID, w, request.Subscribe)
	})
}

// mayStart returns an error unless the actor may start threads in a forum that it sees.
func (s *Service) mayStart(a *rights.Actor, f *content.Forum) error {
	switch {
	case f.Kind != "forum":
		return kernel.Forbidden("forumId", "not_a_forum", "a "+f.Kind+" cannot contain threads")
	case !a.Has(f.ID, rights.ThreadPost):
		return kernel.Forbidden("forumId", "no_permission", "you may not start threads in this forum")
	case !f.Open && !a.Has(f.ID, rights.LockBypass), !f.AllowThreads && !a.Has(f.ID, rights.LockBypass):
		return kernel.Forbidden("forumId", "forum_closed", "this forum takes no new threads")
	}
	return a.CheckSuspended(s.Moment())
}

// mayReply returns an error unless the actor may reply in thread t of forum f. The caller has checked that the actor
// sees t.
func (s *Service) mayReply(a *rights.Actor, f *content.Forum, t *content.Thread) error {
	switch {
	case !a.Has(f.ID, rights.ReplyPost):
		return kernel.Forbidden("threadId", "no_permission", "you may not reply in this forum")
	case a.Has(f.ID, rights.LockBypass):
		// Closed forums and locked threads do not stop the actor.
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
	unfiltered string // the text that was sent
	text, html string // after the word filter
	held       bool   // unfiltered contains a word that holds posts
	err        error  // the reason why the sent text is not allowed; the other fields are then not set
	unfit      error  // the reason why the filtered text is not allowed although the sent text is; html is then not set
}

// compose checks, filters and renders a message. This is slow, so it is done before the transaction, for which other
// writers wait. Faults of the message are reported in body.err and body.unfit; the returned error means that the
// mentioned members could not be looked up.
func (s *Service) compose(ctx context.Context, a *rights.Actor, message string) (body composed, err error) {
	set, words := a.Rights.Settings, a.Rights.Access.Words
	checked, err := set.CheckMessage(message)
	if err != nil {
		return composed{err: err}, nil
	}
	body = composed{unfiltered: checked, held: words.Holds(checked)}
	if body.text = words.Replace(checked); body.text != checked {
		if body.text, body.unfit = set.CheckMessage(body.text); body.unfit != nil {
			return body, nil
		}
	}
	body.html, err = s.withMentions(ctx, a, markup.RenderBy(set, body.text))
	return body, err
}

// writing is a new post, or a new version of a post, that has passed the rules of posting.
type writing struct {
	text, html string        // after the word filter
	hash       string        // the BodyHash of text
	now        kernel.Moment // when the post is written
	visibility int64
	reason     string      // why the post is held
	rights     rights.Mask // the rights without which the post would not have passed
	id         int64       // 0 if the insert of its row assigns it
	followed   bool        // whether anybody else follows the thread or forum
}

// applyRules applies the rules of posting to a message of the actor, and returns the post to insert. The flood limits
// are charged only after all other rules that can refuse a post.
func (s *Service) applyRules(c store.Conn, a *rights.Actor, input *ruleInput, body composed) (w writing, err error) {
	w = writing{now: s.Moment(), id: input.id, followed: input.followed}
	f, set := input.forum, a.Rights.Settings
	if err := w.setText(set, f, body); err != nil {
		return w, err
	}
	w.hash = BodyHash(w.text)
	if slices.Contains(input.recent, w.hash) {
		return w, kernel.Invalid("message", "duplicate", "you have just posted the same text in this thread")
	}
	if input.missing != nil { // the actor has no row, like a guest
		return w, input.missing
	}
	if set.Flood && !a.Has(f.ID, rights.FloodBypass) {
		if err := s.spendPost(c, a, input, w.now); err != nil {
			return w, err
		}
	}
	if input.moderated { // holds the post even if the author has the right to bypass the queue
		w.hold(0, "author_moderated")
		return w, nil
	}
	reason, err := s.heldBecause(c, a, input, w, body.held)
	if err != nil {
		return w, err
	}
	if reason != "" {
		w.hold(a.In(f.ID).Mask, reason)
	}
	return w, nil
}

// hold makes a post wait for approval for the given reason, unless mask, the author's rights, has ModerationBypass.
func (w *writing) hold(mask rights.Mask, reason string) {
	if mask.Has(rights.ModerationBypass) {
		w.rights |= rights.ModerationBypass
		return
	}
	w.visibility, w.reason = rights.Unapproved, reason
}

// spendPost charges a post to each of the author's flood limits. It returns an error if one of the limits is exhausted.
func (s *Service) spendPost(c store.Conn, a *rights.Actor, input *ruleInput, now kernel.Moment) error {
	f, floods, set := input.forum, input.floods, a.Rights.Settings
	flood, full := set.FloodFor(input.posts), &floods.Flood // full is when the limit is fully available again
	var forumFull kernel.Moment
	if f.FloodSeconds.Valid { // the forum has a limit of its own, with its own state
		flood.Interval, full = time.Duration(f.FloodSeconds.Int64)*time.Second, &forumFull
		err := c.Row("SELECT full_at FROM board_forum_floods WHERE user_id = ? AND forum_id = ?", a.ID(), f.ID).Scan(&forumFull)
		if err := kernel.IgnoreNoRows(err); err != nil {
			return err
		}
	}
	var floodWait time.Duration
	*full, floodWait = flood.Take(*full, now)
	if wait := max(floodWait, floods.TakeHourly(set, input.thread == nil, now)); wait > 0 {
		return kernel.Flooded(wait)
	}
	if nextPost := input.oldest.Add(24 * time.Hour); input.oldest != 0 && nextPost > now { // the daily limit
		return kernel.Flooded(nextPost.Sub(now))
	}
	if f.FloodSeconds.Int64 > 0 { // a forum without a limit (0), or without one of its own (NULL), has no state to store
		err := c.Later("INSERT INTO board_forum_floods (user_id, forum_id, full_at) VALUES (?, ?, ?)"+
			" ON CONFLICT (user_id, forum_id) DO UPDATE SET full_at = excluded.full_at", a.ID(), f.ID, forumFull)
		if err != nil {
			return err
		}
	}
	return floods.Store(c, a.ID())
}

// heldBecause returns the reason for which a post must wait for approval, or an empty string if there is no reason.
// The caller decides whether the author may bypass the queue. badWord reports whether the post has a word that holds
// posts.
func (s *Service) heldBecause(
	c store.Conn, a *rights.Actor, input *ruleInput, w writing, badWord bool,
) (string, error) {
	f, posts, starts := input.forum, input.posts, input.thread == nil
	forumRights, settings := a.In(f.ID), a.Rights.Settings
	restricted := rights.ReplyNeedsApproval
	if starts {
		restricted = rights.ThreadNeedsApproval
	}
	switch {
	case starts && f.ModerateThreads, !starts && f.ModeratePosts:
		return "forum_moderated", nil
	case forumRights.Restrict.Has(restricted):
		return "group_moderated", nil
	case posts < settings.HoldFirst:
		return "first_posts", nil
	case posts < settings.NewMemberPosts && int64(text.Links(w.text)) > settings.NewMemberLinks:
		return "links", nil
	case badWord:
		return "word_filter", nil
	case posts >= settings.NewMemberPosts || forumRights.Mask.Has(rights.ModerationBypass):
		return "", nil // the query below concerns new members, and would hold no post of those who bypass the queue
	}
	isRepeated, err := postedTwice(c, w, settings.NewMemberTwice)
	if err != nil || !isRepeated {
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

// setText sets the text and HTML of the post from a composed message. It returns body.unfit, or an error if the number
// of words, before or after the word filter, is outside the limits of the forum.
func (w *writing) setText(set *kernel.Settings, f *content.Forum, body composed) error {
	limit := min(f.MaxWords, set.MaxWords)
	if err := kernel.CheckWords(body.unfiltered, f.MinWords, limit); err != nil {
		return err
	}
	if body.unfit != nil {
		return body.unfit
	}
	if body.text != body.unfiltered {
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
