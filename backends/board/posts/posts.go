// Package posts is what people do with what a board has: they read and write threads, posts
// and the files at them, and moderate them.
package posts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
)

// Service is the posts of a board.
type Service struct {
	*kernel.Server
	rights      *rights.Service
	attachments *attachments.Service
	following   *following.Service
	search      *search.Service
	views       *Views
}

// Options are what the posts of a board need of other rooms. All are required.
type Options struct {
	Rights      *rights.Service
	Attachments *attachments.Service
	Following   *following.Service
	Search      *search.Service
	// Views are shared by all boards on one database.
	Views *Views
}

// New returns the posts of a board.
func New(board *kernel.Server, o Options) *Service {
	return &Service{
		Server: board, rights: o.Rights, attachments: o.Attachments, following: o.Following, search: o.Search,
		views: o.Views,
	}
}
