package mails

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/maillink"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// MailLease is how long a claim lasts; see ClaimMail.
	MailLease = 5 * time.Minute
	// MailAttempts is the number of failed attempts after which a mailing is given up.
	MailAttempts = 8

	mailThreads = 50  // the maximum number of threads that one mail shows
	mailPosts   = 3   // the maximum number of posts that a mail shows of one thread
	mailRows    = 500 // the maximum number of rows of board_mails in one mailing
	mailExcerpt = 400 // the maximum number of characters that a mail shows of one post
)

// Recipient is a member with mail that waits to be sent.
type Recipient struct {
	User int64
	// Mode is instant, daily, weekly, following.MentionMode, conversations.MailMode, or the kind of a link.
	Mode string
}

// DueMail lists at most limit recipients whose mail is due. Those who wait for a link come first, then those who have
// waited longest.
func (s *Service) DueMail(ctx context.Context, limit int) ([]Recipient, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []Recipient, err error) {
		now := s.Moment()
		return store.List(c, func(r store.Row) (recipient Recipient, err error) {
			return recipient, r.Scan(&recipient.User, &recipient.Mode)
		}, "SELECT user_id, mode FROM board_mails WHERE due_at <= ? AND leased_until <= ? GROUP BY user_id, mode"+
			" ORDER BY min(CASE source WHEN ? THEN 0 ELSE 1 END), min(due_at), user_id LIMIT ?", now, now, accounts.LinkSource,
			limit)
	})
}

// Mailing is the content of one mail to one member. Only the node that has claimed the mailing may send it, until the
// claim ends after MailLease.
type Mailing struct {
	Recipient
	Name, Email string
	Board       string // the name of the board
	// Language is the tag of the mail's language. If it is empty, the language is the board's.
	Language string
	// Threads holds the threads with new posts that the member may see now. A mailing without Threads, Messages and
	// Link is not sent.
	Threads []MailThread
	More    int // the number of further threads
	// Forum is the forum of all threads. It is empty if the threads are in several forums.
	Forum MailForum
	// Messages holds the conversations with private messages that the member has not read. A mail about messages has no
	// threads.
	Messages []MailMessage
	// Link is the link of a mail with a link, and nil in all other mails. A mail with a link has no threads.
	Link *accounts.MailLink
	// Unsubscribe is the token of the mail's unsubscribe link; see ReadUnsubscription.
	Unsubscribe string
	// Key identifies the mail and stays the same when the mail is sent again. Only a mail with a link gets a new Key
	// then, because it has a new secret.
	Key string

	rows    []mailRow
	digests following.Digests // when the member gets digests
}

// MailForum is the forum of a mail's threads.
type MailForum struct {
	ID    int64
	Title string
}

// MailThread is a thread with its new posts.
type MailThread struct {
	ID    int64
	Forum int64
	Title string
	Slug  string
	Posts []MailPost // the first of the new posts
	Count int64      // the number of new posts, at most 100

	source string // what the member follows: "thread" or "forum"
	target int64  // the id of that thread or forum
}

// MailPost is a post as shown in mails.
type MailPost struct {
	ID, Number int64
	Author     string
	At         time.Time // in the time zone of the member
	Excerpt    string
}

// mailRow is a row of board_mails. thread is the id of the thread, of the conversation or, for a mail with a link, of
// the link.
type mailRow struct {
	id, thread  int64
	first, last int64  // the ids of the first and the last post or message
	attempts    int64  // how often sending the mail has failed
	source      string // thread, forum, following.MentionMode, conversations.MailMode or accounts.LinkSource
	created     kernel.Moment
}

// ClaimMail claims a recipient's waiting mail for this node. It composes the mail from the content that the member may
// see now. It returns nil and no error if another node was faster. If composing fails, ClaimMail returns both the error
// and the mailing, which stays claimed.
//
// If the clocks in the member's time zone have changed since a digest was queued, the digest can be due before the hour
// that the member has chosen. ClaimMail postpones such a digest.
func (s *Service) ClaimMail(ctx context.Context, recipient Recipient) (*Mailing, error) {
	m := &Mailing{Recipient: recipient}
	now := s.Moment()
	err := s.Write(ctx, func(c store.Conn) (err error) {
		m.rows = nil
		if m.digests, err = following.DigestsOf(c, recipient.User); err != nil {
			return err
		}
		// The anchor determines when digests are due that are queued from now on.
		if err := m.digests.Anchor(c, recipient.User, s.Now()); err != nil {
			return err
		}
		m.rows, err = store.List(c, func(r store.Row) (row mailRow, err error) {
			return row, r.Scan(&row.id, &row.thread, &row.first, &row.last, &row.attempts, &row.source, &row.created)
		}, "UPDATE board_mails SET leased_until = ? WHERE id IN (SELECT id FROM board_mails WHERE user_id = ?"+
			" AND mode = ? AND due_at <= ? AND leased_until <= ? ORDER BY id LIMIT ?"+c.Lock()+")"+
			" RETURNING id, thread_id, first_post_id, last_post_id, attempts, source, created_at", now.Add(MailLease), recipient.User,
			recipient.Mode, now, now, mailRows)
		return err
	})
	if err != nil || len(m.rows) == 0 {
		return nil, err
	}
	kernel.SortBy(m.rows, func(r mailRow) int64 { return r.id })
	if recipient.Mode == "daily" || recipient.Mode == "weekly" {
		oldest := slices.MinFunc(m.rows, func(x, y mailRow) int { return cmp.Compare(x.created, y.created) })
		if due := m.digests.Due(m.Mode, oldest.created.Time()); due.After(s.Now()) {
			return nil, s.postpone(ctx, m, oldest.attempts, due)
		}
	}
	return m, s.composeMail(ctx, m)
}

// composeMail sets the address and the content of a mailing. Both stay empty if the member is deleted or may not use
// the board. Only the link that completes a registration is also sent to a member who may not use the board yet.
func (s *Service) composeMail(ctx context.Context, m *Mailing) error {
	a, err := s.rights.Member(ctx, m.User)
	if kernel.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	isJoining := m.Mode == accounts.LinkJoin && (a.Unconfirmed() || a.User.State == "awaiting")
	if a.CheckBlocked(s.Moment()) != nil && !isJoining {
		return nil
	}
	m.Name, m.Board, m.Language = a.User.Name, a.Rights.Settings.Name, a.User.Language
	m.Key = kernel.Itoa(m.User) + "." + m.Mode + "." + kernel.Itoa(m.rows[0].id) + "." +
		kernel.Itoa(m.rows[len(m.rows)-1].last)
	if m.rows[0].source == accounts.LinkSource {
		return s.composeLink(ctx, m, a.User.Zone())
	}
	if err := a.CheckOffline(); err != nil {
		return err
	}
	switch m.Mode {
	case conversations.MailMode:
		return s.composeMessages(ctx, a, m)
	case following.MentionMode:
		return s.composeMentions(ctx, a, m)
	}
	return s.composePosts(ctx, a, m)
}

// composePosts sets the address of a mailing, and the threads that the member follows in the mailing's mode, with
// their new posts. The address stays empty if it is not confirmed.
func (s *Service) composePosts(ctx context.Context, a *rights.Actor, m *Mailing) error {
	err := s.Read(ctx, func(c store.Conn) error {
		m.Threads, m.More, m.Forum = nil, 0, MailForum{}
		if err := c.Row("SELECT CASE email_confirmed WHEN 1 THEN email ELSE '' END FROM board_users WHERE id = ?",
			m.User).Scan(&m.Email); err != nil {
			return err
		}
		late, err := latePosts(c, m.User)
		if err != nil {
			return err
		}
		forums := make(map[int64]bool)
		for _, r := range m.rows {
			t, err := s.mailThread(c, a, m.Mode, r, late[r.thread])
			if err != nil {
				return err
			}
			if t.Count > 0 {
				forums[t.Forum] = true
			}
			m.add(t)
		}
		if len(forums) != 1 {
			return nil
		}
		m.Forum.ID = m.Threads[0].Forum
		return c.Row("SELECT title FROM board_forums WHERE id = ?", m.Forum.ID).Scan(&m.Forum.Title)
	})
	// The kinds of unsubscribe tokens are the first letters of "thread", "forum" and the modes.
	if len(m.Threads) == 1 && m.Mode == "instant" {
		m.Unsubscribe = s.UnsubscribeToken(m.User, m.Threads[0].source[0], m.Threads[0].target)
	} else {
		m.Unsubscribe = s.UnsubscribeToken(m.User, m.Mode[0], 0)
	}
	return err
}

// add adds a thread to the mailing if it has new posts. If the mailing has mailThreads threads already, the thread is
// only counted in More.
func (m *Mailing) add(t MailThread) {
	switch {
	case t.Count == 0:
		// The thread is left out.
	case len(m.Threads) == mailThreads:
		m.More++
	default:
		m.Threads = append(m.Threads, t)
	}
}

// mailThread returns a thread with its new posts for a mail. The result's Count is 0 if the member may not see the
// thread, no longer follows it in this mode, or has read all of its posts. late lists posts that are new although the
// member has read later posts; see latePosts.
func (s *Service) mailThread(
	c store.Conn, a *rights.Actor, mode string, r mailRow, late []any,
) (m MailThread, err error) {
	t, err := content.ThreadFor(c, a, r.thread, "")
	if kernel.IsNotFound(err) || err == nil && t.Visibility == rights.Deleted {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	// A mail row can come from following the thread or its forum. The member may have unfollowed either of them since.
	m = MailThread{ID: t.ID, Forum: t.Forum, Title: t.Title, Slug: t.Slug, source: "thread", target: t.ID}
	posts := " FROM board_posts p WHERE p.thread_id = ? AND p.id >= ? AND p.id <= ? AND p.visibility = 0" +
		" AND COALESCE(p.author_id, 0) <> ?" +
		" AND NOT EXISTS (SELECT 1 FROM board_blocks b WHERE b.user_id = ? AND b.blocked_id = p.author_id)"
	args := []any{t.ID, r.first, r.last, a.ID(), a.ID()}
	current, err := following.Subscribed(c, a.ID(), m.source, m.target)
	if err != nil {
		return m, err
	}
	if current != mode {
		m.source, m.target = "forum", t.Forum
		current, err = following.Subscribed(c, a.ID(), m.source, m.target)
		if err != nil || current != mode {
			return MailThread{}, err
		}
		posts += " AND p.number = 1" // followers of a forum get only the first post of a thread
	}
	var read int64
	err = c.Row("SELECT last_read_post_id FROM board_thread_reads WHERE user_id = ? AND thread_id = ?",
		a.ID(), t.ID).Scan(&read)
	if err := kernel.IgnoreNoRows(err); err != nil {
		return m, err
	}
	unread := "p.id > ?"
	args = append(args, read)
	if len(late) > 0 {
		unread += " OR p.id IN (" + kernel.Marks(len(late)) + ")"
		args = append(args, late...)
	}
	posts += " AND (" + unread + ")"
	err = m.read(c, a, posts, args)
	return m, err
}

// read counts the posts that a query selects and reads the first of them into m. posts is the query from its FROM
// clause on, and args are its arguments.
func (m *MailThread) read(c store.Conn, a *rights.Actor, posts string, args []any) (err error) {
	if err := c.Row("SELECT count(*) FROM (SELECT 1 AS one"+posts+" LIMIT 100) n", args...).Scan(&m.Count); err != nil ||
		m.Count == 0 {
		return err
	}
	m.Posts, err = store.List(c, func(r store.Row) (p MailPost, err error) {
		var created kernel.Moment
		err = r.Scan(&p.ID, &p.Number, &p.Author, &created, &p.Excerpt)
		p.At, p.Excerpt = created.Time().In(a.User.Zone()), text.Short(p.Excerpt, mailExcerpt)
		return p, err
	}, "SELECT p.id, p.number, p.author_name, p.created_at, substr(p.message, 1, 2000)"+posts+" ORDER BY p.id LIMIT ?",
		append(args, mailPosts)...)
	return err
}

// maxLate is the maximum number of late posts in one mail; see latePosts.
const maxLate = 500

// latePosts returns the ids of a member's late posts, by thread. These posts were held until after the member had read
// a later post of the thread. They are unread although they come before the last post that the member has read.
func latePosts(c store.Conn, user int64) (map[int64][]any, error) {
	late := make(map[int64][]any)
	return late, c.All("SELECT i.thread_id, n.post_id FROM board_notifications n"+
		" JOIN board_post_ids i ON i.id = n.post_id"+
		" JOIN board_thread_reads r ON r.user_id = n.user_id AND r.thread_id = i.thread_id"+
		" WHERE n.user_id = ? AND n.post_id <= r.last_read_post_id AND n.created_at > r.read_at ORDER BY n.id DESC LIMIT ?",
		[]any{user, maxLate}, func(r store.Row) error {
			var thread, post int64
			err := r.Scan(&thread, &post)
			late[thread] = append(late[thread], post)
			return err
		})
}

// MailSent removes the rows of a mailing that was sent or will never be sent. Posts that were added to the rows
// meanwhile, including held posts that were approved, stay for the next mailing. If such a post lies between posts that
// were sent, the whole row stays: it is better to mail a post twice than never.
func (s *Service) MailSent(ctx context.Context, m *Mailing) error {
	due := m.digests.Due(m.Mode, s.Now())
	return s.Write(ctx, func(c store.Conn) error {
		for _, r := range m.rows {
			n, err := c.Exec("DELETE FROM board_mails WHERE id = ? AND first_post_id = ? AND last_post_id = ?"+
				" AND created_at = ?", r.id, r.first, r.last, r.created)
			if err == nil && n == 0 {
				// The row has changed since it was claimed. If a new post precedes the first sent post, or lies between the sent
				// posts (which changes created_at), the beginning of the row is kept. Otherwise the row now begins after the sent
				// posts. If the row was extended only at its beginning, it now ends before the sent posts.
				_, err = c.Exec("UPDATE board_mails SET first_post_id = CASE WHEN first_post_id < ? OR created_at <> ?"+
					" THEN first_post_id ELSE ? END,"+
					" last_post_id = CASE WHEN first_post_id < ? AND last_post_id = ? AND created_at = ? THEN ?"+
					" ELSE last_post_id END, due_at = ?, attempts = 0, leased_until = 0 WHERE id = ?",
					r.first, r.created, r.last+1, r.first, r.last, r.created, r.first-1, due.UnixMicro(), r.id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// MailFailed schedules another attempt of a mailing that could not be sent, and reports whether there will be one.
// After MailAttempts attempts the mailing is given up.
func (s *Service) MailFailed(ctx context.Context, m *Mailing) (retry bool, err error) {
	attempts := m.rows[0].attempts + 1
	if attempts >= MailAttempts {
		return false, s.MailSent(ctx, m)
	}
	return true, s.postpone(ctx, m, attempts, s.Now().Add(jobs.Backoff(attempts)))
}

// MailHeld postpones a mailing until dueTime, without counting an attempt.
func (s *Service) MailHeld(ctx context.Context, m *Mailing, dueTime time.Time) error {
	return s.postpone(ctx, m, m.rows[0].attempts, dueTime)
}

// postpone ends the claim of a mailing, sets its number of attempts, and makes it due at dueTime.
func (s *Service) postpone(ctx context.Context, m *Mailing, attempts int64, dueTime time.Time) error {
	return s.Write(ctx, func(c store.Conn) error {
		for _, r := range m.rows {
			if _, err := c.Exec("UPDATE board_mails SET attempts = ?, due_at = ?, leased_until = 0 WHERE id = ?",
				attempts, dueTime.UnixMicro(), r.id); err != nil {
				return err
			}
		}
		return nil
	})
}

// unsubscribeSize is the size, in bytes, of the signed part of an unsubscribe token. A link with such a token
// unsubscribes without a sign-in. The token is base64url(user (8) | kind (1) | id (8) | MAC (16)). The kind is the
// first letter of "thread" or "forum" or, in a token that ends all mails of a mode, the first letter of the mode.
const unsubscribeSize = 8 + 1 + 8

// UnsubscribeToken returns a token that ends mails to a member. kind selects the mails: t stands for mails about the
// thread with this id, and f for mails about the forum with this id. i, d and w stand for the mails of a mode, m for
// mails about private messages, and n for mails about mentions. id is 0 unless kind is t or f.
func (s *Service) UnsubscribeToken(user int64, kind byte, id int64) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(user)) //nolint:gosec // ids are positive
	raw = append(raw, kind)
	raw = binary.BigEndian.AppendUint64(raw, uint64(id)) //nolint:gosec // ids are positive
	return s.Signer("unsubscribe").Sign(raw)
}

// Unsubscription is the content of a token of UnsubscribeToken. It says which mails the token ends.
type Unsubscription struct {
	user, id int64
	target   string // "thread" or "forum"; empty for all mails of a mode
	mode     string
}

// Target returns "thread", "forum", or the mode whose mails all end.
func (u Unsubscription) Target() string { return u.target + u.mode }

// ReadUnsubscription checks and decodes a token of UnsubscribeToken. It returns NotFound if the token is not valid.
func (s *Service) ReadUnsubscription(token string) (u Unsubscription, err error) {
	raw, ok := s.Signer("unsubscribe").Open(token)
	if !ok || len(raw) != unsubscribeSize {
		return u, kernel.NotFound()
	}
	id := func(raw []byte) int64 { return int64(binary.BigEndian.Uint64(raw)) } //nolint:gosec // it was an int64
	u = Unsubscription{user: id(raw), id: id(raw[9:])}
	switch raw[8] { // the kind
	case 't':
		u.target = "thread"
	case 'f':
		u.target = "forum"
	case 'i':
		u.mode = "instant"
	case 'd':
		u.mode = "daily"
	case 'w':
		u.mode = "weekly"
	case 'm':
		u.mode = conversations.MailMode
	case 'n':
		u.mode = following.MentionMode
	}
	return u, nil
}

// EndUnsubscription unsubscribes the member from the mails in u. The subscriptions themselves stay, without mails. It
// may be called more than once.
func (s *Service) EndUnsubscription(ctx context.Context, u Unsubscription) error {
	return s.Write(ctx, func(c store.Conn) (err error) {
		if u.mode == conversations.MailMode {
			return conversations.EndMails(c, u.user)
		}
		if u.mode == following.MentionMode {
			return following.SetMentionMails(c, u.user, false)
		}
		if u.target == "" {
			_, err = c.Exec("UPDATE board_subscriptions SET mode = 'none' WHERE user_id = ? AND mode = ?", u.user, u.mode)
			return err
		}
		_, err = c.Exec("UPDATE board_subscriptions SET mode = 'none' WHERE user_id = ? AND target = ? AND target_id = ?",
			u.user, u.target, u.id)
		return err
	})
}

// composeLink sets the address and the link of a mailing, for the newest link that the member has requested. It creates
// the link's secret. If the mail is sent again, it has another secret, and the previous secret is no longer valid. If
// the link was used or has expired, the address and the link stay empty. zone is the member's time zone.
func (s *Service) composeLink(ctx context.Context, m *Mailing, zone *time.Location) error {
	id, now := m.rows[len(m.rows)-1].thread, s.Now()
	return s.Write(ctx, func(c store.Conn) error {
		m.Email, m.Link = "", nil
		link, newSecret, ends, err := accounts.Links.Mail(c, id, now)
		if errors.Is(err, maillink.ErrGone) { // the link was deleted or has expired
			return nil
		}
		if err != nil {
			return err
		}
		m.Email, m.Link = link.Email, &accounts.MailLink{Secret: newSecret, Ends: ends.In(zone)}
		m.Key += "." + secret.New()[:10] // so that mail programs do not take the mail for a copy of the previous one
		if m.Language != "" {
			return nil
		}
		return c.Row("SELECT language FROM board_links WHERE id = ?", id).Scan(&m.Language)
	})
}
