// Package posts is what is written on a board and read there: forums, threads, posts
// and their attachments, moderation, search, and who follows what.
package posts

import (
	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// Service is the posts of a board.
type Service struct {
	*rights.Service
	*State
	files *blob.Store // attachments
}

// State is what the posts of all boards on one database have in memory.
type State struct {
	views  viewCounter
	words  wordCounter
	strips *semaphore.Weighted // images that are stripped at once
}

// NewState returns a state of nothing.
func NewState() *State {
	return &State{words: newWordCounter(), strips: semaphore.NewWeighted(stripsAtOnce)}
}

// New returns the posts of a board.
func New(actors *rights.Service, state *State) *Service {
	s := &Service{Service: actors, State: state}
	s.files = s.newFiles(s.Options.Attachments)
	return s
}
