// Package posts is what people do with what a board has: they read and write threads, posts
// and the files at them, moderation, search, and who follows what.
package posts

import "github.com/tollgate-gateway/tollgate/backends/board/attachments"

// Service is the posts of a board.
type Service struct {
	*attachments.Service
	*State
}

// State is what the posts of all boards on one database have in memory.
type State struct {
	views viewCounter
	words wordCounter
}

// NewState returns a state of nothing.
func NewState() *State { return &State{words: newWordCounter()} }

// New returns the posts of a board.
func New(files *attachments.Service, state *State) *Service { return &Service{files, state} }
