package search

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// WordsToFold is the number of new posts that may wait before their words are folded into the main part of PostgreSQL's
// index. PostgreSQL collects the words of new posts in a pending list, which every search reads. To fold them means to
// merge this list into the main part. By default, PostgreSQL would do so in the middle of a reply when the list gets
// too long. Folding takes three times as long while others reply, and each of them waits. Therefore the words are
// folded at a moment in which nobody writes. The index allows a longer pending list than can build up here.
const WordsToFold = 500

const (
	// maxWords is the number of waiting posts at which their words are folded even if others are writing. A search
	// takes some 2 ms to read a list of that length.
	maxWords = 1000
	// wordsQuiet is the time without a write after which the words are folded.
	wordsQuiet = 100 * time.Millisecond
)

// Words counts the posts whose words are not folded yet. All boards on one database share one Words.
type Words struct {
	// Ready receives a value when there are words to fold.
	Ready chan struct{}

	posts atomic.Int64 // written since the words were last folded
}

// NewWords returns a Words with a count of 0.
func NewWords() *Words { return &Words{Ready: make(chan struct{}, 1)} }

// waitForQuiet waits until nobody has written for wordsQuiet, or until maxWords posts wait.
func (w *Words) waitForQuiet(ctx context.Context) error {
	for previous := w.posts.Load(); previous < maxWords; {
		select {
		case <-time.After(wordsQuiet):
		case <-ctx.Done():
			return ctx.Err()
		}
		current := w.posts.Load()
		if current == previous {
			return nil
		}
		previous = current
	}
	return nil
}

// wordsTurn identifies the turn in which words are folded (see store.InTurn). Folding waits its turn like a writer of
// replies, so that no more transactions run at once than without it.
type wordsTurn struct{}

// FoldWords folds the words of new posts into the main part of PostgreSQL's index, if at least WordsToFold posts wait.
// It first waits for a quiet moment.
func (s *Service) FoldWords(ctx context.Context) error {
	if s.DB.Dialect() == store.SQLite || s.words.posts.Load() < WordsToFold { // FTS5 folds words with each post
		return nil
	}
	if err := s.words.waitForQuiet(ctx); err != nil {
		return err
	}
	n := s.words.posts.Swap(0)
	err := s.Write(store.InTurn(store.Hastily(store.ReadCommitted(ctx)), wordsTurn{}), func(c store.Conn) error {
		_, err := c.Exec("SELECT gin_clean_pending_list('board_search_words')")
		return err
	})
	if err != nil {
		s.words.posts.Add(n)
	}
	return err
}

// CountWords counts a new post whose words are not folded yet.
func (s *Service) CountWords() {
	if s.words.posts.Add(1) != WordsToFold {
		return
	}
	select {
	case s.words.Ready <- struct{}{}:
	default: // Ready has a value that nobody has received yet
	}
}
