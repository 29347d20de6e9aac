// Package mails is what members are mailed: new posts of what they follow, at once or
// in digests, and links.
package mails

import "github.com/tollgate-gateway/tollgate/backends/board/accounts"

// Service is the mails of a board.
type Service struct{ *accounts.Service }

// New returns the mails of a board.
func New(members *accounts.Service) *Service { return &Service{members} }
