package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
)

// ErrPermanent is in the chain of an error of Session.Send that another attempt
// would not mend.
var ErrPermanent = errors.New("the mail was refused for good")

// Transport takes mails to where they are sent on.
type Transport interface {
	// Open gets ready to send; an error means that nothing can be sent now.
	Open(ctx context.Context) (Session, error)
}

// Session sends mails, one after the other.
type Session interface {
	Send(ctx context.Context, l *Letter) error
	Close()
}

const (
	// mailsRun bounds how many members get mail in one run, so that a broken
	// database is noticed.
	mailsRun = 500
	// mailTimeout bounds the sending of one mail.
	mailTimeout = 30 * time.Second
	// downFor is how long a mailing rests that could not be tried.
	downFor = 5 * time.Minute
)

// Mailer sends mails of what members follow, and links that they asked for.
type Mailer struct {
	Transport Transport
	// BaseURL is the address of the board, for links; empty: there are none.
	BaseURL string
	Logger  *zap.Logger
}

// Send sends what is due. One member's mail that fails does not hold that of
// others.
func (m *Mailer) Send(ctx context.Context, service *board.Service) (done int, err error) {
	due, err := service.DueMail(ctx, mailsRun)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	session, err := m.Transport.Open(ctx)
	if err != nil {
		return 0, fmt.Errorf("connecting to send mail: %w", err)
	}
	defer func() { session.Close() }()
	for _, to := range due {
		if ctx.Err() != nil {
			return done, nil
		}
		sent, err := m.sendTo(ctx, service, session, to)
		if sent {
			done++
		}
		if _, failed := errors.AsType[*sendError](err); failed { // what is left of the connection is not to be trusted
			session.Close()
			session, err = m.Transport.Open(ctx)
			if err != nil {
				session = nothing{}
				return done, fmt.Errorf("connecting to send mail: %w", err)
			}
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// sendError is a mail that did not go out.
type sendError struct{ error }

func (e *sendError) Unwrap() error { return e.error }

func (m *Mailer) sendTo(ctx context.Context, service *board.Service, session Session, to board.Recipient) (sent bool, err error) {
	mailing, err := service.ClaimMail(ctx, to)
	if mailing == nil {
		return false, err
	}
	over := func() error {
		ctx, cancel := jobs.Settling(ctx)
		defer cancel()
		return service.MailSent(ctx, mailing)
	}
	hold := func(wait time.Duration) error {
		ctx, cancel := jobs.Settling(ctx)
		defer cancel()
		return service.MailHeld(ctx, mailing, service.Now().Add(wait))
	}
	if e, ok := apierror.From(err); ok && e.Code == "board_offline" {
		return false, hold(downFor)
	}
	if err != nil {
		return false, errors.Join(err, hold(downFor))
	}
	if len(mailing.Threads) == 0 && mailing.Link == nil || mailing.Email == "" {
		return false, over()
	}
	letter, err := m.letter(mailing)
	if err != nil {
		return false, errors.Join(err, over())
	}
	sending, stop := context.WithTimeout(ctx, mailTimeout)
	err = session.Send(sending, letter)
	stop()
	logger := m.Logger.With(zap.Int64("member", mailing.User), zap.String("mode", mailing.Mode))
	switch {
	case err == nil:
		return true, over()
	case ctx.Err() != nil:
		return false, hold(0)
	case errors.Is(err, ErrPermanent):
		logger.Warn("mail refused", zap.Error(err))
		return false, errors.Join(&sendError{err}, over())
	}
	noting, cancel := jobs.Settling(ctx)
	defer cancel()
	again, noted := service.MailFailed(noting, mailing)
	logger.Warn("mail not sent", zap.Bool("again", again), zap.Error(err))
	return false, errors.Join(&sendError{err}, noted)
}

// nothing is a session that is over.
type nothing struct{}

func (nothing) Send(context.Context, *Letter) error { return errors.New("no connection") }
func (nothing) Close()                              {}

// Log is the transport that only logs which mails there would be.
type Log struct{ Logger *zap.Logger }

// Open implements Transport.
func (l Log) Open(context.Context) (Session, error) { return l, nil }

// Send implements Session.
func (l Log) Send(_ context.Context, letter *Letter) error {
	l.Logger.Info("mail", zap.Int64("member", letter.Member), zap.String("mode", letter.Mode), zap.Int("threads", letter.Threads))
	return nil
}

// Close implements Session.
func (Log) Close() {}
