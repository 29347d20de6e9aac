// Package accounts manages the accounts of a board: registration, sign-in and sessions, passwords, mail addresses and
// the links mailed to them, user names, profiles and API tokens.
package accounts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service manages the accounts of a board. Its methods are safe for concurrent use.
type Service struct {
	*kernel.Server
	rights *rights.Service
	tokens *Tokens
}

// New returns the accounts of a board. All servers of one board must share tokens.
func New(board *kernel.Server, actors *rights.Service, tokens *Tokens) *Service {
	return &Service{Server: board, rights: actors, tokens: tokens}
}
