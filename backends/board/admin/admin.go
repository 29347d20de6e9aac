// Package admin is what administrators and moderators do: settings, forums, groups,
// rights, members, words, webhooks, the queue, reports and the log.
package admin

import "github.com/tollgate-gateway/tollgate/backends/board/mails"

// Service is the administration of a board.
type Service struct{ *mails.Service }

// New returns the administration of a board.
func New(board *mails.Service) *Service { return &Service{board} }
