// Package mailserver provides the option mail for services that send mails.
package mailserver

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

// Server describes the server that relays mails.
type Server struct {
	// URL is smtp://host:port, which requires STARTTLS except on this machine, or smtps://host:port. Default: mails are
	// only logged.
	URL string `json:"url,omitempty"`

	// From is the sender, for example Board <board@example.com>.
	From string `json:"from,omitempty"`

	// User and Password are the credentials for a server that requires them.
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// logOnly is the argument of the option for mails that are only logged.
const logOnly = "log"

// Unmarshal parses the option mail. Syntax:
//
//	mail log
//	mail smtp[s]://<host>[:<port>] {
//		from     <address>
//		user     <name>
//		password <secret>
//	}
func Unmarshal(d *caddyfile.Dispenser) (*Server, error) {
	s := new(Server)
	if !d.AllArgs(&s.URL) {
		return nil, d.ArgErr()
	}
	if s.URL == logOnly {
		s.URL = ""
	}
	options := map[string]*string{"from": &s.From, "user": &s.User, "password": &s.Password}
	return s, directive.Options(d, func(option string) error {
		field := options[option]
		if field == nil {
			return directive.NoOption(d, "mail: unknown option %q; there are: from, user, password", option)
		}
		return directive.Text(d, field)
	})
}

// Sends reports whether mails are sent rather than only logged. A nil server sends none.
func (s *Server) Sends() bool { return s != nil && s.URL != "" }

// Validate checks the parts that do not depend on placeholders. A nil receiver, which stands for a missing option, is
// valid.
func (s *Server) Validate() error {
	switch {
	case !s.Sends():
		if s != nil && cmp.Or(s.From, s.User, s.Password) != "" {
			return errors.New("mail: from, user and password need a server: mail smtp://<host> { … }")
		}
	case s.From == "":
		return errors.New("mail: from is missing, such as: Board <board@example.com>")
	case strings.Contains(s.URL, "@"):
		return errors.New("mail: the URL must not contain user and password: use the options user and password")
	}
	return nil
}

// SMTP returns the options of the SMTP client, with the placeholders replaced. sender is the sender's name if From
// contains no name.
func (s *Server) SMTP(sender string) (mail.SMTPOptions, error) {
	o := mail.SMTPOptions{URL: s.URL, From: s.From, User: s.User, Password: s.Password}
	for option, text := range map[string]*string{
		"mail": &o.URL, "from": &o.From, "user": &o.User, "password": &o.Password,
	} {
		var err error
		if *text, err = placeholder.Resolve(*text); err != nil {
			return o, fmt.Errorf("mail: %s: %w", option, err)
		}
	}
	o.Sender = sender
	return o, nil
}
