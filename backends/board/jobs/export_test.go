package jobs

import (
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// Letter returns the message that Send would send for a mailing.
func (m *Mailer) Letter(mailing *mails.Mailing) (*mail.Message, error) { return m.letter(mailing) }
