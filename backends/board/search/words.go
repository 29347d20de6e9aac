package search

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// WordsToFold is how many new posts may wait before their words are folded into the main part of the index of
// PostgreSQL. PostgreSQL collects the words of new posts in a pending list, which every search reads. Left alone,
// it would fold a list that has become too long in the middle of a reply. Folding while others reply takes three
// times as long, and each of them waits for it, so it is done in a moment in which nobody writes. The limit that is
// set for the index is above what the list reaches here.
const WordsToFold = 500

const (
	// maxWords is how many new posts may wait before their words are folded even if others are writing. A search
	// takes some 2 ms to read a list of that length.
	maxWords = 1000
	// wordsQuiet is how long nobody must have written before the words are folded.
	wordsQuiet = 100 * time.Millisecond
)

// Words counts the posts whose words are yet to be folded. All boards on one database share one.
type Words struct {
	// Ready receives a value when there are words to fold.
	Ready chan struct{}

	posts atomic.Int64 // written since the words were last folded
}

// NewWords returns a Words that has counted nothing.
func NewWords() *Words { return &Words{Ready: make(chan struct{}, 1)} }

// quiet waits until nobody writes, or until too many posts have been written to wait any longer.
func (w *Words) quiet(ctx context.Context) error {
	for previous := w.posts.Load(); previous < maxWords; {
		select {
		case <-time.After(wordsQuiet):
		case <-ctx.Done():
			return ctx.Err()
		}
		now := w.posts.Load()
		if now == previous {
			break
		}
		previous = now
	}
	return nil
}

// wordsTurn is the name of the turn for which folding waits (see store.InTurn). Folding takes the place of one of
// those who reply, so that no more transactions run at once than before.
type wordsTurn struct{}

// FoldWords folds the words of new posts into the main part of the index on PostgreSQL, if at least WordsToFold
// posts wait. It waits for a quiet moment first.
func (s *Service) FoldWords(ctx context.Context) error {
	if s.DB.Dialect() == store.SQLite || s.words.posts.Load() < WordsToFold { // FTS5 folds a part with each post
		return nil
	}
	if err := s.words.quiet(ctx); err != nil {
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

// CountWords counts a post whose words are to be folded.
func (s *Service) CountWords() {
	if s.words.posts.Add(1) != WordsToFold {
		return
	}
	select {
	case s.words.Ready <- struct{}{}:
	default:
	}
}
