// Package admin implements the tasks of administrators and moderators. They manage settings, forums, groups,
// permissions, members, thread prefixes, word filters and webhooks, and work through held posts, reports and the
// moderation log.
package admin

import (
	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service implements the administration of a board. Methods with an actor check its permissions. Methods for
// administrators return an error with status 403 to other actors and to suspended administrators. Each change is
// recorded in the moderation log.
type Service struct {
	*kernel.Server
	rights   *rights.Service
	posts    *posts.Service
	accounts *accounts.Service
}

// New returns the administration service of a board.
func New(board *kernel.Server, actors *rights.Service, writing *posts.Service, members *accounts.Service) *Service {
	return &Service{Server: board, rights: actors, posts: writing, accounts: members}
}
