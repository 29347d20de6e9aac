package account

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The actions in the audit feed for mails. The detail "kind" of these events is the kind of the link or notice, or
// testMail.
const (
	mailSent   = "mail.sent"
	mailFailed = "mail.failed"
	testMail   = "test"
)

const (
	// maxReason is the maximum length of a reason in the audit feed, in bytes. A reason may quote the mail server's
	// response.
	maxReason = 300
	// maxWaiting is the number up to which queued mails are counted.
	maxWaiting = 10_000
	// testTimeout is the time limit of a test mail.
	testTimeout = 20 * time.Second
	// downAgain is the minimum time between two audit events of a node about an unreachable mail server.
	downAgain = 10 * time.Minute
)

// reason returns the text of an error for the audit feed, cut to maxReason bytes.
func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

// noteMail adds an event about a mail to the audit feed. The detail is a list of alternating names and values.
func (a *Accounts) noteMail(ctx context.Context, action string, detail ...string) {
	a.Audit(ctx, kernel.Event{Action: action, Detail: detail})
}

// reporting is a transport that records in the audit feed when the mail server cannot be reached. Since the mail server
// is tried again every few seconds, only one event per downAgain is recorded.
type reporting struct {
	mail.Transport
	*Accounts
}

// Open implements mail.Transport.
func (r reporting) Open(ctx context.Context) (mail.Session, error) {
	session, err := r.Transport.Open(ctx)
	switch {
	case err == nil:
		r.downUntil.Store(0)
	case ctx.Err() == nil: // if ctx has ended, this server is stopping, and err says nothing about the mail server
		now := r.Micros()
		expiry := r.downUntil.Load()
		// Of several concurrent failures, only the one that sets the new time records an event.
		if expiry <= now && r.downUntil.CompareAndSwap(expiry, now+downAgain.Microseconds()) {
			r.noteMail(ctx, mailFailed, "again", "true", "reason", reason(err))
		}
	}
	return session, err
}

// Waiting describes the queued mails.
type Waiting struct {
	// Count is the number of queued mails, counted up to 10,000. Failed is the number of those with at least one failed
	// attempt.
	Count, Failed int64
}

// Waiting returns the number of queued mails.
func (a *Accounts) Waiting(ctx context.Context) (w Waiting, err error) {
	err = a.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT count(*), COALESCE(sum(CASE WHEN attempts > 0 THEN 1 ELSE 0 END), 0) FROM "+
			"(SELECT attempts FROM authserver_links WHERE due_at IS NOT NULL AND expires_at > ? LIMIT ?) AS waiting",
			a.Micros(), maxWaiting).Scan(&w.Count, &w.Failed)
	})
	return w, err
}

// Test sends a mail to an address at once, without the queue. The audit event names the actor. The error has status 409
// if no mail server is configured, 422 if the address is invalid, and 502 with the reason if the mail server did not
// accept the mail.
func (a *Accounts) Test(ctx context.Context, email, actor string) error {
	if a.Mail == nil {
		return apierror.New(http.StatusConflict, "no_mail", "no mails are sent: mail.url is not set")
	}
	email, err := users.Address(email)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	if err = a.sendTest(ctx, email); err == nil {
		a.Audit(ctx, kernel.Event{Action: mailSent, Actor: actor, Detail: []string{"kind", testMail, "email", email}})
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("the mail server did not answer within " + testTimeout.String())
	}
	a.Audit(ctx, kernel.Event{
		Action: mailFailed, Actor: actor,
		Detail: []string{"kind", testMail, "email", email, "again", "false", "reason", reason(err)},
	})
	return apierror.New(http.StatusBadGateway, "mail_failed", "the mail was not sent: %s", reason(err))
}

// sendTest sends the test mail in one session with the mail server. The address must be valid.
func (a *Accounts) sendTest(ctx context.Context, email string) error {
	session, err := a.Mail.Open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Send(ctx, &mail.Message{
		ID: testMail + "." + kernel.NewID(), Email: email, Subject: "A test – " + a.Site,
		Text:  "This mail was sent to see whether mails arrive. They do.\n\n" + a.Site + "\n" + a.Issuer + "\n",
		About: []zap.Field{zap.String("kind", testMail)},
	})
}
