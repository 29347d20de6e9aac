package search

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWordsQuiet checks that words are folded when nobody writes, or when there are too many of them.
func TestWordsQuiet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		posts  int64         // posts at the beginning
		coming int           // posts that are added
		every  time.Duration // the time between them
		took   time.Duration
	}{
		"nobody writes":    {posts: WordsToFold, took: wordsQuiet},
		"others do":        {posts: WordsToFold, coming: 10, every: wordsQuiet / 2, took: 6 * wordsQuiet},
		"too many":         {posts: maxWords},
		"they become such": {posts: maxWords - 10, coming: 100, every: wordsQuiet / 2, took: 5 * wordsQuiet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := NewWords()
				w.posts.Store(c.posts)
				for i := range c.coming {
					time.AfterFunc(time.Duration(i)*c.every+1, (&Service{words: w}).CountWords)
				}
				began := time.Now()
				if err := w.waitForQuiet(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("waited for %s, want %s", took, c.took)
				}
			})
		})
	}
}

// TestWordsQuietCancelled checks that quiet returns when its context ends.
func TestWordsQuietCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewWords().waitForQuiet(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
