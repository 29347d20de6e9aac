package jobs

import (
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// Letter returns the mail that Send would send.
func (m *Mailer) Letter(mailing *mails.Mailing) (*mail.Message, error) { return m.letter(mailing) }
