package board

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// attachmentsDatabase is the value of the option attachments that stores attachments in the database.
const attachmentsDatabase = "database"

// attachmentsFolder returns the folder of attachments, or "" if they are stored in the database. option is the value of
// the option attachments.
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

// jobMetrics holds the metrics of the background jobs. They live for the process and are registered with each
// configuration.
var jobMetrics = tollgate.NewJobMetrics("board", "deliveries, mails, rows")

// joinWork adds the handler to the board's background work until Cleanup.
func (h *Handler) joinWork(ctx caddy.Context, boardNode *node, languages *locale.Languages) error {
	if err := jobMetrics.Register(ctx); err != nil {
		return err
	}
	logger := ctx.Logger()
	mailer := &jobs.Mailer{
		Transport: mail.Log{Logger: logger}, BaseURL: h.BaseURL, Languages: languages, Logger: logger,
	}
	brand := h.app.BrandOfPages()
	if brand != nil {
		mailer.Footer = brand.Footer
	}
	p := &participant{
		app: h.app, started: h.app.Started,
		baseURL: h.BaseURL, attachments: attachmentsFolder(h.app, h.Attachments),
	}
	if h.Mail.Sends() {
		sender := ""
		if brand != nil {
			sender = brand.Name
		}
		var err error
		if p.mail, err = h.Mail.SMTP(sender); err != nil {
			return err
		}
		smtp, err := mail.NewSMTP(p.mail)
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		mailer.Transport = smtp
	}
	deliverer := webhook.NewSender(h.app.AllowedNetworks(), logger)
	p.work = h.service.Work(deliverer, mailer, logger)
	h.stopWork = func() {
		boardNode.worker.leave(p)
		deliverer.Close()
	}
	return boardNode.worker.join(p)
}

// validateMail checks the parts of the mail options that do not depend on placeholders.
func (h *Handler) validateMail() error {
	if h.Mail.Sends() && h.Mail.From != "" && h.BaseURL == "" {
		return errors.New("mail: base_url is required, because the links in mails begin with it")
	}
	return h.Mail.Validate()
}
