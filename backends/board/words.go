package board

import (
	"context"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// wordsToFold is how many posts are written before their words are folded into
// the index of PostgreSQL. It keeps the words of new posts in a list, which every
// search reads, and leaves it to whoever finds the list too long, in the midst of
// a reply, to fold it: that takes a second and more.
const wordsToFold = 500

// wordCounter tells when there is something to fold.
type wordCounter struct {
	posts *atomic.Int64
	ready chan struct{}
}

func newWordCounter() wordCounter {
	return wordCounter{new(atomic.Int64), make(chan struct{}, 1)}
}

func (w wordCounter) add() {
	if w.posts.Add(1)%wordsToFold != 0 {
		return
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// foldWords empties the list of words of new posts, beside what others write.
func (s *Service) foldWords(ctx context.Context) error {
	if s.DB.Dialect() == store.SQLite {
		return nil // FTS5 folds a part with each post
	}
	return s.DB.Read(ctx, func(c store.Conn) error {
		_, err := c.Exec("SELECT gin_clean_pending_list('board_search_words')")
		return err
	})
}
