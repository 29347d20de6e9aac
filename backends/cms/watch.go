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
	// lookEvery is how often the files are looked at. A change counts once nothing has changed between two looks.
	lookEvery = 500 * time.Millisecond
	// maxWatched bounds the files that are looked at.
	maxWatched = 10_000
)

// watch reads the files of the site anew when they have changed. It looks at their sizes and times, which also a
// folder tells that several nodes share.
func (s *Server) watch(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	used := fingerprint(s.Site)
	seen := used
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now := fingerprint(s.Site)
		if now == seen && now != used {
			used = now
			if err := s.Reload(); err != nil {
				s.tell(err)
			} else {
				s.Logger().Info("the changed files of the site are in use", zap.Int("routes", len(s.table().Routes())))
			}
		}
		seen = now
	}
}

// fingerprint is another one where a script, a routes file or the settings of a site are others.
func fingerprint(site string) (sum [sha256.Size]byte) {
	h := sha256.New()
	watched := 0
	_ = filepath.WalkDir(site, func(name string, entry fs.DirEntry, err error) error { // what cannot be read is as if not there
		if err != nil {
			return nil
		}
		if entry.IsDir() {
			if below, _ := filepath.Rel(site, name); below == "files" || below == "cache" || name != site && strings.HasPrefix(entry.Name(), ".") {
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
