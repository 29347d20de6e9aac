// Package posts implements reading, writing and moderating threads, posts and their files.
package posts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
)

// Service reads, writes and moderates the threads and posts of a board.
type Service struct {
	*kernel.Server
	rights      *rights.Service
	attachments *attachments.Service
	following   *following.Service
	search      *search.Service
	views       *Views
}

// Options holds the services that package posts uses. All are required.
type Options struct {
	Rights      *rights.Service
	Attachments *attachments.Service
	Following   *following.Service
	Search      *search.Service
	// Views is shared by all boards on one database.
	Views *Views
}

// New returns the Service of a board.
func New(board *kernel.Server, o Options) *Service {
	return &Service{
		Server: board, rights: o.Rights, attachments: o.Attachments, following: o.Following, search: o.Search,
		views: o.Views,
	}
}
