package jobs

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// Mailer sends the mails of members: news from the threads and forums that they follow, and the links that they have
// requested.
type Mailer struct {
	Transport mail.Transport
	// BaseURL is the URL of the board, for links. If it is empty the mails have no links.
	BaseURL string
	// Languages are the available languages of mails. Default: English only.
	Languages *locale.Languages
	// Footer is the text at the end of every mail. Default: none.
	Footer string
	Logger *zap.Logger
}

// Send sends the mails of queue that are due, one for each member and mode, and returns the number of sent mails.
func (m *Mailer) Send(ctx context.Context, queue *mails.Service) (done int, err error) {
	return mail.Send(ctx, outbox{m, queue}, m.Transport, m.Logger)
}

// outbox implements mail.Outbox.
type outbox struct {
	*Mailer
	queue *mails.Service
}

// Due implements mail.Outbox.
func (o outbox) Due(ctx context.Context, limit int) ([]mail.Due, error) {
	list, err := o.queue.DueMail(ctx, limit)
	due := make([]mail.Due, len(list))
	for i, r := range list {
		due[i] = recipient{o, r}
	}
	return due, err
}

// recipient implements mail.Due.
type recipient struct {
	outbox
	to mails.Recipient
}

// Claim implements mail.Due. If the mail could not be composed, the Message method of the result returns the error.
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
	err     error // the error with which the mail could not be composed
}

// Message implements mail.Claimed. While the board is offline the mail is held.
func (c claimed) Message() (*mail.Message, error) {
	if e, ok := apierror.From(c.err); ok && e.Code == "board_offline" {
		return nil, mail.ErrLater
	}
	if c.err != nil {
		return nil, c.err
	}
	if len(c.mailing.Threads)+len(c.mailing.Messages) == 0 && c.mailing.Link == nil || c.mailing.Email == "" {
		return nil, nil // there is nothing to send any more
	}
	letter, err := c.letter(c.mailing)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", mail.ErrPermanent, err)
	}
	return letter, nil
}

// Over implements mail.Claimed.
func (c claimed) Over(ctx context.Context, _ error) error {
	return c.queue.MailSent(ctx, c.mailing)
}

// Failed implements mail.Claimed.
func (c claimed) Failed(ctx context.Context, _ error) (retry bool, err error) {
	return c.queue.MailFailed(ctx, c.mailing)
}

// Hold implements mail.Claimed.
func (c claimed) Hold(ctx context.Context, wait time.Duration) error {
	return c.queue.MailHeld(ctx, c.mailing, c.queue.Now().Add(wait))
}
