// Package mail sends the mails of a service: over SMTP, or only to the log. Mails wait in the service's database. A
// node claims each mail before it sends it, and failed mails are sent again. The service decides who gets which mails
// and how often.
package mail

import (
	"context"
	"errors"

	"go.uber.org/zap"
)

// ErrPermanent is wrapped by an error of Session.Send or Claimed.Message after which another attempt is pointless.
var ErrPermanent = errors.New("the mail was refused for good")

// Message is a mail that is ready to be sent.
type Message struct {
	// ID identifies the mail. A repeated attempt has the same ID.
	ID string
	// Name and Email are the recipient's.
	Name, Email string
	Subject     string
	// Text is the content, and HTML the same content as HTML. An empty HTML means that there is only the text.
	Text, HTML string
	// Unsubscribe is a URL that ends such mails without a login (RFC 8058), or "".
	Unsubscribe string
	// Thread names the conversation to which the mail belongs, or is "". Mail programs show the mails of a conversation
	// together. Thread has letters, digits, dots and hyphens only.
	Thread string
	// List is the mailing list to which the mail belongs. Recipients can sort mails by it. A mail whose List has no ID is
	// a personal mail.
	List List
	// About has fields for log lines about the mail. They must contain neither the address nor the content.
	About []zap.Field
}

// List identifies a mailing list, to which recipients subscribe (RFC 2919).
type List struct {
	ID   string // letters, digits and hyphens
	Name string // one line for people, or ""
}

// Transport passes mails on for delivery.
type Transport interface {
	// Open prepares for sending. An error means that nothing can be sent now.
	Open(ctx context.Context) (Session, error)
}

// Session sends mails one after another.
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
