// Package mails is what members are mailed: new posts of what they follow, at once or
// in digests, and links.
package mails

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service is the mails of a board.
type Service struct {
	*kernel.Server
	rights *rights.Service
}

// New returns the mails of a board.
func New(board *kernel.Server, actors *rights.Service) *Service {
	return &Service{Server: board, rights: actors}
}
