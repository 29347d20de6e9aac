package board

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// Mail is how the board sends mails.
type Mail struct {
	// URL of the server: smtp://host:port, which needs STARTTLS but on this
	// machine, or smtps://host:port. Default: mails are only logged.
	URL string `json:"url,omitempty"`

	// From is the sender, such as: Board <board@example.com>.
	From string `json:"from,omitempty"`

	// User and Password, where the server asks for them.
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// mailLog is what the Caddyfile says for mails that are only logged.
const mailLog = "log"

// unmarshalMail reads the option mail. Syntax:
//
//	mail log
//	mail smtp[s]://<host>[:<port>] {
//		from     <address>
//		user     <name>
//		password <secret>
//	}
func unmarshalMail(d *caddyfile.Dispenser) (*Mail, error) {
	m := new(Mail)
	if !d.AllArgs(&m.URL) {
		return nil, d.ArgErr()
	}
	if m.URL == mailLog {
		m.URL = ""
	}
	options := map[string]*string{"from": &m.From, "user": &m.User, "password": &m.Password}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		into := options[name]
		if into == nil {
			return nil, directive.NoOption(d, "mail: unknown option %q; there are: from, user, password", name)
		}
		if *into != "" {
			return nil, d.Errf("%s is given twice", name)
		}
		if !d.AllArgs(into) {
			return nil, d.ArgErr()
		}
	}
	return m, nil
}

// attachmentsDatabase is what the Caddyfile says to keep attachments in the database.
const attachmentsDatabase = "database"

// attachmentsFolder is where attachments are kept; empty: in the database.
func attachmentsFolder(app *tollgate.App, option string) string {
	switch option {
	case attachmentsDatabase:
		return ""
	case "":
		if dir := app.ServiceFolder(serviceName); dir != "" {
			return filepath.Join(dir, "board-attachments")
		}
	}
	return option
}

// jobMetrics live for the process and are registered with each configuration.
var jobMetrics = tollgate.NewJobMetrics("board", "deliveries, mails, rows")

// work has the board's work done in the background until Cleanup.
func (h *Handler) work(ctx caddy.Context, shared *node) error {
	if err := jobMetrics.Register(ctx); err != nil {
		return err
	}
	logger := ctx.Logger()
	mailer := &jobs.Mailer{Transport: mail.Log{Logger: logger}, BaseURL: h.BaseURL, Logger: logger}
	c := &claim{
		app: h.app, started: h.app.Started,
		baseURL: h.BaseURL, attachments: attachmentsFolder(h.app, h.Attachments),
	}
	if h.Mail != nil && h.Mail.URL != "" {
		c.mail = mail.SMTPOptions{URL: h.Mail.URL, From: h.Mail.From, User: h.Mail.User, Password: h.Mail.Password}
		for option, text := range map[string]*string{"mail": &c.mail.URL, "from": &c.mail.From, "user": &c.mail.User, "password": &c.mail.Password} {
			var err error
			if *text, err = placeholder.Resolve(*text); err != nil {
				return fmt.Errorf("mail: %s: %w", option, err)
			}
		}
		smtp, err := mail.NewSMTP(c.mail)
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		mailer.Transport = smtp
	}
	deliverer := webhook.NewSender(h.app.AllowedNetworks(), logger)
	c.work = &jobs.Work{Service: h.service, Webhooks: deliverer, Mail: mailer, Logger: logger}
	h.stopWork = func() {
		shared.worker.leave(c)
		deliverer.Close()
	}
	return shared.worker.join(c)
}

// validate checks what needs no placeholder.
func (m *Mail) validate(baseURL string) error {
	switch {
	case m == nil || m.URL == "":
		if m != nil && cmp.Or(m.From, m.User, m.Password) != "" {
			return errors.New("mail: from, user and password are for a server")
		}
	case m.From == "":
		return errors.New("mail: from is missing, such as: Board <board@example.com>")
	case baseURL == "":
		return errors.New("mail: base_url is missing, which the links in mails begin with")
	case strings.Contains(m.URL, "@"):
		return errors.New("mail: user and password are options of their own")
	}
	return nil
}
