package runevents

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestGather checks which reports share a transaction, and how long the writer waits for more.
func TestGather(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reading int64
		last    batchStats
		queued  int
		coming  []time.Duration // after which reports come into the queue
		want    int
		took    time.Duration
	}{
		"alone":           {want: 1},
		"waiting":         {queued: 3, want: 4},
		"being read":      {reading: 2, queued: 1, coming: []time.Duration{batchWait / 4, batchWait / 2}, want: 4, took: batchWait / 2},
		"read for long":   {reading: 2, coming: []time.Duration{batchWait / 2, 2 * batchWait}, want: 2, took: batchWait},
		"a crowd":         {last: batchStats{3, batchWait / 4}, reading: 1, queued: 1, coming: []time.Duration{batchWait / 8}, want: 3, took: batchWait / 8},
		"a crowd is read": {last: batchStats{2, batchWait / 4}, reading: 2, coming: []time.Duration{batchWait / 8, batchWait / 4}, want: 3, took: batchWait / 4},
		"a crowd no more": {last: batchStats{2, batchWait / 4}, want: 1, took: batchWait / 4},
		"a slow disk":     {last: batchStats{2, time.Second}, want: 1, took: batchWait},
		"full":            {reading: 1, queued: batchReports + 10, want: batchReports},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &Service{queue: make(chan *job, queueLength)}
				s.parsing.Store(c.reading)
				for range c.queued {
					s.queue <- &job{report: &report{}}
				}
				for _, after := range c.coming {
					time.AfterFunc(after, func() {
						s.parsing.Add(-1)
						s.queue <- &job{report: &report{}}
					})
				}
				began := time.Now() // of the bubble
				jobs := s.gather([]*job{{report: &report{}}}, c.last)
				if took := time.Since(began); len(jobs) != c.want || took != c.took {
					t.Errorf("%d reports after %s, want %d after %s", len(jobs), took, c.want, c.took)
				}
			})
		})
	}
}

// TestWriterPanics checks that a panic of the writer leaves no other sender without an answer, neither waiting nor
// later ones.
func TestWriterPanics(t *testing.T) {
	t.Parallel()
	s := &Service{queue: make(chan *job, queueLength), writer: make(chan *writer, 1)} // it lacks what it takes to write
	s.writer <- &writer{Service: s}
	first, err := s.enqueue(&report{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.enqueue(&report{})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = s.await(first)
	}()
	if err := s.await(other); !errors.Is(err, errUnfinished) {
		t.Errorf("the other's error: %v", err)
	}
	if len(s.writer) != 1 {
		t.Error("the writer is gone")
	}
	s.background.Wait()
}
