// Package mail sends what a service has to tell people by mail: over SMTP, or only
// to the log. What is to be sent waits in the service's database, from where each
// piece is claimed by one node, and is tried again when it fails. Who is mailed, how
// often, and the words of it are the service's.
package mail

import (
	"context"
	"errors"

	"go.uber.org/zap"
)

// ErrPermanent is in the chain of an error of Session.Send, or Claimed.Message, that
// another attempt would not mend.
var ErrPermanent = errors.New("the mail was refused for good")

// Message is a mail that is ready to be sent.
type Message struct {
	// ID is the same when the mail is sent again.
	ID string
	// Name and Email of the recipient.
	Name, Email string
	Subject     string
	// Text is what the mail says, and HTML the same for readers that show it; empty: there is
	// the text alone.
	Text, HTML string
	// Unsubscribe is a link that ends such mails without a login (RFC 8058); empty:
	// there is none.
	Unsubscribe string
	// About is what the log is told of the mail, which must not be the address or
	// what it says.
	About []zap.Field
}

// Transport takes mails to where they are sent on.
type Transport interface {
	// Open gets ready to send; an error means that nothing can be sent now.
	Open(ctx context.Context) (Session, error)
}

// Session sends mails, one after the other.
type Session interface {
	Send(ctx context.Context, m *Message) error
	Close()
}

// Log is the transport that only logs which mails there would be.
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
