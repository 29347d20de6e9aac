// Package admin is what administrators and moderators do: settings, forums, groups,
// rights, members, words, webhooks, the queue, reports and the log.
package admin

import (
	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service is the administration of a board.
type Service struct {
	*kernel.Server
	rights   *rights.Service
	posts    *posts.Service
	accounts *accounts.Service
}

// Options are what the administration of a board needs of other rooms. All are required.
type Options struct {
	Rights   *rights.Service
	Posts    *posts.Service
	Accounts *accounts.Service
}

// New returns the administration of a board.
func New(board *kernel.Server, o Options) *Service {
	return &Service{Server: board, rights: o.Rights, posts: o.Posts, accounts: o.Accounts}
}
