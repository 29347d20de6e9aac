// Package mails decides which mails members get, and when. Mails about new posts in the threads and forums that members
// follow are sent at once or in digests. Other mails are about mentions and private messages, or contain links for the
// members' accounts. Package jobs sends the mails.
package mails

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service manages a board's queue of mails.
type Service struct {
	*kernel.Server
	rights *rights.Service
}

// New returns the mail service of a board.
func New(board *kernel.Server, actors *rights.Service) *Service {
	return &Service{Server: board, rights: actors}
}
