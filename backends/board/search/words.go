package search

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// WordsToFold is how many posts are written before their words are folded into
// the index of PostgreSQL, when a moment comes in which nobody writes: beside replies that
// takes three times as long, and each of them waits for it. It keeps the words of new
// posts in a list, which every search reads, and leaves it to whoever finds the list too
// long, in the midst of a reply, to fold it; the limit of the index is above what comes to
// the list here.
const WordsToFold = 500

const (
	// wordsMost is how many posts are written before their words are folded at any
	// rate. A look at their list takes some 2 ms.
	wordsMost = 1000
	// wordsQuiet is how long nobody has written when it is quiet.
	wordsQuiet = 100 * time.Millisecond
)

// Words counts the posts whose words are to be folded. All boards on one database share one.
type Words struct {
	posts atomic.Int64 // written since words were folded
	ready chan struct{}
}

// NewWords returns a count of none.
func NewWords() *Words { return &Words{ready: make(chan struct{}, 1)} }

func (w *Words) add() {
	if w.posts.Add(1) != WordsToFold {
		return
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// quiet waits until nobody writes, or too much has been written to wait for that.
func (w *Words) quiet(ctx context.Context) error {
	for before := w.posts.Load(); before < wordsMost; {
		select {
		case <-time.After(wordsQuiet):
		case <-ctx.Done():
			return ctx.Err()
		}
		now := w.posts.Load()
		if now == before {
			break
		}
		before = now
	}
	return nil
}

// wordsTurn is what folding waits for: it has the place of one of those who reply at a
// time, so that as many work as before.
type wordsTurn struct{}

// FoldWords empties the list of words of new posts where it has become long.
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

// WordsReady tells when there are words to fold.
func (s *Service) WordsReady() <-chan struct{} { return s.words.ready }

// CountWords counts a post with words that are to be folded.
func (s *Service) CountWords() { s.words.add() }
