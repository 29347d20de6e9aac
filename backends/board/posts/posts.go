// Package posts is what people do with what a board has: they read and write threads, posts
// and the files at them, moderation, search, and who follows what.
package posts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Service is the posts of a board.
type Service struct {
	*kernel.Server
	rights      *rights.Service
	attachments *attachments.Service
	state       *State
}

// Options are what the posts of a board need of other rooms. All are required.
type Options struct {
	Rights      *rights.Service
	Attachments *attachments.Service
	// State is shared by all boards on one database.
	State *State
}

// State is what the posts of all boards on one database have in memory.
type State struct {
	views viewCounter
	words wordCounter
}

// NewState returns a state of nothing.
func NewState() *State { return &State{words: newWordCounter()} }

// New returns the posts of a board.
func New(board *kernel.Server, o Options) *Service {
	return &Service{Server: board, rights: o.Rights, attachments: o.Attachments, state: o.State}
}
