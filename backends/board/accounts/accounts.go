// Package accounts is the members of a board as those who sign in: registration,
// sessions, passwords, mail addresses and their links, names, profiles and tokens.
package accounts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service is the accounts of a board.
type Service struct {
	*kernel.Server
	rights *rights.Service
	tokens *Tokens
}

// Options are what the accounts of a board need of other rooms. All are required.
type Options struct {
	Rights *rights.Service
	// Tokens are shared by all boards on one database.
	Tokens *Tokens
}

// New returns the accounts of a board.
func New(board *kernel.Server, o Options) *Service {
	return &Service{Server: board, rights: o.Rights, tokens: o.Tokens}
}
