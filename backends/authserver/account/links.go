package account

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/attempts"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/maillink"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of links.
const (
	// LinkReset allows a user who has forgotten the password to choose a new password.
	LinkReset = "reset"
	// LinkJoin allows a user who has registered to choose a password.
	LinkJoin = "join"
	// LinkInvite allows a user whom the operator has invited to choose a password.
	LinkInvite = "invite"
	// LinkAddress confirms that the user's new address is the address to which the link was mailed.
	LinkAddress = "address"

	// noticeKnown notifies a user that somebody tried to register with the user's address.
	noticeKnown = "known"
	// noticeMoved notifies a user, at the former address, that the address was changed.
	noticeMoved = "moved"
)

// The validity periods of links.
const (
	resetLasts  = time.Hour
	joinLasts   = 24 * time.Hour
	inviteLasts = 7 * 24 * time.Hour
)

// passwordLinks are the kinds of links with which a user chooses a password.
var passwordLinks = []string{LinkReset, LinkJoin, LinkInvite}

// links stores the links and the queued mails.
var links = maillink.Store[string]{Table: "authserver_links", Notices: []string{noticeKnown, noticeMoved}}

// limit returns a limit of max link requests within an hour. The kind is the key under which the requests are counted.
func limit(kind string, max int64) attempts.Limit {
	return attempts.Limit{Table: "authserver_attempts", What: kind, Max: max, Within: time.Hour}
}

// The limits on links to one address, and on requests from one client network.
var (
	linksTo   = limit("link to", 3)
	linksFrom = limit("link from", 20)
)

// errTooMany returns an error with status 429 for a user who has requested too many mails. The next request succeeds
// after the duration wait.
func errTooMany(wait time.Duration) error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_mails", RetryAfter: wait,
		Message: "too many mails were requested; wait before you request another one",
	}
}

// countRequest counts a request for a link to the mail address email, from the IP address clientAddress. It returns an
// error with status 429 if there were too many requests.
func countRequest(c store.Conn, email, clientAddress string, now time.Time) error {
	for _, n := range []attempts.Count{linksFrom.Of(kernel.Network(clientAddress)), linksTo.Of(mailaddress.Key(email))} {
		wait, err := n.Try(c, now)
		if err != nil {
			return err
		}
		if wait > 0 {
			return errTooMany(wait)
		}
	}
	return nil
}

// Link is a valid link.
type Link struct {
	Kind  string      // such as LinkReset
	Email string      // the mail address to which the link was mailed
	User  *users.User // the user of the link
}

// errLink is the error for every secret that does not belong to a valid link.
var errLink = apierror.New(http.StatusGone, "gone",
	"this link was already used, has expired, or was replaced by the link in a newer mail")

// linkError returns errLink for maillink.ErrGone, and any other error unchanged.
func linkError(err error) error {
	if errors.Is(err, maillink.ErrGone) {
		return errLink
	}
	return err
}

// Look returns the link with a secret. It leaves the link valid, since programs that scan mails also open links. The
// error has status 410 if the link is not valid or has none of the given kinds.
func (a *Accounts) Look(ctx context.Context, secret string, kinds ...string) (l Link, err error) {
	err = a.Read(ctx, func(c store.Conn) error {
		found, err := links.Look(c, secret, a.Now(), kinds...)
		if err != nil {
			return linkError(err)
		}
		l.Kind, l.Email = found.Kind, found.Email
		l.User, err = owner(c, found)
		return err
	})
	return l, err
}

// owner returns the user of a link. The error has status 410 if the user's address is no longer the address to which
// the link was mailed: only the current owner of the mailbox may choose a password.
func owner(c store.Conn, l maillink.Link[string]) (*users.User, error) {
	u, err := users.In(c, l.User)
	if err == nil && l.Kind != LinkAddress && mailaddress.Key(l.Email) != mailaddress.Key(u.Email) {
		err = errLink
	}
	return u, err
}

// EndUser invalidates the links that were mailed for a user. It is called when the user's sessions end, since an
// attacker may have requested the links.
func EndUser(c store.Conn, user string) error { return links.Drop(c, user) }

// proof returns the proof that users.Users.Choose and Move require: that the user has opened the link with this secret.
// Its function Take invalidates the link. Take returns errLink if the link has become invalid since it was opened.
func (a *Accounts) proof(l Link, secret string) users.Proof {
	return users.Proof{
		User: l.User.ID, Pending: l.Kind != LinkReset && l.Kind != LinkAddress,
		Take: func(c store.Conn) error {
			link, err := links.Take(c, secret, a.Now(), l.Kind)
			if err != nil {
				return linkError(err)
			}
			_, err = owner(c, link)
			return err
		},
	}
}

// Forgot mails a link for choosing a new password to the user with the address email. It does not reveal whether the
// user exists. The error has status 429 if there were too many requests for the mail address, or from clientAddress.
func (a *Accounts) Forgot(ctx context.Context, email, clientAddress string) error {
	return a.Write(ctx, func(c store.Conn) error {
		if err := countRequest(c, email, clientAddress, a.Now()); err != nil {
			return err
		}
		id, err := links.Ask(c, LinkReset, a.Now().Add(resetLasts),
			"SELECT u.id AS user_id, u.email AS email FROM authserver_users u WHERE u.email_key = ? AND u.status = ? AND u.provider = ?",
			mailaddress.Key(email), users.Active, users.Local)
		return storeLanguage(ctx, c, id, err)
	})
}

// Choose sets the password of the user who opened a link, and the name if the link creates an account. The errors are
// those of Look and of users.Users.Choose.
func (a *Accounts) Choose(ctx context.Context, secret, pass string, name *string) (*users.User, error) {
	l, err := a.Look(ctx, secret, passwordLinks...)
	if err != nil {
		return nil, err
	}
	if l.Kind == LinkReset {
		name = nil
	}
	return a.Users.Choose(ctx, a.proof(l, secret), pass, name)
}

// Register creates a pending user and mails a link for choosing a password. If an active user already has the address,
// that user is notified instead, and the caller gets the same result. The error has status 403 if registration is
// closed, 422 if the address or name is invalid or the domain is not allowed, and 429 if there were too many requests
// from clientAddress.
func (a *Accounts) Register(ctx context.Context, email, name, clientAddress string) error {
	if err := a.Registration.admits(email); err != nil {
		return err
	}
	var newUser string // the id of the created user; empty if no user was created
	err := a.Write(ctx, func(c store.Conn) error {
		newUser = ""
		if err := countRequest(c, email, clientAddress, a.Now()); err != nil {
			return err
		}
		u, isNew, err := a.Users.Pend(c, email, name)
		if err != nil {
			return err
		}
		kind := LinkJoin
		switch {
		case isNew:
			newUser = u.ID
		case u.Status == users.Active:
			kind = noticeKnown
		case u.Status != users.Pending: // a disabled user gets no mail
			return nil
		}
		return a.queueMail(ctx, c, kind, joinLasts, u.ID, "")
	})
	if err == nil && newUser != "" {
		a.Audit(ctx, kernel.Event{Action: "user.registered", Actor: newUser, Detail: []string{"user", newUser}})
	}
	return err
}

// queueMail queues a mail of a kind for the user with an id. The recipient is email, or the user's address if email
// is empty. lifetime is how long the link in the mail is valid.
func (a *Accounts) queueMail(
	ctx context.Context, c store.Conn, kind string, lifetime time.Duration, user, email string,
) error {
	id, err := links.Ask(c, kind, a.Now().Add(lifetime),
		"SELECT u.id AS user_id, COALESCE(NULLIF(CAST(? AS TEXT), ''), u.email) AS email FROM authserver_users u WHERE u.id = ?", email, user)
	return storeLanguage(ctx, c, id, err)
}

// storeLanguage stores the language of the current request for the queued mail with an id, which is later written in
// that language. An id of 0 means that no mail was queued; storeLanguage then runs the same statement, so that the
// response time reveals nothing. An error err of the preceding step is returned unchanged.
func storeLanguage(ctx context.Context, c store.Conn, id int64, err error) error {
	if err != nil {
		return err
	}
	_, err = c.Exec("UPDATE authserver_links SET language = ? WHERE id = ?", locale.FromContext(ctx).Tag(), id)
	return err
}

// AskAddress mails a link to the new address that a user requests. It requires the user's current password, since the
// owner of the new address can choose a new password. The error has status 422 if the password is wrong or the address
// invalid, and 429 if there were too many requests. It does not reveal whether another user has the address.
func (a *Accounts) AskAddress(ctx context.Context, u *users.User, password, email, clientAddress string) error {
	email, err := users.Address(email)
	if err != nil {
		return err
	}
	if err := a.Login.Confirm(ctx, u, password, clientAddress); err != nil {
		return err
	}
	return a.Write(ctx, func(c store.Conn) error {
		if err := countRequest(c, email, clientAddress, a.Now()); err != nil {
			return err
		}
		return a.queueMail(ctx, c, LinkAddress, resetLasts, u.ID, email)
	})
}

// SetAddress sets a user's address to the address to which the link was mailed, and notifies the former address. The
// errors are those of Look and of users.Users.Move.
func (a *Accounts) SetAddress(ctx context.Context, secret string) error {
	l, err := a.Look(ctx, secret, LinkAddress)
	if err != nil {
		return err
	}
	p := a.proof(l, secret)
	takeLink := p.Take
	p.Take = func(c store.Conn) error {
		if err := takeLink(c); err != nil {
			return err
		}
		return a.queueMail(ctx, c, noticeMoved, joinLasts, l.User.ID, l.User.Email)
	}
	return a.Users.Move(ctx, p, l.Email)
}

// Invite creates a pending user, or takes an existing pending user, and creates a link for choosing a password. If show
// is set, it returns the link for the operator to pass on, and otherwise mails the link. The error has status 409 if an
// active or disabled account has the address, and 422 if the address or name is invalid.
func (a *Accounts) Invite(
	ctx context.Context, email, name string, show bool,
) (u *users.User, address string, err error) {
	err = a.Write(ctx, func(c store.Conn) error {
		var isNew bool
		if u, isNew, err = a.Users.Pend(c, email, name); err != nil {
			return err
		}
		if !isNew && u.Status != users.Pending {
			return apierror.New(http.StatusConflict, "conflict", "there is a user with this mail address already")
		}
		id, err := links.Ask(c, LinkInvite, a.Now().Add(inviteLasts),
			"SELECT id AS user_id, email FROM authserver_users WHERE id = ?", u.ID)
		if err != nil || !show {
			return err
		}
		_, secret, _, err := links.Mail(c, id, a.Now())
		if err != nil {
			return err
		}
		address = a.linkURL(LinkInvite, secret)
		_, err = c.Exec("UPDATE authserver_links SET due_at = NULL WHERE id = ?", id) // the mail is not sent
		return err
	})
	return u, address, err
}

const (
	mailsEvery = 2 * time.Second // users wait for the mail
	sweepEvery = 10 * time.Minute
)

// Jobs returns the background jobs.
func (a *Accounts) Jobs() []jobs.Job {
	list := []jobs.Job{
		{Name: "links", Every: sweepEvery, Run: a.Sweep},
		{Name: "deletions", Every: sweepEvery, Run: a.Users.SweepDeleted},
	}
	if a.Mail != nil {
		list = append(list, jobs.Job{Name: "mails", Every: mailsEvery, Run: a.Send})
	}
	return list
}

// Sweep removes expired links, and pending users without a link. It returns the number of removed rows.
func (a *Accounts) Sweep(ctx context.Context) (int, error) {
	n, err := a.DB.Purge(ctx, 1000, "DELETE FROM authserver_links WHERE id IN (SELECT id FROM authserver_links WHERE expires_at <= ? LIMIT ?)", a.Micros())
	if err != nil {
		return int(n), err
	}
	pending, err := a.Users.SweepPending(ctx)
	return int(n) + pending, err
}
