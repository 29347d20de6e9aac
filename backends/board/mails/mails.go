// Package mails is what members are mailed: new posts of what they follow, at once or
// in digests, and links.
package mails

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service is the mails of a board.
type Service struct {
	*kernel.Server
	rights *rights.Service
	posts  *posts.Service
}

// Options are what the mails of a board need of other rooms. All are required.
type Options struct {
	Rights *rights.Service
	Posts  *posts.Service
}

// New returns the mails of a board.
func New(board *kernel.Server, o Options) *Service {
	return &Service{Server: board, rights: o.Rights, posts: o.Posts}
}
