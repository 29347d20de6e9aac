package catalog

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// pollEvery is the interval at which Run checks the files for changes. Polling works on every file system and with
// every way of replacing a file.
const pollEvery = 5 * time.Second

// Source provides the current catalog, either built in or read from a file, with the operator's own prices from another
// file. Both files may change while the gateway runs.
type Source struct {
	path       string // of the catalog; empty means the built-in one
	pricesPath string // of the price file; empty if there is none
	opts       Options
	logger     *zap.Logger

	current atomic.Pointer[Catalog]

	mu     sync.Mutex   // held while the catalog is loaded and replaced; guards the fields below
	stored Prices       // see UsePrices
	seen   [2]fileStamp // the last observed versions of the catalog and the price file, valid or not
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	modified int64 // nanoseconds since 1970
	size     int64
}

// stampOf returns the stamp of the file with the given info.
func stampOf(info os.FileInfo) fileStamp {
	return fileStamp{modified: info.ModTime().UnixNano(), size: info.Size()}
}

// NewSource reads the catalog from the file at path, or takes the built-in one if path is empty. Unless pricesPath is
// empty it also reads the price file; see ParsePrices. Invalid files and options are errors here, whereas Run keeps the
// last valid version. A nil logger logs nothing.
func NewSource(path, pricesPath string, opts Options, logger *zap.Logger) (*Source, error) {
	if logger == nil {
		logger = zap.NewNop()
	}
	s := &Source{path: path, pricesPath: pricesPath, opts: opts, logger: logger}
	c, err := s.load()
	if err != nil {
		return nil, err
	}
	if builtIn := Embedded(); c.Updated < builtIn.Updated { // both are ISO dates
		logger.Warn("model catalog file is older than the built-in one",
			zap.String("path", path), zap.String("updated", c.Updated), zap.String("built_in", builtIn.Updated))
	}
	s.current.Store(c)
	return s, nil
}

// load reads both files and records their versions. After NewSource the caller holds the mutex.
func (s *Source) load() (*Catalog, error) {
	base, opts := Embedded(), s.opts
	opts.StoredPrices = s.stored
	if s.path != "" {
		loaded, stamp, err := load(s.path)
		if err != nil {
			return nil, err
		}
		base, s.seen[0] = loaded, stamp
	}
	if s.pricesPath != "" {
		raw, stamp, err := readFile(s.pricesPath)
		if err != nil {
			return nil, fmt.Errorf("reading prices: %w", err)
		}
		if opts.Prices, err = ParsePrices(raw); err != nil {
			return nil, fmt.Errorf("prices %s: %w", s.pricesPath, err)
		}
		s.seen[1] = stamp
	}
	c, err := base.With(opts)
	if err != nil {
		return nil, fmt.Errorf("model catalog: %w", err)
	}
	return c, nil
}

// Current returns the current catalog. It is cheap: call it once per request and keep the result for that request.
func (s *Source) Current() *Catalog { return s.current.Load() }

// Run watches the files until ctx ends. Every five seconds it compares their times and sizes, and replaces the catalog
// if a file has changed and is valid. An invalid file is logged once and changes nothing. If the Source has no files
// Run returns at once.
func (s *Source) Run(ctx context.Context) {
	if s.path == "" && s.pricesPath == "" {
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

// UsePrices replaces the stored prices, which take precedence over list prices and over prices of the same name in the
// file. It reads the files again; if that fails, the catalog stays unchanged until the files can be read.
func (s *Source) UsePrices(stored Prices) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = stored
	c, err := s.load()
	if err != nil {
		s.logUnusable(err)
		return
	}
	s.current.Store(c)
}

// poll replaces the catalog if a file has changed since the last check and both files are valid.
func (s *Source) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stamps [2]fileStamp // a missing file has the zero stamp, which counts as a version, so that it is logged once
	var statErr error
	for i, path := range []string{s.path, s.pricesPath} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			statErr = err
			continue
		}
		stamps[i] = stampOf(info)
	}
	if stamps == s.seen {
		return
	}
	s.seen = stamps
	if statErr != nil {
		s.logUnusable(statErr)
		return
	}
	c, err := s.load()
	if err != nil {
		s.logUnusable(err)
		return
	}
	s.current.Store(c)
	s.logger.Info("model catalog replaced",
		zap.String("path", s.path), zap.String("prices", s.pricesPath), zap.String("updated", c.Updated),
		zap.Int("providers", len(c.Providers())))
}

// logUnusable logs that the new files are not used and that the current catalog stays in use. err is the reason.
func (s *Source) logUnusable(err error) {
	s.logger.Error("model catalog file is not usable, keeping the last good one",
		zap.String("path", s.path), zap.String("prices", s.pricesPath), zap.String("updated", s.Current().Updated),
		zap.Error(err))
}
