package catalog

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// pollEvery is how often Run looks at the file. Polling works on every file
// system and with every way of replacing a file.
const pollEvery = 5 * time.Second

// Source gives the current catalog: the one built in, or that of a file, which
// may change while the gateway runs.
type Source struct {
	path   string
	opts   Options
	logger *zap.Logger

	current atomic.Pointer[Catalog]

	// seen is the version of the file that was looked at last, valid or not.
	// Only Run touches it once the Source is made.
	seen fileStamp
}

// fileStamp tells versions of a file apart.
type fileStamp struct {
	modified int64 // nanoseconds since 1970
	size     int64
}

func stampOf(info os.FileInfo) fileStamp {
	return fileStamp{modified: info.ModTime().UnixNano(), size: info.Size()}
}

// NewSource reads the catalog: from path, or the built-in one when path is
// empty. A file or options that do not hold are an error here, once; later
// Run keeps what was good. A nil logger logs nothing.
func NewSource(path string, opts Options, logger *zap.Logger) (*Source, error) {
	if logger == nil {
		logger = zap.NewNop()
	}
	s := &Source{path: path, opts: opts, logger: logger}
	base := Embedded()
	if path != "" {
		loaded, stamp, err := load(path)
		if err != nil {
			return nil, err
		}
		if loaded.Updated < base.Updated { // both are ISO dates
			logger.Warn("model catalog file is older than the built-in one",
				zap.String("path", path), zap.String("updated", loaded.Updated), zap.String("built_in", base.Updated))
		}
		base, s.seen = loaded, stamp
	}
	c, err := base.With(opts)
	if err != nil {
		return nil, fmt.Errorf("model catalog: %w", err)
	}
	s.current.Store(c)
	return s, nil
}

// Current returns the catalog in use. It is cheap; ask again for each request
// and keep the answer for the length of that request.
func (s *Source) Current() *Catalog { return s.current.Load() }

// Run follows the file until ctx ends: every five seconds it looks at time and
// size, and swaps a changed file in when it is valid. A broken one is logged
// once and changes nothing. Without a file it returns at once.
func (s *Source) Run(ctx context.Context) {
	if s.path == "" {
		return
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.poll()
		}
	}
}

// poll looks at the file once.
func (s *Source) poll() {
	info, err := os.Stat(s.path)
	if err != nil {
		// Gone counts as a version too, so that it is logged once.
		if s.seen != (fileStamp{}) {
			s.seen = fileStamp{}
			s.keep(err)
		}
		return
	}
	now := stampOf(info)
	if now == s.seen {
		return
	}
	s.seen = now
	loaded, stamp, err := load(s.path)
	if err != nil {
		s.keep(err)
		return
	}
	s.seen = stamp
	c, err := loaded.With(s.opts)
	if err != nil {
		s.keep(err)
		return
	}
	s.current.Store(c)
	s.logger.Info("model catalog replaced",
		zap.String("path", s.path), zap.String("updated", c.Updated), zap.Int("providers", len(c.Providers())))
}

func (s *Source) keep(err error) {
	s.logger.Error("model catalog file is not usable, keeping the last good one",
		zap.String("path", s.path), zap.String("updated", s.Current().Updated), zap.Error(err))
}
