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
	// maxRun limits the mails sent in one run. If a broken database lists the same mails again and again, the run ends.
	maxRun = 500
	// sendTimeout is the time limit for sending one mail.
	sendTimeout = 30 * time.Second
	// holdTime is the wait before the next attempt for a mail that could not be attempted.
	holdTime = 5 * time.Minute
)

// ErrLater means that a mail should not be sent now, which is not a fault.
var ErrLater = errors.New("the mail should be sent later")

// Outbox is the store of a service's waiting mails.
type Outbox interface {
	// Due lists at most limit mails to send now, the most urgent first.
	Due(ctx context.Context, limit int) ([]Due, error)
}

// Due is a mail to send now.
type Due interface {
	// Claim claims the mail for this node with a lease that lasts longer than sending takes. It returns nil if another
	// node has claimed the mail.
	Claim(ctx context.Context) (Claimed, error)
}

// Claimed is a mail that this node has claimed.
type Claimed interface {
	// Message returns the message, or nil if the mail is no longer wanted. After ErrPermanent the mail is ended; after
	// any other error, including ErrLater, it waits for another attempt.
	Message() (*Message, error)
	// Over ends a mail. refused is nil if the mail was sent or is no longer wanted. Otherwise it is the reason why the
	// mail will never be sent, without the address.
	Over(ctx context.Context, refused error) error
	// Failed schedules another attempt after a failed one. retry reports whether there will be one. reason does not
	// contain the address.
	Failed(ctx context.Context, reason error) (retry bool, err error)
	// Hold releases a mail that could not be attempted. The next attempt follows after the time wait.
	Hold(ctx context.Context, wait time.Duration) error
}

// Send sends the mails that are due and returns how many were sent. A mail that fails does not hold up others.
func Send(ctx context.Context, box Outbox, transport Transport, logger *zap.Logger) (done int, err error) {
	due, err := box.Due(ctx, maxRun)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	session, err := transport.Open(ctx)
	if err != nil {
		return 0, fmt.Errorf("connecting to send mail: %w", err)
	}
	defer func() { session.Close() }() // of the session at the end
	for _, d := range due {
		if ctx.Err() != nil {
			return done, nil
		}
		claimed, err := d.Claim(ctx)
		if err != nil {
			return done, err
		}
		if claimed == nil { // another node sends it
			continue
		}
		sent, failed, err := sendOne(ctx, session, claimed, logger)
		if sent {
			done++
		}
		if err != nil {
			return done, err
		}
		if failed { // the state of the session is not known
			session.Close()
			session, err = transport.Open(ctx)
			if err != nil {
				session = closedSession{}
				return done, fmt.Errorf("connecting to send mail: %w", err)
			}
		}
	}
	return done, nil
}

// sendOne sends a mail and records the outcome. failed reports that the session was used but did not send the mail;
// sendOne logs such a failure. The error is an error of making the message or of recording the outcome.
func sendOne(
	ctx context.Context, session Session, claimed Claimed, logger *zap.Logger,
) (sent, failed bool, err error) {
	// These functions record an outcome, even if ctx has ended.
	record := func(write func(ctx context.Context) error) error {
		ctx, cancel := jobs.Settling(ctx)
		defer cancel()
		return write(ctx)
	}
	hold := func(wait time.Duration) error {
		return record(func(ctx context.Context) error { return claimed.Hold(ctx, wait) })
	}
	finish := func(refused error) error {
		return record(func(ctx context.Context) error { return claimed.Over(ctx, refused) })
	}
	m, err := claimed.Message()
	switch {
	case errors.Is(err, ErrLater):
		return false, false, hold(holdTime)
	case errors.Is(err, ErrPermanent):
		return false, false, errors.Join(err, finish(err))
	case err != nil:
		return false, false, errors.Join(err, hold(holdTime))
	case m == nil: // there is nothing to send any more
		return false, false, finish(nil)
	}
	sending, stop := context.WithTimeout(ctx, sendTimeout)
	err = session.Send(sending, m)
	stop()
	logger = logger.With(m.About...)
	switch {
	case err == nil:
		return true, false, finish(nil)
	case ctx.Err() != nil:
		return false, false, hold(0) // ctx has ended, so the next run sends it
	case errors.Is(err, ErrPermanent):
		logger.Warn("mail refused", zap.Error(err))
		return false, true, finish(err)
	}
	retry := false
	recorded := record(func(ctx context.Context) (failure error) {
		retry, failure = claimed.Failed(ctx, err)
		return failure
	})
	logger.Warn("mail not sent", zap.Bool("again", retry), zap.Error(err))
	return false, true, recorded
}

// closedSession replaces a session that was closed.
type closedSession struct{}

func (closedSession) Send(context.Context, *Message) error { return errors.New("no connection") }
func (closedSession) Close()                               {}
