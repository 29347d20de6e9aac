// Package accounts is the members of a board as those who sign in: registration,
// sessions, passwords, mail addresses and their links, names, profiles and tokens.
package accounts

import "github.com/tollgate-gateway/tollgate/backends/board/posts"

// Service is the accounts of a board.
type Service struct {
	*posts.Service
	tokens *Tokens
}

// New returns the accounts of a board. tokens is of all boards on one database.
func New(content *posts.Service, tokens *Tokens) *Service {
	return &Service{Service: content, tokens: tokens}
}
