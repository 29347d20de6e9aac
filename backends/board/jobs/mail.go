package jobs

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// Mailer sends mails of what members follow, and links that they asked for.
type Mailer struct {
	Transport mail.Transport
	// BaseURL is the address of the board, for links. Without it mails have none.
	BaseURL string
	// Footer is text at the end of every mail. Default: none.
	Footer string
	Logger *zap.Logger
}

// Send sends what is due, each member's by itself, and returns how many mails it sent.
func (m *Mailer) Send(ctx context.Context, queue *mails.Service) (done int, err error) {
	return mail.Send(ctx, outbox{m, queue}, m.Transport, m.Logger)
}

// outbox implements mail.Outbox.
type outbox struct {
	*Mailer
	queue *mails.Service
}

func (o outbox) Due(ctx context.Context, most int) ([]mail.Due, error) {
	list, err := o.queue.DueMail(ctx, most)
	due := make([]mail.Due, len(list))
	for i, to := range list {
		due[i] = recipient{o, to}
	}
	return due, err
}

// recipient is a member who is to be mailed.
type recipient struct {
	outbox
	to mails.Recipient
}

// Claim implements mail.Due. What of it the member may see now may not be known.
func (r recipient) Claim(ctx context.Context) (mail.Claimed, error) {
	mailing, err := r.queue.ClaimMail(ctx, r.to)
	if mailing == nil {
		return nil, err
	}
	return claimed{r.outbox, mailing, err}, nil
}

// claimed implements mail.Claimed.
type claimed struct {
	outbox
	mailing *mails.Mailing
	err     error // of finding out what the member may see
}

func (c claimed) Message() (*mail.Message, error) {
	if e, ok := apierror.From(c.err); ok && e.Code == "board_offline" {
		return nil, mail.ErrLater
	}
	if c.err != nil {
		return nil, c.err
	}
	if len(c.mailing.Threads) == 0 && c.mailing.Link == nil || c.mailing.Email == "" {
		return nil, nil //nolint:nilnil // there is nothing any more
	}
	letter, err := c.letter(c.mailing)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", mail.ErrPermanent, err)
	}
	return letter, nil
}

func (c claimed) Over(ctx context.Context, _ error) error {
	return c.queue.MailSent(ctx, c.mailing)
}

func (c claimed) Failed(ctx context.Context, _ error) (again bool, err error) {
	return c.queue.MailFailed(ctx, c.mailing)
}

func (c claimed) Hold(ctx context.Context, wait time.Duration) error {
	return c.queue.MailHeld(ctx, c.mailing, c.queue.Now().Add(wait))
}
