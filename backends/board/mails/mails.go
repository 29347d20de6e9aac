// Package mails decides what members are mailed, and when: new posts in the threads and forums that they follow, at
// once or in digests, and links for their accounts. Package jobs sends the mails.
package mails

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service manages the mails of a board that wait to be sent.
type Service struct {
	*kernel.Server
	rights *rights.Service
}

// New returns the mails of a board.
func New(board *kernel.Server, actors *rights.Service) *Service {
	return &Service{Server: board, rights: actors}
}
