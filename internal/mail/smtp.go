package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// SMTPOptions are the settings of the server that relays mails.
type SMTPOptions struct {
	// URL is smtp://host:port, which requires STARTTLS except on this machine, or smtps://host:port, which uses TLS
	// from the first byte. Default ports: 587 and 465.
	URL string
	// From is the sender, such as: Board <board@example.com>.
	From string
	// Sender is the sender's display name if From has none. Default: no name.
	Sender string
	// User and Password are the credentials, if the server requires them.
	User, Password string
}

// SMTP is a Transport that sends mails through an SMTP server.
type SMTP struct {
	client *gomail.Client
	from   *netmail.Address
	domain string // domain of message ids
}

// NewSMTP checks the options and returns an SMTP. It does not connect.
func NewSMTP(o SMTPOptions) (*SMTP, error) {
	host, transport, err := parseServer(o.URL)
	if err != nil {
		return nil, err
	}
	sender, err := netmail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("from: %q is not an address such as Board <board@example.com>", o.From)
	}
	if sender.Name == "" {
		sender.Name = o.Sender
	}
	if (o.User == "") != (o.Password == "") {
		return nil, errors.New("user and password must be given together")
	}
	options := append(transport, gomail.WithTimeout(sendTimeout),
		gomail.WithTLSConfig(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}))
	if o.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(o.User), gomail.WithPassword(o.Password))
	}
	client, err := gomail.NewClient(host, options...)
	if err != nil {
		return nil, err
	}
	_, domain, _ := strings.Cut(sender.Address, "@")
	return &SMTP{client, sender, domain}, nil
}

// parseServer parses SMTPOptions.URL. transport are the client's options for the port and the use of TLS.
func parseServer(text string) (host string, transport []gomail.Option, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", nil, errors.New("the server must be a URL such as smtp://mail.example.com:587 or " +
			"smtps://mail.example.com:465; user and password are separate options")
	}
	var port int
	switch {
	case u.Scheme == "smtps":
		port, transport = 465, append(transport, gomail.WithSSL())
	case local(u.Hostname()):
		port, transport = 587, append(transport, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	default:
		port, transport = 587, append(transport, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
			return "", nil, fmt.Errorf("%q is not a port number", text)
		}
	}
	return u.Hostname(), append(transport, gomail.WithPort(port)), nil
}

// local reports whether a host is this machine.
func local(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Open implements Transport by connecting. A separate goroutine connects, because the client observes ctx only until
// the connection is established, and a server may be silent after that.
func (s *SMTP) Open(ctx context.Context) (Session, error) {
	type dialed struct {
		conn *smtp.Client
		err  error
	}
	done := make(chan dialed, 1)
	go func() {
		conn, err := s.client.DialToSMTPClientWithContext(ctx)
		done <- dialed{conn, err}
	}()
	select {
	case d := <-done:
		if d.err != nil {
			return nil, d.err
		}
		return &smtpSession{s, d.conn}, nil
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				_ = d.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// smtpSession is an open connection to the server.
type smtpSession struct {
	*SMTP
	conn *smtp.Client
}

// Close implements Session.
func (s *smtpSession) Close() { _ = s.client.CloseWithSMTPClient(s.conn) }

// Send implements Session.
func (s *smtpSession) Send(ctx context.Context, m *Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mail, err := s.message(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPermanent, err)
	}
	// The client's Close would wait for the server.
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Text.Close() })
	err = s.client.SendWithSMTPClient(s.conn, mail)
	stop()
	refused, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return err
	}
	// The error's text contains the recipient's address, which must not be logged.
	err = fmt.Errorf("%s (%d %s)", refused.Reason, refused.ErrorCode(), refused.EnhancedStatusCode())
	// Only a refusal of the recipient is permanent: a refused sender may be a mistake in the settings.
	if refused.Reason == gomail.ErrSMTPRcptTo && refused.ErrorCode() >= 500 {
		return fmt.Errorf("%w: %w", ErrPermanent, err)
	}
	return err
}

// message converts a mail to the client's type.
func (s *SMTP) message(m *Message) (*gomail.Msg, error) {
	mail := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	mail.FromMailAddress(s.from)
	recipient, err := netmail.ParseAddress(m.Email)
	if err != nil {
		return nil, errors.New("the address of the recipient is not valid")
	}
	mail.ToMailAddress(&netmail.Address{Name: m.Name, Address: recipient.Address})
	mail.Subject(m.Subject)
	mail.SetDate()
	mail.SetMessageIDWithValue(m.ID + "@" + s.domain)
	mail.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Thread != "" { // nobody has a mail with this id, but all mails of the conversation refer to it
		root := "<" + m.Thread + "@" + s.domain + ">"
		mail.SetGenHeader("In-Reply-To", root)
		mail.SetGenHeader("References", root)
	}
	if m.List.ID != "" {
		mail.SetGenHeader("List-Id", strings.TrimLeft(phrase(m.List.Name)+" <"+m.List.ID+"."+s.domain+">", " "))
		mail.SetGenHeader("Precedence", "list")
	}
	if m.Unsubscribe != "" {
		mail.SetGenHeader("List-Unsubscribe", "<"+m.Unsubscribe+">")
		mail.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	mail.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		mail.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return mail, nil
}

// phrase encodes a text of one line as a display name before an address in a header (RFC 5322, RFC 2047).
func phrase(text string) string {
	if text == "" {
		return ""
	}
	address := (&netmail.Address{Name: text, Address: "a@b"}).String()
	return strings.TrimSuffix(address, " <a@b>")
}
