// Package admin implements what administrators and moderators do: settings, forums, groups, permissions, members,
// thread prefixes and word filters, webhooks, the queue of held posts, reports and the moderation log.
package admin

import (
	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service implements the administration of a board. Methods that have an actor check its permissions: those for
// administrators alone return an error with status 403 to everybody else, and to administrators who are suspended.
// They record each change in the moderation log.
type Service struct {
	*kernel.Server
	rights   *rights.Service
	posts    *posts.Service
	accounts *accounts.Service
}

// New returns the administration of a board.
func New(board *kernel.Server, actors *rights.Service, writing *posts.Service, members *accounts.Service) *Service {
	return &Service{Server: board, rights: actors, posts: writing, accounts: members}
}
