package posts

import (
	"context"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// WordsToFold is how many posts are written before their words are folded into
// the index of PostgreSQL. It keeps the words of new posts in a list, which every
// search reads, and leaves it to whoever finds the list too long, in the midst of
// a reply, to fold it: that takes a second and more.
const WordsToFold = 500

// wordCounter tells when there is something to fold.
type wordCounter struct {
	posts *atomic.Int64 // since words were folded
	ready chan struct{}
}

func newWordCounter() wordCounter {
	return wordCounter{new(atomic.Int64), make(chan struct{}, 1)}
}

func (w wordCounter) add() {
	if w.posts.Add(1) != WordsToFold {
		return
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// FoldWords empties the list of words of new posts, beside what others write, where
// it has become long.
func (s *Service) FoldWords(ctx context.Context) error {
	if s.DB.Dialect() == store.SQLite || s.words.posts.Load() < WordsToFold { // FTS5 folds a part with each post
		return nil
	}
	n := s.words.posts.Swap(0)
	err := s.Read(ctx, func(c store.Conn) error {
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
