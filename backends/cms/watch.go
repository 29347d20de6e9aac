package cms

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
)

const (
	// checkInterval is the interval at which the files are checked for changes. A change is used once two checks in a
	// row have found the same state.
	checkInterval = 500 * time.Millisecond
	// maxWatched limits the number of files that are checked.
	maxWatched = 10_000
)

// watch reloads the files of the site when they have changed, until ctx is done. It compares sizes and modification
// times, because these also work in a folder that several nodes share.
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	previous := fingerprint(s.Site)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		current := fingerprint(s.Site)
		if current == previous && current != s.lastRead() {
			if err := s.Reload(); err != nil {
				s.logFailure(err)
			} else {
				s.Logger().Info("the changed files of the site are in use", zap.Int("routes", len(s.table().Routes())))
			}
		}
		previous = current
	}
}

// lastRead returns the fingerprint that the files had when Reload last read them.
func (s *Server) lastRead() [sha256.Size]byte {
	s.loading.Lock()
	defer s.loading.Unlock()
	return s.lastFingerprint
}

// fingerprint returns a hash of the names, sizes and modification times of a site's scripts, routes file and settings.
// It ignores unreadable files.
func fingerprint(site string) (sum [sha256.Size]byte) {
	h := sha256.New()
	watched := 0
	_ = filepath.WalkDir(site, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entry.IsDir() {
			if below, _ := filepath.Rel(site, name); below == "files" || below == "cache" || name != site &&
				strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".js", ".json", ".php":
		default:
			return nil
		}
		if watched++; watched > maxWatched {
			return fs.SkipAll
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		var numbers [16]byte
		binary.BigEndian.PutUint64(numbers[:8], uint64(info.Size())) //nolint:gosec // G115: only compared
		binary.BigEndian.PutUint64(numbers[8:], uint64(info.ModTime().UnixNano()))
		_, _ = h.Write(append([]byte(name+"\x00"), numbers[:]...))
		return nil
	})
	h.Sum(sum[:0])
	return sum
}
