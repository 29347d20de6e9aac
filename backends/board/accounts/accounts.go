// Package accounts manages the accounts of a board: registration, sign-in and sessions, passwords, mail addresses and
// the links that are mailed to them, user names, profiles and API tokens.
package accounts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service manages the accounts of a board. Its methods may be called from several goroutines.
type Service struct {
	*kernel.Server
	rights *rights.Service
	tokens *Tokens
}

// Options are the parts of a board that a Service uses. All are required.
type Options struct {
	Rights *rights.Service
	// Tokens is shared by all servers of one board.
	Tokens *Tokens
}

// New returns the accounts of a board.
func New(board *kernel.Server, o Options) *Service {
	return &Service{Server: board, rights: o.Rights, tokens: o.Tokens}
}
