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
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/maillink"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of links.
const (
	// LinkReset lets a user who has forgotten the password choose another one.
	LinkReset = "reset"
	// LinkJoin lets somebody who has registered choose a password.
	LinkJoin = "join"
	// LinkInvite lets somebody whom the operator has invited choose a password.
	LinkInvite = "invite"
	// LinkAddress makes the address to which it was mailed that of the user.
	LinkAddress = "address"

	// noticeKnown tells a user that somebody has registered with their address.
	noticeKnown = "known"
	// noticeMoved tells the former address of a user that there is another one.
	noticeMoved = "moved"
)

// How long links work after they were asked for.
const (
	lasts       = time.Hour
	joinLasts   = 24 * time.Hour
	inviteLasts = 7 * 24 * time.Hour
)

// choosing are the kinds of links that let somebody choose a password.
var choosing = []string{LinkReset, LinkJoin, LinkInvite}

var links = maillink.Store[string]{Table: "authserver_links", Notices: []string{noticeKnown, noticeMoved}}

// limit bounds how often links may be asked for in an hour.
func limit(what string, most int64) attempts.Limit {
	return attempts.Limit{Table: "authserver_attempts", What: what, Most: most, Within: time.Hour}
}

// A link may be asked for so often to an address and from the network of a client.
var (
	linksTo   = limit("link to", 3)
	linksFrom = limit("link from", 20)
)

// errMany refuses to mail another link for a time.
func errMany(wait time.Duration) error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_mails", RetryAfter: wait,
		Message: "too many mails were asked for; wait before you ask for another one",
	}
}

// count counts that a client asks for a link to an address. It refuses with 429.
func count(c store.Conn, email, from string, now time.Time) error {
	for _, n := range []attempts.Count{linksFrom.Of(kernel.Network(from)), linksTo.Of(mailaddress.Key(email))} {
		wait, err := n.Try(c, now)
		if err != nil {
			return err
		}
		if wait > 0 {
			return errMany(wait)
		}
	}
	return nil
}

// Link is what a link that works is for.
type Link struct {
	Kind, Email string
	User        *users.User
}

// errLink is the one answer to a secret that opens nothing.
var errLink = apierror.New(http.StatusGone, "gone", "this link was used already, is too old, or a newer mail has another one")

func gone(err error) error {
	if errors.Is(err, maillink.ErrGone) {
		return errLink
	}
	return err
}

// Look returns what a link is for, without using it: programs that look at mails open links, too.
// The error is 410 where it opens nothing, or is of none of the kinds.
func (a *Accounts) Look(ctx context.Context, secret string, kinds ...string) (l Link, err error) {
	err = a.Read(ctx, func(c store.Conn) error {
		found, err := links.Look(c, secret, a.Now(), kinds...)
		if err != nil {
			return gone(err)
		}
		l.Kind, l.Email = found.Kind, found.Email
		l.User, err = owner(c, found)
		return err
	})
	return l, err
}

// owner returns the user of a link. The error is 410 where the link was mailed to an address that is
// no more theirs: only whoever reads their mails now chooses a password.
func owner(c store.Conn, l maillink.Link[string]) (*users.User, error) {
	u, err := users.In(c, l.User)
	if err == nil && l.Kind != LinkAddress && mailaddress.Key(l.Email) != mailaddress.Key(u.Email) {
		err = errLink
	}
	return u, err
}

// EndUser ends the links that were mailed for a user. It is called where their sessions end: somebody
// else may have asked for the links.
func EndUser(c store.Conn, user string) error { return links.Drop(c, user) }

// proof uses a link up.
func (a *Accounts) proof(l Link, secret string) users.Proof {
	return users.Proof{User: l.User.ID, Pending: l.Kind != LinkReset && l.Kind != LinkAddress, Take: func(c store.Conn) error {
		taken, err := links.Take(c, secret, a.Now(), l.Kind)
		if err != nil {
			return gone(err)
		}
		_, err = owner(c, taken)
		return err
	}}
}

// Forgot has a link mailed to a user of the address with which they choose another password. It
// tells nobody whether there is such a user. The error is 429 where that is asked for too often.
func (a *Accounts) Forgot(ctx context.Context, email, from string) error {
	return a.Write(ctx, func(c store.Conn) error {
		if err := count(c, email, from, a.Now()); err != nil {
			return err
		}
		_, err := links.Ask(c, LinkReset, a.Now().Add(lasts),
			"SELECT u.id AS user_id, u.email AS email FROM authserver_users u WHERE u.email_key = ? AND u.status = ? AND u.provider = ?",
			mailaddress.Key(email), users.Active, users.Local)
		return err
	})
}

// Choose gives the user of a link that they have opened their password, and a name where the link
// makes an account. Errors are those of Look and of users.Users.Choose.
func (a *Accounts) Choose(ctx context.Context, secret, pass string, name *string) (*users.User, error) {
	l, err := a.Look(ctx, secret, choosing...)
	if err != nil {
		return nil, err
	}
	if l.Kind == LinkReset {
		name = nil
	}
	return a.Users.Choose(ctx, a.proof(l, secret), pass, name)
}

// Register makes a pending user with a mail address, to which a link is mailed that makes the
// account. The user of the address, if there is one, is told of it instead, and nobody else learns
// of that. Errors: 403 where nobody may register with the address, 422 where it is none, and 429
// where that is asked for too often.
func (a *Accounts) Register(ctx context.Context, email, name, from string) error {
	if err := a.Registration.admits(email); err != nil {
		return err
	}
	var made string
	err := a.Write(ctx, func(c store.Conn) error {
		made = ""
		if err := count(c, email, from, a.Now()); err != nil {
			return err
		}
		u, isNew, err := a.Users.Pend(c, email, name)
		if err != nil {
			return err
		}
		kind, lasts := LinkJoin, joinLasts
		switch {
		case isNew:
			made = u.ID
		case u.Status == users.Active:
			kind = noticeKnown
		case u.Status != users.Pending:
			return nil
		}
		return a.ask(c, kind, lasts, u.ID, "")
	})
	if err == nil && made != "" {
		a.Audit(ctx, kernel.Event{Action: "user.registered", Actor: made, Detail: []string{"user", made}})
	}
	return err
}

// ask has a link mailed to a user, at another address than theirs where one is given.
func (a *Accounts) ask(c store.Conn, kind string, lasts time.Duration, user, email string) error {
	_, err := links.Ask(c, kind, a.Now().Add(lasts),
		"SELECT u.id AS user_id, COALESCE(NULLIF(CAST(? AS TEXT), ''), u.email) AS email FROM authserver_users u WHERE u.id = ?", email, user)
	return err
}

// AskAddress has a link mailed to the address that a user wants to have in place of theirs. The user
// proves their password: whoever has the address can choose another one. Errors: 422 where the
// password is wrong or the address is none, and 429 where that is asked for too often. Whether somebody
// else has the address is not told.
func (a *Accounts) AskAddress(ctx context.Context, u *users.User, present, email, from string) error {
	email, err := users.Address(email)
	if err != nil {
		return err
	}
	if err := a.Login.Confirm(ctx, u, present, from); err != nil {
		return err
	}
	return a.Write(ctx, func(c store.Conn) error {
		if err := count(c, email, from, a.Now()); err != nil {
			return err
		}
		return a.ask(c, LinkAddress, lasts, u.ID, email)
	})
}

// SetAddress makes the address to which a link was mailed that of its user, and tells the former
// one. Errors are those of Look and of users.Users.Move.
func (a *Accounts) SetAddress(ctx context.Context, secret string) error {
	l, err := a.Look(ctx, secret, LinkAddress)
	if err != nil {
		return err
	}
	p := a.proof(l, secret)
	take := p.Take
	p.Take = func(c store.Conn) error {
		if err := take(c); err != nil {
			return err
		}
		return a.ask(c, noticeMoved, joinLasts, l.User.ID, l.User.Email)
	}
	return a.Users.Move(ctx, p, l.Email)
}

// Invite makes a pending user with a mail address, and a link with which they choose a password.
// The link is mailed, or, where show is set, returned for the operator to hand over. Errors: 409
// where there is an account with the address, and 422 where it is none.
func (a *Accounts) Invite(ctx context.Context, email, name string, show bool) (u *users.User, address string, err error) {
	err = a.Write(ctx, func(c store.Conn) error {
		var isNew bool
		if u, isNew, err = a.Users.Pend(c, email, name); err != nil {
			return err
		}
		if !isNew && u.Status != users.Pending {
			return apierror.New(http.StatusConflict, "conflict", "there is a user with this mail address already")
		}
		id, err := links.Ask(c, LinkInvite, a.Now().Add(inviteLasts), "SELECT id AS user_id, email FROM authserver_users WHERE id = ?", u.ID)
		if err != nil || !show {
			return err
		}
		_, secret, _, err := links.Mail(c, id, a.Now())
		if err != nil {
			return err
		}
		address = a.address(LinkInvite, secret)
		_, err = c.Exec("UPDATE authserver_links SET due_at = NULL WHERE id = ?", id)
		return err
	})
	return u, address, err
}

const (
	mailsEvery = 2 * time.Second // whoever asks for a mail waits for it
	sweepEvery = 10 * time.Minute
)

// Jobs are the work in the background.
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

// Sweep removes links that have ended, and pending users whom none lets in.
func (a *Accounts) Sweep(ctx context.Context) (int, error) {
	n, err := a.DB.Purge(ctx, 1000, "DELETE FROM authserver_links WHERE id IN (SELECT id FROM authserver_links WHERE expires_at <= ? LIMIT ?)", a.Micros())
	if err != nil {
		return int(n), err
	}
	pending, err := a.Users.SweepPending(ctx)
	return int(n) + pending, err
}
