package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jobs"
)

const (
	// runMost bounds how many mails go out in one run, so that a broken database is
	// noticed.
	runMost = 500
	// sendTimeout bounds the sending of one mail.
	sendTimeout = 30 * time.Second
	// downFor is how long a mail rests that could not be tried.
	downFor = 5 * time.Minute
)

// ErrLater is the error of a mail that is not to be sent now, which is no fault.
var ErrLater = errors.New("the mail is not to be sent now")

// Outbox is where a service has what it is to mail.
type Outbox interface {
	// Due lists what is to be sent now, the most urgent first.
	Due(ctx context.Context, most int) ([]Due, error)
}

// Due is a mail that waits.
type Due interface {
	// Claim takes it for this node alone, until a lease ends that is longer than a
	// mail takes. It is nil where another node was faster.
	Claim(ctx context.Context) (Claimed, error)
}

// Claimed is a mail that this node has for itself.
type Claimed interface {
	// Message is what to send; nil: there is nothing any more. With ErrLater it rests,
	// with ErrPermanent it is over, with any other error it rests, too.
	Message() (*Message, error)
	// Over ends what was sent, or what will never be: refused says why, without the address,
	// and is nil for what was sent or is nothing any more.
	Over(ctx context.Context, refused error) error
	// Failed plans the attempt after one that failed, and reports whether there is one. The
	// reason has no address in it.
	Failed(ctx context.Context, reason error) (again bool, err error)
	// Hold gives back what could not be tried.
	Hold(ctx context.Context, wait time.Duration) error
}

// Send sends what is due, and tells how much that was. One mail that fails does not
// hold others.
func Send(ctx context.Context, box Outbox, transport Transport, logger *zap.Logger) (done int, err error) {
	due, err := box.Due(ctx, runMost)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	session, err := transport.Open(ctx)
	if err != nil {
		return 0, fmt.Errorf("connecting to send mail: %w", err)
	}
	defer func() { session.Close() }()
	for _, d := range due {
		if ctx.Err() != nil {
			return done, nil
		}
		claimed, err := d.Claim(ctx)
		if err != nil {
			return done, err
		}
		if claimed == nil {
			continue
		}
		sent, err := sendOne(ctx, session, claimed, logger)
		if sent {
			done++
		}
		if _, failed := errors.AsType[*sendError](err); failed { // what is left of the connection is not to be trusted
			session.Close()
			session, err = transport.Open(ctx)
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

func sendOne(ctx context.Context, session Session, claimed Claimed, logger *zap.Logger) (sent bool, err error) {
	noted := func(note func(ctx context.Context) error) error {
		ctx, cancel := jobs.Settling(ctx)
		defer cancel()
		return note(ctx)
	}
	hold := func(wait time.Duration) error {
		return noted(func(ctx context.Context) error { return claimed.Hold(ctx, wait) })
	}
	over := func(refused error) error {
		return noted(func(ctx context.Context) error { return claimed.Over(ctx, refused) })
	}
	m, err := claimed.Message()
	switch {
	case errors.Is(err, ErrLater):
		return false, hold(downFor)
	case errors.Is(err, ErrPermanent):
		return false, errors.Join(err, over(err))
	case err != nil:
		return false, errors.Join(err, hold(downFor))
	case m == nil:
		return false, over(nil)
	}
	sending, stop := context.WithTimeout(ctx, sendTimeout)
	err = session.Send(sending, m)
	stop()
	logger = logger.With(m.About...)
	switch {
	case err == nil:
		return true, over(nil)
	case ctx.Err() != nil:
		return false, hold(0)
	case errors.Is(err, ErrPermanent):
		logger.Warn("mail refused", zap.Error(err))
		return false, errors.Join(&sendError{err}, over(err))
	}
	again := false
	planned := noted(func(ctx context.Context) (failed error) {
		again, failed = claimed.Failed(ctx, err)
		return failed
	})
	logger.Warn("mail not sent", zap.Bool("again", again), zap.Error(err))
	return false, errors.Join(&sendError{err}, planned)
}

// nothing is a session that is over.
type nothing struct{}

func (nothing) Send(context.Context, *Message) error { return errors.New("no connection") }
func (nothing) Close()                               {}
