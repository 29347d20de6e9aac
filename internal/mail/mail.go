// Package mail sends mails of a service: over SMTP, or only to the log. Mails wait in the service's database, from
// where each is claimed by one node, and are retried when they fail. The service decides who gets which mails and how
// often.
package mail

import (
	"context"
	"errors"

	"go.uber.org/zap"
)

// ErrPermanent is in the chain of an error of Session.Send or Claimed.Message after which another attempt is pointless.
var ErrPermanent = errors.New("the mail was refused for good")

// Message is a mail that is ready to be sent.
type Message struct {
	// ID identifies the mail. It is the same when the mail is sent again.
	ID string
	// Name and Email are those of the recipient.
	Name, Email string
	Subject     string
	// Text is the content, and HTML the same content as HTML. An empty HTML means that there is only the text.
	Text, HTML string
	// Unsubscribe is a URL that ends such mails without a login (RFC 8058), or "".
	Unsubscribe string
	// Thread names the conversation that the mail belongs to, so that mail programs show it with the other mails of the
	// conversation, or "". It has letters, digits, dots and hyphens only.
	Thread string
	// List is what the mail belongs to among all mails of the service, by which recipients can sort it. A mail without an
	// ID of a list is a personal one.
	List List
	// About has the fields to log about the mail. They must contain neither the address nor the content.
	About []zap.Field
}

// List is what recipients of mails subscribe to (RFC 2919).
type List struct {
	ID   string // letters, digits and hyphens
	Name string // one line for people, or ""
}

// Transport hands mails over for delivery.
type Transport interface {
	// Open prepares for sending. An error means that nothing can be sent now.
	Open(ctx context.Context) (Session, error)
}

// Session sends mails one after the other.
type Session interface {
	Send(ctx context.Context, m *Message) error
	Close()
}

// Log is a transport that only logs the mails.
type Log struct{ Logger *zap.Logger }

// Open implements Transport.
func (l Log) Open(context.Context) (Session, error) { return l, nil }

// Send implements Session.
func (l Log) Send(_ context.Context, m *Message) error {
	l.Logger.Info("mail", m.About...)
	return nil
}

// Close implements Session.
func (Log) Close() {}
